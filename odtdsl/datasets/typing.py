"""Types of columns: inferred or declared, and cells encoded under them.

A cell of a number column is its number, and two different numbers stay two, or are refused. Any
other cell is its text: see `odtdsl.datasets.levels`. Nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.datasets.cells import about, mark_missing, number_of, reading, row_place
from odtdsl.datasets.dataset import MISSING_CODE, UNSEEN_CODE, Column, ColumnType, Kind, Value
from odtdsl.datasets.levels import as_levels, by_number, level_text, sorted_texts
from odtdsl.datasets.numerals import Numerals
from odtdsl.datasets.table import FloatArray, IntArray, RawColumn

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
    if column.levels is None and column.numbers is not None:
        return ColumnType(name=column.name, kind="number")
    if column.levels is not None and column.ordered:
        levels = as_levels(column.levels)
        return ColumnType(name=column.name, kind="ordered", levels=levels, by_value=column.by_value)
    return ColumnType(
        name=column.name, kind="category", levels=levels_of(column), by_value=column.by_value
    )


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
    if levels is not None:
        found = tuple(levels)
    elif kind == "ordered":
        found = _in_order(column)
    else:
        found = levels_of(column)
    if kind == "binary" and len(found) > 2:
        raise _not_binary(column.name, found)
    return ColumnType(name=column.name, kind=kind, levels=found, by_value=column.by_value)


def _in_order(column: RawColumn) -> tuple[Value, ...]:
    """The levels of an ordered column that a spec does not list, from low to high."""
    if column.levels is not None and column.ordered:
        return as_levels(column.levels)
    if column.numbers is None:
        raise _no_order(column, "its texts have no order")
    levels = as_levels(sorted_texts(column.distinct[0]))
    for same in by_number(levels).values():
        if len(same) > 1:
            low, high = (f"`{level_text(levels[i])}`" for i in same[:2])
            raise _no_order(column, f"{low} and {high} are two values for one number")
    return levels


def levels_of(column: RawColumn) -> tuple[Value, ...]:
    """The distinct values of a column: in its source's order where that declares one, else
    sorted, texts that write numbers by value before the others by code point."""
    present = sorted_texts(column.distinct[0])
    if column.levels is not None:
        rank = {level: i for i, level in enumerate(column.levels)}
        present.sort(key=lambda text: rank.get(text, len(rank)))
    return as_levels(present)


def distinct(numbers: FloatArray) -> list[float]:
    """The distinct numbers in rising order, without NaN."""
    found: list[float] = np.unique(numbers[~np.isnan(numbers)]).tolist()
    return found


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
        D147: a number of a frame that several levels are written as.
    """
    if column_type.kind == "number":
        numbers = _numbers(raw)
        _check_step(raw, numbers, column_type.step)
        return Column(type=column_type, numbers=numbers, codes=None)
    if column_type.kind == "binary" and len(column_type.levels) > 2:
        raise _not_binary(raw.name, column_type.levels)
    codes = _codes(raw, column_type)
    if closed or column_type.kind == "ordered":
        _check_closed(raw, codes, column_type)
    return Column(type=column_type, numbers=None, codes=codes)


def _numbers(raw: RawColumn) -> FloatArray:
    if raw.numbers is not None:
        return raw.numbers
    texts: list[str | None] = raw.texts.tolist()
    read = [math.nan if text is None else _number(text, raw.numerals) for text in texts]
    wrong = [
        (row, text) for row, text in enumerate(texts) if text is not None and read[row] is None
    ]
    if not wrong:  # what is no number stands in rows that were not taken
        return np.array(read, dtype=np.float64)
    row, text = wrong[0]
    helps = _of_texts(raw, tuple(cell for _, cell in wrong))
    cells = list(dict.fromkeys(f"`{shortened(cell)}`" for _, cell in wrong))
    listed = ", ".join(cells[:_SHOWN]) + (", ..." if len(cells) > _SHOWN else "")
    raise error(
        "D141",
        f"column `{raw.name}` is declared a number, but {row_place(raw.place(row))} contains "
        f"`{shortened(text)}`",
        notes=(f"{len(wrong)} of {len(texts)} cells are not finite numbers: {listed}",),
        helps=(
            *helps,
            f"{'otherwise ' if helps else ''}write {about('feature NAME: category', raw.name)}",
        ),
    )


def _of_texts(raw: RawColumn, wrong: tuple[str, ...]) -> tuple[str, ...]:
    """What to do about texts in a column of numbers, but for another type of it."""
    if len(wrong) < int((~raw.missing).sum()):
        return (mark_missing(wrong[0]),)
    from odtdsl.datasets.dates import order_of  # for messages only
    from odtdsl.datasets.lookalikes import BARE, way_of

    written_as = way_of(tuple(dict.fromkeys(wrong)))
    if written_as is not None and written_as.way in BARE:
        return (BARE[written_as.way][1],)
    order = order_of(tuple(dict.fromkeys(wrong)))
    if order is None:
        return ()
    written = about(f'days {{NAME}}, dates "{order}"' if order else "days {NAME}", raw.name)
    return (f"to read the dates as days, add {written} to the data statement",)


def _number(text: str, numerals: Numerals) -> float | None:
    plain = numerals.plain(text)
    number = None if plain is None else number_of(plain)
    return number if number is not None and math.isfinite(number) else None


def _check_step(raw: RawColumn, numbers: FloatArray, step: Fraction | None) -> None:
    if step is None:
        return
    off = [x for x in distinct(numbers) if (Fraction(repr(x)) / step).denominator != 1]
    if not off:
        return
    rows = np.flatnonzero(np.isin(numbers, off))
    raise error(
        "D145",
        (
            f"column `{raw.name}` has values that are not multiples of its step {step}: "
            f"{row_place(raw.place(int(rows[0])))} contains `{raw.texts[rows[0]]}`"
        ),
        notes=(f"{len(rows)} of {len(numbers)} cells are not multiples of {step}",),
        helps=("use a smaller step, or leave it out",),
    )


def check_apart(raw: RawColumn, column: Column) -> None:
    """Refuse different numbers that are one as float64.

    Raises
    ------
    OdtError
        D146.
    """
    numbers = column.numbers
    if numbers is None or not raw.writing.has_long_numbers():
        return
    texts, places = raw.distinct
    of_text = np.zeros(len(texts))
    of_text[places[places >= 0]] = numbers[places >= 0]
    order = np.argsort(of_text, kind="stable")
    same = np.flatnonzero(np.diff(of_text[order]) == 0).tolist()
    for at in same:
        one, other = texts[order[at]], texts[order[at + 1]]
        if _exact(one, raw.numerals) != _exact(other, raw.numerals):
            raise _merged(raw, one, other)


def _exact(text: str, numerals: Numerals) -> Decimal | str:
    try:
        return Decimal(numerals.plain(text) or text)
    except InvalidOperation:  # an exponent beyond what decimals have
        return text


def _merged(raw: RawColumn, one: str, other: str) -> OdtError:
    rows = [int(np.flatnonzero(raw.texts == text)[0]) for text in (one, other)]
    (one, first), (other, second) = sorted(zip((one, other), rows, strict=True), key=_second)
    name = f"`{raw.name}`"
    return error(
        "D146",
        f"the numbers `{one}` and `{other}` of column {name} are different, but equal as float64",
        notes=(
            f"they are in {row_place(raw.place(first))} and in {row_place(raw.place(second))}",
            "numbers are distinguished to about 16 digits",
        ),
        helps=(
            f"if they are codes, write {about('feature NAME: category', raw.name)}",
            (
                f"if they name rows, write {about('id NAME', raw.name)} in the data statement, or "
                f"{about('drop NAME', raw.name)}"
            ),
            "if they are measurements, subtract a constant, or write fewer digits",
        ),
    )


def _second(pair: tuple[str, int]) -> int:
    return pair[1]


def _codes(raw: RawColumn, column_type: ColumnType) -> IntArray:
    """Texts by text; where cells or levels are numbers without a writing, by number."""
    texts, places = raw.distinct
    index_of = {level_text(level): i for i, level in enumerate(column_type.levels)}
    if raw.by_value or column_type.by_value:
        found = by_number(column_type.levels)
        codes = [_code(text, raw, column_type, index_of, found) for text in texts]
    else:
        codes = [index_of.get(text, UNSEEN_CODE) for text in texts]
    return np.array([*codes, MISSING_CODE], dtype=np.int64)[places]


def _code(
    text: str,
    raw: RawColumn,
    column_type: ColumnType,
    index_of: Mapping[str, int],
    found: Mapping[int | float, tuple[int, ...]],
) -> int:
    exact = index_of.get(text)
    if exact is not None and (column_type.by_value or not raw.by_value):
        return exact
    number = reading(text)
    same = () if number is None else found.get(number, ())
    if len(same) > 1 and not column_type.by_value:
        raise _unclear(raw, text, [level_text(column_type.levels[i]) for i in same])
    if exact is not None:
        return exact
    return same[0] if same else UNSEEN_CODE


def _unclear(raw: RawColumn, text: str, levels: Sequence[str]) -> OdtError:
    row = int(np.flatnonzero(raw.texts == text)[0])
    listed = " and ".join(f"`{level}`" for level in levels[:_SHOWN])
    return error(
        "D147",
        (
            f"column `{raw.name}` contains the number {text} in {row_place(raw.place(row))}, but "
            f"{listed} are different values that all read as this number"
        ),
        helps=("pass the column as texts, written exactly like the values",),
    )


def _check_closed(raw: RawColumn, codes: IntArray, column_type: ColumnType) -> None:
    rows = np.flatnonzero(codes == UNSEEN_CODE)
    if not len(rows):
        return
    cells = list(dict.fromkeys(f"`{shortened(raw.texts[row])}`" for row in rows.tolist()))
    listed = ", ".join(cells[:_SHOWN]) + (", ..." if len(cells) > _SHOWN else "")
    raise error(
        "D142",
        f"column `{raw.name}` contains {listed}, which is not among its declared values",
        notes=(
            f"first in {row_place(raw.place(int(rows[0])))}; {len(rows)} of {len(codes)} cells",
            f"declared: {', '.join(f'`{level}`' for level in column_type.levels)}",
        ),
        helps=(
            "declare the value too",
            mark_missing(raw.texts[int(rows[0])]),
        ),
    )


def _not_binary(name: str, levels: Sequence[Value]) -> OdtError:
    listed = ", ".join(f"`{level}`" for level in levels[:_SHOWN])
    more = ", ..." if len(levels) > _SHOWN else ""
    return error(
        "D143",
        f"column `{name}` is declared binary, but has {len(levels)} values: {listed}{more}",
        helps=(
            f"write {about('feature NAME: category', name)}, "
            "or declare the extra value missing with `na`",
        ),
    )


def _no_order(column: RawColumn, reason: str) -> OdtError:
    levels = levels_of(column)
    listed = ", ".join(f'"{level}"' for level in levels[:_SHOWN])
    more = ", ..." if len(levels) > _SHOWN else ""
    return error(
        "D144",
        f"column `{column.name}` is declared ordered, but {reason}",
        helps=(f"list the values from low to high: `ordered {{{listed}{more}}}`",),
    )
