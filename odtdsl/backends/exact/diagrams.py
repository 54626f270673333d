"""Diagrams on `exact`: good ones by moves, then a proof by trees and shape by shape."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import Limits, Objection, RawAnswer, Report
from odtdsl.backends.exact.features import size_of
from odtdsl.backends.exact.layered_diagrams import Layered, takes_rows
from odtdsl.backends.exact.lowering import about_objective
from odtdsl.backends.exact.moves import PATIENCE, Moves
from odtdsl.backends.exact.unrolled import TreeSolver, Unrolled, as_trees
from odtdsl.backends.steps import Step
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    Form,
    Linear,
    LinearStage,
    Origin,
    SignedAtom,
)
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram

NAME = "exact"

STEPS = (
    Step(kind="moves", backend=NAME, share=0.4),
    Step(kind="trees", backend=NAME, share=0.35),
    Step(kind="shapes", backend=NAME, share=0.98),
    Step(kind="moves", backend=NAME),
)

STEPS_BEFORE_ANOTHER = (
    *STEPS[:2],
    replace(STEPS[2], improves=True),
    replace(STEPS[3], share=0.8),
)
"""The same where another back end takes what is left open, and may be the first to find any."""

BEFORE_SHAPES = 0.3, 0.04
"""Of the time of trees, what the best of them and bounds of what shares may take where shapes can
close what they leave open. Each search takes half of that, apart from those that are done soon.
"""

FEW_BEFORE_SHAPES = 0.04, 0.04
"""The same where better diagrams have few splits: so few shapes, and trees seldom found one."""

FEW_SPLITS = 7
"""As many as that."""

RULED_BEFORE_SHAPES = 1 / 3, 1 / 6
"""The same under rules, of which shapes know nothing."""


def diagram_objections(core: Core) -> Iterator[Objection]:
    """What keeps both searches from a problem of diagrams."""
    if not unrolls(core):
        yield Objection(
            form=Form.DIAGRAM,
            origin=Origin(rule="skeleton"),
            reason="diagrams need an objective of one additive stage that does not reward splits",
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
        self.trees = Unrolled(core, limits, start, report, of_trees)
        self.bound = 0
        self.moves: Moves | None = None
        self.shapes: Layered | None = None

    def answer(self) -> RawAnswer:
        """The best diagram and the bound of all steps so far."""
        return self.trees.answer(self.bound)

    def take(self, step: Step, deadline: float | None) -> RawAnswer:
        """Take a step."""
        match step.kind:
            case "moves":
                return self.by_moves(deadline)
            case "trees":
                return self.by_trees(deadline)
            case _:
                return self.by_shapes(deadline)

    def left_open(self) -> Core:
        """The problem of a diagram that is better than the best, in the room that is left."""
        trees = self.trees
        if trees.best is None:
            return trees.core
        most, widths = (self.shapes or trees).room()
        value = trees.upper() + trees.least
        return better(trees.core, value, trees.floor_of(self.bound), most, widths)

    def by_moves(self, deadline: float | None, patience: int = PATIENCE) -> RawAnswer:
        """Good diagrams early, without a proof; the bound stays as it is.

        They end at the deadline, or where so many moves in a row gained nothing (0: never).
        """
        if self.moves is None:
            self.moves = Moves(self.trees)
        self.moves.run(deadline, patience)
        return self.trees.answer(self.bound)

    def by_trees(self, deadline: float | None) -> RawAnswer:
        """The best tree that is a diagram, and the bound by the trees that diagrams unroll to."""
        bounds: list[int] = []
        searches = self.trees.trees, self.trees.sharing
        for search, share in zip(searches, self._shares(), strict=True):
            until = deadline
            if deadline is not None:
                now = time.monotonic()
                until = now + share * (deadline - now)
            self.trees.limits = replace(self.trees.limits, deadline=until)
            bounds.append(search())
        self.bound = max(self.bound, min(bounds))
        return self.trees.answer(self.bound)

    def _shares(self) -> tuple[float, float]:
        """Of the time of trees, what the best of them and bounds of what shares may take."""
        trees = self.trees
        if not takes_rows(trees):
            return 1.0, 1.0
        if trees.core.clauses:
            return RULED_BEFORE_SHAPES
        return FEW_BEFORE_SHAPES if trees.affordable() <= FEW_SPLITS else BEFORE_SHAPES

    def by_shapes(self, deadline: float | None) -> RawAnswer:
        """The shapes that trees leave open."""
        self.shapes = Layered(self.trees)
        self.bound = max(self.bound, self.shapes.bound(deadline, self._wander))
        return self.trees.answer(self.bound)

    def _wander(
        self,
        deadline: float,
        brief: bool,
        told: Callable[[RawDiagram | None], None],
        over: Callable[[], bool],
    ) -> None:
        """More moves, until the deadline, or few gain anything, or nobody waits for them."""
        if self.moves is None:
            self.moves = Moves(self.trees)
        self.moves.run(deadline, PATIENCE if brief else 0, told=told, over=over)


ORIGIN = Origin(rule="objective")


def better(core: Core, value: int, floor: int, most: int, widths: tuple[int, ...]) -> Core:
    """The problem of a diagram with a smaller numerator than `value`; not below `floor`."""
    (stage,) = core.objective
    assert isinstance(stage, LinearStage)
    measure = stage.measure
    bounds = (
        (measure, value - 1),
        (measure.scaled(Fraction(-1)), -floor),
        (Additive(splits=1), most),
    )
    return replace(
        core,
        skeleton=replace(core.diagram, widths=widths),
        clauses=(*core.clauses, *(_clause(m, at_most) for m, at_most in bounds)),
    )


def _clause(measure: Additive, at_most: int) -> Clause:
    atom = Linear(measure=replace(measure, denominator=1), at_most=at_most)
    return Clause(
        scope=Scope.MODEL, literals=(SignedAtom(atom=atom, positive=True),), origin=ORIGIN
    )
