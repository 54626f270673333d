"""From raw diagrams to predictors and back, from a solver's routing to raw diagrams, and what
says nothing merged.

As for trees, thresholds are the shortest decimals that are admissible in the gap among the
rows that reach a node; hyperplanes are already in raw units (see `margins`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from odtdsl.backends.decode import NoCandidate, axis_test, internal, missing_side, parting_test
from odtdsl.backends.margins import widest_plane
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.predictors import diagram_routing
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Hyperplane, Node, Split, Terminal, Weight
from odtdsl.problem.ir.diagrams import DiagramEvaluation, NodeVisit, sends_left
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.planes import planes
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawPlane, RawTest
from odtdsl.problem.ir.rows import Rows


def to_diagram(core: Core, rows: Rows, raw: RawDiagram) -> Diagram:
    """The predictor that a raw diagram stands for, with the counts of its training rows.

    Parameters
    ----------
    core, rows
        The problem in both forms; `core` comes from normalizing `rows`.
    raw
        A diagram that breaks no split, filter or candidate rule of `core`.

    Raises
    ------
    OdtError
        X201: a split has no admissible threshold, or a training row goes another way in the
        predictor than in the raw diagram. Both are mistakes of this package.
    """
    evaluation = DiagramEvaluation(core, raw)
    layers: list[list[Node]] = [[] for _ in raw.layers]
    for visit in evaluation.visits:
        layers[visit.level].append(_node(core, rows, visit))
    problem = rows.problem
    diagram = Diagram(
        entry=_arc(raw.entry, core.n_rows),
        layers=tuple(map(tuple, layers)),
        terminals=tuple(
            _terminal(rows, evaluation.predicted == label) for label in range(core.n_classes)
        ),
        features=tuple(feature.type for feature in problem.features),
        targets=problem.target.names,
        classes=problem.target.classes,
        task=problem.target.kind,
    )
    predicted = diagram_routing.route(diagram, rows.data.table)
    if (other := np.flatnonzero(predicted != evaluation.predicted)).size:
        raise internal(f"row {int(other[0])} of the training data reaches another terminal")
    return diagram


def _node(core: Core, rows: Rows, visit: NodeVisit) -> Node:
    node, left = visit.node, int(visit.left.sum())
    return Node(
        split=_split(core, rows, visit),
        left=_arc(node.left, left),
        right=_arc(node.right, len(visit.rows) - left),
        size=len(visit.rows),
    )


def _arc(arc: int, size: int) -> Arc:
    return Arc(node=arc, size=size) if arc >= 0 else Arc(label=~arc, size=size)


def _terminal(rows: Rows, inside: BoolArray) -> Terminal:
    if rows.data.labels is None:
        return Terminal(size=int(inside.sum()))
    sums = np.zeros(rows.n_classes, dtype=np.int64)
    np.add.at(sums, rows.labels[inside], rows.weights[inside])
    weights = tuple(total / rows.weight_denominator for total in sums.tolist())
    return Terminal(size=int(inside.sum()), class_weights=weights)


def _split(core: Core, rows: Rows, visit: NodeVisit) -> Split:
    split, features = visit.node.split, rows.problem.features
    if isinstance(split, RawTest):
        family = core.families[split.family]
        return AxisTest(
            feature=features[family.column].name,
            test=axis_test(core, rows, split, visit.rows, visit.level),
            missing=missing_side(rows, family, split.test, visit.rows, learned=False),
        )
    weights: list[Weight] = []
    for index, weight in split.weights:
        column = planes(core).columns[index]
        type_ = features[column.column].type
        value = None if column.level is None else type_.levels[column.level]
        weights.append(Weight(feature=type_.name, weight=weight, value=value))
    return Hyperplane(weights=tuple(weights), bound=split.bound)


# ---- from predictors, and from the routing of a solver


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Routed:
    """A node by the training rows that it parts: all that is read of a solver's answer.

    Attributes
    ----------
    left_rows, right_rows
        int64: the rows that take each arc.
    left, right
        Arcs, as of `RawNode`.
    columns
        Indices of the features that its split may test: the chosen one (or more, of which the
        first that can is taken); of a hyperplane, those that it may weigh. None for all.
    weighed
        Of a hyperplane, those of them that it must weigh.
    """

    left_rows: IntArray
    right_rows: IntArray
    left: int
    right: int
    columns: tuple[int, ...] | None = None
    weighed: tuple[int, ...] = ()


def from_routing(
    core: Core, layers: Sequence[Sequence[Routed | None]], entry: int = 0
) -> RawDiagram | NoCandidate:
    """The reduced raw diagram that routes the training rows as a solver says.

    Nodes that no row reaches are dropped, those that send all rows one way give way to where
    these go. Tests are found from the rows: of axis splits the threshold's gap, of hyperplanes
    the plane of largest margin. Filters and clauses are not asked: see `violations`.

    Parameters
    ----------
    core
        The problem.
    layers
        Nodes by layer, from the root down; None where a layer has no node at a position.
    entry
        0, or `~label` for a diagram without a split.

    Returns
    -------
    RawDiagram or NoCandidate
        Why the routing is none that the splits of the core can do, else the diagram.
    """
    made: list[list[RawNode | None]] = []
    for layer in layers:
        nodes: list[RawNode | None] = []
        for routed in layer:
            if routed is None or not (routed.left_rows.size or routed.right_rows.size):
                nodes.append(None)
                continue
            node = _from_rows(core, routed)
            if node is None:
                return NoCandidate(reason="no candidate split separates the rows of a node so")
            nodes.append(node)
        made.append(nodes)
    raw = folded(Draft(entry=entry, layers=made))
    claimed = _claimed(core, layers, entry)
    if raw is None or not np.array_equal(DiagramEvaluation(core, raw).predicted, claimed):
        return NoCandidate(reason="an arc that rows take leads to no node")
    return raw


def _claimed(core: Core, layers: Sequence[Sequence[Routed | None]], entry: int) -> IntArray:
    """int64 (n_rows,): the class that the solver's routing ends at; -1 where it ends nowhere."""
    found = np.full(core.n_rows, ~entry if entry < 0 else -1, dtype=np.int64)
    for layer in layers:
        for routed in layer:
            if routed is not None:
                for arc, rows in (
                    (routed.left, routed.left_rows),
                    (routed.right, routed.right_rows),
                ):
                    if arc < 0:
                        found[rows] = ~arc
    return found


def _from_rows(core: Core, routed: Routed) -> RawNode | None:
    """The node of a routing; a node with an empty side stands with both arcs to the other."""
    left, right = routed.left_rows, routed.right_rows
    if not left.size or not right.size:
        only = routed.left if left.size else routed.right
        return RawNode(split=RawTest(family=0, test=0), left=only, right=only)
    if core.skeleton.splits == "hyperplane":
        plane = widest_plane(core, left, right, routed.columns, routed.weighed)
        return None if plane is None else RawNode(split=plane, left=routed.left, right=routed.right)
    inside = np.sort(np.concatenate([left, right]))
    goes = np.isin(inside, left)
    for column in range(len(core.columns)) if routed.columns is None else routed.columns:
        found = parting_test(core, column, inside, goes)
        if found is not None:
            split, swapped = found
            arcs = (routed.right, routed.left) if swapped else (routed.left, routed.right)
            return RawNode(split=split, left=arcs[0], right=arcs[1])
    return None


def from_diagram(core: Core, rows: Rows, diagram: Diagram) -> RawDiagram | NoCandidate:
    """The raw diagram that parts the training rows as a predictor does.

    Labels are matched by class; otherwise as `from_routing`.

    Raises
    ------
    OdtError
        U201, U203, U204, U208: the diagram does not fit the training data.
    """
    names = {feature.name: index for index, feature in enumerate(rows.problem.features)}
    classes = {value: index for index, value in enumerate(rows.problem.target.classes)}
    if any(label not in classes for label in diagram.classes):
        return NoCandidate(reason="it predicts a class that the target does not have")
    if unknown := [name for name in diagram.tested if name not in names]:
        return NoCandidate(reason=f"`{unknown[0]}` is not a feature of the spec")

    def arc(one: Arc) -> int:
        if one.node is not None:
            return one.node
        assert one.label is not None, "check_diagram: an arc leads somewhere"
        return ~classes[diagram.classes[one.label]]

    layers: list[list[Routed | None]] = [[] for _ in diagram.layers]
    levels = [level for level, many in enumerate(diagram.widths) for _ in range(many)]
    reached = diagram_routing.reach(diagram, rows.data.table)
    for (node, inside, left), level in zip(reached, levels, strict=True):
        columns = tuple(names[name] for name in node.features)
        layers[level].append(
            Routed(
                left_rows=inside[left],
                right_rows=inside[~left],
                left=arc(node.left),
                right=arc(node.right),
                columns=columns,
                weighed=columns,
            )
        )
    return from_routing(core, layers, arc(diagram.entry))


# ---- folding and merging


@dataclass(slots=True, kw_only=True)
class Draft:
    """A diagram while it is edited: holes where nodes went, arcs to holes are mistakes."""

    entry: int
    layers: list[list[RawNode | None]]


def _draft(raw: RawDiagram) -> Draft:
    return Draft(entry=raw.entry, layers=[list(layer) for layer in raw.layers])


def folded(draft: Draft) -> RawDiagram | None:
    """The diagram with every node whose arcs lead to one place replaced by that place.

    Where the place is a node, its part of the diagram is moved up a layer; what others lead
    to is doubled. None where an arc leads to a hole.
    """
    while True:
        compact = _compact(draft)
        if compact is None:
            return None
        idle = next(
            (
                (level, position, node.left)
                for level, layer in reversed(list(enumerate(compact.layers)))
                for position, node in enumerate(layer)
                if node.left == node.right
            ),
            None,
        )
        if idle is None:
            return compact
        level, position, arc = idle
        draft = _draft(compact)
        if arc >= 0:
            draft.layers[level][position] = _lifted(draft, level + 1, arc, {})
        elif level == 0:
            return RawDiagram(entry=arc)
        else:
            above = draft.layers[level - 1]
            above[:] = [None if n is None else _redirected(n, position, arc) for n in above]


def _lifted(draft: Draft, level: int, position: int, done: dict[tuple[int, int], int]) -> RawNode:
    """A node of a layer as it stands one layer higher, its followers copied up with it."""
    node = draft.layers[level][position]
    assert node is not None, "compact diagrams have no holes"

    def up(arc: int) -> int:
        if arc < 0:
            return arc
        if (level + 1, arc) not in done:
            copy = _lifted(draft, level + 1, arc, done)
            draft.layers[level].append(copy)
            done[level + 1, arc] = len(draft.layers[level]) - 1
        return done[level + 1, arc]

    return replace(node, left=up(node.left), right=up(node.right))


def _redirected(node: RawNode, position: int, arc: int) -> RawNode:
    """The node with its arcs to a position of the next layer led elsewhere."""
    return replace(
        node,
        left=arc if node.left == position else node.left,
        right=arc if node.right == position else node.right,
    )


def _compact(draft: Draft) -> RawDiagram | None:
    """Only what is reached, each layer in the order in which arcs lead to it, left first.

    None where an arc leads to a hole, or out of the last layer.
    """
    layers: list[tuple[RawNode, ...]] = []
    wanted = [] if draft.entry < 0 else [draft.entry]
    for layer in draft.layers:
        if not wanted:
            break
        nodes = [layer[position] if position < len(layer) else None for position in wanted]
        wanted = list(
            dict.fromkeys(
                arc
                for node in nodes
                if node is not None
                for arc in (node.left, node.right)
                if arc >= 0
            )
        )
        place = {position: index for index, position in enumerate(wanted)}
        kept: list[RawNode] = []
        for node in nodes:
            if node is None:
                return None
            kept.append(
                replace(
                    node,
                    left=place.get(node.left, node.left),
                    right=place.get(node.right, node.right),
                )
            )
        layers.append(tuple(kept))
    if wanted:
        return None
    return RawDiagram(entry=min(draft.entry, 0), layers=tuple(layers))


def canonical(raw: RawDiagram) -> RawDiagram:
    """The same diagram with unreached nodes dropped and each layer in the order in which arcs
    lead to it, left before right."""
    compact = _compact(_draft(raw))
    assert compact is not None, "the arcs of a raw diagram lead to nodes"
    return compact


def simplify_diagram(core: Core, raw: RawDiagram) -> RawDiagram:
    """The diagram without nodes that say nothing, where nothing is lost by it.

    A node goes where another of its layer says the same, or where all its rows may as well
    take one of its arcs; if no rule breaks and no stage of the objective gets worse.
    """
    raw = canonical(raw)
    values = _values(DiagramEvaluation(core, raw), core)
    while True:
        for smaller in _smaller(core, raw):
            evaluation = DiagramEvaluation(core, smaller)
            now = _values(evaluation, core)
            kept = all(a <= b for a, b in zip(now, values, strict=True))
            if kept and not evaluation.violations():
                raw, values = smaller, now
                break
        else:
            return raw


def _values(evaluation: DiagramEvaluation, core: Core) -> tuple[Fraction, ...]:
    return tuple(evaluation.stage_value(stage) for stage in core.objective)


def _smaller(core: Core, raw: RawDiagram) -> Iterator[RawDiagram]:
    """The diagram with one node less: merged with another, or passed by on either side."""
    yield from _merged(core, raw)
    for level, layer in enumerate(raw.layers):
        for position, node in enumerate(layer):
            for arc in (node.left, node.right):
                draft = _draft(raw)
                draft.layers[level][position] = replace(node, left=arc, right=arc)
                smaller = folded(draft)
                if smaller is not None:
                    yield smaller


def _merged(core: Core, raw: RawDiagram) -> Iterator[RawDiagram]:
    """The diagram with two nodes of a layer made one: same arcs, and one split does for both."""
    visits = DiagramEvaluation(core, raw).visits
    for index, first in enumerate(visits):
        for second in visits[index + 1 :]:
            if first.level != second.level or (first.node.left, first.node.right) != (
                second.node.left,
                second.node.right,
            ):
                continue
            for kept, gone in ((first, second), (second, first)):
                if np.array_equal(sends_left(core, kept.node.split, gone.rows), gone.left):
                    draft = _draft(raw)
                    above = draft.layers[kept.level - 1]
                    above[:] = [
                        None if n is None else _redirected(n, gone.position, kept.position)
                        for n in above
                    ]
                    smaller = folded(draft)
                    if smaller is not None:
                        yield smaller


__all__ = [
    "RawPlane",
    "Routed",
    "canonical",
    "folded",
    "from_diagram",
    "from_routing",
    "simplify_diagram",
    "to_diagram",
]
