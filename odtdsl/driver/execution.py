"""The steps of a solve, one after the other, until one of them closes the problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.backends.base import BackEnd, Limits, Progress, RawAnswer, Report, StageOutcome
from odtdsl.backends.steps import Step
from odtdsl.driver.starts import best_start
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, LinearStage, Origin, SignedAtom
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawModel

if TYPE_CHECKING:
    from odtdsl.backends.exact.diagrams import DiagramSearch

ORIGIN = Origin(rule="objective")
CLOSED = ("optimal", "infeasible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """An answer, the steps that led to it, in order, and the model that they began from."""

    answer: RawAnswer
    steps: tuple[Step, ...]
    start: RawModel | None


def run(
    core: Core,
    steps: Sequence[Step],
    back_end: BackEnd,
    limits: Limits,
    start: RawModel | None,
    report: Report | None,
) -> Ran:
    """Take steps in turn until the problem is closed or a limit is met.

    Parameters
    ----------
    core, limits, report
        As for a back end.
    steps
        Those of a choice: first its starts, if any, and at least one that is none.
    back_end
        That of the last step.
    start
        A model that keeps all rules, or None.
    """
    best = start
    begun = tuple(step for step in steps if step.kind == "start")
    todo = tuple(steps[len(begun) :])
    for step in begun:
        best = best_start(core, step, limits, best, report)
        if not step.brief:
            start = best
    if todo[0].kind == "whole":
        answer, ran = back_end.solve(core, limits, start, report), todo
    else:
        answer, ran = _diagrams(core, todo, back_end, limits, start, report)
    return Ran(answer=answer, steps=(*begun, *ran), start=best)


def _diagrams(
    core: Core,
    todo: tuple[Step, ...],
    back_end: BackEnd,
    limits: Limits,
    start: RawModel | None,
    report: Report | None,
) -> tuple[RawAnswer, tuple[Step, ...]]:
    """The steps of diagrams by `exact`, and what they leave open by another back end."""
    from odtdsl.backends.exact.backend import Exact

    def rest(search: DiagramSearch, before: RawAnswer) -> RawAnswer:
        return _rest(core, search, before, back_end, limits, report)

    return Exact().diagrams(core, todo, limits, start, report, rest)


# ---- what is left open


def _rest(
    core: Core,
    search: DiagramSearch,
    before: RawAnswer,
    back_end: BackEnd,
    limits: Limits,
    report: Report | None,
) -> RawAnswer:
    """A back end's answer for what is better than the best, in the room that is left."""
    asked = core
    if before.diagram is not None:
        trees = search.trees
        most, widths = trees.room()
        value = trees.upper() + trees.least
        asked = _better(core, value, trees.floor_of(search.bound), most, widths)
    found = back_end.solve(asked, limits, None, _lifted(report, before))
    return _joined(core, before, found)


def _better(core: Core, value: int, floor: int, most: int, widths: tuple[int, ...]) -> Core:
    """The problem of a diagram with a smaller numerator than `value`; not below `floor`."""
    (stage,) = core.objective
    assert isinstance(stage, LinearStage)
    assert isinstance(core.skeleton, DiagramSkeleton)
    measure = stage.measure
    bounds = (
        (measure, value - 1),
        (measure.scaled(Fraction(-1)), -floor),
        (Additive(splits=1), most),
    )
    return replace(
        core,
        skeleton=replace(core.skeleton, widths=widths),
        clauses=(*core.clauses, *(_clause(m, at_most) for m, at_most in bounds)),
    )


def _clause(measure: Additive, at_most: int) -> Clause:
    atom = Linear(measure=replace(measure, denominator=1), at_most=at_most)
    return Clause(
        scope=Scope.MODEL, literals=(SignedAtom(atom=atom, positive=True),), origin=ORIGIN
    )


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
        return replace(found, status="optimal", diagram=before.diagram, stages=(stage,))
    (now,) = found.stages or (StageOutcome(value=None, bound=None, proven=False),)
    bounds = [b for b in (known.bound, now.bound) if b is not None]
    bound = max(bounds, default=None)
    if found.diagram is None:
        if known.value is not None:
            bound = None if bound is None else min(bound, known.value)
        stage = replace(known, bound=bound)
        return replace(found, status=before.status, diagram=before.diagram, stages=(stage,))
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
