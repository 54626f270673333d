"""Data sets: a table under the types that a spec gives its columns.

A `Column` is encoded once, exactly, and everything downstream (candidate tests, groups,
measures, the checker, predictors) reads the same encoding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from odtdsl.datasets.table import FloatArray, IntArray, Table

Kind = Literal["number", "ordered", "category", "binary"]
Value = str | int | float
"""A label or level: see `odtdsl.datasets.levels`."""

MISSING_CODE = -1
UNSEEN_CODE = -2
"""A cell whose value is not among the levels: "not equal" to all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDate:
    """What a column of numbers was made of: of which column, which part, and its order.

    `part` is `days` or one of `dates.PARTS`; `order` is one of `dates.ORDERS`, or empty.
    """

    column: str
    part: str
    order: str = ""


class Day(float):
    """Days since 1970-01-01, shown as the date; of a part of a day, the day."""

    __slots__ = ()

    def __str__(self) -> str:
        import datetime  # few specs have dates

        try:
            day = datetime.date(1970, 1, 1) + datetime.timedelta(days=math.floor(self))
        except (OverflowError, ValueError):
            return float.__repr__(self)
        return day.isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """The type of a column.

    `levels` are the values of an ordered, category or binary column, in declared else
    sorted order (numbers before texts); empty for numbers. `by_value`: they came as numbers of
    a frame, without a writing of their own, so that cells are compared with them as numbers.
    `na` are the texts that the spec reads as missing, kept for later rows; no part of the type.
    `date` says of which date a number was made; `gaps`, no part of the type either, whether the
    spec says where missing cells go (None: not known, as of models that 0.1.0 saved).
    """

    name: str
    kind: Kind
    levels: tuple[Value, ...] = ()
    step: Fraction | None = None
    by_value: bool = False
    na: tuple[str, ...] = field(default=(), compare=False)
    date: OfDate | None = None
    gaps: bool | None = field(default=None, compare=False)

    def shown(self, value: float) -> float:
        """A number of the column as people read it: days as a date."""
        return Day(value) if self.counts_days else value

    @property
    def counts_days(self) -> bool:
        """Whether its numbers are days since 1970-01-01, all of them whole."""
        return self.date is not None and self.date.part == "days"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """A typed column.

    Attributes
    ----------
    numbers
        float64 (n_rows,), NaN where missing, for kind `number`; else None.
    codes
        int64 (n_rows,), index into `type.levels`, `MISSING_CODE` or `UNSEEN_CODE`, for
        the other kinds; else None.
    """

    type: ColumnType
    numbers: FloatArray | None
    codes: IntArray | None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.type.name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """Row weights as integers over a common denominator: weight = numerators / denominator."""

    numerators: IntArray
    denominator: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Dataset:
    """Typed rows.

    Attributes
    ----------
    table
        The raw rows, in the same order: what the checker routes through a predictor.
    columns
        All columns by name: features, targets, dropped ones.
    labels
        int64 (n_rows,), class index of each row; None for number targets.
    targets
        float64 (n_rows, n_targets) for number targets; else None.
    weights
        Row weights; all one where the spec has none.
    row_numbers
        int64 (n_rows,): the 0-based position of each row in the file as read.
    """

    table: Table
    columns: Mapping[str, Column]
    labels: IntArray | None
    targets: FloatArray | None
    weights: Weights
    row_numbers: IntArray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows
