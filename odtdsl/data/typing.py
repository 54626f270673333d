"""Types of columns: inferred or declared, and cells encoded under them.

A cell is the level of the same text, else the level of the same number (a cell `1.0` is the level
1, of a column of numbers or declared as text). Nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from odtdsl.data.cells import canonical, number_of, row_place
from odtdsl.data.dataset import MISSING_CODE, UNSEEN_CODE, Column, ColumnType, Kind, Value
from odtdsl.data.table import FloatArray, IntArray, RawColumn
from odtdsl.diagnostics.model import OdtError, error

_SHOWN = 5


def infer_type(column: RawColumn) -> ColumnType:
    """The type of a column that a spec says nothing about.

    A column of numbers is a `number`, also with two values: `x <= 0.5` and `x == 0` divide
    the rows alike, and a third value in later rows still has its place. A column of texts is
    a `category`, also with two values. `binary` and `ordered` are for a spec to say, except
    that an ordered categorical column of a frame is `ordered`. Where the source declares
    levels (ARFF, categorical columns) their order stays; levels of a category without a row
    are left out.
    """
    if column.levels is not None:
        if column.ordered:
            return ColumnType(name=column.name, kind="ordered", levels=column.levels)
        return ColumnType(name=column.name, kind="category", levels=levels_of(column))
    if column.numbers is not None:
        return ColumnType(name=column.name, kind="number")
    return ColumnType(name=column.name, kind="category", levels=levels_of(column))


def declare_type(
    column: RawColumn,
    kind: Kind,
    *,
    levels: Sequence[Value] | None = None,
    step: Fraction | None = None,
) -> ColumnType:
    """The type that a spec declares, with the levels of the column where it names none.

    Raises
    ------
    OdtError
        D143: a binary column with more than two values. D144: an ordered column of texts
        without an order.
    """
    if kind == "number":
        return ColumnType(name=column.name, kind=kind, step=step)
    if kind == "ordered" and levels is None:
        if column.levels is not None and column.ordered:
            return ColumnType(name=column.name, kind=kind, levels=column.levels)
        if column.numbers is None:
            raise _no_order(column)
    found = tuple(levels) if levels is not None else levels_of(column)
    if kind == "binary" and len(found) > 2:
        raise _not_binary(column.name, found)
    return ColumnType(name=column.name, kind=kind, levels=found)


def levels_of(column: RawColumn) -> tuple[Value, ...]:
    """The distinct values of a column: in its source's order where that declares one, else
    sorted, numbers by value before texts by code point.

    Values are numbers where every cell is one (`int` where integral), else texts.
    """
    present: tuple[Value, ...]
    if column.numbers is not None:
        present = tuple(canonical(x) for x in distinct(column.numbers))
    else:
        texts = set(column.texts.tolist()) - {None}
        in_order = sorted(texts, key=_text_order)
        present = tuple(in_order)
    if column.levels is None:
        return present
    rank = {level: i for i, level in enumerate(column.levels)}
    return tuple(sorted(present, key=lambda level: rank.get(level, len(rank))))


def distinct(numbers: FloatArray) -> list[float]:
    """The distinct numbers in rising order, without NaN."""
    found: list[float] = np.unique(numbers[~np.isnan(numbers)]).tolist()
    return found


def level_index(levels: Sequence[Value], value: Value | Fraction) -> int | None:
    """The index of a value among levels, None where it is none.

    A number matches the level of its value, or else a text that writes that number; a text
    matches the same text, or else the number that it writes.
    """
    number = number_of(value) if isinstance(value, str) else _float(value)
    for index, level in enumerate(levels):
        if isinstance(value, str) == isinstance(level, str) and (
            level == value if isinstance(value, str) else level == number
        ):
            return index
    if number is None or math.isnan(number):
        return None
    for index, level in enumerate(levels):
        if (number_of(level) if isinstance(level, str) else level) == number:
            return index
    return None


def _float(value: int | float | Fraction) -> float:
    """The float nearest to a number, infinite beyond the largest: equal to no cell."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def encode(raw: RawColumn, column_type: ColumnType, *, closed: bool = False) -> Column:
    """The column under its type.

    Parameters
    ----------
    raw
        The cells, of training rows or of any later ones.
    column_type
        The type; ordered, category and binary ones with their levels.
    closed
        Whether a value outside the levels is an error for a category or binary column too,
        as it is for a class column with declared labels; else it becomes `UNSEEN_CODE`.

    Raises
    ------
    OdtError
        D141: a cell of a number column that is no number. D142: a value outside the levels.
        D143: a binary type with more than two levels. D145: a number off the grid of `step`.
    """
    if column_type.kind == "number":
        numbers = _numbers(raw)
        _check_step(raw, numbers, column_type.step)
        return Column(type=column_type, numbers=numbers, codes=None)
    if column_type.kind == "binary" and len(column_type.levels) > 2:
        raise _not_binary(raw.name, column_type.levels)
    codes = _codes(raw, column_type.levels)
    if closed or column_type.kind == "ordered":
        _check_closed(raw, codes, column_type)
    return Column(type=column_type, numbers=None, codes=codes)


def _numbers(raw: RawColumn) -> FloatArray:
    if raw.numbers is not None:
        return raw.numbers
    texts: list[str | None] = raw.texts.tolist()
    wrong = [(row, text) for row, text in enumerate(texts) if not _is_number(text)]
    row, text = wrong[0]
    cells = list(dict.fromkeys(f"`{cell}`" for _, cell in wrong))
    listed = ", ".join(cells[:_SHOWN]) + (", ..." if len(cells) > _SHOWN else "")
    raise error(
        "D141",
        f"column `{raw.name}` is declared a number, but {row_place(row)} holds `{text}`",
        notes=(f"{len(wrong)} of {len(texts)} cells are no finite numbers: {listed}",),
        helps=(
            f'if it marks a missing value, write `na {{"{text}"}}` in the data statement',
            f"else write `feature {raw.name}: category`",
        ),
    )


def _is_number(text: str | None) -> bool:
    if text is None:
        return True
    number = number_of(text)
    return number is not None and math.isfinite(number)


def _check_step(raw: RawColumn, numbers: FloatArray, step: Fraction | None) -> None:
    if step is None:
        return
    off = [x for x in distinct(numbers) if (Fraction(repr(x)) / step).denominator != 1]
    if not off:
        return
    rows = np.flatnonzero(np.isin(numbers, off))
    raise error(
        "D145",
        f"column `{raw.name}` has values off its grid of step {step}: "
        f"{row_place(int(rows[0]))} holds `{raw.texts[rows[0]]}`",
        notes=(f"{len(rows)} of {len(numbers)} cells are no multiples of {step}",),
        helps=("take a smaller step, or leave it out",),
    )


def _codes(raw: RawColumn, levels: tuple[Value, ...]) -> IntArray:
    by_text = {level: i for i, level in enumerate(levels) if isinstance(level, str)}
    by_number: dict[float, int] = {
        level: i for i, level in enumerate(levels) if not isinstance(level, str)
    }
    if raw.numbers is not None and not by_text:
        values, where = np.unique(raw.numbers, return_inverse=True, equal_nan=True)
        found = [by_number.get(x, UNSEEN_CODE) for x in values.tolist()]
        codes = np.array(found, dtype=np.int64)[where.reshape(-1)]
    else:
        for text, i in by_text.items():
            # `math.nan` is one object, which a dict finds again: it would match every text.
            if not math.isnan(key := _key(text)):
                by_number.setdefault(key, i)
        code_of: dict[str | None, int] = {None: MISSING_CODE}
        for text in set(raw.texts.tolist()) - {None}:
            code_of[text] = by_text.get(text, by_number.get(_key(text), UNSEEN_CODE))
        codes = np.array([code_of[text] for text in raw.texts.tolist()], dtype=np.int64)
    codes[raw.missing] = MISSING_CODE
    return codes


def _key(text: str) -> float:
    number = number_of(text)
    return math.nan if number is None else number


def _check_closed(raw: RawColumn, codes: IntArray, column_type: ColumnType) -> None:
    rows = np.flatnonzero(codes == UNSEEN_CODE)
    if not len(rows):
        return
    cells = list(dict.fromkeys(f"`{raw.texts[row]}`" for row in rows.tolist()))
    listed = ", ".join(cells[:_SHOWN]) + (", ..." if len(cells) > _SHOWN else "")
    raise error(
        "D142",
        f"column `{raw.name}` holds {listed}, which is not among its declared values",
        notes=(
            f"first in {row_place(int(rows[0]))}; {len(rows)} of {len(codes)} cells",
            f"declared: {', '.join(f'`{level}`' for level in column_type.levels)}",
        ),
        helps=("declare the value too, or mark it as missing with `na`",),
    )


def _not_binary(name: str, levels: Sequence[Value]) -> OdtError:
    listed = ", ".join(f"`{level}`" for level in levels[:_SHOWN])
    more = ", ..." if len(levels) > _SHOWN else ""
    return error(
        "D143",
        f"column `{name}` is declared binary, but has {len(levels)} values: {listed}{more}",
        helps=(f"write `feature {name}: category`, or mark the extra value as missing",),
    )


def _no_order(column: RawColumn) -> OdtError:
    levels = levels_of(column)
    listed = ", ".join(f'"{level}"' for level in levels[:_SHOWN])
    more = ", ..." if len(levels) > _SHOWN else ""
    return error(
        "D144",
        f"column `{column.name}` is declared ordered, but its texts have no order",
        helps=(f"name the values from low to high: `ordered {{{listed}{more}}}`",),
    )


def _text_order(text: str) -> tuple[int, float, str]:
    number = number_of(text)
    if number is None or math.isnan(number):
        return (1, 0.0, text)
    return (0, number, text)
