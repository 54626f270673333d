"""The feature space beyond the training rows, for rules on the order of predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odtdsl.backends.exact.features import Features
from odtdsl.base import engine
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.intervals import FULL, RealSet

_SIDES = {None: -1, "left": 0, "right": 1}


Rule = tuple[int, int, bool]
"""A fact, the column whose order sets it, and whether predictions may not fall (else rise)."""

Kind = tuple[int, bool, bool]
Test = tuple[int, int, list[list[tuple[float, int, float, int]]], bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """What the engine reads of rules on the order of predictions, to place thresholds by.

    Attributes
    ----------
    column_kinds
        Per column the number of its values (-1 for numbers), whether there are values that no
        row has, whether cells are missing.
    tests
        Per feature the value that goes left (-1 for thresholds), the side of missing cells, per
        level the thresholds that may stand, and whether they are shortened.
    monotone
        The rules.
    steady
        Whether the threshold of a gap's lowest part never exceeds that of the whole gap, nor
        that of its highest part falls below it, and each column has one rule at most.
    cells
        float64 (n_columns, n_rows), numbers or indices of values, NaN where missing.
    """

    column_kinds: list[Kind]
    tests: list[Test]
    monotone: list[Rule]
    steady: bool
    cells: npt.NDArray[np.float64]

    def given(self) -> engine.Space:
        """For the engine."""
        return engine.Space(
            column_kinds=self.column_kinds,
            tests=self.tests,
            monotone=self.monotone,
            steady=self.steady,
            cells=self.cells,
        )


def space(core: Core, found: Features, depth: int, rules: list[Rule]) -> Space:
    """The space of a core, with rules on the order of predictions in it."""
    ruled = [column for _, column, _ in rules]
    family_of = {family.column: family for family in reversed(core.families)}
    columns = range(len(core.columns))
    return Space(
        column_kinds=[_kind(family_of.get(column)) for column in columns],
        tests=[_test(core, *test, depth) for test in found.tests] or [(0, -1, [], False)],
        monotone=rules,
        steady=len(set(ruled)) == len(ruled)
        and not core.filters
        and all(_steady(family) for family in core.families),
        cells=np.array([_cells(core, family_of.get(column)) for column in columns]),
    )


def _steady(family: Family) -> bool:
    """Midpoints and shortest decimals are; so are ranks with a threshold at each but the last."""
    if family.kind != "threshold" or family.domain == FULL:
        return True
    if not family.n_tests:
        return True
    low, high = float(family.values[0]), float(family.values[-1])
    between = RealSet((((low, 0), (high, 0)),))
    if (family.values != np.floor(family.values)).any():
        return False
    return family.domain & between == RealSet.points(range(int(low), int(high)))


def _known(family: Family) -> int:
    """Values, or bins, with those that no row is in: they have their place in the order too."""
    return len(family.values) - 1 if family.kind == "bin" else len(family.values)


def _kind(family: Family | None) -> Kind:
    if family is None:
        return (-1, False, False)
    missing = family.missing is not None
    if family.kind == "threshold":
        return (-1, False, missing)
    return (_known(family), family.kind != "bin", missing)


def _cells(core: Core, family: Family | None) -> npt.NDArray[np.float64]:
    if family is None:
        return np.zeros(core.n_rows)
    match family.kind:
        case "threshold":
            values = family.values
        case "bin":
            values = np.array(family.bins, dtype=np.float64)
        case _:
            values = np.arange(len(family.values), dtype=np.float64)
    present = (family.codes >= 0) & (family.codes < len(values))
    cells = np.full(core.n_rows, np.nan)
    cells[present] = values[family.codes[present]]
    return cells


def _test(core: Core, index: int, test: int, depth: int) -> Test:
    family = core.families[index]
    if test >= 0:
        return (family.bins[test] if family.bins else test, _SIDES[family.missing], [], False)
    by_levels = any(rule.levels is not None for rule in core.filters)
    sets = [
        placing(family, core.filters, level) for level in range(max(1, depth) if by_levels else 1)
    ]
    pieces = [[(a, left, b, right) for (a, left), (b, right) in one.pieces] for one in sets]
    return (-1, _SIDES[family.missing], pieces, family.shorten)
