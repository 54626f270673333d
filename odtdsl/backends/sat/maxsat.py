"""Sums made least by MaxSAT (`--solver rc2`); `search` bounds them by one tree after another.

The clauses are hard, and each literal of the sum is a soft one that is false. RC2 raises a lower
bound, core by core, until a tree has it: between the first tree and the best it has none to show.

Source: Ignatiev, Morgado and Marques-Silva, "RC2: an efficient MaxSAT solver" (JSAT 2019).
"""

from __future__ import annotations

from fractions import Fraction

from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import Lowered
from odtdsl.backends.sat.search import DepthSolver, Goal, Search, stopped, watched
from odtdsl.backends.staged import Stopped
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import LinearStage


class MaxSatSearch(Search):
    """A first tree and depths by a SAT solver, sums by RC2."""

    def _improve(self, live: DepthSolver, stage: int) -> None:
        form = self.core.objective[stage]
        if not isinstance(form, LinearStage):
            super()._improve(live, stage)
            return
        lowered = live.lowered
        assert isinstance(lowered, Lowered), "the study's encoding has its own search"
        lowered.add_rows(range(self.core.n_rows))
        lowered.formula.group(f"what counts for stage {stage + 1}", "objective")
        constant, weighted = lowered.rules.terms(form.measure, Scope.MODEL, 0).positive()
        least, true = self._least(lowered.formula, weighted)
        value = Fraction(constant + least, form.measure.denominator)
        if self.raise_bound(stage, value):
            self.tell(stage)
        if true is None:
            raise Stopped
        self.take(lowered.tree.decode(true), stage)
        if self.values[stage] != value:
            raise RuntimeError(f"the tree of the least sum has {self.values[stage]}, not {value}")
        lowered.formula.group(f"objective stays at {value}", "objective")
        Goal(lowered, stage).at_most(value)

    def _least(
        self, formula: Formula, weighted: list[tuple[int, int]]
    ) -> tuple[int, set[int] | None]:
        """The least sum and the true variables of a model that has it; None, where a limit came
        first, with a sum that none is below."""
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        if stopped(self.limits):
            raise Stopped
        asked = WCNF()
        asked.extend(map(list, formula.clauses))
        asked.nv = max(asked.nv, formula.top)
        for literal, weight in weighted:
            asked.append([-literal], weight=weight)
        with RC2(asked, adapt=True, exhaust=True, minz=True) as solver:
            with watched(self.limits, solver.interrupt):
                model = solver.compute(expect_interrupt=True)
            return solver.cost, None if model is None else {x for x in model if x > 0}
