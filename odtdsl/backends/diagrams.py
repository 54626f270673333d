"""Solving diagrams: bounds by trees, then shape by shape, then a back end on what is left."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import BackEnd, Limits, Progress, RawAnswer, Report, StageOutcome
from odtdsl.backends.native import engine
from odtdsl.exact.unrolled import QUICK, Unrolled, as_diagram
from odtdsl.exact.unrolled_rules import first
from odtdsl.ir.diagrams import DiagramEvaluation
from odtdsl.ir.expr import Scope
from odtdsl.ir.forms import Additive, Clause, Core, Linear, LinearStage, Origin, SignedAtom
from odtdsl.ir.problem import DiagramSkeleton
from odtdsl.ir.raw import RawDiagram

SHARE = 0.35
"""Of the time, how much the bounds by trees may take."""

OF_SHAPES = 0.75
"""Of the time that is left then, how much the search by shapes may take."""

BY_EXACT = "by_exact"
"""The counter of a proof by `exact` alone: the back end that was chosen was not asked."""

ORIGIN = Origin(rule="objective")


def solve_diagram(
    core: Core, back_end: BackEnd, limits: Limits, start: RawDiagram | None, report: Report | None
) -> RawAnswer:
    """The answer of a back end, which is asked only for what `exact` does not prove.

    `Unrolled` gives the best tree that is a diagram, and a bound; `Layered` searches the shapes
    that these leave open. The back end then looks for a better diagram, in the widths that the
    shapes still open can fill. Without a start, the best tree under the rules may be one.
    """
    if not unrolls(core):
        return back_end.solve(core, limits, start, report)
    if start is None:
        start = _of_trees(core, _early(limits))
    if start is None:
        return back_end.solve(core, limits, None, report)
    early = _early(limits)
    trees = Unrolled(core, early, start, report, engine())
    bound = trees.bound()
    if trees.value is None:
        return back_end.solve(core, limits, start, report)
    answer = trees.answer(bound)
    if answer.status != "optimal" and not answer.interrupted:
        bound = max(bound, trees.by_shapes(_early(limits, OF_SHAPES).deadline))
        answer = trees.answer(bound)
    if answer.status == "optimal":
        return replace(answer, counters=(*answer.counters, (BY_EXACT, 1)))
    if answer.interrupted:
        return answer
    most, widths = trees.room()
    inner = _better(core, trees.value + trees.least, trees.floor_of(bound), most, widths)
    found = back_end.solve(inner, limits, None, _lifted(report, answer))
    return _joined(core, answer, found)


def _early(limits: Limits, share: float = SHARE) -> Limits:
    """The limits of what is asked of trees."""
    if limits.deadline is None:
        return limits
    now = time.monotonic()
    return replace(limits, deadline=now + share * max(0.0, limits.deadline - now))


def _of_trees(core: Core, limits: Limits) -> RawDiagram | None:
    """A tree that keeps the rules, where it is a diagram of the skeleton."""
    assert isinstance(core.skeleton, DiagramSkeleton)
    if limits.deadline is None and len(core.skeleton.widths) > QUICK:
        return None
    tree = first(core, core.skeleton.widths, limits)
    raw = None if tree is None else as_diagram(tree)
    return None if raw is None or DiagramEvaluation(core, raw).violations() else raw


def unrolls(core: Core) -> bool:
    """Whether bounds by trees say something: axis splits, one additive stage, prices >= 0."""
    if not isinstance(core.skeleton, DiagramSkeleton) or core.skeleton.splits != "axis":
        return False
    if len(core.objective) != 1:
        return False
    (stage,) = core.objective
    if not isinstance(stage, LinearStage) or stage.maxima or stage.path_sum is not None:
        return False
    measure = stage.measure
    return measure.columns is None and not measure.leaves and measure.splits >= 0


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
        core, skeleton=replace(core.skeleton, widths=widths),
        clauses=(*core.clauses, *(_clause(m, at_most) for m, at_most in bounds)),
    )  # fmt: skip


def _clause(measure: Additive, at_most: int) -> Clause:
    atom = Linear(measure=replace(measure, denominator=1), at_most=at_most)
    return Clause(
        scope=Scope.MODEL, literals=(SignedAtom(atom=atom, positive=True),), origin=ORIGIN
    )


def _joined(core: Core, trees: RawAnswer, found: RawAnswer) -> RawAnswer:
    """The better of both diagrams, with the bound of both."""
    (before,) = trees.stages
    assert before.value is not None
    if found.status == "infeasible":  # nothing is better
        stage = replace(before, bound=before.value, proven=True)
        return replace(
            trees, status="optimal", stages=(stage,), size=found.size,
            counters=(*trees.counters, *found.counters),
        )  # fmt: skip
    (now,) = found.stages or (StageOutcome(value=None, bound=None, proven=False),)
    bounds = [b for b in (before.bound, now.bound) if b is not None]
    bound = max(bounds, default=None)
    if found.diagram is None:
        bound = None if bound is None else min(bound, before.value)
        return replace(
            trees, stages=(replace(before, bound=bound),), size=found.size,
            interrupted=found.interrupted, counters=(*trees.counters, *found.counters),
        )  # fmt: skip
    value = DiagramEvaluation(core, found.diagram).stage_value(core.objective[0])
    proven = found.status == "optimal" or (bound is not None and bound >= value)
    return replace(
        found, status="optimal" if proven else "feasible",
        stages=(StageOutcome(value=value, bound=value if proven else bound, proven=proven),),
        timeline=(*trees.timeline, *found.timeline),
        counters=(*trees.counters, *found.counters),
    )  # fmt: skip


def _lifted(report: Report | None, trees: RawAnswer) -> Report | None:
    """Progress of the back end, with the value and the bound that are known from trees."""
    if report is None:
        return None
    (known,) = trees.stages

    def told(progress: Progress) -> None:
        incumbent = known.value if progress.incumbent is None else progress.incumbent
        bounds = [b for b in (known.bound, progress.bound) if b is not None]
        report(replace(progress, incumbent=incumbent, bound=max(bounds, default=None)))

    return told
