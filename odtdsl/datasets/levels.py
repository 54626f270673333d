"""Levels: the values of a category, an ordered or a binary column, and the labels of classes.

A level is its text, as the cells write it. Where all texts of a column are what `level_text`
writes for a number, and the numbers differ, the levels are these numbers (`1`, `2.5`), else all
are texts (`"01"`, `"1.10"`): nothing is lost, and `level_text` gives the text back.

Two texts are the same level only if they are the same. Where one side has no writing of its own,
which is so for a number of a frame and for a number in a spec, the other side is read as a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from odtdsl.datasets.cells import reading
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.writing import number_text

_MOST_DIGITS = 20
"""Whole numbers of more digits than a 64-bit integer has stay texts."""


def level_text(level: Value) -> str:
    """The text that cells of a level have."""
    if isinstance(level, str):
        return level
    return str(level) if isinstance(level, int) else number_text(level)


def as_levels(texts: Iterable[str]) -> tuple[Value, ...]:
    """The levels of different texts, in their order: numbers where all are written as such."""
    words = tuple(texts)
    numbers: list[Value] = []
    for word in words:
        number = reading(word)
        if number is None or (isinstance(number, int) and len(word) > _MOST_DIGITS):
            return words
        if isinstance(number, float) and number.is_integer() and abs(number) <= 2**53:
            return words
        if level_text(number) != word:
            return words
        numbers.append(number)
    return tuple(numbers) if len(set(numbers)) == len(words) else words


def sorted_texts(texts: Iterable[str]) -> list[str]:
    """Texts that write numbers by their value, then the others; ties by code point."""
    return sorted(texts, key=_order)


def _order(text: str) -> tuple[int, int | float, str]:
    number = reading(text)
    return (1, 0, text) if number is None else (0, number, text)


def text_index(levels: Sequence[Value], text: str) -> int | None:
    """The index of the level of a text; None if it is not a level."""
    for index, level in enumerate(levels):
        if level_text(level) == text:
            return index
    return None


def by_number(levels: Sequence[Value]) -> Mapping[int | float, tuple[int, ...]]:
    """The levels that read as each number, by their indices."""
    found: dict[int | float, tuple[int, ...]] = {}
    for index, level in enumerate(levels):
        number = reading(level) if isinstance(level, str) else level
        if number is not None:
            found[number] = (*found.get(number, ()), index)
    return found


def number_indices(levels: Sequence[Value], number: int | float | Fraction) -> tuple[int, ...]:
    """The indices of the levels that read as a number."""
    return by_number(levels).get(as_number(number), ())


def as_number(number: int | float | Fraction) -> int | float:
    """A number as cells have it: whole ones exactly, others as the nearest float."""
    if isinstance(number, Fraction) and number.denominator == 1:
        return number.numerator
    try:
        return number if isinstance(number, int) else float(number)
    except OverflowError:
        return float("inf")


def level_index(levels: Sequence[Value], value: Value | Fraction) -> int | None:
    """The index of a value that was resolved before; None if it is not a level."""
    if isinstance(value, str):
        return text_index(levels, value)
    number = as_number(value)
    for index, level in enumerate(levels):
        if not isinstance(level, str) and level == number:
            return index
    return None
