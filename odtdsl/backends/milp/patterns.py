"""Rows that no test can tell apart, merged: the unit of a model's flow.

All rows of a pattern reach the same leaf of every tree, so that measures are summed over
them first. A measure of a leaf's label is written as a worst case minus gains:
`sum over x of (worst[x] f[x] - sum over c of gain[x, c] g[x, c])`, where f says that
the pattern is in the leaf and g that it is there and the leaf's label is c. Gains are
never negative and every bound is from above, so that upper bounds on g are enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.forms import Additive, Core


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Patterns:
    """The distinct rows.

    Attributes
    ----------
    of_row
        int64 (n_rows,): pattern of each row.
    first
        int64 (n_patterns,): a row of each pattern, the first one.
    sizes
        int64 (n_patterns,): rows of each pattern.
    codes
        int64 (n_families, n_patterns).
    """

    of_row: IntArray
    first: IntArray
    sizes: IntArray
    codes: IntArray

    @property
    def count(self) -> int:
        """The number of patterns."""
        return len(self.first)

    def sum_rows(self, values: IntArray) -> IntArray:
        """Sums over the rows of each pattern: (n_patterns, ...) from (n_rows, ...)."""
        sums = np.zeros((self.count, *values.shape[1:]), dtype=np.int64)
        np.add.at(sums, self.of_row, values)
        return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gains:
    """A measure over patterns and labels, as worst case and gains.

    Attributes
    ----------
    worst
        int64 (n_patterns,): the value of each pattern under its worst label.
    gain
        int64 (n_patterns, n_labels): what each label is better than the worst, >= 0.
    """

    worst: IntArray
    gain: IntArray

    @property
    def by_label(self) -> IntArray:
        """int64 (n_patterns, n_classes): the measure itself."""
        return self.worst[:, None] - self.gain


def find_patterns(core: Core, tests: tuple[IntArray, ...]) -> Patterns:
    """Rows that no usable test tells apart, in the order of their first rows.

    Parameters
    ----------
    core
        The problem.
    tests
        Per family the ascending indices of its tests that some level admits.
    """
    seen = [seen_by(family, usable) for family, usable in zip(core.families, tests, strict=True)]
    table = np.array([np.zeros(core.n_rows, dtype=np.int64), *seen])
    _, first, inverse, sizes = np.unique(
        table, axis=1, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order].astype(np.int64)
    codes = [family.codes[first] for family in core.families]
    return Patterns(
        of_row=rank[inverse.reshape(-1)].astype(np.int64),
        first=first,
        sizes=sizes[order].astype(np.int64),
        codes=np.array(codes, dtype=np.int64).reshape(len(codes), len(first)),
    )


def seen_by(family: Family, usable: IntArray) -> IntArray:
    """What the usable tests of a family see of each row: int64 (n_rows,)."""
    if not len(usable):
        return np.zeros_like(family.codes)
    if family.kind != "threshold":
        return np.minimum(family.codes, family.n_tests)
    ranks = np.searchsorted(usable, family.codes).astype(np.int64)
    return ranks + (len(usable) + 1) * ~present(family, family.codes)


def present(family: Family, codes: IntArray) -> BoolArray:
    """Which codes stand for a cell that is not missing."""
    known: BoolArray = (codes >= 0) & (codes < len(family.values))
    return known if family.missing is not None else np.ones(len(codes), dtype=bool)


def gains_of(measure: Additive, patterns: Patterns, n_classes: int) -> Gains:
    """The rows and outputs of a measure, without its constant, columns and leaves.

    Where there are no classes, one label stands for all numbers.
    """
    table = np.zeros((patterns.count, max(1, n_classes)), dtype=np.int64)
    if measure.rows is not None:
        table += patterns.sum_rows(measure.rows)[:, None]
    if measure.output is not None:
        table += patterns.sum_rows(measure.output)
    worst = table.max(axis=1)
    return Gains(worst=worst, gain=worst[:, None] - table)


def gain_pairs(measures: list[Additive], patterns: Patterns, n_classes: int) -> BoolArray:
    """Which (pattern, label) pairs gain in any of the measures: bool (n_patterns, n_classes)."""
    found = np.zeros((patterns.count, n_classes), dtype=bool)
    for measure in measures:
        if measure.output is not None:
            found |= gains_of(measure, patterns, n_classes).gain > 0
    return found


def least_possible(measure: Additive, patterns: Patterns, n_classes: int) -> int:
    """A lower bound of the numerator of a model's measure, whatever the tree.

    Every pattern has its best label; splits and leaves count where they can only help
    (negative weights give no bound here and must be kept out by the caller).
    """
    gains = gains_of(measure, patterns, n_classes)
    return measure.constant + measure.leaves + int(gains.by_label.min(axis=1).sum())


def sends_left(
    core: Core, patterns: Patterns, inside: BoolArray, family: int, test: int
) -> BoolArray | None:
    """Which patterns a test sends left: bool (n_patterns,); None where it parts one of them.

    Parameters
    ----------
    core
        The problem.
    patterns
        Its patterns.
    inside
        bool (n_patterns,): those that reach the split; the others may be parted.
    family, test
        The test, which need not be usable.
    """
    form = core.families[family]
    left = form.goes_left(test)
    first = left[patterns.first]
    rows = inside[patterns.of_row]
    if (left[rows] != first[patterns.of_row[rows]]).any():
        return None
    return first
