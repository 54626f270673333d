"""Diagrams on `sat`: rows as they are needed, stage by stage, within the limits.

As long as no measure speaks of rows, the formula begins without any, and does not ask that
splits part rows: what it then refutes is refuted. A diagram of it that predicts all rows as it
must is an answer if it also stands without the splits that part none; if not, all rows and that
demand come in.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.backends.base import Limits, Report
from odtdsl.backends.clauses.diagram_rules import DiagramRules
from odtdsl.backends.clauses.diagrams import DiagramCode
from odtdsl.backends.clauses.lowering import demands
from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.sat.search import BoundedSum, IncrementalSolver, agreeing_on, checked
from odtdsl.backends.sat.solvers import DEFAULT
from odtdsl.backends.staged import StagedSearch
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, LinearStage
from odtdsl.problem.ir.raw import RawDiagram, RawNode


class DiagramSearch(StagedSearch[RawDiagram]):
    """The state of one solve; the depth is a stage like others."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawDiagram | None,
        report: Report | None,
        solver: str = DEFAULT,
    ) -> None:
        super().__init__(core, limits, report)
        self.allowed, _, self.clauses = demands(core)
        self.code = DiagramCode(core)
        self.code.formula.tick = lambda: checked(limits)
        self.incremental = IncrementalSolver(self.code.formula, limits, solver)
        self.whole = False
        if start is not None and not DiagramEvaluation(core, start).violations():
            self.take(start)

    # ---- the course

    def possible(self) -> bool:
        """Whether rows that no test tells apart may be predicted alike."""
        checked(self.limits)
        return agreeing_on(self.core, self.allowed)

    def close(self) -> None:
        """Let go of the solver."""
        self.incremental.close()

    def _begin(self) -> None:
        """All rules, and the rows where some measure speaks of them."""
        self.rules = DiagramRules(self.code)
        if any(map(of_rows, measures(self.core, self.clauses))):
            self._complete()
        for clause in self.clauses:
            self.rules.add(clause)

    def minimize(self, stage: int) -> bool:
        """Better and better diagrams, until there is none."""
        if stage == 0:
            self._begin()
        if self.best is None:
            first = self._diagram([], None)
            if first is None:
                return False
            self.take(first)
        form, formula = self.core.objective[stage], self.code.formula
        total = BoundedSum(formula, self.rules.stage(form))
        whole = form.measure.denominator if isinstance(form, LinearStage) else 1
        while True:
            value = self.values[stage]
            better = formula.variable(f"stage {stage + 1} is below {value}")
            formula.group(f"objective below {value}", "objective")
            total.at_most(int(value * whole) - 1, (-better,))
            found = self._diagram([better], (stage, value))
            formula.add(-better)
            if found is None:
                break
            self.take(found, stage)
        self.raise_bound(stage, self.values[stage])
        self.tell(stage)
        formula.group(f"objective stays at {self.values[stage]}", "objective")
        total.at_most(int(self.values[stage] * whole), ())
        return True

    # ---- the formula

    def _complete(self) -> None:
        """All rows, and splits that part them."""
        self.whole = True
        before = set(self.code.pred)
        self.code.part_rows()
        self._allow(set(self.code.pred) - before)

    def _allow(self, kinds: set[int]) -> None:
        self.code.formula.group("rows end as they must")
        for kind in sorted(kinds):
            rows = self.code.kind_of == kind
            self.code.allow(kind, self.allowed[rows].all(axis=0))

    def _diagram(
        self, assumptions: list[int], below: tuple[int, Fraction] | None
    ) -> RawDiagram | None:
        """A diagram that keeps all of the problem and has a stage below a value, where asked."""
        while True:
            true = self.incremental.true(assumptions)
            if true is None:
                return None
            found = self.code.decode(true)
            if self.whole:
                if not self._stands(found, below):
                    raise RuntimeError("the formula admits a diagram that breaks a rule")
                return found
            wrong = self._wrong(found)
            if wrong:
                self.code.add_kinds(sorted(wrong))
                self._allow(wrong)
                continue
            smaller = parting(self.core, found)
            if smaller is not None and self._stands(smaller, below):
                return smaller
            self._complete()

    def _wrong(self, raw: RawDiagram) -> set[int]:
        """A kind of rows per arc that must not end as it does."""
        evaluation = DiagramEvaluation(self.core, raw)
        bad = ~self.allowed[np.arange(self.core.n_rows), evaluation.predicted]
        found: set[int] = set()
        if raw.entry < 0:
            found.update(self.code.kind_of[np.flatnonzero(bad)[:1]].tolist())
        for visit in evaluation.visits:
            for arc, here in ((visit.node.left, visit.left), (visit.node.right, ~visit.left)):
                if arc < 0:
                    rows = visit.rows[here]
                    found.update(self.code.kind_of[rows[bad[rows]][:1]].tolist())
        return found

    def _stands(self, raw: RawDiagram, below: tuple[int, Fraction] | None) -> bool:
        """Whether a diagram keeps all rules, the stages that are proven, and the bound."""
        evaluation = DiagramEvaluation(self.core, raw)
        if evaluation.violations():
            return False
        stages = self.core.objective
        before = 0 if below is None else below[0]
        kept = all(evaluation.stage_value(stages[i]) == self.values[i] for i in range(before))
        return kept and (below is None or evaluation.stage_value(stages[below[0]]) < below[1])

    def size(self) -> tuple[tuple[str, int], ...]:
        """Of the formula."""
        return self.code.formula.size()

    def counters(self) -> tuple[tuple[str, int], ...]:
        """Calls of the solver, and kinds of rows in the formula."""
        return (("calls", self.incremental.calls), ("rows", self.code.kinds_in))


def measures(core: Core, clauses: tuple[Clause, ...]) -> list[Additive]:
    """Those of some clauses and of the objective."""
    found = [
        signed.atom.measure
        for clause in clauses
        for signed in clause.literals
        if isinstance(signed.atom, Linear)
    ]
    return found + [one.measure for one in core.objective if isinstance(one, LinearStage)]


def of_rows(measure: Additive) -> bool:
    """Whether a measure speaks of rows."""
    parts = (measure.rows, measure.output)
    return any(part is not None and part.any() for part in parts)


def parting(core: Core, raw: RawDiagram) -> RawDiagram | None:
    """The diagram without the splits that send all rows one way; None where that has no form."""
    layers: list[list[RawNode | None]] = [list(layer) for layer in raw.layers]
    for visit in DiagramEvaluation(core, raw).visits:
        if visit.left.all() or not visit.left.any():
            # A node that no row comes to goes anywhere: to a class, if it has an arc to one.
            arcs = (visit.node.left, visit.node.right)
            way = arcs[0] if visit.left.any() else arcs[1] if visit.rows.size else min(arcs)
            layers[visit.level][visit.position] = replace(visit.node, left=way, right=way)
    return folded(Draft(entry=raw.entry, layers=layers))
