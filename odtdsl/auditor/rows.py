"""Rows as the audit sees them: raw cells, read here once more.

Classes, weights, levels and groups are taken from the cells as they were read, not from the
codes and masks that terms and back ends work on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, assert_never

import numpy as np

from odtdsl.datasets.cells import reading
from odtdsl.datasets.dataset import ColumnType, Dataset, Value
from odtdsl.datasets.levels import level_text
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, ObjectArray, RawColumn
from odtdsl.datasets.writing import number_text
from odtdsl.problem.ir.expr import (
    Arg,
    CellAnd,
    CellCompare,
    CellCondition,
    CellIn,
    CellMissing,
    CellNot,
    CellOr,
    GroupArg,
    RowIn,
)
from odtdsl.problem.ir.problem import Problem

MISSING = -1
UNKNOWN = -2
"""A cell that is missing, and one that is none of the levels."""

EXACT = 2**62 // 1000
"""Where weights over their common denominator sum beyond this, they may be rounded (D209)."""

LARGEST_ROUNDING = Fraction(1, 2**20)
"""What a rounded weight may be off, as a share of the largest."""

ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}


class NoValue(Exception):
    """A measure that has no value on these rows; the message says why."""


class AuditRows:
    """A problem and the rows that a model is audited on.

    Attributes
    ----------
    training
        Whether they are the training rows: `row in {3}` and `same_leaf(3, 17)` speak of these.
    units, denominator
        Row weights as whole numbers over a common denominator, int64 or object (n_rows,).
    rounding
        The largest difference between a weight and what its cell says, as a share of the
        largest weight; 0 unless weights have more digits than sums of them can hold.
    """

    def __init__(self, problem: Problem, data: Dataset, *, training: bool = True) -> None:
        self.problem = problem
        self.training = training
        self.n_rows = data.table.n_rows
        self.table = data.table
        self._types = {name: column.type for name, column in data.columns.items()}
        self._ranks: dict[tuple[str, tuple[Value, ...], bool], IntArray] = {}
        self._groups: dict[str, BoolArray] = {}
        self.rounding = Fraction(0)
        self.units, self.denominator = self._weights(data)

    @property
    def may_round(self) -> bool:
        """Whether weights differ from their cells by rounding only."""
        return self.rounding <= LARGEST_ROUNDING

    # ---- cells

    def column(self, name: str) -> RawColumn | None:
        """A column as it was read; None for an unknown name."""
        return self.table.columns.get(name)

    def missing(self, name: str) -> BoolArray:
        """bool (n_rows,): which cells are missing."""
        column = self.table.columns[name]
        if column.numbers is None:
            return column.missing
        found: BoolArray = column.missing | np.isnan(column.numbers)
        return found

    def numbers(self, name: str) -> FloatArray:
        """float64 (n_rows,), NaN where missing."""
        found = self.table.columns[name].numbers
        assert found is not None, "a column of numbers"
        return found

    def ranks(self, type_: ColumnType) -> IntArray:
        """int64 (n_rows,): the level of each cell by its place, `MISSING` or `UNKNOWN`."""
        key = (type_.name, type_.levels, type_.by_value)
        if key not in self._ranks:
            column = self.table.columns[type_.name]
            levels = Levels(type_.levels)
            by_value = column.by_value or type_.by_value
            texts, places = column.distinct
            known = [levels.of_cell(text, by_value=by_value) for text in texts]
            ranks = np.array([*known, MISSING], dtype=np.int64)[places]  # -1 is a missing cell's
            self._ranks[key] = ranks
        return self._ranks[key]

    # ---- what rows are

    @cached_property
    def all_rows(self) -> BoolArray:
        """bool (n_rows,): all rows."""
        return np.ones(self.n_rows, dtype=bool)

    @cached_property
    def classes(self) -> IntArray:
        """int64 (n_rows,): the class of each row, as its place among the classes."""
        (name,) = self.problem.target.names
        return self.ranks(self._types[name])

    @cached_property
    def truth(self) -> FloatArray:
        """float64 (n_rows, n_targets): what rows hold for number targets."""
        return np.column_stack([self.numbers(name) for name in self.problem.target.names])

    def count(self, rows: BoolArray) -> Fraction:
        """How many rows a mask, bool (n_rows,), has."""
        return Fraction(int(rows.sum()))

    def weight(self, rows: BoolArray | IntArray) -> Fraction:
        """The weight of some rows: a mask, or their places."""
        return Fraction(int(self.units[rows].sum()), self.denominator)

    def of_group(self, args: Sequence[Arg]) -> BoolArray:
        """bool (n_rows,): the rows of the group among some arguments; all without one."""
        group = next((arg for arg in args if isinstance(arg, GroupArg)), None)
        return self.all_rows if group is None else self.group(group.name)

    def group(self, name: str) -> BoolArray:
        """bool (n_rows,): the rows of a group."""
        if name not in self._groups:
            (condition,) = (one.condition for one in self.problem.groups if one.name == name)
            self._groups[name] = self._holds(condition)
        return self._groups[name]

    def name_values(self, column: str, rows: BoolArray) -> dict[str, str]:
        """Make groups of the values of a column that some rows have: their names, by the value."""
        cells, found = self.table.columns[column], dict[str, str]()
        said = column if column.isidentifier() else f"`{column}`"
        number = self._types[column].kind == "number"
        for row in np.flatnonzero(rows).tolist():
            text = number_text(float(self.numbers(column)[row])) if number else cells.texts[row]
            if text not in found:
                shown = text if number else f'"{text}"'
                found[text] = name = f"{said} = {shown} (no training row)"
                self._groups[name] = np.zeros(self.n_rows, dtype=bool)
            self._groups[found[text]][row] = True
        return found

    # ---- groups

    def _holds(self, condition: CellCondition) -> BoolArray:
        found: BoolArray
        match condition:
            case CellCompare():
                return self._compare(condition.column, condition.op, condition.value)
            case CellIn():
                found = np.zeros(self.n_rows, dtype=bool)
                for value in condition.values:
                    found = found | self._compare(condition.column, "=", value)
                return found
            case CellMissing():
                return self.missing(condition.column)
            case RowIn():
                if not self.training:
                    raise NoValue("the measure refers to training rows")
                found = np.isin(np.arange(self.n_rows), condition.rows)
                return found
            case CellNot():
                return ~self._holds(condition.operand)
            case CellAnd():
                found = np.all([self._holds(item) for item in condition.items], axis=0)
                return found
            case CellOr():
                found = np.any([self._holds(item) for item in condition.items], axis=0)
                return found
            case _:
                assert_never(condition)

    def _compare(self, name: str, op: str, value: Fraction | str) -> BoolArray:
        """Cells against a constant; false where a cell is missing."""
        type_ = self._types[name]
        there = ~self.missing(name)
        found: BoolArray
        if type_.kind == "number":
            assert not isinstance(value, str), "analysis compares numbers with numbers"
            found = ORDER[op](self.numbers(name), nearest(value)) & there
            return found
        ranks, rank = self.ranks(type_), Levels(type_.levels).of_literal(value)
        if op == "!=":
            found = there if rank < 0 else there & (ranks != rank)
        elif rank < 0:
            found = np.zeros(self.n_rows, dtype=bool)
        else:
            found = there & (ranks >= 0) & ORDER[op](ranks, rank)
        return found

    # ---- weights

    def _weights(self, data: Dataset) -> tuple[IntArray | ObjectArray, int]:
        """Weights as their cells write them: decimals, or the simple fractions that long decimals
        represent.

        Those of the data are taken only where these would sum beyond what is exact.
        """
        name = self.problem.weight
        if name is None or name not in self.table.columns:
            return np.ones(self.n_rows, dtype=np.int64), 1
        values, where = np.unique(self.numbers(name), return_inverse=True)
        written = [_stands_for(value) for value in values.tolist()]
        denominator = math.lcm(*(weight.denominator for weight in written))
        units = [int(weight * denominator) for weight in written]
        counts = np.bincount(where, minlength=len(units)).tolist()
        if sum(unit * count for unit, count in zip(units, counts, strict=True)) <= EXACT:
            return np.array(units, dtype=np.int64)[where], denominator
        given = data.weights
        first = np.zeros(len(units), dtype=np.int64)
        first[where] = given.numerators
        apart = max(
            abs(Fraction(unit, given.denominator) - weight)
            for unit, weight in zip(first.tolist(), written, strict=True)
        )
        if bool((first[where] == given.numerators).all()):
            self.rounding = apart / max(written)
        else:
            self.rounding = Fraction(1)
        if self.may_round:
            return given.numerators, given.denominator
        return np.array(units, dtype=np.object_)[where], denominator


def _stands_for(weight: float) -> Fraction:
    """The decimal of a weight; of 14 digits and more, as a third has, and below a million the
    fraction with a denominator up to 1,000 that is the same float, if any."""
    text = repr(weight)
    if sum(map(str.isdigit, text.partition("e")[0].lstrip("0."))) >= 14 and weight < 10**6:
        for under in range(1, 1001):
            over = round(Fraction(weight) * under)
            if over / under == weight:
                return Fraction(over, under)
    return Fraction(Decimal(text))


def nearest(value: Fraction) -> float:
    """The float64 nearest to an exact number."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


class Levels:
    """Levels by what a cell or a resolved literal writes.

    A cell is the level of its text. Where cells or levels came as numbers of a frame, which have
    no writing of their own, a cell is else the first level that reads as its number.
    """

    def __init__(self, levels: Sequence[Value]) -> None:
        self._of_text = {level_text(level): place for place, level in enumerate(levels)}
        self._of_number: dict[float, int] = {}
        for place, level in enumerate(levels):
            number = reading(level) if isinstance(level, str) else level
            if number is not None:
                self._of_number.setdefault(number, place)
        self._numeric = {one: at for at, one in enumerate(levels) if not isinstance(one, str)}

    def of_cell(self, text: str, *, by_value: bool) -> int:
        """The place of a cell's level, or `UNKNOWN`."""
        if text in self._of_text or not by_value:
            return self._of_text.get(text, UNKNOWN)
        number = reading(text)
        return UNKNOWN if number is None else self._of_number.get(number, UNKNOWN)

    def of_literal(self, value: str | Fraction) -> int:
        """The position of the level that a literal denotes, or `UNKNOWN`."""
        if isinstance(value, str):
            return self._of_text.get(value, UNKNOWN)
        whole = value.denominator == 1
        return self._numeric.get(value.numerator if whole else nearest(value), UNKNOWN)
