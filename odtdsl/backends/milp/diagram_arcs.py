"""Nodes and arcs of a diagram as columns: what the models of diagrams have in common.

On the places of a skeleton (see `layers`), with nodes n, terminals c of the classes, and
targets v of the arcs of n (nodes of the next layer, and terminals):

- `arc(n,left,v)`, `arc(n,right,v)`: `sum over v arc(n,side,v) = active(n)`.
- `arc(u,left,v) + arc(u,right,v) <= active(v) <= sum of arcs to v`; the two arcs of a node never
  lead to one terminal.
- `end(c)`: the diagram has no split and says c; `active(root) + sum over c end(c) = 1`.
- Nodes of a layer stand in the order in which arcs lead to them, left before right: an arc leads
  to a node only if an earlier one leads to the node before it. Each diagram is there once.

All are binary. A diagram is read from them and the tests alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.milp.layers import Layers
from odtdsl.backends.milp.program import SKELETON, Affine, Numbers, Program
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawPlane, RawTest

Side = Literal[0, 1]
"""0 for left, 1 for right."""

SIDES: tuple[tuple[Side, str], ...] = ((0, "left"), (1, "right"))


class Arcs:
    """The arcs of one problem.

    Attributes
    ----------
    arc
        Per node int64 (2, n_targets): columns, in the order of `Layers.targets`.
    end
        int64 (n_classes,): columns of `end(c)`.
    """

    def __init__(self, program: Program, layers: Layers, active: Sequence[int]) -> None:
        self.program = program
        self.layers = layers
        self.active = tuple(active)
        self.targets = tuple(layers.targets(node) for node in range(layers.n_branches))
        self.arc: tuple[IntArray, ...] = tuple(
            self._of_node(node) for node in range(layers.n_branches)
        )
        self.end = program.columns([f"end(c{c})" for c in range(layers.n_leaves)], integer=True)
        entry = ones(self.end)
        if self.active:
            entry.add_term(self.active[0])
        program.row("entry", SKELETON, entry, lower=1, upper=1)
        self._reached: dict[int, Affine] = {}
        for node in range(1, layers.n_branches):
            self._into(node)
        if layers.tree:
            self._own()

    def name(self, target: int) -> str:
        """The name of a node or terminal."""
        terminals = self.layers.n_branches
        return f"n{target}" if target < terminals else f"c{target - terminals}"

    def _of_node(self, node: int) -> IntArray:
        targets, active = self.targets[node], Affine().add_term(self.active[node])
        columns = np.array(
            [
                self.program.columns(
                    [f"arc(n{node},{side},{self.name(v)})" for v in targets], integer=True
                )
                for _, side in SIDES
            ]
        )
        for index, side in SIDES:
            row = ones(columns[index]).add(active, -1)
            self.program.row(f"arc_of(n{node},{side})", SKELETON, row, lower=0, upper=0)
        for position, target in enumerate(targets):
            if target >= self.layers.n_branches:
                both = ones(columns[:, position]).add(active, -1)
                name = f"apart(n{node},{self.name(target)})"
                self.program.row(name, SKELETON, both, upper=0)
        return columns

    def into(self, target: int) -> list[tuple[int, IntArray]]:
        """The nodes whose arcs may lead to a target, each with its two columns."""
        terminal = target >= self.layers.n_branches
        nodes = range(self.layers.n_branches) if terminal else self.layers.above(target)
        return [(n, self.arc[n][:, self.targets[n].index(target)]) for n in nodes]

    def link(self, node: int, target: int) -> Affine:
        """1 iff an arc of the node leads to the target."""
        return ones(self.arc[node][:, self.targets[node].index(target)])

    def _into(self, node: int) -> None:
        program, active = self.program, Affine().add_term(self.active[node])
        some = active.copy()
        for above, columns in self.into(node):
            both = ones(columns).add(active, -1)
            program.row(f"leads(n{above},n{node})", SKELETON, both, upper=0)
            some.add(ones(columns), -1)
        program.row(f"led_to(n{node})", SKELETON, some, upper=0)

    def _own(self) -> None:
        """Of a tree, the left arc leads to the left child or ends, and so the right one."""
        for node, targets in enumerate(self.targets):
            for position, target in enumerate(targets[: -self.layers.n_leaves]):
                first = self.layers.at_level(self.layers.levels[target])[0]
                self.program.fix(int(self.arc[node][1 - (target - first) % 2, position]), 0)

    def order(self) -> None:
        """Keep one of the diagrams that differ in the order of a layer's nodes only.

        The nodes of a tree have places of their own.
        """
        if self.layers.tree:
            return
        for level in range(1, self.layers.depth):
            nodes = self.layers.at_level(level)
            for node in nodes:
                first = node == nodes[0]
                earlier = Affine()
                for above, columns in self.into(node):
                    for index, side in SIDES:
                        row = Affine().add_term(int(columns[index])).add(earlier, -1)
                        if not first:
                            name = f"order(n{above},{side},n{node})"
                            self.program.row(name, SKELETON, row, upper=0)
                            before = self.arc[above][index, self.targets[above].index(node - 1)]
                            earlier.add_term(int(before))

    def reached(self, label: int) -> Affine:
        """1 iff an arc leads to the terminal of a class, or the diagram has no other node."""
        if label not in self._reached:
            program = self.program
            column = program.column(f"reached(c{label})", integer=True)
            some = Affine().add_term(int(self.end[label]))
            for _, columns in self.into(self.layers.n_branches + label):
                some.add(ones(columns))
            for arc in some.terms:
                row = Affine().add_term(arc).add_term(column, -1)
                name = f"reach_by({program.column_names[arc]})"
                program.row(name.replace("((", "(").replace("))", ")"), SKELETON, row, upper=0)
            row = Affine().add_term(column).add(some, -1)
            program.row(f"reach(c{label})", SKELETON, row, upper=0)
            program.completed_by(column, lambda point: int(some.at(point) > 0))
            self._reached[label] = Affine().add_term(column)
        return self._reached[label]

    def turned(self) -> None:
        """Of each node the left arc leads to the earlier target: for splits that can be turned.

        The ODD study's equation (11).
        """
        for node, targets in enumerate(self.targets):
            for position, target in enumerate(targets):
                row = ones(self.arc[node][1, : position + 1])
                row.add_term(int(self.arc[node][0, position]))
                name = f"turned(n{node},{self.name(target)})"
                self.program.row(name, SKELETON, row, upper=1)

    # ---- diagrams out and in

    def read(self, point: Numbers, splits: dict[int, RawTest | RawPlane]) -> RawDiagram | None:
        """The reduced diagram of a solution; `splits` are those of its active nodes."""
        if not self.active or point[self.active[0]] < 0.5:
            return RawDiagram(entry=~int(np.argmax([point[c] for c in self.end.tolist()])))
        layers: list[list[RawNode | None]] = []
        for level in range(self.layers.depth):
            nodes: list[RawNode | None] = []
            for node in self.layers.at_level(level):
                if node not in splits:
                    nodes.append(None)
                    continue
                left, right = (self.read_arc(point, node, side) for side, _ in SIDES)
                nodes.append(RawNode(split=splits[node], left=left, right=right))
            layers.append(nodes)
        return folded(Draft(entry=0, layers=layers))

    def read_arc(self, point: Numbers, node: int, side: Side) -> int:
        """Where an arc of a solution leads, as a raw diagram says it."""
        values = [point[column] for column in self.arc[node][side].tolist()]
        target = self.targets[node][int(np.argmax(values))]
        if target >= self.layers.n_branches:
            return ~(target - self.layers.n_branches)
        return target - self.layers.at_level(self.layers.levels[node] + 1)[0]

    def target(self, node: int, arc: int) -> int:
        """The target of a raw node's arc."""
        if arc < 0:
            return self.layers.n_branches + ~arc
        return self.layers.at_level(self.layers.levels[node] + 1)[arc]

    def zeros(self) -> dict[int, int]:
        """All arcs at 0."""
        columns = [*self.end.tolist(), *(c for arcs in self.arc for c in arcs.ravel().tolist())]
        return dict.fromkeys(columns, 0)

    def fits(self, raw: RawDiagram) -> bool:
        """Whether a diagram's nodes have places."""
        widths = [len(layer) for layer in raw.layers]
        return len(widths) <= self.layers.depth and all(
            many <= width for many, width in zip(widths, self.layers.widths, strict=False)
        )


def ones(columns: IntArray) -> Affine:
    """The sum of some columns."""
    return Affine().add_terms(columns, np.ones_like(columns))
