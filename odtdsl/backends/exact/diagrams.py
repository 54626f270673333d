"""Diagrams on `exact`: good ones by moves, then a proof by trees and shape by shape."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from odtdsl.backends.base import Limits, Objection, RawAnswer, Report
from odtdsl.backends.exact.lowering import about_objective, size_of
from odtdsl.backends.exact.moves import PATIENCE, Moves
from odtdsl.backends.exact.unrolled import TreeSolver, Unrolled, as_trees
from odtdsl.backends.steps import Step
from odtdsl.base.engine import engine
from odtdsl.problem.ir.forms import Core, Form, LinearStage, Origin
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel

CLOSED = ("optimal", "infeasible")


def diagram_objections(core: Core) -> Iterator[Objection]:
    """What keeps both searches from a problem of diagrams."""
    if not unrolls(core):
        yield Objection(
            form=Form.DIAGRAM,
            origin=Origin(rule="skeleton"),
            reason="the search for diagrams is for one additive stage, without a reward for splits",
        )
        return
    yield from about_objective(as_trees(core))


def diagram_size(core: Core) -> tuple[tuple[str, int], ...]:
    """Rows, features and cuts that the searches look at."""
    return size_of(as_trees(core)) if unrolls(core) else ()


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


class DiagramSearch:
    """One solve. Each step answers with the best diagram and the bound of all steps so far.

    Parameters
    ----------
    core
        A problem without `diagram_objections`.
    limits
        Each step is given a deadline of its own, as in `Limits`.
    start
        A diagram that keeps all rules, or None.
    of_trees
        What answers problems of trees under rules.
    """

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawDiagram | None,
        report: Report | None,
        of_trees: TreeSolver,
    ) -> None:
        self.trees = Unrolled(core, limits, start, report, engine(), of_trees)
        self.bound = 0
        self.moves: Moves | None = None

    def by_moves(self, deadline: float | None) -> RawAnswer:
        """Good diagrams early, without a proof; the bound stays as it is."""
        if self.moves is None:
            self.moves = Moves(self.trees)
        self.moves.run(deadline, PATIENCE)
        return self.trees.answer(self.bound)

    def by_trees(self, deadline: float | None) -> RawAnswer:
        """The best tree that is a diagram, and the bound by the trees that diagrams unroll to."""
        self.trees.limits = replace(self.trees.limits, deadline=deadline)
        self.bound = max(self.bound, self.trees.bound())
        return self.trees.answer(self.bound)

    def by_shapes(self, deadline: float | None) -> RawAnswer:
        """The shapes that trees leave open."""
        self.bound = max(self.bound, self.trees.by_shapes(deadline))
        return self.trees.answer(self.bound)


Rest = Callable[[DiagramSearch, RawAnswer], RawAnswer]


def solve_diagram(
    core: Core,
    todo: tuple[Step, ...],
    limits: Limits,
    start: RawModel | None,
    report: Report | None,
    of_trees: TreeSolver,
    rest: Rest | None = None,
) -> tuple[RawAnswer, tuple[Step, ...]]:
    """Take the steps of diagrams in turn until the problem is closed or a limit is met.

    Parameters
    ----------
    core
        A problem without `diagram_objections`.
    todo
        Those of a choice, the start left out; the last one may be the `rest`.
    limits, start, report
        As for a back end.
    of_trees
        What answers problems of trees under rules.
    rest
        What answers the step `rest`, given the search and the answer so far.

    Returns
    -------
    The answer, and the steps that were taken.
    """
    raw = start if isinstance(start, RawDiagram) else None
    search = DiagramSearch(core, limits, raw, report, of_trees)
    answer = search.trees.answer(search.bound)
    ran: list[Step] = []
    for step in todo:
        if ran and _closed(answer, limits):
            break
        if step.improves and answer.diagram is None:
            continue
        deadline = limits.part(step.share).deadline
        match step.kind:
            case "rest":
                assert rest is not None, "a choice with this step names who does it"
                answer = rest(search, answer)
            case "moves":
                answer = search.by_moves(deadline)
            case "trees":
                answer = search.by_trees(deadline)
            case _:
                answer = search.by_shapes(deadline)
        ran.append(step)
    if answer.status not in CLOSED and limits.interrupted():
        answer = replace(answer, interrupted=True)
    return answer, tuple(ran)


def _closed(answer: RawAnswer, limits: Limits) -> bool:
    """Whether nothing is left to ask, or no time for it."""
    if answer.status in CLOSED or answer.interrupted or limits.interrupted():
        return True
    if limits.deadline is not None and time.monotonic() >= limits.deadline:
        return True
    (stage,) = answer.stages
    if stage.value is None or stage.bound is None:
        return False
    return stage.value - stage.bound <= limits.gap * abs(stage.value)
