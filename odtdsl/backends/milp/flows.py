"""Flows of patterns through the arcs of a diagram: the part that its models share.

- `flow(x,n,side,v) <= arc(n,side,v)`: the pattern x takes that arc. At each node what flows in
  flows out; all flows into the root are `active(root)`.
- Reduced: an active node has a flow on each side.

The prediction of x is the terminal that it flows to, so that measures of outputs need no
columns of their own.

References: the ODD study's equations (1)-(3), (8)-(10), (17) and (18).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from odtdsl.backends.milp.charges import Charges
from odtdsl.backends.milp.diagram_arcs import SIDES, Arcs
from odtdsl.backends.milp.layers import Layers
from odtdsl.backends.milp.patterns import Patterns, gains_of
from odtdsl.backends.milp.program import FREE, SKELETON, Affine, Numbers, Program
from odtdsl.backends.milp.structure import Tick
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Additive, Core
from odtdsl.problem.ir.raw import RawDiagram


class Flows(ABC):
    """Flows over arcs, and the measures and rules that are read from them.

    Attributes
    ----------
    arcs
        The arcs.
    flow
        Per node int64 (n_patterns, 2, n_targets): columns.
    several
        Whether a node may test several columns.
    """

    several: bool
    core: Core
    program: Program
    charges: Charges
    patterns: Patterns
    column_names: tuple[str, ...]
    perfect: Layers
    active: list[int]
    _tick: Tick

    @abstractmethod
    def use(self, node: int, column: int) -> Affine:
        """1 iff the node tests the column."""

    @abstractmethod
    def is_active(self, node: int) -> Affine:
        """1 iff the node is there."""

    # ---- diagrams out and in

    @abstractmethod
    def decode(self, point: Numbers) -> RawDiagram | None:
        """The diagram of a solution; None where it is none."""

    @abstractmethod
    def assignment(self, raw: RawDiagram) -> Numbers | None:
        """All structural columns of a diagram, (n_columns,); None where it does not fit."""

    # ---- what rules and stages read

    def at(self, pattern: int, node: int) -> Affine:
        """1 iff the pattern passes the node; at the root, if there is a split at all."""
        if node == 0:
            return Affine(constant=1)
        columns = self._inflow(node)[pattern]
        return Affine().add_terms(columns, np.ones_like(columns))

    def alive(self, slot: int) -> Affine:
        """1 where some arc reaches the terminal, else 0."""
        return self.arcs.reached(slot)

    def slot_name(self, slot: int) -> str:
        """The name of a terminal."""
        return f"c{slot}"

    def inside(self, pattern: int, slot: int) -> Affine:
        """1 iff the pattern ends at the terminal of a class."""
        columns = self._ended(slot)[pattern]
        return Affine().add_terms(columns, np.ones_like(columns))

    def spread(self, measure: Additive, slots: Sequence[int]) -> Affine:
        """Rows and outputs of a measure over the patterns that end at some terminals."""
        table = gains_of(measure, self.patterns, self.core.n_classes).by_label
        result = Affine()
        for slot in slots:
            self._add(result, self._ended(slot), table[:, slot])
        return result

    def of_model(self, measure: Additive) -> Affine:
        """Numerator of a measure of the model."""
        gains = gains_of(measure, self.patterns, self.core.n_classes)
        result = Affine(constant=measure.constant + int(gains.worst.sum()))
        for label in range(self.core.n_classes):
            if measure.leaves:
                result.add(self.arcs.reached(label), measure.leaves)
            self._add(result, self._ended(label), -gains.gain[:, label])
        for node, active in enumerate(self.active):
            result.add_term(active, measure.splits)
            if measure.columns is not None:
                for column in np.flatnonzero(measure.columns).tolist():
                    result.add(self.use(node, column), int(measure.columns[column]))
        return result

    def of_node(self, node: int, amounts: IntArray) -> Affine:
        """The sum over the patterns at a node of int64 (n_patterns,) amounts."""
        if node == 0:
            return Affine().add_term(self.active[0], int(amounts.sum()))
        result = Affine()
        self._add(result, self._inflow(node), amounts)
        return result

    @staticmethod
    def _add(result: Affine, columns: IntArray, amounts: IntArray) -> None:
        """Add amounts of patterns, each on all columns of its row; columns may repeat."""
        some = np.flatnonzero(amounts)
        for row, amount in zip(columns[some].tolist(), amounts[some].tolist(), strict=True):
            for column in row:
                result.add_term(column, amount)

    def _inflow(self, target: int) -> IntArray:
        """int64 (n_patterns, k): the flows that lead to a target."""
        return np.concatenate(
            [
                self.flow[node][:, :, self.arcs.targets[node].index(target)]
                for node, _ in self.arcs.into(target)
            ]
            or [np.zeros((self.patterns.count, 0), dtype=np.int64)],
            axis=1,
        )

    def _ended(self, label: int) -> IntArray:
        """int64 (n_patterns, k): the flows that end at the terminal of a class."""
        ends = np.full((self.patterns.count, 1), self.arcs.end[label])
        return np.concatenate([ends, self._inflow(self.perfect.n_branches + label)], axis=1)

    # ---- flow

    def _build(self, arcs: Arcs) -> None:
        """All flows over the arcs."""
        self.arcs = arcs
        self._tick()
        self.flow = [self._flows(node) for node in range(self.perfect.n_branches)]
        for node in range(self.perfect.n_branches):
            self._through(node)
            for index, side in SIDES:
                row = Affine().add_term(self.active[node], -1)
                flows = self.flow[node][:, index].ravel()
                row.add_terms(flows, np.ones_like(flows))
                self.program.row(f"row_in(n{node},{side})", SKELETON, row, lower=0)

    def _flows(self, node: int) -> IntArray:
        """The flows of a node, each at most its arc."""
        count, arcs, targets = self.patterns.count, self.arcs.arc[node], self.arcs.targets[node]
        names = [
            f"p{x},n{node},{side},{self.arcs.name(v)})"
            for x in range(count)
            for _, side in SIDES
            for v in targets
        ]
        flow = self.program.columns([f"flow({name}" for name in names])
        pairs = np.stack([flow, np.tile(arcs.ravel(), count)], axis=1)
        self.program.alike([f"by_arc({name}" for name in names], SKELETON, pairs, (1, -1))
        self._tick()
        return flow.reshape(count, 2, len(targets))

    def _through(self, node: int) -> None:
        """What flows in flows out."""
        count = self.patterns.count
        out = self.flow[node].reshape(count, -1)
        into = np.full((count, 1), self.active[0]) if node == 0 else self._inflow(node)
        values = [1] * out.shape[1] + [-1] * into.shape[1]
        columns = np.concatenate([out, into], axis=1)
        names = [f"through(p{x},n{node})" for x in range(count)]
        self.program.alike(names, SKELETON, columns, values, lower=0)
        self._tick()

    def side_block(
        self, name: str, flows: IntArray, rows: IntArray, columns: IntArray, values: IntArray
    ) -> None:
        """`sum of a pattern's flows + sum of value * column <= 0`, one row per pattern."""
        count, width = flows.shape
        all_rows = np.concatenate([np.repeat(np.arange(count), width), rows])
        order = np.argsort(all_rows, kind="stable")
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(all_rows, minlength=count), out=starts[1:])
        zeros = np.zeros(count, dtype=np.int64)
        self.program.block(
            [f"{name}{x})" for x in range(count)],
            SKELETON,
            starts=starts,
            columns=np.concatenate([flows.ravel(), columns])[order],
            values=np.concatenate([np.ones(count * width, dtype=np.int64), values])[order],
            lower=zeros - FREE,
            upper=zeros,
        )
