"""Local search on a raw diagram: one test or one arc at a time, the rest held fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.data.table import BoolArray, FloatArray, IntArray
from odtdsl.greedy.aims import Aim
from odtdsl.greedy.scans import Scans
from odtdsl.ir.forms import Core
from odtdsl.ir.raw import RawDiagram, RawNode, RawTest

ROUNDS = 12


class Rework:
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
        self.every = np.arange(core.n_rows)

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
            for level in range(len(self.layers)):
                for position in range(len(self.layers[level])):
                    changed |= self._retest(level, position, columns)
                    changed |= self._rearc(level, position)
            if not changed:
                return

    def reaching(self, level: int, position: int) -> IntArray:
        """The ascending rows that reach a node."""
        at = np.zeros(self.core.n_rows, dtype=np.int64)
        for layer in self.layers[:level]:
            at = self._step(layer, at)
        return np.flatnonzero(at == position)

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

    def _end(self, arc: int, level: int) -> IntArray:
        """int64 (n_rows,): the label that each row would get from the end of an arc."""
        at = np.full(self.core.n_rows, arc)
        for layer in self.layers[level + 1 :]:
            at = self._step(layer, at)
        return ~at

    def _gain(self, arc: int, level: int, rows: IntArray) -> FloatArray:
        found: FloatArray = self.gains[rows, self._end(arc, level)[rows]]
        return found

    def _retest(self, level: int, position: int, columns: set[int] | None) -> bool:
        node = self.layers[level][position]
        rows = self.reaching(level, position)
        if not rows.size:
            return False
        apart = self._gain(node.left, level, rows) - self._gain(node.right, level, rows)
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

    def _rearc(self, level: int, position: int) -> bool:
        rows = self.reaching(level, position)
        changed = False
        below = len(self.layers[level + 1]) if level + 1 < len(self.layers) else 0
        for side in ("left", "right"):
            node = self.layers[level][position]
            left = self.left(node)[rows]
            some = rows[left] if side == "left" else rows[~left]
            arc, other = (node.left, node.right) if side == "left" else (node.right, node.left)
            ends = [end for end in (*range(below), *(~c for c in range(self.core.n_classes)))
                    if end != other]  # fmt: skip
            values = [float(self._gain(end, level, some).sum()) for end in ends]
            now = float(self._gain(arc, level, some).sum())
            best = int(np.argmax(values)) if values else 0
            if values and values[best] > now + 1e-6:
                changed = True
                if side == "left":
                    self.layers[level][position] = replace(node, left=ends[best])
                else:
                    self.layers[level][position] = replace(node, right=ends[best])
        return changed


def pruned(core: Core, raw: RawDiagram, aim: Aim, scans: Scans, most: int | None) -> RawDiagram:
    """The diagram without nodes above terminals only that cost more than they gain.

    Where there are more than `most` splits, those that gain least go, whatever they cost.
    """
    gains = aim.gains.astype(np.float64)
    while raw.layers:
        work = Rework(core, raw, gains, scans)
        found: list[tuple[float, int, int, int]] = []
        for level, layer in enumerate(work.layers):
            for position, node in enumerate(layer):
                if node.left < 0 and node.right < 0:
                    assert isinstance(node.split, RawTest)
                    rows = work.reaching(level, position)
                    sums = gains[rows].sum(axis=0)
                    label = int(np.argmax(sums))
                    left = work.left(node)[rows]
                    now = (
                        gains[rows[left], ~node.left].sum() + gains[rows[~left], ~node.right].sum()
                    )
                    column = core.families[node.split.family].column
                    price = aim.split_price + float(aim.column_prices[column])
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
