"""Rules on diagrams as rows: as `clauses` on trees, with a column for every path of nodes.

- `via(n0,n1,...)` is 1 if arcs lead from node to node, `path(...)` if besides an arc leads from
  the last one to a terminal; both may be 1 elsewhere where no rule minds. A rule on paths holds
  where `path` is 1.
- A node that is not active holds no row: `sum over its rows <= bound * active(n)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtdsl.backends.milp.clauses import Rules
from odtdsl.backends.milp.diagram_arcs import Arcs
from odtdsl.backends.milp.flows import Flows
from odtdsl.backends.milp.patterns import Gains, gains_of
from odtdsl.backends.milp.program import SKELETON, Affine, Completion
from odtdsl.backends.milp.rows import ALWAYS, RowMaker
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Budget, Clause, Linear


class DiagramRules(Rules):
    """Lowers clauses into the program of a diagram."""

    encoding: Flows

    def __init__(self, encoding: Flows, n_classes: int, tick: Callable[[], None]) -> None:
        super().__init__(encoding, n_classes, tick)
        self.arcs: Arcs = encoding.arcs
        self._on: list[Affine] | None = None

    def _instances(self, scope: Scope) -> list[tuple[str, Affine]]:
        if scope is not Scope.PATH:
            return super()._instances(scope)
        if self._on is None:
            self._on = self._paths()
        return [(f"path{i}", on) for i, on in enumerate(self._on)]

    def _instance(self, clause: Clause, name: str, place: str, condition: Affine) -> None:
        self._pairs.clear()  # what is above a node depends on the path
        super()._instance(clause, name, place, condition)

    def _alone(self, scope: Scope, condition: Affine) -> Affine:
        return condition if scope is Scope.PATH else ALWAYS

    def _paths(self) -> list[Affine]:
        """1 iff the path is one of the diagram, for each of `Layers.ends`."""
        encoding = self.encoding
        first = Affine(constant=1)
        if encoding.active:
            first.add(encoding.is_active(0), -1)
        on: list[Affine] = []
        via: dict[tuple[int, ...], Affine] = {}
        for path in encoding.perfect.ends:
            if not path:
                on.append(first)
                continue
            via[path] = (
                encoding.is_active(0)
                if len(path) == 1
                else self._both("via", path, via[path[:-1]], [self.arcs.link(*path[-2:])])
            )
            ends = [
                Affine().add_terms(columns, np.ones_like(columns))
                for columns in self._terminal_arcs(path[-1])
            ]
            on.append(self._both("path", path, via[path], ends))
            self._tick()
        return on

    def _terminal_arcs(self, node: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """int64 (2, n_classes): the arcs of a node to terminals."""
        return self.arcs.arc[node][:, -self.n_classes :]

    def _both(self, kind: str, path: tuple[int, ...], one: Affine, others: list[Affine]) -> Affine:
        """A column that is 1 where `one` and any of the others are."""
        name = f"{kind}({','.join(f'n{node}' for node in path)})"
        column = self.program.column(name)
        for index, other in enumerate(others):
            row = one.copy().add(other).add_term(column, -1)
            self.program.row(f"on_{name}_{index}", SKELETON, row, upper=1)
        self.program.completed_by(column, _product(one, others))
        return Affine().add_term(column)

    def _budget(self, atom: Budget, row: RowMaker, nodes: tuple[int, ...]) -> None:
        """Under hyperplanes a split counts by itself, whatever it weighs."""
        measure = atom.measure
        constant = measure.constant + measure.per_split * len(nodes)
        whole = replace(measure, constant=constant, per_split=0)
        super()._budget(replace(atom, measure=whole), row, nodes)

    def _linear(
        self, atom: Linear, row: RowMaker, scope: Scope, place: str, condition: Affine
    ) -> None:
        if scope is not Scope.SPLIT:
            super()._linear(atom, row, scope, place, condition)
            return
        measure = atom.measure
        assert measure.output is None, "splits count rows, not predictions"
        amounts = gains_of(measure, self.encoding.patterns, self.n_classes).worst
        bound = atom.at_most - measure.constant
        inside = self.encoding.of_node(int(place[1:]), amounts)
        most = int(np.maximum(amounts, 0).sum())
        row.at_most(inside.add(condition, -bound), 0, most - bound, "")

    def _most_of_model(self, measure: Additive, gains: Gains) -> int:
        costs = np.zeros(0, dtype=np.int64) if measure.columns is None else measure.columns
        several = self.encoding.several
        dearest = int(np.maximum(costs, 0).sum() if several else costs.max(initial=0))
        per_split = max(0, dearest + measure.splits)
        most = measure.constant + self.perfect.n_branches * per_split
        return most + max(0, measure.leaves) * self.n_classes + int(gains.worst.sum())


def _product(one: Affine, others: list[Affine]) -> Completion:
    return lambda point: int(one.at(point) > 0 and any(other.at(point) > 0 for other in others))
