"""One problem on CP-SAT, stage by stage, within its limits."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from math import ceil

from odtdsl.backends.base import Limits, Report
from odtdsl.backends.cpsat.code import Code, coded
from odtdsl.backends.cpsat.program import Program, Run
from odtdsl.backends.staged import StagedSearch
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawModel

HINTED, HINTED_SHARE = 20.0, 0.3
"""The run that begins with the start ends after this effort (CP-SAT's deterministic time), or
this share of the time that is left: a start can keep CP-SAT from what it finds without one."""


class Search(StagedSearch[RawModel]):
    """The state of one solve; the depth is a stage like others.

    Parameters
    ----------
    floor
        A proven lower bound of the first stage.
    """

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None,
        report: Report | None,
        floor: Fraction | None = None,
    ) -> None:
        super().__init__(core, limits, report)
        self.lower = {} if floor is None else {0: floor}
        self.done = {"runs": 0, "branches": 0, "conflicts": 0}
        self._size: tuple[tuple[str, int], ...] = ()
        if start is not None and not evaluated(core, start).violations():
            self.take(start)

    # ---- the course

    def minimize(self, stage: int) -> bool:
        """By a run from the best model, then by one for what is better."""
        if stage == 0:
            self._build()
        code, program, (cost, whole) = self.code, self.program, self.costs[stage]
        program.minimize(cost)
        if stage in self.lower:
            program.bound(least=ceil(self.lower[stage] * whole))
        if not self._least(code, program, stage, whole):
            return False
        if self.settled(stage):
            program.bound(most=int(self.values[stage] * whole))
        return True

    def _build(self) -> None:
        self.tick()
        self.code: Code = coded(self.core, self.tick)
        self.tick()
        self.costs = [self.code.cost(stage) for stage in range(len(self.core.objective))]
        self.program = Program(self.code.formula, self.code.one_of, self.tick)
        self._size = (*self.code.formula.size(), ("sums", self.program.sums))

    def _least(self, code: Code, program: Program, stage: int, whole: int) -> bool:
        """The best model by one stage; False: there is none at all."""
        program.hint({})
        if self.best is not None:
            if self.settled(stage):
                return True
            program.hint(code.point(self.best))
            run = self._go(code, program, stage, whole, hinted=True)
            if run.verdict == "infeasible":
                raise RuntimeError(f"the model has no place for the start, at stage {stage + 1}")
            if self.settled(stage):
                return True
            program.hint({})
        cut = None
        if self.best is not None:
            cut = program.below(int(self.values[stage] * whole) - 1)
        run = self._go(code, program, stage, whole, hinted=False)
        if run.verdict == "infeasible":
            if self.best is None:
                return False
            self.raise_bound(stage, self.values[stage])
        if cut is not None:
            program.release(cut)
        return True

    def _go(self, code: Code, program: Program, stage: int, whole: int, *, hinted: bool) -> Run:
        """One run; what it found and proved is kept."""
        self.tick()
        limits, most = self.limits, self.values[stage] if self.values else None
        if hinted and limits.deadline is not None:
            now = time.monotonic()
            limits = replace(limits, deadline=now + HINTED_SHARE * (limits.deadline - now))

        def bound(value: int) -> None:
            found = Fraction(value, whole)  # of what is below `most`
            self.raise_bound(stage, found if most is None else min(found, most))

        def seen(value: int | None, least: int | None) -> None:
            if least is not None:
                bound(least)
            known = self.values[stage] if self.values else None
            now = known if value is None else Fraction(value, whole)
            self.tell(stage, now if known is None or now is None else min(now, known))

        run = program.run(limits, HINTED if hinted else None, seen)
        for name, count in (("runs", 1), ("branches", run.branches), ("conflicts", run.conflicts)):
            self.done[name] += count
        if run.true is not None:
            self._admitted(code.decode(run.true))
        if run.bound is not None:
            has_best = self.best is not None and (hinted or run.true is not None)
            if has_best and Fraction(run.bound, whole) > self.values[stage]:
                raise RuntimeError(f"CP-SAT's bound is above a model, at stage {stage + 1}")
            bound(run.bound)
        self.tell(stage)
        return run

    def _admitted(self, model: RawModel) -> None:
        broken = evaluated(self.core, model).violations()
        if broken:
            raise RuntimeError(f"the model admits what breaks {broken[0]!r}")
        self.keep(model)

    def size(self) -> tuple[tuple[str, int], ...]:
        """Of the formula."""
        return self._size

    def counters(self) -> tuple[tuple[str, int], ...]:
        """What CP-SAT did, all runs together."""
        return tuple(self.done.items())
