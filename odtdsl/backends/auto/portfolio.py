"""The steps of a solve, one after the other, until one of them closes the problem."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from odtdsl.backends.answers import never_worse
from odtdsl.backends.auto.starts import best_start, late_start, spared
from odtdsl.backends.base import BackEnd, Limits, Progress, RawAnswer, Report, StageOutcome
from odtdsl.backends.registry import back_end
from odtdsl.backends.steps import Step
from odtdsl.backends.stepwise import CLOSED, take
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawModel


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Steps in turn: first the starts, if any, and at least one that is none.

    Parameters
    ----------
    steps
        Those of a choice.
    last
        The back end of the last step, with its options. Those before it have none.
    """

    steps: tuple[Step, ...]
    last: BackEnd

    def sizes(self, core: Core) -> tuple[tuple[tuple[str, int], ...], ...]:
        """Of each step, the size of its encoding of the whole problem; empty where it has none."""
        return tuple(
            ()
            if step.kind in ("start", "shapes")  # one scans candidates, the other reads `trees`
            else self._engine(step).size(core)
            for step in self.steps
        )

    def _engine(self, step: Step) -> BackEnd:
        return self.last if step.backend == self.last.name else back_end(step.backend)

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Take the steps until the problem is closed or a limit is met.

        Returns
        -------
        RawAnswer
            With the steps that were taken; no worse than what they began from.
        """
        best = start
        begun = tuple(step for step in self.steps if step.kind == "start" and not step.late)
        late = tuple(step for step in self.steps if step.late)
        todo = self.steps[len(begun) : len(self.steps) - len(late)]
        for step in begun:
            best = best_start(core, step, limits, best, report)
            if not step.brief:
                start = best
        began = time.monotonic()
        whole = limits
        if late and (seconds := spared(core, limits)) and limits.deadline is not None:
            limits = replace(limits, deadline=limits.deadline - seconds)
        first = self._engine(todo[0])
        search = first.begin(core, limits, start, report) if todo[0].kind != "whole" else None
        if search is None:
            answer = replace(first.solve(core, limits, start, report), steps=todo)
        else:

            def rest(before: RawAnswer) -> RawAnswer:
                told = _lifted(report, before)
                return _joined(
                    core, before, self.last.solve(search.left_open(), limits, None, told)
                )

            answer = take(search, todo, limits, rest)
        answer = never_worse(core, answer, best)
        taken = (*begun, *answer.steps)
        seconds = time.monotonic() - began
        for step in late:
            if _cut_off(core, answer, limits, whole):
                grown = late_start(core, whole)
            elif _wanted_late(step, answer, whole, seconds):
                grown = best_start(core, step, whole, answer.model, report)
            else:
                continue
            answer = never_worse(core, answer, grown)
            taken = (*taken, step)
        return replace(answer, steps=taken)


def _cut_off(core: Core, answer: RawAnswer, limits: Limits, whole: Limits) -> bool:
    """Whether a limit ended a search without a proof, with something left of it for growth.

    Where steps are counted, the clock must not decide.
    """
    if answer.status in CLOSED or answer.model is None or core.targets is not None:
        return False
    if whole.interrupted() or whole.left() == 0:
        return False
    return limits.steps is not None or (limits is not whole and limits.left() == 0)


def _wanted_late(step: Step, answer: RawAnswer, limits: Limits, seconds: float) -> bool:
    """Whether a first tree may still have something to add to the answer of a search."""
    if answer.status in CLOSED:
        return False
    return answer.model is None or limits.steps is not None or seconds < step.least


# ---- what is left open


def _joined(core: Core, before: RawAnswer, found: RawAnswer) -> RawAnswer:
    """The better of both diagrams, with the bound of both."""
    (known,) = before.stages
    found = replace(
        found,
        timeline=(*before.timeline, *found.timeline),
        counters=(*before.counters, *found.counters),
    )
    if found.status == "infeasible":
        if known.value is None:
            return found
        stage = replace(known, bound=known.value, proven=True)  # nothing is better
        return replace(found, status="optimal", model=before.model, stages=(stage,))
    (now,) = found.stages or (StageOutcome(value=None, bound=None, proven=False),)
    bounds = [b for b in (known.bound, now.bound) if b is not None]
    bound = max(bounds, default=None)
    if found.diagram is None:
        if known.value is not None:
            bound = None if bound is None else min(bound, known.value)
        stage = replace(known, bound=bound)
        return replace(found, status=before.status, model=before.model, stages=(stage,))
    value = DiagramEvaluation(core, found.diagram).stage_value(core.objective[0])
    proven = found.status == "optimal" or (bound is not None and bound >= value)
    stage = StageOutcome(value=value, bound=value if proven else bound, proven=proven)
    return replace(found, status="optimal" if proven else "feasible", stages=(stage,))


def _lifted(report: Report | None, before: RawAnswer) -> Report | None:
    """Progress of the back end, with the value and the bound that are known before it."""
    if report is None:
        return None
    (known,) = before.stages

    def told(progress: Progress) -> None:
        incumbent = known.value if progress.incumbent is None else progress.incumbent
        bounds = [b for b in (known.bound, progress.bound) if b is not None]
        report(replace(progress, incumbent=incumbent, bound=max(bounds, default=None)))

    return told
