"""Diagrams by the ODD study's formulation: splits as weights with a margin.

Beside the arcs of `diagram_arcs` and the flows of `flows`, with patterns x and their cells scaled
to [0, 1]:

- `side(x,l)` is binary, and at layer l x goes left only where it is 0, right only where it is 1.
- `weight(n,j)` and `bound(n)` lie in [-1, 1]. What goes left has `weight.x + 0.0001 <= bound`, what
  goes right `weight.x >= bound`; elsewhere the row is slack by its largest value.
- Axis splits: `tests(n,j)` is binary, one of them per active node, and bounds the size of
  `weight(n,j)`.
- Hyperplanes: where a rule or the objective speaks of a feature, `weighs(n,feature)` is binary and
  bounds the size of the feature's weights. It may be 1 where they are 0, since any plane that
  leaves a margin can be turned a little: `decode` then gives the feature a small weight.
- Planes can be turned: the left arc leads to the earlier target.

A diagram is read from the flows alone, and its splits are found again from the rows that they part:
weights of a solver part rows only up to its tolerances. An optimum is one of all planes that leave
0.0001 between the two sides.

References: the ODD study, equations (1)-(18) and (20), without (12): see `replicas.odd`.
"""

from __future__ import annotations

import numpy as np

from odtdsl.backends.decode import NoCandidate
from odtdsl.backends.decode_diagram import Routed, canonical, from_routing
from odtdsl.backends.margins import widest_plane
from odtdsl.backends.milp.charges import Charges
from odtdsl.backends.milp.diagram_arcs import SIDES, Arcs
from odtdsl.backends.milp.flows import Flows
from odtdsl.backends.milp.layers import layers_of
from odtdsl.backends.milp.named_features import named_features
from odtdsl.backends.milp.patterns import find_patterns
from odtdsl.backends.milp.program import (
    FREE,
    SKELETON,
    Affine,
    Numbers,
    Program,
    safe_name,
    safe_names,
)
from odtdsl.backends.milp.structure import Tick, tests_by_level, usable_tests
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.planes import planes
from odtdsl.problem.ir.raw import RawDiagram, RawPlane, RawTest

MARGIN = 1e-4
"""The study's epsilon, on columns scaled to [0, 1]."""


class PlaneFlow(Flows):
    """The model of one problem.

    Attributes
    ----------
    side
        int64 (n_patterns, depth): columns.
    weight
        int64 (n_nodes, n_plane_columns): columns.
    bound
        int64 (n_nodes,): columns.
    tests
        int64 (n_nodes, n_plane_columns) of axis splits: columns; None for hyperplanes.
    weighs
        Of hyperplanes, per node and feature that a rule or the objective speaks of: the column.
    """

    def __init__(self, core: Core, tick: Tick = lambda: None) -> None:
        self.core = core
        self.perfect = layers_of(core)
        self.several = core.skeleton.splits == "hyperplane"
        self.program = Program()
        self.charges = Charges()
        self._tick = tick
        levels = tests_by_level(core, self.perfect.depth)
        self.patterns = find_patterns(core, usable_tests(core, levels))
        self.column_names = safe_names(core.columns)
        self._of = planes(core)
        self._cells: FloatArray = self._of.scaled[self.patterns.first]
        nodes = [f"active(n{node})" for node in range(self.perfect.n_branches)]
        self.active = self.program.columns(nodes, integer=True).tolist()
        arcs = Arcs(self.program, self.perfect, self.active)
        arcs.turned()
        self.order_nodes(arcs)
        self._build(arcs)
        self.side = self._side_columns()
        self.tests: IntArray | None = None
        names = [[f"n{n},{name}" for name in self._names()] for n in range(len(nodes))]
        if not self.several:
            self.tests = self._columns("tests", names, integer=True)
        self.weight = self._columns("weight", names, lower=-1)
        self.bound = self.program.columns([f"bound(n{n})" for n in range(len(nodes))], lower=-1)
        for node in range(len(nodes)):
            for column in np.flatnonzero(~self._allowed(node)).tolist():
                self.program.fix(int(self.weight[node, column]), 0)
            self._one_test(node)
            self._part(node)
        self.weighs: dict[tuple[int, int], int] = {}
        if self.several:
            self._name_features(named_features(core))

    def is_active(self, node: int) -> Affine:
        """1 where the node has a hyperplane, else 0."""
        return Affine().add_term(self.active[node])

    def use(self, node: int, column: int) -> Affine:
        """1 iff the node tests the column; of hyperplanes, one that is named."""
        if self.tests is None:
            weighs = self.weighs.get((node, column))
            return Affine() if weighs is None else Affine().add_term(weighs)
        mine = self._columns_of(column)
        return Affine().add_terms(self.tests[node, mine], np.ones(len(mine), dtype=np.int64))

    # ---- structure

    def order_nodes(self, arcs: Arcs) -> None:
        """Nodes of a layer can be exchanged: they stand in the order in which arcs lead to them."""
        arcs.order()

    def _allowed(self, node: int) -> BoolArray:
        """bool (n_plane_columns,): which columns filters admit at a node."""
        level = self.perfect.levels[node]
        refused = {
            rule.column
            for rule in self.core.filters
            if not rule.allowed and (rule.levels is None or level in rule.levels)
        }
        return np.array([one.column not in refused for one in self._of.columns], dtype=bool)

    def _features(self, node: int) -> tuple[int, ...]:
        """The features that filters admit at a node."""
        allowed = zip(self._of.columns, self._allowed(node).tolist(), strict=True)
        return tuple(dict.fromkeys(one.column for one, on in allowed if on))

    def _names(self) -> list[str]:
        """A name for each column that planes weigh."""
        return [
            self.column_names[one.column]
            + ("" if one.level is None else safe_name(f"_is_{one.level}"))
            for one in self._of.columns
        ]

    def _columns(
        self, kind: str, names: list[list[str]], *, lower: int = 0, integer: bool = False
    ) -> IntArray:
        made = [
            self.program.columns([f"{kind}({name})" for name in some], lower=lower, integer=integer)
            for some in names
        ]
        return np.array(made, dtype=np.int64).reshape(len(names), len(self._of.columns))

    def _side_columns(self) -> IntArray:
        count, depth = self.patterns.count, self.perfect.depth
        names = [f"side(p{x},l{level})" for x in range(count) for level in range(depth)]
        sides = self.program.columns(names, integer=True).reshape(count, depth)
        for level in range(depth):
            nodes = self.perfect.at_level(level)
            for index, name in SIDES:
                flows = np.concatenate([self.flow[n][:, index] for n in nodes], axis=1)
                columns = np.concatenate([flows, sides[:, [level]]], axis=1)
                left = index == 0
                self.program.alike(
                    [f"{name}(l{level},p{x})" for x in range(count)],
                    SKELETON,
                    columns,
                    [1] * flows.shape[1] + [1 if left else -1],
                    upper=1 if left else 0,
                )
            self._tick()
        return sides

    def _one_test(self, node: int) -> None:
        """Of axis splits: one column has a weight."""
        if self.tests is None:
            return
        row = self.is_active(node)
        for test, weight in zip(self.tests[node].tolist(), self.weight[node].tolist(), strict=True):
            row.add_term(test, -1)
            if not self.program.column_upper[weight]:
                self.program.fix(test, 0)
            name = self.program.column_names[weight]
            for sign, side in ((1, "above"), (-1, "below")):
                least = Affine().add_term(weight, sign).add_term(test, -1)
                self.program.row(f"{side}_{name}", SKELETON, least, upper=0)
        self.program.row(f"test(n{node})", SKELETON, row, lower=0, upper=0)

    def _name_features(self, named: frozenset[int]) -> None:
        """Columns that say which of some features each node weighs."""
        for node in range(self.perfect.n_branches):
            for feature in sorted(named & set(self._features(node))):
                name = f"weighs(n{node},{self.column_names[feature]})"
                column = self.program.column(name, integer=True)
                self.weighs[node, feature] = column
                row = Affine().add_term(column).add(self.is_active(node), -1)
                self.program.row(f"active_{name}", SKELETON, row, upper=0)
                for index in self._columns_of(feature):
                    weight = int(self.weight[node, index])
                    name = self.program.column_names[weight]
                    for sign, side in ((1, "above"), (-1, "below")):
                        least = Affine().add_term(weight, sign).add_term(column, -1)
                        self.program.row(f"{side}_{name}", SKELETON, least, upper=0)

    def _columns_of(self, feature: int) -> list[int]:
        """What planes weigh of a feature."""
        return [j for j, one in enumerate(self._of.columns) if one.column == feature]

    def _part(self, node: int) -> None:
        """`weight.x` is below the bound for what goes left, and not for what goes right."""
        count = self.patterns.count
        reach = (
            self._cells.max(axis=1, initial=0)
            if self.tests is not None
            else (self._cells.sum(axis=1))
        )
        for index, _ in SIDES:
            slack = reach + 1 + (MARGIN if index == 0 else 0.0)
            flows = self.flow[node][:, index]
            own = np.tile([*self.weight[node].tolist(), int(self.bound[node])], (count, 1))
            sign = 1.0 if index == 0 else -1.0
            values = np.concatenate(
                [
                    sign * self._cells,
                    np.full((count, 1), -sign),
                    np.repeat(slack[:, None], flows.shape[1], axis=1),
                ],
                axis=1,
            )
            columns = np.concatenate([own, flows], axis=1)
            kept = values != 0
            starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
            self.program.block(
                [f"{'below' if index == 0 else 'not_below'}(n{node},p{x})" for x in range(count)],
                SKELETON,
                starts=starts,
                columns=columns[kept],
                values=values[kept],
                lower=np.full(count, -float(FREE)),
                upper=slack - (MARGIN if index == 0 else 0.0),
            )
        self._tick()

    # ---- diagrams out and in

    def decode(self, point: Numbers) -> RawDiagram | None:
        """The diagram of a solution's flows; None where no split parts the rows so."""
        if not self.active or point[self.active[0]] < 0.5:
            return self.arcs.read(point, {})
        found = self._decoded(point, weighed=False)
        if found is not None and self.weighs and not self._as_good(found, point):
            found = self._decoded(point, weighed=True)
        return found

    def _decoded(self, point: Numbers, *, weighed: bool) -> RawDiagram | None:
        """The diagram of a solution; `weighed` gives a weight to every feature that it names."""
        layers: list[list[Routed | None]] = []
        for level in range(self.perfect.depth):
            nodes = self.perfect.at_level(level)
            layers.append([self._routed(point, node, weighed=weighed) for node in nodes])
        found = from_routing(self.core, layers)
        return None if isinstance(found, NoCandidate) else found

    def _as_good(self, raw: RawDiagram, point: Numbers) -> bool:
        """Whether a diagram with few weights is no worse than the one that names its features."""
        few = DiagramEvaluation(self.core, raw)
        if few.violations():
            return False
        whole = self._decoded(point, weighed=True)
        if whole is None:
            return True
        other = DiagramEvaluation(self.core, whole)
        stages = self.core.objective
        return [few.stage_value(one) for one in stages] <= [
            other.stage_value(one) for one in stages
        ]

    def _named(self, point: Numbers, node: int) -> set[int]:
        """The features that a node weighs by its columns `weighs`."""
        return {
            feature
            for (at, feature), column in self.weighs.items()
            if at == node and point[column] > 0.5
        }

    def _routed(self, point: Numbers, node: int, *, weighed: bool) -> Routed | None:
        if point[self.active[node]] < 0.5:
            return None
        inside = point[self.flow[node]].sum(axis=2) > 0.5
        left, right = (np.flatnonzero(inside[self.patterns.of_row, side]) for side, _ in SIDES)
        columns = self._features(node)
        if self.tests is not None:
            tested = int(np.argmax(point[self.tests[node]]))
            columns = (self._of.columns[tested].column,)
        elif self.weighs:
            named = self._named(point, node)
            columns = tuple(f for f in columns if f in named or (node, f) not in self.weighs)
        arcs = [self.arcs.read_arc(point, node, side) for side, _ in SIDES]
        return Routed(
            left_rows=left,
            right_rows=right,
            left=arcs[0],
            right=arcs[1],
            columns=columns,
            weighed=tuple(sorted(self._named(point, node))) if weighed else (),
        )

    def assignment(self, raw: RawDiagram) -> FloatArray | None:
        """All structural columns of a diagram, float64 (n_columns,); None where it does not fit,
        or its splits leave less than `MARGIN`."""
        raw = canonical(raw)
        if not self.arcs.fits(raw):
            return None
        point = np.zeros(self.program.n_columns)
        if not raw.layers:
            point[self.arcs.end[~raw.entry]] = 1
            return point
        places = self._places(raw)
        for visit in DiagramEvaluation(self.core, raw).visits:
            node = places[visit.level][visit.position]
            ends = [
                self.arcs.target(node, arc) if arc < 0 else places[visit.level + 1][arc]
                for arc in (visit.node.left, visit.node.right)
            ]
            sides = [visit.rows[visit.left], visit.rows[~visit.left]]
            if ends[0] > ends[1]:
                ends.reverse()
                sides.reverse()
            if not self._weigh(point, node, visit.node.split, sides[0], sides[1]):
                return None
            point[self.active[node]] = 1
            for (side, _), target, rows in zip(SIDES, ends, sides, strict=True):
                x = np.unique(self.patterns.of_row[rows])
                position = self.arcs.targets[node].index(target)
                point[self.side[x, visit.level]] = side
                point[self.arcs.arc[node][side, position]] = 1
                point[self.flow[node][x, side, position]] = 1
        return point

    def _places(self, raw: RawDiagram) -> list[dict[int, int]]:
        """By layer: the node that each raw node becomes, in the order that the rows ask for."""
        if self.perfect.tree:
            return self._own_places(raw)
        order = [0]
        found: list[dict[int, int]] = []
        for level, layer in enumerate(raw.layers):
            found.append(dict(zip(order, self.perfect.at_level(level), strict=False)))
            arcs = [arc for at in order for arc in (layer[at].left, layer[at].right) if arc >= 0]
            order = self.ordered(level, arcs)
        return found

    def ordered(self, level: int, targets: list[int]) -> list[int]:
        """The nodes below a layer in the order of `order_nodes`; `targets` of its arcs in turn."""
        return list(dict.fromkeys(targets))

    def _own_places(self, raw: RawDiagram) -> list[dict[int, int]]:
        """Of a tree: an only child is the left one."""
        found: list[dict[int, int]] = [{0: 0}]
        for level, layer in enumerate(raw.layers[:-1]):
            first, below = self.perfect.at_level(level)[0], self.perfect.at_level(level + 1)
            places: dict[int, int] = {}
            for at, node in found[-1].items():
                children = [arc for arc in (layer[at].left, layer[at].right) if arc >= 0]
                for side, child in enumerate(children):
                    places[child] = below[2 * (node - first) + side]
            found.append(places)
        return found

    def _weigh(
        self,
        point: FloatArray,
        node: int,
        split: RawTest | RawPlane,
        left: IntArray,
        right: IntArray,
    ) -> bool:
        """Write the weights and bound of a node; False where they leave too little between."""
        weights = np.zeros(len(self._of.columns))
        if isinstance(split, RawTest):
            assert self.tests is not None, "axis splits"
            column = self._column(split)
            low, high = (self._of.scaled[rows, column] for rows in (left, right))
            weights[column] = 1.0 if low.max() < high.min() else -1.0
            point[self.tests[node, column]] = 1
        else:
            features = self._weighed(point, node, split)
            plane = widest_plane(self.core, left, right, features)
            if plane is None:
                return False
            for index, weight in plane.weights:
                weights[index] = weight * self._of.columns[index].span
        sums = [self._of.scaled[rows] @ weights for rows in (left, right)]
        low, high = float(sums[0].max()), float(sums[1].min())
        scale = max(1.0, float(np.abs(weights).max()), abs(low + high) / 2)
        middle = max((low + high) / 2 / scale, low / scale + MARGIN)
        if middle > high / scale or abs(middle) > 1:
            return False
        point[self.weight[node]] = weights / scale
        point[self.bound[node]] = middle
        return True

    def _weighed(self, point: FloatArray, node: int, plane: RawPlane) -> tuple[int, ...]:
        """The features that a node may weigh, of those named what the plane does: these are
        written.
        """
        own = {self._of.columns[index].column for index, _ in plane.weights}
        features = [f for f in self._features(node) if f in own or (node, f) not in self.weighs]
        for feature in features:
            if (node, feature) in self.weighs:
                point[self.weighs[node, feature]] = 1
        return tuple(features)

    def _column(self, split: RawTest) -> int:
        """The column that planes weigh for a test."""
        family = self.core.families[split.family]
        level = None if family.kind == "threshold" else int(family.values[split.test])
        wanted = (family.column, level)
        return [(one.column, one.level) for one in self._of.columns].index(wanted)
