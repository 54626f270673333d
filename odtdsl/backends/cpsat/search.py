"""One problem on CP-SAT, stage by stage, within its limits."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from math import ceil

from odtdsl.backends.base import Limits, Progress, RawAnswer, Report, StageOutcome, Status, started
from odtdsl.backends.cpsat.code import Code, coded
from odtdsl.backends.cpsat.program import Program, Run
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawModel

HINTED, HINTED_SHARE = 20.0, 0.3
"""The run that begins with the start ends after this effort (CP-SAT's deterministic time), or
this share of the time that is left: a start can keep CP-SAT from what it finds without one."""


class Stopped(Exception):
    """A limit was met."""


class Search:
    """The state of one solve.

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
        self.core, self.limits, self.report, self.floor = core, limits, report, floor
        self.began = time.monotonic()
        self.timeline: list[Progress] = []
        self.best: RawModel | None = None
        self.values: tuple[Fraction, ...] = ()
        self.lower: dict[int, Fraction] = {} if floor is None else {0: floor}
        self.size: tuple[tuple[str, int], ...] = ()
        self.counters = {"runs": 0, "branches": 0, "conflicts": 0}
        self.proven = 0
        if start is not None and not evaluated(core, start).violations():
            self._take(start)
            self._note(0)

    def run(self) -> RawAnswer:
        try:
            status = self._stages()
        except Stopped:
            status = "unknown" if self.best is None else "feasible"
        return self._answer(status)

    # ---- the course

    def _stages(self) -> Status:
        self._tick()
        code = coded(self.core, self._tick)
        self._tick()
        costs = [code.cost(stage) for stage in range(len(self.core.objective))]
        program = Program(code.formula, code.one_of, self._tick)
        self.size = (*code.formula.size(), ("sums", program.sums))
        for stage, (cost, whole) in enumerate(costs):
            program.minimize(cost)
            if stage in self.lower:
                program.bound(least=ceil(self.lower[stage] * whole))
            if not self._minimize(code, program, stage, whole):
                return "infeasible"
            program.bound(most=int(self.values[stage] * whole))
            self.proven = stage + 1
        return "optimal"

    def _minimize(self, code: Code, program: Program, stage: int, whole: int) -> bool:
        """The best model by one stage; False: there is none at all."""
        program.hint({})
        if self.best is not None:
            if self._settled(stage):
                return True
            program.hint(code.point(self.best))
            run = self._go(code, program, stage, whole, hinted=True)
            if run.verdict == "infeasible":
                raise RuntimeError(f"the model has no place for the start, at stage {stage + 1}")
            if self._settled(stage):
                return True
            program.hint({})
        cut = None
        if self.best is not None:
            cut = program.below(int(self.values[stage] * whole) - 1)
        run = self._go(code, program, stage, whole, hinted=False)
        if run.verdict == "infeasible":
            if self.best is None:
                return False
            self._raise(stage, self.values[stage])
        if cut is not None:
            program.release(cut)
        if not self._settled(stage):
            raise Stopped
        return True

    def _settled(self, stage: int) -> bool:
        return bool(self.values) and self.lower.get(stage) == self.values[stage]

    def _go(self, code: Code, program: Program, stage: int, whole: int, *, hinted: bool) -> Run:
        """One run; what it found and proved is kept."""
        self._tick()
        limits, most = self.limits, self.values[stage] if self.values else None
        if hinted and limits.deadline is not None:
            now = time.monotonic()
            limits = replace(limits, deadline=now + HINTED_SHARE * (limits.deadline - now))

        def bound(value: int) -> None:
            found = Fraction(value, whole)  # of what is below `most`
            self._raise(stage, found if most is None else min(found, most))

        def seen(value: int | None, least: int | None) -> None:
            if least is not None:
                bound(least)
            known = self.values[stage] if self.values else None
            now = known if value is None else Fraction(value, whole)
            self._note(stage, now if known is None or now is None else min(now, known))

        run = program.run(limits, HINTED if hinted else None, seen)
        for name, count in (("runs", 1), ("branches", run.branches), ("conflicts", run.conflicts)):
            self.counters[name] += count
        if run.true is not None:
            self._admitted(code.decode(run.true))
        if run.bound is not None:
            has_best = self.best is not None and (hinted or run.true is not None)
            if has_best and Fraction(run.bound, whole) > self.values[stage]:
                raise RuntimeError(f"CP-SAT's bound is above a model, at stage {stage + 1}")
            bound(run.bound)
        self._note(stage)
        return run

    def _admitted(self, model: RawModel) -> None:
        broken = evaluated(self.core, model).violations()
        if broken:
            raise RuntimeError(f"the model admits what breaks {broken[0]!r}")
        self._take(model)

    # ---- its state

    def _take(self, model: RawModel) -> None:
        found = evaluated(self.core, model)
        values = tuple(found.stage_value(stage) for stage in self.core.objective)
        if self.best is None or values < self.values:
            self.best, self.values = model, values

    def _raise(self, stage: int, bound: Fraction) -> None:
        known = self.lower.get(stage)
        if known is None or bound > known:
            self.lower[stage] = bound

    def _note(self, stage: int, incumbent: Fraction | None = None) -> None:
        known = self.values[stage] if self.values else None
        incumbent = known if incumbent is None else incumbent
        progress = Progress(
            stage=stage,
            incumbent=incumbent,
            bound=self.lower.get(stage),
            seconds=time.monotonic() - self.began,
            found=self.best if incumbent == known else None,  # a run tells values before models
        )
        last = self.timeline[-1] if self.timeline else None
        if last is not None and replace(last, seconds=progress.seconds) == progress:
            if last.found is not None or progress.found is None:
                return
            self.timeline.pop()
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)

    def _tick(self) -> None:
        late = self.limits.deadline is not None and time.monotonic() >= self.limits.deadline
        if late or self.limits.interrupted():
            raise Stopped

    def _answer(self, status: Status) -> RawAnswer:
        model = None if status == "infeasible" else self.best
        diagram = model if isinstance(model, RawDiagram) else None
        return RawAnswer(
            status=status,
            tree=started(model),
            diagram=diagram,
            stages=self._outcomes(status),
            timeline=tuple(self.timeline),
            size=self.size,
            counters=tuple(self.counters.items()),
            interrupted=status not in ("optimal", "infeasible") and self.limits.interrupted(),
        )

    def _outcomes(self, status: Status) -> tuple[StageOutcome, ...]:
        if status == "infeasible":
            return ()
        stages = range(len(self.core.objective) if self.best is not None else 1)
        return tuple(
            StageOutcome(
                value=self.values[i] if self.values else None,
                bound=self.lower.get(i),
                proven=i < self.proven,
            )
            for i in stages[: self.proven + 1]
        )
