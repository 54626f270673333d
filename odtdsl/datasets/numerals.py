"""How a file writes numbers: its decimal sign, and the sign between groups of three digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from odtdsl.base.diagnostics.model import DataHelp, error

_ALIKE = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}
"""Signs that look alike: blanks that no line ends at, the curved apostrophe."""

_DECIMALS = (".", ",")
_THOUSANDS = (".", ",", " ", "'")


@dataclass(frozen=True, slots=True)
class Numerals:
    """The signs of a file's numbers; `thousands` is None if digits are not grouped.

    A number is read only where it keeps to the signs: with decimal commas `1.5` is none, and
    with points between groups `1.50` is never 150.
    """

    decimal: str = "."
    thousands: str | None = None

    def plain(self, text: str) -> str | None:
        """A text as Python's `float` reads it; None where it cannot be a number."""
        if self == PLAIN:
            return text
        match = _pattern(self).fullmatch(text)
        if match is None:
            return None if any(char.isdigit() for char in text) else text  # nan, inf
        sign, whole, broken, power = match.groups()
        digits = re.sub(r"[^0-9]", "", whole or "")
        if not digits and not broken:
            return None
        return f"{sign}{digits or '0'}.{broken or '0'}{power or ''}"


PLAIN = Numerals()


@cache
def _pattern(numerals: Numerals) -> re.Pattern[str]:
    whole = r"\d+"
    if numerals.thousands is not None:
        signs = re.escape(_ALIKE.get(numerals.thousands, numerals.thousands))
        whole = rf"\d{{1,3}}(?:[{signs}]\d{{3}})+|\d+"
    decimal = re.escape(numerals.decimal)
    return re.compile(rf"([+-]?)({whole})?(?:{decimal}(\d*))?([eE][+-]?\d+)?", re.ASCII)


def numerals_of(decimal: str | None, thousands: str | None) -> Numerals:
    """The numerals that a data statement says.

    Raises
    ------
    OdtError
        D119: signs that cannot be, or that are the same.
    """
    if decimal is not None and decimal not in _DECIMALS:
        raise error(
            "D119",
            f'"{decimal}" is not a decimal separator',
            helps=(
                DataHelp(
                    'write `decimal ","`; the default is a point',
                    'add `--decimal ","`; the default is a point',
                ),
            ),
        )
    if thousands is not None and thousands not in _THOUSANDS:
        raise error(
            "D119",
            f'"{thousands}" is not a thousands separator',
            helps=(
                DataHelp(
                    """write `thousands ","`, `"."`, `" "` or `"'"`""",
                    """add `--thousands ","`, `"."`, `" "` or `"'"`""",
                ),
            ),
        )
    if thousands == (decimal or "."):
        other = "," if thousands == "." else "."
        raise error(
            "D119",
            f'"{thousands}" cannot be both the thousands and the decimal separator',
            helps=(f'write `decimal "{other}", thousands "{thousands}"`',),
        )
    return Numerals(decimal or ".", thousands)
