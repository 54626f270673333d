"""A diagram grown from the root down, layer by layer.

Every flow of rows is split where information gain is largest; while there are more flows than
the next layer has nodes, the two whose union loses least of that gain are joined; what is pure
goes to its class at once (Florio et al., Optimal Decision Diagrams for Classification, AAAI
2023, training strategy, step 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from odtdsl.backends.greedy.paths import Path, PathRules
from odtdsl.backends.greedy.scans import Scans, entropy
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, Linear, demanded
from odtdsl.problem.ir.raw import RawNode, RawTest

MOST_PATHS = 64
"""Of a flow with more paths that ask differently, only these are asked what may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of growth: the share of features that each split looks at, and whether joins
    are chosen at random among the nearly best."""

    share: float = 1.0
    loose: bool = False


@dataclass(slots=True, kw_only=True)
class _Flow:
    """Rows on their way to a node of the next layer: by which arcs (node and side) they come."""

    rows: IntArray
    arcs: list[tuple[int, int]]
    paths: tuple[Path, ...]
    mass: FloatArray = field(repr=False)

    def parents(self) -> set[int]:
        return {node for node, _ in self.arcs}


class LayerGrower:
    """Grows diagrams for a core with axis splits under its path rules and least node sizes."""

    def __init__(
        self, core: Core, widths: tuple[int, ...], scans: Scans, rng: np.random.Generator
    ) -> None:
        self.core = core
        self.widths = widths
        self.scans = scans
        self.rng = rng
        self.rules = PathRules(core)
        self.sizes = _sizes(core)

    def grow(
        self, gains: FloatArray, start: Start, first: int | None = None
    ) -> list[list[RawNode]]:
        """Layers of nodes; nodes may have both arcs to one class.

        Parameters
        ----------
        gains
            float64 (n_rows, n_classes): what each label gains on each row.
        start
            How to vary growth.
        first
            A column that the root has to test.
        """
        rows = np.arange(self.core.n_rows)
        flows = [_Flow(rows=rows, arcs=[], paths=((),), mass=gains.sum(axis=0))]
        layers: list[tuple[list[int], list[list[int]]]] = []
        above: list[list[int]] = []
        for level in range(len(self.widths)):
            tests: list[int] = []
            arcs: list[list[int]] = []
            children: list[_Flow] = []
            for flow in flows:
                test = self._split(flow, gains, level, start, first if level == 0 else None)
                if test is None:
                    _end(flow, above)
                    continue
                for node, side in flow.arcs:
                    above[node][side] = len(tests)
                children += self._children(len(tests), flow, test, gains)
                tests.append(test)
                arcs.append([0, 0])
            if not tests:
                break
            layers.append((tests, arcs))
            above = arcs
            flows = self._join(children, arcs, level + 1, start)
        return [
            [self._node(test, left, right) for test, (left, right) in zip(*layer, strict=True)]
            for layer in layers
        ]

    def _node(self, test: int, left: int, right: int) -> RawNode:
        split = RawTest(family=int(self.scans.family[test]), test=int(self.scans.test[test]))
        return RawNode(split=split, left=left, right=right)

    # ---- one node

    def _split(
        self, flow: _Flow, gains: FloatArray, level: int, start: Start, first: int | None
    ) -> int | None:
        """The number of the best test for a flow; None where it has none."""
        if np.count_nonzero(flow.mass) <= 1 and first is None:
            return None
        if not all(int(column[flow.rows].sum()) >= least for column, least in self.sizes):
            return None
        open_ = (
            self.scans.parting(flow.rows)
            & self.scans.allowed(level)
            & self._columns(flow, level, start, first)
        )
        if not open_.any():
            return None
        left = self.scans.left(flow.rows, gains[flow.rows])
        loss = entropy(left) + entropy(flow.mass - left)
        return int(np.argmin(np.where(open_, loss, np.inf)))

    def _columns(self, flow: _Flow, level: int, start: Start, first: int | None) -> BoolArray:
        remaining = len(self.widths) - level
        known = self.rules.choices(flow.paths[0], remaining)
        choices = set(known)
        for path in flow.paths[1:MOST_PATHS]:
            others = self.rules.choices(path, remaining)
            if others is not known:
                choices.intersection_update(others)
        if first is not None:
            choices &= {first}
        elif start.share < 1.0 and len(choices) > 1:
            ordered = sorted(choices)
            many = max(1, round(start.share * len(ordered)))
            choices = set(self.rng.choice(ordered, size=many, replace=False).tolist())
        mask = np.zeros(len(self.core.columns), dtype=bool)
        mask[list(choices)] = True
        found: BoolArray = mask[self.scans.column]
        return found

    def _children(self, index: int, flow: _Flow, test: int, gains: FloatArray) -> list[_Flow]:
        family = self.core.families[int(self.scans.family[test])]
        left = family.goes_left(int(self.scans.test[test]))[flow.rows]
        paths = tuple((*path, family.column) for path in flow.paths)
        return [
            _Flow(rows=rows, arcs=[(index, side)], paths=paths, mass=gains[rows].sum(axis=0))
            for side, rows in enumerate((flow.rows[left], flow.rows[~left]))
        ]

    # ---- from a layer to the next

    def _join(
        self, flows: list[_Flow], arcs: list[list[int]], level: int, start: Start
    ) -> list[_Flow]:
        """The flows of the next layer; those that end write their class into `arcs`."""
        if level >= len(self.widths):
            for flow in flows:
                _end(flow, arcs)
            return []
        going: list[_Flow] = []
        for flow in flows:
            if np.count_nonzero(flow.mass) <= 1:
                _end(flow, arcs)
            else:
                going.append(flow)
        while len(going) > self.widths[level]:
            pair = self._pair(going, start)
            if pair is None:
                loses = [float(flow.mass.sum() - flow.mass.max()) for flow in going]
                _end(going.pop(int(np.argmin(loses))), arcs)
                continue
            going[pair[0]] = _joined(going[pair[0]], going[pair[1]])
            del going[pair[1]]
        return self._filled(going)

    def _filled(self, going: list[_Flow]) -> list[_Flow]:
        """Flows too small for a node of their own joined with others, as far as they may."""
        while True:
            small = [
                i
                for i, flow in enumerate(going)
                if not all(int(column[flow.rows].sum()) >= least for column, least in self.sizes)
            ]
            pairs = [
                (self._loss(going[i], going[j]), i, j)
                for i in small
                for j in range(len(going))
                if j != i and not going[i].parents() & going[j].parents()
            ]
            if not pairs:
                return going
            _, i, j = min(pairs)
            going[min(i, j)] = _joined(going[min(i, j)], going[max(i, j)])
            del going[max(i, j)]

    def _pair(self, flows: list[_Flow], start: Start) -> tuple[int, int] | None:
        """The two flows whose union loses least, of those without a common parent."""
        pairs = [
            (self._loss(a, b), i, i + 1 + j)
            for i, a in enumerate(flows)
            for j, b in enumerate(flows[i + 1 :])
            if not a.parents() & b.parents()
        ]
        if not pairs:
            return None
        pairs.sort()
        at = min(int(self.rng.geometric(0.6)) - 1, len(pairs) - 1) if start.loose else 0
        return pairs[at][1], pairs[at][2]

    def _loss(self, a: _Flow, b: _Flow) -> float:
        apart = entropy(a.mass) + entropy(b.mass)
        return float(entropy(a.mass + b.mass) - apart)


def _end(flow: _Flow, arcs: list[list[int]]) -> None:
    """Lead a flow to the terminal of its best class."""
    for node, side in flow.arcs:
        arcs[node][side] = ~int(np.argmax(flow.mass))


def _joined(a: _Flow, b: _Flow) -> _Flow:
    return _Flow(
        rows=np.sort(np.concatenate([a.rows, b.rows])),
        arcs=a.arcs + b.arcs,
        paths=tuple(dict.fromkeys(a.paths + b.paths)),
        mass=a.mass + b.mass,
    )


def _sizes(core: Core) -> list[tuple[IntArray, int]]:
    """Rules that every node holds enough of something: weights of rows, and the least sum."""
    found: list[tuple[IntArray, int]] = []
    for atom in demanded(core.clauses, Linear, Scope.SPLIT):
        measure = atom.measure
        if measure.rows is not None and (measure.rows <= 0).all():
            found.append((-measure.rows, measure.constant - atom.at_most))
    return found
