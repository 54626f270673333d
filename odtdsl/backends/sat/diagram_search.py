"""Diagrams on `sat`: rows as they are needed, stage by stage, within the limits.

As long as no measure speaks of rows, the formula begins without any, and does not ask that
splits part rows: what it then refutes is refuted. A diagram of it that predicts all rows as it
must is an answer if it also stands without the splits that part none; if not, all rows and that
demand come in.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.backends.base import Limits, Progress, RawAnswer, Report, StageOutcome, Status
from odtdsl.backends.clauses.diagram_rules import DiagramRules
from odtdsl.backends.clauses.diagrams import DiagramCode
from odtdsl.backends.clauses.lowering import demands
from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.sat.search import Asking, Bounded, Stopped, agreeing_on, checked
from odtdsl.backends.sat.solvers import DEFAULT
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, LinearStage
from odtdsl.problem.ir.raw import RawDiagram, RawNode


class DiagramSearch:
    """The state of one solve."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawDiagram | None,
        report: Report | None,
        solver: str = DEFAULT,
    ) -> None:
        self.core, self.limits, self.report = core, limits, report
        self.allowed, _, self.clauses = demands(core)
        self.began = time.monotonic()
        self.timeline: list[Progress] = []
        self.best: RawDiagram | None = None
        self.values: tuple[Fraction, ...] = ()
        self.lower: dict[int, Fraction] = {}
        self.proven = 0
        self.code = DiagramCode(core)
        self.code.formula.tick = lambda: checked(limits)
        self.asking = Asking(self.code.formula, limits, solver)
        self.whole = False
        if start is not None and not DiagramEvaluation(core, start).violations():
            self._take(start, 0)

    # ---- the course

    def run(self) -> RawAnswer:
        try:
            status = self._status()
        except Stopped:
            status = "unknown" if self.best is None else "feasible"
        finally:
            self.asking.close()
        return self._answer(status)

    def _status(self) -> Status:
        checked(self.limits)
        if not agreeing_on(self.core, self.allowed):
            return "infeasible"
        self.rules = DiagramRules(self.code)
        if any(map(of_rows, measures(self.core, self.clauses))):
            self._complete()
        for clause in self.clauses:
            self.rules.add(clause)
        if self.best is None:
            found = self._diagram([], None)
            if found is None:
                return "infeasible"
            self._take(found, 0)
        for stage in range(len(self.core.objective)):
            self._minimize(stage)
            self.proven = stage + 1
        return "optimal"

    def _minimize(self, stage: int) -> None:
        """Better and better diagrams, until there is none."""
        form, formula = self.core.objective[stage], self.code.formula
        total = Bounded(formula, self.rules.stage(form))
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
            self._take(found, stage)
        self.lower[stage] = self.values[stage]
        self._note(stage)
        formula.group(f"objective stays at {self.values[stage]}", "objective")
        total.at_most(int(self.values[stage] * whole), ())

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
            true = self.asking.true(assumptions)
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
        kept = all(evaluation.stage_value(stages[i]) == self.values[i] for i in range(self.proven))
        return kept and (below is None or evaluation.stage_value(stages[below[0]]) < below[1])

    # ---- its state

    def _take(self, raw: RawDiagram, stage: int) -> None:
        evaluation = DiagramEvaluation(self.core, raw)
        self.best = raw
        self.values = tuple(evaluation.stage_value(one) for one in self.core.objective)
        self._note(stage)

    def _note(self, stage: int) -> None:
        progress = Progress(
            stage=stage,
            incumbent=self.values[stage] if self.values else None,
            bound=self.lower.get(stage),
            seconds=time.monotonic() - self.began,
            found=self.best,
        )
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)

    def _answer(self, status: Status) -> RawAnswer:
        outcomes: list[StageOutcome] = []
        if status != "infeasible":
            many = self.proven + 1 if self.best is not None else 1
            for stage in range(min(many, len(self.core.objective))):
                value = self.values[stage] if self.values else None
                outcomes.append(
                    StageOutcome(
                        value=value, bound=self.lower.get(stage), proven=stage < self.proven
                    )
                )
        counters = (("calls", self.asking.calls), ("rows", self.code.kinds_in))
        return RawAnswer(
            status=status,
            tree=None,
            diagram=self.best if status != "infeasible" else None,
            stages=tuple(outcomes),
            timeline=tuple(self.timeline),
            size=self.code.formula.size(),
            counters=counters,
            interrupted=status not in ("optimal", "infeasible") and self.limits.interrupted(),
        )


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
