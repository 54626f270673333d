"""Diagrams with axis splits by pattern flow with ordered thresholds.

Beside the tests of `structure`, the arcs of `diagram_arcs` and the flows of `flows`, with `L(x,n)`
the sum of the tests that send the pattern x left (one column of a threshold chain: no big-M, no
epsilon):

- `sum over v flow(x,n,left,v) <= L(x,n)`; `sum over v flow(x,n,right,v) <= active(n) - L(x,n)`.
- For thresholds of columns with missing cells: an x whose cell is present flows each way.

Tests, arcs and activity are binary; they determine all flows.

References: the ODD study's flows and arcs, with splits as in `pattern_flow`.
"""

from __future__ import annotations

import numpy as np

from odtdsl.backends.decode_diagram import canonical
from odtdsl.backends.milp.diagram_arcs import SIDES, Arcs
from odtdsl.backends.milp.flows import Flows
from odtdsl.backends.milp.layers import layers_of
from odtdsl.backends.milp.patterns import present
from odtdsl.backends.milp.program import SKELETON, Affine, Numbers
from odtdsl.backends.milp.structure import Splits, Tick
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawPlane, RawTest


class DiagramFlow(Splits, Flows):
    """The model of one problem."""

    def __init__(self, core: Core, tick: Tick = lambda: None) -> None:
        self.perfect = layers_of(core)
        super().__init__(core, self.perfect.depth, self.perfect.levels, tick)
        arcs = Arcs(self.program, self.perfect, self.active)
        arcs.order()
        self._build(arcs)
        for node in range(self.perfect.n_branches):
            self._sides(node)
            self._present(node)

    # ---- flow

    def _sides(self, node: int) -> None:
        """A pattern goes the way that the test sends it."""
        count = self.patterns.count
        rows, columns = self.lefts(node)
        every = np.arange(count)
        active = np.full(count, self.active[node])
        right_rows, right_columns = np.concatenate([every, rows]), np.concatenate([active, columns])
        signs = np.concatenate([-np.ones(count, dtype=np.int64), np.ones_like(rows)])
        left, right = self.flow[node][:, 0], self.flow[node][:, 1]
        self.side_block(f"left(n{node},p", left, rows, columns, -np.ones_like(rows))
        self.side_block(f"right(n{node},p", right, right_rows, right_columns, signs)
        self._tick()

    def _present(self, node: int) -> None:
        """A threshold lies between two values among the rows at the node."""
        for index, side in SIDES:
            for part in self.tests[node]:
                family = self.core.families[part.family]
                known = np.flatnonzero(present(family, self.patterns.codes[part.family]))
                if family.kind != "threshold" or len(known) == self.patterns.count:
                    continue
                name = self.program.column_names[int(part.columns[0])]
                flows = self.flow[node][known, index].ravel()
                row = Affine().add(part.use(True), -1).add_terms(flows, np.ones_like(flows))
                self.program.row(f"value_{side}_{name}", SKELETON, row, lower=0)

    # ---- diagrams out and in

    def decode(self, point: Numbers) -> RawDiagram | None:
        """The diagram of a solution; tests, activity and arcs are read, nothing else."""
        splits: dict[int, RawTest | RawPlane] = {}
        for node, active in enumerate(self.active):
            if point[active] > 0.5:
                family, test = self._decode_test(node, point)
                splits[node] = RawTest(family=family, test=test)
        return self.arcs.read(point, splits)

    def choices(self, raw: RawDiagram) -> dict[int, int] | None:
        """Tests, activity and arcs of a diagram, as column to value; None where it does not fit."""
        raw = canonical(raw)
        if not self.arcs.fits(raw):
            return None
        values = self.arcs.zeros()
        for node in range(self.perfect.n_branches):
            values.update(self._zeros(node))
        if not raw.layers:
            values[int(self.arcs.end[~raw.entry])] = 1
            return values
        reach = {0: np.ones(self.patterns.count, dtype=bool)}
        for level, layer in enumerate(raw.layers):
            for node, one in zip(self.perfect.at_level(level), layer, strict=False):
                here = np.flatnonzero(reach[node])
                assert isinstance(one.split, RawTest), "axis splits"
                left = self._choose(node, one.split.family, one.split.test, here, values)
                if left is None:
                    return None
                values[self.active[node]] = 1
                for (side, _), arc, some in zip(
                    SIDES, (one.left, one.right), (here[left], here[~left]), strict=True
                ):
                    target = self.arcs.target(node, arc)
                    values[
                        int(self.arcs.arc[node][side, self.arcs.targets[node].index(target)])
                    ] = 1
                    reach.setdefault(target, np.zeros(self.patterns.count, dtype=bool))[some] = True
        return values

    def assignment(self, raw: RawDiagram) -> IntArray | None:
        """All structural columns of a diagram, int64 (n_columns,); None where it does not fit."""
        choices = self.choices(raw)
        if choices is None:
            return None
        point = np.zeros(self.program.n_columns, dtype=np.int64)
        point[list(choices)] = list(choices.values())
        at = {0: np.arange(self.patterns.count)} if raw.layers else {}
        for node in range(self.perfect.n_branches):
            here = at.get(node, np.zeros(0, dtype=np.int64))
            if not len(here):
                continue
            sent = np.zeros(self.patterns.count, dtype=np.int64)
            rows, columns = self.lefts(node)
            np.add.at(sent, rows, point[columns])
            for side, _ in SIDES:
                some = here[(sent[here] > 0) == (side == 0)]
                position = int(np.argmax(point[self.arcs.arc[node][side]]))
                point[self.flow[node][some, side, position]] = 1
                target = self.arcs.targets[node][position]
                at[target] = np.union1d(at.get(target, some), some)
        return point
