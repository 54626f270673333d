"""Trees by pattern flow with ordered thresholds: how patterns flow to leaves.

Beside the tests n, slots t and labels of `structure`, with patterns x (see `patterns`), all
columns between 0 and 1:

- `flow(x,t)`: `sum over t flow(x,t) = 1`; with `L(x,n)` the sum of the tests that send x left,
  `sum over t left of n flow(x,t) <= L(x,n)` and `sum over t right of n flow(x,t) <= 1 - L(x,n)`.
  `L` of a threshold chain is one of its columns: no big-M, no epsilon.
- `hit(x,c,t) <= label(t,c)`, `sum over c hit(x,c,t) <= flow(x,t)`: counted only where it helps.
- Reduced: `sum over x flow(x,t) >= alive(t)`; for thresholds of columns with missing cells also
  `sum over present x and t left (right) of n flow(x,t) >= use`.

Tests, activity and labels are binary; they determine all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.backends.milp.patterns import gain_pairs, gains_of, present
from odtdsl.backends.milp.program import FREE, SKELETON, Affine
from odtdsl.backends.milp.structure import NodeTests, Structure, Tick
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Additive, Core
from odtdsl.problem.ir.raw import RawTree


class PatternFlow(Structure):
    """The model of one problem at one depth.

    Attributes
    ----------
    flow
        int64 (n_patterns, n_slots): columns.
    hit
        int64 (n_patterns, n_classes, n_slots): columns, -1 where no measure gains.
    """

    def __init__(
        self,
        core: Core,
        depth: int,
        measures: Sequence[Additive],
        tick: Tick = lambda: None,
    ) -> None:
        super().__init__(core, depth, tick)
        self.flow = self._flows()
        self.hit = self._hits(list(measures))
        self._reduced()

    def inside(self, pattern: int, slot: int) -> Affine:
        """1 iff the pattern reaches the slot."""
        return Affine().add_term(int(self.flow[pattern, slot]))

    def at(self, pattern: int, node: int) -> Affine:
        """1 iff the pattern passes the node, or ends there; all do at the root."""
        if node == 0:
            return Affine(constant=1)
        flows = self.flow[pattern, list(self.perfect.slots(node))]
        return Affine().add_terms(flows, np.ones_like(flows))

    def spread(self, measure: Additive, slots: Sequence[int]) -> Affine:
        """Rows and outputs of a measure over the patterns in some slots; without the constant.

        Never below the true value, and equal to it for some hits.
        """
        gains = gains_of(measure, self.patterns, self.core.n_classes)
        result = Affine()
        where = np.asarray(slots, dtype=np.int64)
        heavy = np.flatnonzero(gains.worst)
        result.add_terms(
            self.flow[np.ix_(heavy, where)].ravel(), np.repeat(gains.worst[heavy], len(where))
        )
        x, c = np.nonzero(gains.gain)
        result.add_terms(self.hit[x, c][:, where].ravel(), -np.repeat(gains.gain[x, c], len(where)))
        return result

    def of_model(self, measure: Additive) -> Affine:
        """Numerator of a measure of the model, never below the true value."""
        gains = gains_of(measure, self.patterns, self.core.n_classes)
        result = Affine(constant=measure.constant + measure.leaves + int(gains.worst.sum()))
        x, c = np.nonzero(gains.gain)
        n_slots = self.perfect.n_leaves
        result.add_terms(self.hit[x, c].ravel(), -np.repeat(gains.gain[x, c], n_slots))
        for node, active in enumerate(self.active):
            result.add_term(active, measure.leaves)
            if measure.columns is not None:
                for column in self._use[node]:
                    result.add(self.use(node, column), int(measure.columns[column]))
        return result

    # ---- flow

    def _flows(self) -> IntArray:
        count, slots = self.patterns.count, self.perfect.n_leaves
        names = [f"flow(p{x},{self.slot_name(t)})" for x in range(count) for t in range(slots)]
        flow = self.program.columns(names).reshape(count, slots)
        ones = np.ones(count, dtype=np.int64)
        self.program.block(
            [f"once(p{x})" for x in range(count)],
            SKELETON,
            starts=np.arange(count + 1) * slots,
            columns=flow.ravel(),
            values=np.ones(count * slots, dtype=np.int64),
            lower=ones,
            upper=ones,
        )
        for node in range(self.perfect.n_branches):
            self._sides(node, flow)
        return flow

    def _sides(self, node: int, flow: IntArray) -> None:
        """`left` and `right` rows of a node; at the root one equation says both."""
        count = self.patterns.count
        rows, columns = self.lefts(node)
        ones = np.ones(count, dtype=np.int64)
        left = flow[:, list(self.perfect.left_slots(node))]
        self._side_block(
            f"left(n{node},p",
            left,
            rows,
            columns,
            -1,
            lower=0 * ones if node == 0 else -FREE * ones,
            upper=0 * ones,
        )
        if node > 0:
            right = flow[:, list(self.perfect.right_slots(node))]
            self._side_block(
                f"right(n{node},p", right, rows, columns, 1, lower=-FREE * ones, upper=ones
            )
        self._tick()

    def _side_block(
        self,
        name: str,
        flows: IntArray,
        rows: IntArray,
        columns: IntArray,
        sign: int,
        lower: IntArray,
        upper: IntArray,
    ) -> None:
        count, width = flows.shape
        all_rows = np.concatenate([np.repeat(np.arange(count), width), rows])
        all_columns = np.concatenate([flows.ravel(), columns])
        values = np.concatenate(
            [np.ones(count * width, dtype=np.int64), np.full(len(rows), sign, dtype=np.int64)]
        )
        order = np.argsort(all_rows, kind="stable")
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(all_rows, minlength=count), out=starts[1:])
        self.program.block(
            [f"{name}{x})" for x in range(count)],
            SKELETON,
            starts=starts,
            columns=all_columns[order],
            values=values[order],
            lower=lower,
            upper=upper,
        )

    def _hits(self, measures: list[Additive]) -> IntArray:
        count, slots, classes = self.patterns.count, self.perfect.n_leaves, self.core.n_classes
        hit = np.full((count, classes, slots), -1, dtype=np.int64)
        wanted = gain_pairs(measures, self.patterns, classes)
        x, c = np.nonzero(wanted)
        names = [
            f"hit(p{i},c{j},{self.slot_name(t)})"
            for i, j in zip(x.tolist(), c.tolist(), strict=True)
            for t in range(slots)
        ]
        hit[x, c] = self.program.columns(names).reshape(len(x), slots)
        self._hit_rows(hit, x, c)
        return hit

    def _hit_rows(self, hit: IntArray, x: IntArray, c: IntArray) -> None:
        slots = self.perfect.n_leaves
        hits = hit[x, c].ravel()
        labels = self.label[:, c].T.ravel()
        names = [f"if_label({self.program.column_names[h][4:]}" for h in hits.tolist()]
        self.program.alike(names, SKELETON, np.stack([hits, labels], axis=1), (1, -1))
        self._tick()
        for pattern in np.unique(x).tolist():
            mine = hit[pattern][hit[pattern, :, 0] >= 0]
            flow = self.flow[pattern]
            block = np.concatenate([mine, flow[None, :]]).T
            names = [f"if_flow(p{pattern},{self.slot_name(t)})" for t in range(slots)]
            self.program.alike(names, SKELETON, block, [1] * len(mine) + [-1])
        self._tick()

    def _reduced(self) -> None:
        for slot in range(self.perfect.n_leaves):
            if self.perfect.depth == 0:
                return
            row = Affine().add(self.alive(slot), -1)
            row.add_terms(self.flow[:, slot], np.ones(self.patterns.count, dtype=np.int64))
            self.program.row(f"row_in({self.slot_name(slot)})", SKELETON, row, lower=0)
        for node, parts in enumerate(self.tests):
            for part in parts:
                self._present(node, part)

    def _present(self, node: int, part: NodeTests) -> None:
        """A threshold lies between two values among the rows at the node."""
        family = self.core.families[part.family]
        known = np.flatnonzero(present(family, self.patterns.codes[part.family]))
        if family.kind != "threshold" or len(known) == self.patterns.count:
            return
        name = self.program.column_names[int(part.columns[0])]
        sides = (("left", self.perfect.left_slots(node)), ("right", self.perfect.right_slots(node)))
        for side, slots in sides:
            row = Affine().add(part.use(True), -1)
            flows = self.flow[np.ix_(known, np.asarray(slots))].ravel()
            row.add_terms(flows, np.ones_like(flows))
            self.program.row(f"value_{side}_{name}", SKELETON, row, lower=0)

    # ---- trees in

    def assignment(self, tree: RawTree) -> IntArray | None:
        """All structural columns of a tree, int64 (n_columns,); None where it does not fit."""
        point = self._chosen_columns(tree)
        if point is None:
            return None
        slot_of = self._routed(point)
        point[self.flow[np.arange(self.patterns.count), slot_of]] = 1
        return point if self._predict(point, slot_of) else None

    def _routed(self, point: IntArray) -> IntArray:
        """int64 (n_patterns,): the slot that each pattern reaches by the tests of a tree."""
        slot_of = np.zeros(self.patterns.count, dtype=np.int64)
        for node in range(self.perfect.n_branches):
            slots = self.perfect.slots(node)
            here = (slot_of >= slots[0]) & (slot_of <= slots[-1])
            sent = np.zeros(self.patterns.count, dtype=np.int64)
            rows, columns = self.lefts(node)
            np.add.at(sent, rows, point[columns])
            slot_of[here & (sent == 0)] += len(slots) // 2
        return slot_of

    def _predict(self, point: IntArray, slot_of: IntArray) -> bool:
        """Fill in what leaves predict, given the slot of each pattern; whether it fits."""
        chosen = np.argmax(point[self.label[slot_of]], axis=1)
        hits = self.hit[np.arange(self.patterns.count), chosen, slot_of]
        point[hits[hits >= 0]] = 1
        return True
