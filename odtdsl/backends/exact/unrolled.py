"""Diagrams on `exact`: bounds by the trees that they unroll to, and trees that are diagrams.

A diagram in which every node has one arc into it is a tree. Any other has a node with arcs from
two others of one layer, so at least 4 splits. Walking all paths apart makes a tree that predicts
alike, no deeper than the diagram and with at most `copies` splits. So the least loss of trees
with so many splits, plus the price of the diagram's own, bounds all diagrams that share; the
best priced tree bounds the others, and is a diagram where the widths have room for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

import numpy as np

from odtdsl.backends.base import Limits, Progress, RawAnswer, Report, StageOutcome, Status
from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.exact.features import Features, features, kinds_of_rows, merged, size_of
from odtdsl.backends.exact.lowering import least, losses
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.exact.unrolled_rules import among_trees, in_leaves, unrolled_under_rules
from odtdsl.base import engine
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Additive, Core, LinearStage
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawLeaf, RawNode, RawSplit, RawTest, RawTree

QUICK = 5
"""Layers up to which the least loss of all trees is asked first, and trees without a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Layers and splits of a tree."""

    depth: int
    splits: int


def copies(widths: tuple[int, ...], most: int) -> dict[int, tuple[Shape, ...]]:
    """For every number of splits up to `most`, the largest trees that diagrams which share unroll
    to.

    One node below stands for a layer's arcs once for each node, two or more for both arcs of
    each: no split leads to one node twice. So a tree is largest where the layers with two nodes or
    more come first, and of that many splits the layers can hold any number between two each and
    what fits in.
    """
    found: dict[int, list[Shape]] = {}
    last, every = [1], [1]  # nodes of the last layer and of all, by how many layers have two
    fullest, room = 1, 1
    for depth, width in enumerate(widths[1:], start=2):
        if width > 1:
            last.append(2 * last[-1])
            every.append(every[-1])
        every = [before + now for before, now in zip(every, last, strict=True)]
        fullest = min(width, 2 * fullest)
        room = min(room + fullest, most)
        for splits in range(depth, room + 1):
            unrolled = every[min(splits - depth, len(every) - 1)]
            if unrolled > splits:
                found.setdefault(splits, []).append(Shape(depth=depth, splits=unrolled))
    return {splits: _undominated(shapes) for splits, shapes in sorted(found.items())}


def narrowed(widths: tuple[int, ...], splits: int) -> tuple[int, ...]:
    """The widths that diagrams of at most so many splits can use."""
    found: list[int] = []
    for level, width in enumerate(widths):
        fits = [nodes for nodes in range(1, width + 1) if _above(nodes, level) <= splits]
        if not fits:
            break
        found.append(max(fits))
    return tuple(found) or widths[:1]


def _above(nodes: int, level: int) -> int:
    """Splits at least of a diagram with so many nodes in a layer, that layer included."""
    total = nodes
    for _ in range(level):
        nodes = -(-nodes // 2)
        total += nodes
    return total


def _undominated(shapes: list[Shape]) -> tuple[Shape, ...]:
    """Of shapes that become deeper, those that have more splits than all deeper ones."""
    kept: list[Shape] = []
    for shape in reversed(shapes):
        if not kept or shape.splits > kept[-1].splits:
            kept.append(shape)
    return tuple(reversed(kept))


TreeSolver = Callable[[Core, Limits], RawAnswer | None]
"""The answer for a tree; None where the search cannot express the problem."""


class Unrolled:
    """One solve: the best priced tree, then trees without a price as bounds of what shares."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawDiagram | None,
        report: Report | None,
        of_trees: TreeSolver,
    ) -> None:
        (stage,) = core.objective
        assert isinstance(stage, LinearStage), "diagram_objections() refuses the others"
        self.core, self.limits, self.report = core, limits, report
        self.of_trees_under_rules = of_trees
        self.stage = stage
        self.widths = core.diagram.widths
        self.began = time.monotonic()
        self.tree_core = as_trees(core)
        measure = in_leaves(stage.measure)
        self.measure = measure
        self.least = least(measure)
        found = features(self.tree_core)
        self.size = size_of(self.tree_core, found)
        self.features = merged(found)
        # deeper trees may take for ever, and the back end waits for them
        self.deepest = min(len(self.widths), QUICK) if limits.deadline is None else len(self.widths)
        self.losses = losses(self.tree_core, self.tree_core.objective, len(self.widths))  # type: ignore[arg-type]
        self.best: RawDiagram | None = None
        self.value: int | None = None
        self.timeline: list[Progress] = []
        self.floors: dict[Shape, int] = {}
        self.unparted = _unparted(self.features, self.measure)
        self.beyond = _largest_loss(measure) + self.price * (sum(self.widths) + 1) + 1
        self.of_trees = 0
        self.searches = 0
        self.shape_searches = 0
        self.moves = 0
        self.interrupted = False
        self.better: Callable[[int], None] | None = None  # hears of a better value
        self.offer(start)
        for label in range(core.n_classes):
            self.offer(RawDiagram(entry=~label))

    @property
    def price(self) -> int:
        """What one more split costs, in steps of the objective; 0 without a price."""
        return self.losses.price

    def run(self) -> RawAnswer:
        """Until proven, or all bounds are known, or a limit is met."""
        return self.answer(self.bound())

    def bound(self) -> int:
        """A bound on all diagrams, in steps; what is left of the time is shared out."""
        return min(self.trees(), self.sharing())

    def room(self) -> tuple[int, tuple[int, ...]]:
        """Splits at most, and widths, of the diagrams that could be better than the best.

        By the bounds that are known; no splits where none could.
        """
        open_ = [
            splits
            for splits, some in copies(self.widths, self.affordable()).items()
            if any(self._known(shape) + self.price * (splits + 1) < self.upper() for shape in some)
        ]
        if self.of_trees < self.upper():
            depth, most = len(self.widths), sum(self.widths)
            open_ += [
                splits
                for splits in range(most + 1)
                if self._known(Shape(depth=depth, splits=splits)) + self.price * (splits + 1)
                < self.upper()
            ]
        most = max(open_, default=0)
        return most, narrowed(self.widths, most)

    # ---- bounds, in steps: losses above the least of each row, and a price per split and root

    def trees(self) -> int:
        """A bound on diagrams without sharing; their best is offered.

        Under rules by the search that knows them; where that does not end, without rules too.
        """
        ruled, done = self._under_rules()
        if not done:
            self._layer_by_layer()
        self.of_trees = min(max(self.of_trees, ruled), self.upper())
        return self.of_trees

    def _under_rules(self) -> tuple[int, bool]:
        """The bound of trees that keep the rules, in steps, and whether it is their least."""
        core = self.core
        depth = min(len(self.widths), self.affordable())
        ruled = bool(core.clauses) or any(rule.levels for rule in core.filters)
        if not ruled or not 1 <= depth <= self.deepest:
            return 0, False
        asked = among_trees(core, self.measure, depth, self.affordable())
        answer = self._answer_under_rules(asked)
        if answer is None:
            return 0, False
        if answer.tree is not None:
            self.offer(as_diagram(answer.tree))
        if answer.status == "infeasible":
            return self.upper(), True
        return self._steps(answer), answer.status == "optimal"

    def _answer_under_rules(self, asked: Core) -> RawAnswer | None:
        share = self._share()
        until = None if share is None else time.monotonic() + share
        answer = self.of_trees_under_rules(asked, replace(self.limits, deadline=until))
        if answer is not None:
            self.searches += 1
            self.interrupted = self.interrupted or answer.interrupted
        return answer

    def _layer_by_layer(self) -> None:
        """The same without rules, layer by layer.

        What is best so far says how many splits a better tree can afford, so how many layers.
        Deep skeletons then ask for deep trees only where those could pay.
        """
        deepest, depth = len(self.widths), min(2, len(self.widths))
        self.of_trees = self.upper()
        while depth <= self.deepest and self.affordable() >= depth - (depth == 2):
            found = self._search(self._largest(depth), self.price, self.value)
            if found.tree is not None:
                self.offer(as_diagram(to_raw(self.tree_core, self.features, found.tree)))
            bound = self.upper() if found.status == "infeasible" else found.bound
            if found.status not in ("optimal", "infeasible"):
                if depth > 2:  # shallower trees are proven, the others have as many splits
                    bound = max(bound, min(self.of_trees, self._of_splits(depth)))
                if depth < deepest:
                    bound = min(bound, self._of_splits(depth + 1))
                self.of_trees = min(bound, self.upper())
                return
            self.of_trees = min(bound, self.upper())
            depth += 1
        if depth <= deepest:
            self.of_trees = min(self.of_trees, self._of_splits(depth))

    def _largest(self, depth: int) -> Shape:
        """The trees to search for the best priced one.

        A limit on leaves makes the search several times slower, and a price forbids what is too
        large for the best anyway.
        """
        return Shape(depth=depth, splits=1 << depth if self.price else sum(self.widths))

    def _of_splits(self, splits: int) -> int:
        """What a model of so many splits or more has at least."""
        return self.unparted + self.price * (splits + 1)

    def affordable(self) -> int:
        """Splits at most of what is better than the best: their price must leave room."""
        room, most = self.upper() - 1 - self.unparted, sum(self.widths)
        return min(most, room // self.price - 1) if self.price else most

    def sharing(self) -> int:
        """A bound on diagrams that share."""
        bound = self.upper()
        shapes = copies(self.widths, self.affordable())
        pays = shapes and self.price * (min(shapes) + 1) + self.unparted < bound
        if pays and len(self.widths) <= QUICK:  # trees with room for all are found soonest
            self.floor(Shape(depth=len(self.widths), splits=1 << len(self.widths)), bound)
        for splits, some in shapes.items():
            own = self.price * (splits + 1)
            if own + self.unparted >= bound:
                break
            for shape in some:
                if (lost := self.floor(shape, bound - own)) + own < bound:
                    bound = lost + own
        return bound

    def floor(self, shape: Shape, enough: int) -> int:
        """What trees of a shape lose at least; more than `enough` is not looked for."""
        known = self._known(shape)
        if known >= enough or shape.depth > self.deepest:
            return known
        found = self._search(shape, 0, enough)
        value = enough if found.status == "infeasible" else found.bound
        self.floors[shape] = max(known, min(value, enough))
        if self.floors[shape] < enough and shape.splits < 1 << len(self.widths):
            self.floors[shape] = max(self.floors[shape], min(self._ruled_floor(shape), enough))
        return self.floors[shape]

    def _ruled_floor(self, shape: Shape) -> int:
        """What trees of a shape lose at least that keep the rules on predictions."""
        asked = unrolled_under_rules(self.core, self.measure, shape.depth, shape.splits)
        answer = None if asked is None else self._answer_under_rules(asked)
        if answer is None:
            return 0
        return self.upper() if answer.status == "infeasible" else self._steps(answer)

    def _steps(self, answer: RawAnswer) -> int:
        """What an answer proves, in steps."""
        bounds = [stage.bound for stage in answer.stages[:1] if stage.bound is not None]
        return max((floor(b * self.measure.denominator) - self.least for b in bounds), default=0)

    def _known(self, shape: Shape) -> int:
        return max(
            (
                value
                for other, value in self.floors.items()
                if other.depth >= shape.depth and other.splits >= shape.splits
            ),
            default=self.unparted,
        )

    def _search(self, shape: Shape, price: int, below: int | None) -> engine.ClassAnswer:
        """Trees of a shape that are better than `below`."""
        self.searches += 1
        leaves = min(shape.splits + 1, 1 << shape.depth, self.core.n_rows)
        limits = engine.Limits(
            time_limit=self._share(),
            threads=self.limits.threads,
            memory_limit=self.limits.table_bytes(),
            interrupted=self.limits.interrupted,
        )
        found = engine.solve(
            self.problem(shape.depth, price, leaves),
            limits,
            upper_bound=None if below is None else below - 1,
        )
        self.interrupted = self.interrupted or found.interrupted
        return found

    def problem(self, depth: int, price: int, leaves: int | None = None) -> engine.ClassProblem:
        """The trees of a depth, with a price of a leaf, for the engine."""
        return engine.ClassProblem(
            self.features.table(),
            self.losses.classes,
            self.losses.n_classes,
            depth,
            weights=self.losses.weights,
            costs=self.losses.costs,
            max_leaves=leaves,
            leaf_price=price,
        )

    def floor_of_shape(self, shape: tuple[int, ...], copied: int) -> int:
        """What is known of the diagrams with so many splits in each layer, in steps."""
        splits = sum(shape)
        bound = self._known(Shape(depth=len(shape), splits=copied)) + self.price * (splits + 1)
        return max(bound, self.of_trees) if copied == splits else bound

    def _share(self) -> float | None:
        """Seconds for the next of several searches: half of what is left."""
        if self.limits.deadline is None:
            return None
        return max(0.0, self.limits.deadline - time.monotonic()) / 2

    def upper(self) -> int:
        """The best value; without a diagram, more than any can have."""
        return self.beyond if self.value is None else self.value

    # ---- diagrams

    def offer(self, raw: RawDiagram | None) -> bool:
        """Keep a diagram that breaks nothing and is better than the best; whether it was kept."""
        if raw is None:
            return False
        evaluation = DiagramEvaluation(self.core, raw)
        value = evaluation.of_model(self.stage.measure) - self.least
        if (self.value is None or value < self.value) and not evaluation.violations():
            self.best, self.value = raw, value
            if self.better is not None:
                self.better(value)
            self._tell()
            return True
        return False

    def keeps(self, raw: RawDiagram) -> bool:
        """Whether a diagram breaks nothing."""
        return not DiagramEvaluation(self.core, raw).violations()

    def _tell(self) -> None:
        assert self.value is not None, "what is told has just been found"
        progress = Progress(
            stage=0,
            incumbent=self._stage(self.value),
            bound=None,
            seconds=time.monotonic() - self.began,
            found=self.best,
        )
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)

    def answer(self, bound: int) -> RawAnswer:
        """The best diagram found, with a bound; optimal or infeasible where the bound closes the
        gap.
        """
        value = None if self.value is None else self._stage(self.value)
        closed = bound >= self.upper()
        proven = closed and value is not None
        outcome = StageOutcome(
            value=value, bound=value if proven else self._stage(bound), proven=proven
        )
        status: Status = "infeasible" if closed else "unknown"
        if value is not None:
            status = "optimal" if proven else "feasible"
        return RawAnswer(
            status=status,
            stages=() if status == "infeasible" else (outcome,),
            model=self.best,
            timeline=tuple(self.timeline),
            size=self.size,
            interrupted=self.interrupted,
            counters=(
                ("tree_searches", self.searches),
                ("shape_searches", self.shape_searches),
                ("moves", self.moves),
            ),
        )

    def floor_of(self, bound: int) -> int:
        """The numerator of the stage that no diagram undercuts."""
        return self.least + min(bound, self.upper())

    def _stage(self, steps: int) -> Fraction:
        return Fraction(self.least + steps, self.measure.denominator)


def as_trees(core: Core) -> Core:
    """The trees that diagrams are compared with: without rules, a price of splits on leaves.

    A filter about levels would be taken for all of them.
    """
    (stage,) = core.objective
    assert isinstance(stage, LinearStage), "diagram_objections() refuses the others"
    return replace(
        core,
        skeleton=TreeSkeleton(depth=len(core.diagram.widths), leaves=None),
        clauses=(),
        filters=tuple(rule for rule in core.filters if rule.levels is None),
        objective=(replace(stage, measure=in_leaves(stage.measure)),),
    )


def _largest_loss(measure: Additive) -> int:
    """What labels can lose at most, in steps above the least of each row."""
    if measure.output is None:
        return 0
    return int((measure.output.max(axis=1) - measure.output.min(axis=1)).sum())


def _unparted(found: Features, measure: Additive) -> int:
    """What any model loses, in steps: rows that no test tells apart get one label."""
    if measure.output is None:
        return 0
    above = measure.output - measure.output.min(axis=1, keepdims=True)
    kinds = kinds_of_rows(found.ranks)
    total = np.zeros((int(kinds.max()) + 1, above.shape[1]), dtype=np.int64)
    np.add.at(total, kinds, above)
    return int(total.min(axis=1).sum())


def as_diagram(tree: RawTree) -> RawDiagram | None:
    """A tree as a diagram: leaves as terminals, splits into one class left out."""
    if isinstance(tree, RawLeaf):
        return RawDiagram(entry=~tree.label)
    layers: list[list[RawNode | None]] = []
    here: list[RawSplit] = [tree]
    while here:
        below: list[RawSplit] = []
        layer: list[RawNode | None] = []
        for split in here:
            arcs: list[int] = []
            for side in (split.left, split.right):
                arcs.append(~side.label if isinstance(side, RawLeaf) else len(below))
                if isinstance(side, RawSplit):
                    below.append(side)
            test = RawTest(family=split.family, test=split.test)
            layer.append(RawNode(split=test, left=arcs[0], right=arcs[1]))
        layers.append(layer)
        here = below
    return folded(Draft(entry=0, layers=layers))
