"""Texts that are numbers or dates to a reader, written in a way that cells are not read in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from odtdsl.datasets.numerals import Numerals

Way = Literal["numerals", "percent", "currency", "unit", "date"]

BARE: dict[Way, tuple[str, str]] = {
    "percent": ("percentages", "write the numbers without the sign"),
    "currency": ("amounts of money", "write the numbers without the currency"),
    "unit": ("numbers with a unit", "write the numbers without the unit"),
}
"""What numbers with a sign are called, and what to do about it."""

_STYLES = (
    Numerals(".", ","),
    Numerals(",", None),
    Numerals(",", "."),
    Numerals(".", " "),
    Numerals(",", " "),
    Numerals(".", "'"),
    Numerals(",", "'"),
)
"""In the order of preference: `1,073` alone is more often a thousand than one and a bit."""

_NUMBER = r"[+-]?\d+(?:[.,\s'\u2019]\d+)*"
_PERCENT = re.compile(rf"{_NUMBER}\s?%")
_SIGN = r"[$\u20ac\u00a3\u00a5]"
_CURRENCY = re.compile(rf"[+-]?{_SIGN}\s?{_NUMBER}|{_NUMBER}\s?{_SIGN}")
_UNIT = re.compile(rf"{_NUMBER}\s([^\W\d]\S*)")
_DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4}))"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Texts of one column that are all written in one way, but for a few marks."""

    way: Way
    example: str


def way_of(levels: Sequence[str]) -> Written | None:
    """How most of the texts of a column are written, None where they are just texts."""
    most = 0.8 * len(levels)
    tests: tuple[tuple[Way, re.Pattern[str]], ...] = (
        ("date", _DATE),
        ("percent", _PERCENT),
        ("currency", _CURRENCY),
    )
    for way, pattern in tests:
        fitting = [level for level in levels if pattern.fullmatch(level)]
        if fitting and len(fitting) >= most:
            return Written(way=way, example=fitting[0])
    units = [(level, found[1]) for level in levels if (found := _UNIT.fullmatch(level))]
    if units and len(units) >= most and len({unit for _, unit in units}) == 1:
        return Written(way="unit", example=units[0][0])
    plain = Numerals()
    signed = [level for level in levels if level[-1:].isdigit() and _is_number(level, None)]
    if len(signed) >= most and any(not _is_number(level, plain) for level in signed):
        return Written(way="numerals", example=next(x for x in signed if not _is_number(x, plain)))
    return None


def numerals_of_all(
    columns: Mapping[str, Sequence[str]], decimal: str | None = None
) -> Sequence[Numerals]:
    """The signs by which the most texts of all columns are numbers, the likeliest first; with this
    decimal separator where others are refuted."""
    texts = [text for levels in columns.values() for text in levels]
    styles = [style for style in _STYLES if decimal in (None, style.decimal)]
    counts = [sum(_is_number(text, style) for text in texts) for style in styles]
    best = max(counts)
    return [style for style, count in zip(styles, counts, strict=True) if count == best > 0]


def _is_number(text: str, style: Numerals | None) -> bool:
    """Whether a text is a number by the signs; None for any of the styles."""
    if style is None:
        return any(_is_number(text, one) for one in (Numerals(), *_STYLES))
    if not any(char.isdigit() for char in text):
        return False
    plain = style.plain(text)
    try:
        return plain is not None and "_" not in plain and float(plain) is not None
    except ValueError:
        return False
