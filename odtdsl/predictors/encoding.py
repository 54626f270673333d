"""Raw cells under the column types that a tree carries, so that prediction needs no data set."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.cells import number_of, reading, row_place
from odtdsl.datasets.dataset import MISSING_CODE, UNSEEN_CODE, ColumnType, Value
from odtdsl.datasets.levels import level_text
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, RawColumn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """One column, ready for tests; of `numbers` and `codes` exactly one is not None.

    Attributes
    ----------
    numbers
        float64 (n_rows,), NaN where missing, for kind `number`.
    codes
        int64 (n_rows,), index into the type's levels, `MISSING_CODE` or `UNSEEN_CODE`.
    missing
        bool (n_rows,).
    """

    numbers: FloatArray | None
    codes: IntArray | None
    missing: BoolArray


def encode_cells(column: RawColumn, type_: ColumnType, *, table: str = "the table") -> Cells:
    """The cells of a raw column under a type.

    Raises
    ------
    OdtError
        U203, a cell of a number column is not a number; U204, a cell of an ordered column
        is none of its levels. U214, a number of a frame that several levels write. All name the
        first such row and its cell.
    """
    if type_.kind == "number":
        if column.numbers is None:
            raise _not_a_number(column, table, type_)
        missing = column.missing | np.isnan(column.numbers)
        return Cells(numbers=column.numbers, codes=None, missing=missing)
    codes = level_codes(column, type_, table=table)
    if type_.kind == "ordered" and (unseen := np.flatnonzero(codes == UNSEEN_CODE)).size:
        raise _not_a_level(column, type_, unseen, table)
    return Cells(numbers=None, codes=codes, missing=codes == MISSING_CODE)


def level_codes(column: RawColumn, type_: ColumnType, *, table: str = "the table") -> IntArray:
    """The index of each cell among the levels of a type, int64 (n_rows,).

    A cell is the level of the same text, nothing else. Where the cells are numbers of a frame, it
    is the one level that reads as the number; where the levels were numbers of a frame, or come
    from a model of version 1, a cell without a level of its text is the first that reads as it.
    """
    of_text = {level_text(level): i for i, level in enumerate(type_.levels)}
    of_number: dict[float, list[int]] = {}
    for i, level in enumerate(type_.levels):
        number = reading(level) if isinstance(level, str) else level
        if number is not None:
            of_number.setdefault(number, []).append(i)
    texts, places = column.distinct
    codes = np.full(len(texts) + 1, MISSING_CODE, dtype=np.int64)  # the last is for place -1
    for at, text in enumerate(texts):
        codes[at] = of_text.get(text, UNSEEN_CODE)
        if type_.by_value and text in of_text:
            continue
        if type_.by_value or column.by_value:
            number = reading(text)
            same = [] if number is None else of_number.get(number, [])
            if len(same) > 1 and not type_.by_value:
                raise _unclear(column, text, [type_.levels[i] for i in same], table)
            codes[at] = same[0] if same else codes[at]
    return codes[places]


def as_number(text: str) -> float | None:
    """The finite number that a text writes, else None."""
    number = number_of(text)
    return number if number is not None and math.isfinite(number) else None


def no_numbers(column: RawColumn) -> list[tuple[int, str]]:
    """The cells that are neither numbers nor missing, each with its row."""
    return [
        (row, text)
        for row, text in enumerate(column.texts.tolist())
        if text is not None and as_number(column.numerals.plain(text) or "") is None
    ]


def _not_a_number(column: RawColumn, table: str, type_: ColumnType) -> OdtError:
    bad = no_numbers(column)
    row, text = bad[0] if bad else (0, "")
    return error(
        "U203",
        f"column `{column.name}` of {table} must hold numbers: {row_place(row)} has {_quote(text)}",
        notes=[f"{len(bad)} of {len(column.texts)} cells are not finite numbers"],
        helps=[_about_numbers(str(text), type_)],
    )


def _about_numbers(text: str, type_: ColumnType) -> str:
    """What to do about a text in a column of numbers."""
    if type_.date is not None:
        return (
            "the model counts days: say `days` of this column in the data statement, as the spec "
            "of the model does"
        )
    return about_number(text)


def about_number(text: str) -> str:
    """What to do about a text where a number should stand."""
    if re.fullmatch(r"[-+]?\d{1,3}(\.\d{3})*,\d+", text):
        return (
            'if the comma is the decimal separator, add `--decimal ","`, or put the spec of the '
            "model in front, which says so"
        )
    return f"leave missing cells empty, or name their marker: {_marked(text)}"


def _marked(text: str) -> str:
    """How to say that a text means a missing value, where it may be one."""
    short = 0 < len(text) <= 8 and not any(c.isdigit() or c.isspace() or c in '"`$\\' for c in text)
    mark = text if short else "NA"
    shown = mark if mark.isalpha() else f'"{mark}"'
    return f"`--na {shown}`, or None in Python"


def _not_a_level(column: RawColumn, type_: ColumnType, unseen: IntArray, table: str) -> OdtError:
    row = int(unseen[0])
    levels = ", ".join(_quote(level) for level in type_.levels)
    return error(
        "U204",
        (
            f"the ordered column `{column.name}` of {table} has {_quote(column.texts[row])} in "
            f"{row_place(row)}, which is not one of its levels"
        ),
        notes=[f"the levels are {levels}", f"there are {len(unseen)} such cells"],
        helps=["a level that was not seen in training has no place in the order"],
    )


def _unclear(column: RawColumn, text: str, levels: list[Value], table: str) -> OdtError:
    row = int(np.flatnonzero(column.texts == text)[0])
    listed = " and ".join(map(_quote, levels))
    return error(
        "U214",
        (
            f"column `{column.name}` of {table} has the number {text} in {row_place(row)}, but "
            f"{listed} are different levels with this number"
        ),
        helps=["give the column as strings, written as in the training data"],
    )


def _quote(value: Value | None) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
