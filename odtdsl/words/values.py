"""Python values as what the language writes: numbers, labels, columns, sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.language import ast, constructors
from odtdsl.language.transformer import MAX_DIGITS

Numeric = int | float | Decimal | Fraction
"""A number: a float stands for the decimal that Python prints for it, so 0.1 is one tenth."""

Label = str | bool | int | float | Decimal | Fraction
"""A class, level or cell: a text, or a number."""


def wrong(place: str, value: object, help_text: str) -> OdtError:
    """U401: a value of a kind that cannot stand in some place."""
    return error("U401", f"{place} cannot be {shortened(repr(value))}", helps=(help_text,))


def exact(value: object) -> Fraction | None:
    """A Python or numpy number exactly; None for whatever is no number.

    Raises
    ------
    OdtError
        S090: an infinite number, or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not math.isfinite(value):
        raise error("S090", f"{value} cannot be written in a spec", helps=("use a finite number",))
    # `str`, since numpy prints the shortest decimal of each of its own widths so.
    return Fraction(str(float(value) if isinstance(value, float) else value))


def number(value: object) -> ast.Number | ast.Binary | None:
    """A number, or the quotient of two; None for whatever is no number.

    Raises
    ------
    OdtError
        S090: a number that no text of a spec can say.
    """
    found = exact(value)
    if found is None:
        return None
    if _digits(found) > MAX_DIGITS:
        raise error(
            "S090",
            f"a number of more than {MAX_DIGITS} digits cannot be written in a spec",
            helps=("round it",),
        )
    return constructors.number(found)


def _digits(value: Fraction) -> int:
    """How long a literal the number needs; not by its text, which Python may refuse to make."""
    largest = max(abs(value.numerator), value.denominator)
    if largest.bit_length() > 4 * MAX_DIGITS:
        return MAX_DIGITS + 1
    shown = constructors.decimal_text(value)
    return len(str(largest) if shown is None else shown)


def literal_number(value: object, place: str) -> ast.Number:
    """A number where only a literal may stand.

    Raises
    ------
    OdtError
        S090: it has no finite decimal form. U401: it is no number.
    """
    found = number(value)
    if found is None:
        raise wrong(place, value, "give a number")
    if isinstance(found, ast.Binary):
        raise error(
            "S090",
            f"{place} needs a finite decimal number, which {value} is not",
            helps=("round it",),
        )
    return found


def whole(value: object, place: str) -> int:
    """A whole number.

    Raises
    ------
    OdtError
        U401: it is none.
    """
    found = exact(value)
    if found is None or found.denominator != 1:
        raise wrong(place, value, "give a whole number")
    return int(literal_number(found, place).value)


def at_least(value: object, least: int, place: str) -> int:
    """A whole number that is not too small.

    Raises
    ------
    OdtError
        U401: it is none, or below `least`.
    """
    found = whole(value, place)
    if found < least:
        raise wrong(place, value, f"give a whole number of at least {least}")
    return found


def label(value: object, place: str = "a label") -> ast.Text | ast.Number:
    """A class, level or cell; a truth value is the text that data frames are read as.

    Raises
    ------
    OdtError
        U401: neither a text nor a number. S090: a number without a finite decimal form.
    """
    if isinstance(value, str):
        return ast.Text(value=str(value))
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return ast.Text(value=str(bool(value)))
    if exact(value) is None:
        raise wrong(place, value, "give a text or a number")
    return literal_number(value, place)


def labels(values: object, place: str) -> tuple[ast.Text | ast.Number, ...]:
    """Labels in the order given; those of a set sorted."""
    return tuple(label(value, place) for value in listed(values, place))


def listed(values: object, place: str) -> list[object]:
    """The members of a collection; those of a set, which has no order, sorted.

    Raises
    ------
    OdtError
        U401: a lone text, or no collection.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise wrong(place, values, "give a list or a set")
    members = list(values)
    if not members:
        raise wrong(place, values, "give at least one member")
    if isinstance(values, Set):
        members.sort(key=lambda member: (isinstance(member, str), exact(member) or 0, str(member)))
    return members


def name(value: object, place: str = "a column") -> ast.Name:
    """A column, group or target by its name, where no term could stand.

    Raises
    ------
    OdtError
        U401: it is neither a text nor a `col(...)`. S090: a name that no text can say.
    """
    node = getattr(value, "node", None)
    word = node.name if isinstance(node, ast.Name) else value
    if not isinstance(word, str):
        raise wrong(place, value, "give its name as a text")
    if not word or "\n" in word or "\r" in word:
        raise error("S090", f"{place} named {word!r} cannot be written in a spec")
    return constructors.name(str(word))


def names(values: object, place: str = "columns") -> tuple[ast.Name, ...]:
    """One name, or several in the order given."""
    if isinstance(values, str) or hasattr(values, "node"):
        return (name(values, place),)
    return tuple(name(value, place) for value in listed(values, place))


def columns(values: object, place: str = "columns") -> ast.Columns:
    """One name, several, or the star `"*"`; a column of that name is `col("*")`."""
    if isinstance(values, str) and values == "*":
        return ast.Star()
    return names(values, place)
