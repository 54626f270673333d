"""The exact meaning of a core on a raw diagram, in integers: as `problem.ir.evaluate` on trees.

A diagram is reduced: every node is reached, its split sends a row each way, and its arcs
lead to two places. Path rules speak of every path of its arcs, whether or not a row takes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import assert_never

import numpy as np

from odtdsl.base.kept import kept
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.evaluate import (
    ArcsBroken,
    BoundBroken,
    Evaluation,
    Fault,
    Measured,
    NotEvaluable,
    SplitBroken,
    Violation,
    goes_left,
    test_fault,
)
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    Linear,
    Link,
    LossBound,
    MaximaBound,
    Monotone,
    Order,
    OutputSet,
    PathSum,
    PathTotal,
    Root,
    SplitFilter,
    TargetLoss,
    Used,
)
from odtdsl.problem.ir.paths import TestedColumns, TestedPath, path_holds, path_numerator
from odtdsl.problem.ir.planes import planes
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel, RawNode, RawPlane, RawTest

MAX_EVALUATED_PATHS = 200_000
"""Diagrams with more paths that differ in what they ask are not judged by path rules."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeVisit:
    """A node, where it stands, the ascending rows that reach it, and which of them go left."""

    node: RawNode
    level: int
    position: int
    rows: IntArray
    left: BoolArray


class DiagramEvaluation(Measured):
    """A raw diagram on the training rows of a core.

    Attributes
    ----------
    visits
        Every node, layer by layer.
    """

    def __init__(self, core: Core, diagram: RawDiagram) -> None:
        self.core = core
        self.diagram = diagram
        visits: list[NodeVisit] = []
        at = np.full(core.n_rows, diagram.entry, dtype=np.int64)
        for level, layer in enumerate(diagram.layers):
            following = at.copy()
            for position, node in enumerate(layer):
                rows = np.flatnonzero(at == position)
                left = sends_left(core, node.split, rows)
                following[rows] = np.where(left, node.left, node.right)
                visits.append(
                    NodeVisit(node=node, level=level, position=position, rows=rows, left=left)
                )
            at = following
        assert (at < 0).all(), "the arcs of the last layer lead to terminals"
        self.visits: tuple[NodeVisit, ...] = tuple(visits)
        self._predicted: IntArray = ~at

    @property
    def predicted(self) -> IntArray:
        """int64 (n_rows,): the class of the terminal that each row reaches."""
        return self._predicted

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.diagram.layers)

    @cached_property
    def terminals(self) -> tuple[int, ...]:
        """The classes whose terminals some row reaches."""
        return tuple(int(label) for label in np.unique(self.predicted))

    @cached_property
    def tested(self) -> TestedPath:
        """The columns of each split, layer by layer."""
        return tuple(_tested_columns(self.core, visit.node.split) for visit in self.visits)

    @cached_property
    def paths(self) -> tuple[TestedPath, ...]:
        """What the paths from the root to a terminal ask, each such sequence once.

        Raises
        ------
        NotEvaluable
            There are more than `MAX_EVALUATED_PATHS`.
        """
        ended: dict[TestedPath, None] = {}
        open_: dict[int, dict[TestedPath, None]] = {self.diagram.entry: {(): None}}
        for layer in self.diagram.layers:
            following: dict[int, dict[TestedPath, None]] = {}
            for position, above in open_.items():
                node = layer[position]
                for path in above:
                    longer = (*path, _tested_columns(self.core, node.split))
                    for arc in (node.left, node.right):
                        kept = ended if arc < 0 else following.setdefault(arc, {})
                        kept[longer] = None
            open_ = following
            if len(ended) + sum(map(len, open_.values())) > MAX_EVALUATED_PATHS:
                raise NotEvaluable(
                    f"the diagram has more than {MAX_EVALUATED_PATHS} different paths"
                )
        return tuple(ended) or ((),)

    @cached_property
    def paths_taken(self) -> tuple[tuple[TestedPath, IntArray], ...]:
        """The paths that rows take, each with its rows."""
        found: list[tuple[TestedPath, IntArray]] = []
        here: list[tuple[int, TestedPath, IntArray]] = [
            (self.diagram.entry, (), np.arange(self.core.n_rows))
        ]
        for layer in (*self.diagram.layers, ()):
            below: list[tuple[int, TestedPath, IntArray]] = []
            for place, path, rows in here:
                if place < 0:
                    found.append((path, rows))
                    continue
                node = layer[place]
                left = sends_left(self.core, node.split, rows)
                longer: TestedPath = (*path, _tested_columns(self.core, node.split))
                for arc, some in ((node.left, rows[left]), (node.right, rows[~left])):
                    if some.size:
                        below.append((arc, longer, some))
            here = below
        return tuple(found)

    # ---- measures

    def of_model(self, measure: Additive) -> int:
        """The numerator of a measure of the whole diagram; terminals count as leaves."""
        total = self.over_rows(measure, np.arange(self.core.n_rows))
        if measure.columns is not None:
            total += sum(int(measure.columns[c]) for columns in self.tested for c in columns)
        return total + measure.leaves * len(self.terminals) + measure.splits * len(self.visits)

    def of_loss(self, loss: TargetLoss) -> Fraction:
        """Always raises `NotEvaluable`: diagrams predict classes."""
        raise NotEvaluable("a diagram has one terminal per class, so it cannot have number targets")

    def over_paths(self, paths: PathSum) -> int:
        """The numerator of a path sum: every row weighs the path that it takes."""
        return sum(
            int(paths.weights[rows].sum())
            * path_numerator(paths.measure, tuple(chain.from_iterable(path)), len(path))
            for path, rows in self.paths_taken
        )

    # ---- conditions

    def violations(self) -> tuple[Violation, ...]:
        """All that fails: skeleton, arcs, splits and filters, then clauses in their order."""
        broken: list[Violation] = [*self._skeleton(), *self._arcs(), *self.bad_splits]
        broken.extend(clause for clause in self.core.clauses if not self.keeps(clause))
        return tuple(broken)

    def _skeleton(self) -> Iterator[BoundBroken]:
        skeleton = self.core.skeleton
        if not isinstance(skeleton, DiagramSkeleton):
            raise NotEvaluable("a tree is asked for, and the answer is a diagram")
        if self.depth > len(skeleton.widths):
            yield BoundBroken(what="depth", value=self.depth, at_most=len(skeleton.widths))
        for layer, width in zip(self.diagram.layers, skeleton.widths, strict=False):
            if len(layer) > width:
                yield BoundBroken(what="width", value=len(layer), at_most=width)

    def _arcs(self) -> Iterator[ArcsBroken]:
        skeleton = self.core.skeleton
        one_each = isinstance(skeleton, DiagramSkeleton) and skeleton.tree
        led_to = {self.diagram.entry}
        here: set[int] = set()
        for index, visit in enumerate(self.visits):
            if visit.position == 0:
                led_to, here = (here, set()) if visit.level else (led_to, here)
            if visit.position not in led_to:
                yield ArcsBroken(position=index, reason="unreached")
            if visit.node.left == visit.node.right:
                yield ArcsBroken(position=index, reason="same")
            ends = {arc for arc in (visit.node.left, visit.node.right) if arc >= 0}
            if one_each and ends & here:
                yield ArcsBroken(position=index, reason="shared")
            here |= ends

    @cached_property
    def bad_splits(self) -> tuple[SplitBroken | SplitFilter, ...]:
        """The splits that may not stand where they are, then the filters that refuse some."""
        broken: list[SplitBroken] = []
        filters: set[int] = set()
        for index, visit in enumerate(self.visits):
            split = visit.node.split
            reason: Fault | None
            if isinstance(split, RawPlane):
                reason = _plane_fault(self.core, split, visit)
            elif self.core.skeleton.splits == "hyperplane":
                reason = "range"
            else:
                reason = test_fault(self.core, split, visit.rows, visit.level)
            if isinstance(reason, tuple):
                filters.update(reason)
            elif reason is not None:
                broken.append(SplitBroken(position=index, reason=reason))
        return (*broken, *(self.core.filters[index] for index in sorted(filters)))

    def keeps(self, clause: Clause) -> bool:
        """Whether every instance of the clause's scope satisfies one of its literals."""
        if clause.scope is Scope.SPLIT:
            places: tuple[NodeVisit | TestedPath, ...] = self.visits
        elif clause.scope is Scope.PATH:
            places = self.paths
        elif clause.scope is Scope.MODEL:
            places = (self.tested,)
        else:
            raise NotEvaluable("a diagram has one terminal per class, and no rules of leaves")
        return all(
            any(self.holds(x.atom, clause.scope, place) == x.positive for x in clause.literals)
            for place in places
        )

    def holds(self, atom: Atom, scope: Scope, place: NodeVisit | TestedPath) -> bool:
        """Whether an atom holds of a split's visit, of a path, or of all splits (the model)."""
        match atom:
            case Linear():
                if isinstance(place, NodeVisit):
                    return self.over_rows(atom.measure, place.rows) <= atom.at_most
                return self.of_model(atom.measure) <= atom.at_most
            case Depth():
                return self.depth <= atom.at_most
            case PathTotal():
                total = self.of_model(atom.measure) + self.over_paths(atom.path_sum)
                return total <= atom.at_most
            case MaximaBound():
                return self.with_maxima(atom.measure, atom.maxima) <= atom.at_most
            case Root():
                return not self.tested or set(self.tested[0]) <= set(atom.columns)
            case Used() | Order() | Budget():
                assert not isinstance(place, NodeVisit), "atoms of paths and of the model"
                return path_holds(atom, place)
            case Link() | Monotone() | OutputSet() | LossBound():
                raise NotEvaluable("this form speaks of leaves, which a diagram does not have")
            case _:
                assert_never(atom)


def _tested_columns(core: Core, split: RawTest | RawPlane) -> TestedColumns:
    """The columns that a split tests, ascending."""
    if isinstance(split, RawTest):
        return (core.families[split.family].column,)
    of = planes(core).columns
    return tuple(sorted({of[index].column for index, _ in split.weights}))


def sends_left(core: Core, split: RawTest | RawPlane, rows: IntArray) -> BoolArray:
    """bool (len(rows),): which rows a split sends left."""
    if isinstance(split, RawPlane):
        return planes(core).goes_left(split, rows)
    family = core.families[split.family]
    return goes_left(family, split.test, family.codes[rows])


def _plane_fault(core: Core, plane: RawPlane, visit: NodeVisit) -> Fault | None:
    """Why a plane may not stand where it is. Filters admit a column of planes or do not."""
    indices = [index for index, _ in plane.weights]
    known = set(range(len(planes(core).columns)))
    numbers = [plane.bound, *(weight for _, weight in plane.weights)]
    rising = all(a < b for a, b in pairwise(indices))
    if core.skeleton.splits != "hyperplane" or not set(indices) <= known or not rising:
        return "range"
    if not np.isfinite(numbers).all() or not all(weight for _, weight in plane.weights):
        return "range"
    if visit.left.all() or not visit.left.any():
        return "empty"
    here = set(_tested_columns(core, plane))
    return (
        tuple(
            index
            for index, rule in enumerate(core.filters)
            if rule.column in here
            and (rule.levels is None or visit.level in rule.levels)
            and not rule.allowed
        )
        or None
    )


@partial(kept, last=2)  # a search, who checks its answer, and who decodes it ask for the same
def evaluated(core: Core, model: RawModel) -> Evaluation | DiagramEvaluation:
    """A raw model of either kind on the training rows of a core.

    The last ones are kept, with the places of all rows, until the solve ends.
    """
    if isinstance(model, RawDiagram):
        return DiagramEvaluation(core, model)
    return Evaluation(core, model)
