"""The training rows under a problem: masks of groups, weights, labels, computed once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from typing import assert_never

import numpy as np

from odtdsl.data.dataset import Column, Dataset
from odtdsl.data.table import BoolArray, IntArray
from odtdsl.data.typing import level_index
from odtdsl.ir.expr import (
    CellAnd,
    CellCompare,
    CellCondition,
    CellIn,
    CellMissing,
    CellNot,
    CellOr,
    GroupArg,
    RowIn,
)  # fmt: skip
from odtdsl.ir.problem import Problem

_COMPARE: dict[str, Callable[..., BoolArray]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
    "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Rows:
    """A problem together with its training data.

    Attributes
    ----------
    problem, data
        As given.
    weights
        int64 (n_rows,): numerators of the row weights over `weight_denominator`.
    """

    def __init__(self, problem: Problem, data: Dataset) -> None:
        self.problem = problem
        self.data = data
        self.weights: IntArray = data.weights.numerators
        self.weight_denominator: int = data.weights.denominator
        self._masks: dict[str, BoolArray] = {}

    @property
    def n_rows(self) -> int:
        return self.data.n_rows

    @property
    def n_classes(self) -> int:
        return len(self.problem.target.classes)

    @cached_property
    def labels(self) -> IntArray:
        """int64 (n_rows,): class of each row; all zero for number targets."""
        labels = self.data.labels
        return np.zeros(self.n_rows, dtype=np.int64) if labels is None else labels

    def mask(self, group: GroupArg | None) -> BoolArray:
        """bool (n_rows,): the rows of a group; all rows for None."""
        if group is None:
            return np.ones(self.n_rows, dtype=bool)
        if group.name not in self._masks:
            for declared in self.problem.groups:
                if declared.name == group.name:
                    self._masks[group.name] = holds(declared.condition, self.data)
        return self._masks[group.name]

    def total_weight(self, mask: BoolArray) -> int:
        """Numerator of the weight of some rows."""
        return int(self.weights[mask].sum())


def holds(condition: CellCondition, data: Dataset) -> BoolArray:
    """bool (n_rows,): on which rows a group's condition holds."""
    match condition:
        case CellCompare():
            return _compare(data.columns[condition.column], condition)
        case CellIn():
            found = np.zeros(data.n_rows, dtype=bool)
            for value in condition.values:
                equal = CellCompare(column=condition.column, op="=", value=value)
                found |= _compare(data.columns[condition.column], equal)
            return found
        case CellMissing():
            return ~_present(data.columns[condition.column])
        case RowIn():
            found = np.zeros(data.n_rows, dtype=bool)
            found[list(condition.rows)] = True
            return found
        case CellNot():
            return ~holds(condition.operand, data)
        case CellAnd():
            return np.logical_and.reduce([holds(item, data) for item in condition.items])
        case CellOr():
            return np.logical_or.reduce([holds(item, data) for item in condition.items])
        case _:
            assert_never(condition)


def _present(column: Column) -> BoolArray:
    if column.numbers is not None:
        return ~np.isnan(column.numbers)
    assert column.codes is not None
    return column.codes >= 0


def _compare(column: Column, condition: CellCompare) -> BoolArray:
    compare = _COMPARE[condition.op]
    present = _present(column)
    if column.numbers is not None:
        with np.errstate(invalid="ignore"):
            return compare(column.numbers, float(condition.value)) & present
    assert column.codes is not None
    code = level_index(column.type.levels, condition.value)
    if code is None:  # a value that no row has, such as a category seen in no row
        return present if condition.op == "!=" else np.zeros(len(present), dtype=bool)
    return compare(column.codes, code) & present
