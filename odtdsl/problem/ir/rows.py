"""The training rows under a problem: masks of groups, weights, labels, computed once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from typing import assert_never

import numpy as np

from odtdsl.datasets.dataset import MISSING_CODE, Column, Dataset
from odtdsl.datasets.levels import level_index
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import (
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
from odtdsl.problem.ir.intervals import nearest_float
from odtdsl.problem.ir.problem import Problem

_COMPARE: dict[str, Callable[..., BoolArray]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}
"""Comparisons of arrays; with NaN all are false but `!=`."""


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
        """The number of training rows."""
        return self.data.n_rows

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for number targets."""
        return len(self.problem.target.classes)

    @cached_property
    def may_miss(self) -> frozenset[str]:
        """The features of which a cell can be missing, and is in some training row.

        Of these alone pictures say where missing cells go; elsewhere it would be noise.
        """
        table = self.data.table
        return frozenset(
            name for name in self.problem.may_miss if table.columns[name].missing.any()
        )

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
            return ~present(data.columns[condition.column])
        case RowIn():
            found = np.zeros(data.n_rows, dtype=bool)
            found[list(condition.rows)] = True
            return found
        case CellNot():
            return ~holds(condition.operand, data)
        case CellAnd():
            every: BoolArray = np.logical_and.reduce([holds(i, data) for i in condition.items])
            return every
        case CellOr():
            some: BoolArray = np.logical_or.reduce([holds(i, data) for i in condition.items])
            return some
        case _:
            assert_never(condition)


def present(column: Column) -> BoolArray:
    """bool (n_rows,): the cells that are not missing; an unseen category is not missing."""
    found: BoolArray
    if column.numbers is not None:
        found = ~np.isnan(column.numbers)
        return found
    assert column.codes is not None
    found = column.codes != MISSING_CODE
    return found


def _compare(column: Column, condition: CellCompare) -> BoolArray:
    compare = _COMPARE[condition.op]
    found: BoolArray
    if column.numbers is not None:
        assert not isinstance(condition.value, str), "analysis compares numbers with numbers"
        found = compare(column.numbers, nearest_float(condition.value)) & present(column)
        return found
    assert column.codes is not None
    code = level_index(column.type.levels, condition.value)
    if code is None:  # a value that no row has
        return present(column) & (condition.op == "!=")
    found = compare(column.codes, code) & present(column)
    return found & (column.codes >= 0) if condition.op not in ("=", "!=") else found
