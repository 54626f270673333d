"""Local search on a raw diagram: one test or one arc at a time, the rest held fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.greedy.costs import PenalizedObjective
from odtdsl.backends.greedy.scans import Scans
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawTest

ROUNDS = 12


class DiagramLocalSearch:
    """A diagram while it is improved, for gains by row and label.

    Attributes
    ----------
    layers
        Its nodes, changed in place.
    """

    def __init__(self, core: Core, raw: RawDiagram, gains: FloatArray, scans: Scans) -> None:
        self.core = core
        self.gains = gains
        self.scans = scans
        self.layers = [list(layer) for layer in raw.layers]

    def raw(self) -> RawDiagram | None:
        """The reduced diagram; None where its arcs came apart."""
        layers: list[list[RawNode | None]] = [list(layer) for layer in self.layers]
        return folded(Draft(entry=0, layers=layers))

    def improve(self, columns: set[int] | None) -> None:
        """Give nodes the test, and arcs the end, that the rest as it is likes best.

        `columns` may be tested by any node; None keeps each node's own.
        """
        for _ in range(ROUNDS):
            changed = False
            worth = self._worth()  # layers below the one that changes keep theirs in a round
            at = np.zeros(self.core.n_rows, dtype=np.int64)
            for level, layer in enumerate(self.layers):
                for position in range(len(layer)):
                    rows = np.flatnonzero(at == position)
                    changed |= self._retest(level, position, rows, worth[level + 1], columns)
                    changed |= self._rearc(level, position, rows, worth[level + 1])
                at = self._step(layer, at)
            if not changed:
                return

    def arrivals(self) -> list[IntArray]:
        """int64 (n_rows,) a layer: the node that each row reaches, negative where it has ended."""
        found = [np.zeros(self.core.n_rows, dtype=np.int64)]
        for layer in self.layers[:-1]:
            found.append(self._step(layer, found[-1]))
        return found

    def _step(self, layer: list[RawNode], at: IntArray) -> IntArray:
        following = at.copy()
        for position, node in enumerate(layer):
            here = at == position
            following[here] = np.where(self.left(node)[here], node.left, node.right)
        return following

    def left(self, node: RawNode) -> BoolArray:
        """bool (n_rows,): the rows that the split of a node would send left."""
        assert isinstance(node.split, RawTest)
        family = self.core.families[node.split.family]
        return family.goes_left(node.split.test)

    def _worth(self) -> list[FloatArray]:
        """Per layer and below the last, what each row gains from each end that an arc may have.

        Terminals come last and backwards, so that an arc is its own index: `~class` counts
        from the end.
        """
        classes = self.gains.T[::-1]
        found = [classes]
        for layer in reversed(self.layers):
            below = found[-1]
            nodes = [np.where(self.left(x), below[x.left], below[x.right]) for x in layer]
            found.append(np.vstack([*nodes, classes]))
        return found[::-1]

    def _retest(
        self,
        level: int,
        position: int,
        rows: IntArray,
        worth: FloatArray,
        columns: set[int] | None,
    ) -> bool:
        if not rows.size:
            return False
        node = self.layers[level][position]
        apart = worth[node.left, rows] - worth[node.right, rows]
        now = float(apart[self.left(node)[rows]].sum())
        assert isinstance(node.split, RawTest)
        own = self.core.families[node.split.family].column
        wanted = {own} if columns is None else columns
        mask = np.zeros(len(self.core.columns), dtype=bool)
        mask[list(wanted)] = True
        open_ = mask[self.scans.column] & self.scans.allowed(level) & self.scans.parting(rows)
        if not open_.any():
            return False
        sums = np.where(open_, self.scans.left(rows, apart[:, None])[:, 0], -np.inf)
        best = int(np.argmax(sums))
        if sums[best] <= now + 1e-6:
            return False
        split = RawTest(family=int(self.scans.family[best]), test=int(self.scans.test[best]))
        self.layers[level][position] = replace(node, split=split)
        return True

    def _rearc(self, level: int, position: int, rows: IntArray, worth: FloatArray) -> bool:
        changed = False
        below = len(self.layers[level + 1]) if level + 1 < len(self.layers) else 0
        for side in ("left", "right"):
            node = self.layers[level][position]
            left = self.left(node)[rows]
            some = rows[left] if side == "left" else rows[~left]
            arc, other = (node.left, node.right) if side == "left" else (node.right, node.left)
            ends = [
                end
                for end in (*range(below), *(~c for c in range(self.core.n_classes)))
                if end != other
            ]
            if not ends:
                continue
            values = worth[np.ix_(ends, some)].sum(axis=1)
            best = int(np.argmax(values))
            if values[best] > float(worth[arc, some].sum()) + 1e-6:
                changed = True
                if side == "left":
                    self.layers[level][position] = replace(node, left=ends[best])
                else:
                    self.layers[level][position] = replace(node, right=ends[best])
        return changed


def pruned(
    core: Core, raw: RawDiagram, objective: PenalizedObjective, scans: Scans, most: int | None
) -> RawDiagram:
    """The diagram without nodes above terminals only that cost more than they gain.

    Where there are more than `most` splits, those that gain least go, whatever they cost.
    """
    gains = objective.gains.astype(np.float64)
    while raw.layers:
        work = DiagramLocalSearch(core, raw, gains, scans)
        found: list[tuple[float, int, int, int]] = []
        for level, at in enumerate(work.arrivals()):
            for position, node in enumerate(work.layers[level]):
                if node.left < 0 and node.right < 0:
                    assert isinstance(node.split, RawTest)
                    rows = np.flatnonzero(at == position)
                    sums = gains[rows].sum(axis=0)
                    label = int(np.argmax(sums))
                    left = work.left(node)[rows]
                    now = (
                        gains[rows[left], ~node.left].sum() + gains[rows[~left], ~node.right].sum()
                    )
                    column = core.families[node.split.family].column
                    price = objective.split_price + float(objective.column_prices[column])
                    found.append((float(now - sums[label]) - price, level, position, label))
        loss, level, position, label = min(found)
        many = sum(map(len, raw.layers))
        if loss > 0 and (most is None or many <= most):
            return raw
        node = work.layers[level][position]
        work.layers[level][position] = replace(node, left=~label, right=~label)
        smaller = work.raw()
        assert smaller is not None, "a fold keeps the arcs together"
        raw = smaller
    return raw
