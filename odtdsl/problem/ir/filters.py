"""The thresholds that candidates and rules admit together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.families import Family, admissible
from odtdsl.problem.ir.forms import SplitFilter
from odtdsl.problem.ir.intervals import FULL, RealSet


def by_column(filters: Iterable[SplitFilter]) -> dict[int, list[SplitFilter]]:
    """The filters of each column that has some: there may be one per column, and thousands."""
    found: dict[int, list[SplitFilter]] = {}
    for rule in filters:
        found.setdefault(rule.column, []).append(rule)
    return found


def threshold_set(family: Family, filters: Iterable[SplitFilter], level: int) -> RealSet:
    """The thresholds (for other kinds: all or none) that candidates and rules admit."""
    allowed = family.domain
    for rule in filters:
        if rule.column == family.column and (rule.levels is None or level in rule.levels):
            allowed = allowed & rule.allowed
    return allowed.whole() if family.whole else allowed


def tests_at(family: Family, filters: Iterable[SplitFilter], level: int) -> BoolArray:
    """bool (n_tests,): the tests that candidates and rules admit at a level, whatever the rows."""
    return admissible(family, threshold_set(family, filters, level))


def placing(family: Family, filters: Iterable[SplitFilter], level: int) -> RealSet:
    """Where the threshold of a split comes out: on the grid wherever one of a gap may stand.

    It admits something of a gap iff `threshold_set` does.
    """
    allowed = threshold_set(family, filters, level)
    if family.grid == FULL or allowed == FULL:
        return allowed & family.grid
    found = allowed & family.grid
    for test in np.flatnonzero(admissible(family, allowed) & ~admissible(family, found)).tolist():
        low, high = float(family.values[test]), float(family.values[test + 1])
        gap = RealSet.above(low, closed=True) & RealSet.below(high, closed=False)
        found = found | (allowed & gap)
    return found
