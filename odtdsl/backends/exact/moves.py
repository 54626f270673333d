"""Diagrams on `exact`, early: moves from the best diagram at hand, trees that fit among them.

Nothing here is a proof. What a move makes is offered to `Unrolled`, which keeps what breaks no
rule and is better; under rules a move that breaks one is taken back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.backends.exact.features import Features, kinds_of_rows
from odtdsl.backends.exact.layered_diagrams import Layers, diagram_of
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.exact.unrolled import as_diagram
from odtdsl.base import engine
from odtdsl.problem.ir.families import Family, local_gap
from odtdsl.problem.ir.raw import RawDiagram, RawTest

if TYPE_CHECKING:
    from odtdsl.backends.exact.unrolled import Unrolled
    from odtdsl.datasets.table import IntArray

PATIENCE = 150
"""Moves without anything better after which the search ends where it may come back later."""

TREES = 0.5
"""Of its time, what trees that fit take first."""

UNLIMITED = 4_000_000_000
"""Rows visited times features where no time is given: about half a minute."""

MOST_BYTES = 1 << 30
"""What the losses of all rows from all nodes may take."""


def prefix(widths: tuple[int, ...]) -> int:
    """Layers in which every tree of that depth fits."""
    depth = 0
    while depth < len(widths) and widths[depth] >= 1 << depth:
        depth += 1
    return depth


class Moves:
    """The search of one solve, which goes on where it was left."""

    def __init__(self, trees: Unrolled) -> None:
        self.trees = trees
        self.calls = 0
        self.spent = 0  # work
        self.told: Callable[[RawDiagram], None] | None = None
        self.over: Callable[[], bool] = lambda: False
        output = trees.measure.output
        rows = trees.core.n_rows
        most = trees.limits.table_bytes() or MOST_BYTES
        self.able = output is not None and 8 * rows * (sum(trees.widths) + 8) <= most
        if not self.able or output is None:
            return
        ranks = trees.features.ranks
        kinds = kinds_of_rows(ranks)
        _, one_of = np.unique(kinds, return_index=True)
        above = output - output.min(axis=1, keepdims=True)
        self.features = replace(trees.features, ranks=np.ascontiguousarray(ranks[:, one_of]))
        self.losses = np.zeros((len(one_of), above.shape[1]), dtype=np.int64)
        np.add.at(self.losses, kinds, above)
        self.able = len(one_of) > 1 and ranks.shape[0] > 0

    def run(
        self,
        deadline: float | None,
        patience: int,
        told: Callable[[RawDiagram], None] | None = None,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Until the deadline, or so many moves in a row gained nothing (0: never).

        `told` hears of what is better in place of `Unrolled`, where that is another thread's.
        `over` ends this like a limit, but is none.
        """
        if not self.able or self.trees.upper() <= self.trees.unparted + self.trees.price:
            return
        self.told, self.over = told, over
        if not self.calls:
            self._trees(deadline)
        self._moves(deadline, patience)

    def _trees(self, deadline: float | None) -> None:
        """The best tree that the anytime search finds among those that fit whatever they are."""
        trees = self.trees
        depth = prefix(trees.widths)
        visits = 2_000 if depth == len(trees.widths) else 200
        steps = visits * trees.core.n_rows * len(trees.features.distinct)
        limits = engine.Limits(
            time_limit=None if deadline is None else TREES * max(0.0, deadline - time.monotonic()),
            work_limit=min(steps, self._work_left() // 4 or steps),
            method="anytime",
            seed=trees.limits.seed,
            memory_limit=trees.limits.table_bytes(),
            interrupted=self._stopped,
        )
        found = engine.solve(trees.problem(depth, trees.price), limits)
        trees.interrupted = trees.interrupted or (found.interrupted and not self.over())
        if found.tree is not None:
            raw = as_diagram(to_raw(trees.tree_core, trees.features, found.tree))
            if raw is not None:
                self._offer(raw)

    def _work_left(self) -> int:
        work = self.trees.limits.work
        return max(1, work - self.spent) if work else 0

    def _moves(self, deadline: float | None, patience: int) -> None:
        trees = self.trees
        start = None if trees.best is None else encoded(trees, trees.best)
        upper = trees.upper() - trees.price  # without that of the root
        self.calls += 1
        endless = UNLIMITED if deadline is None else 0
        limits = engine.Limits(
            seed=trees.limits.seed + self.calls - 1,
            work_limit=self._work_left() or endless,
            time_limit=None if deadline is None else max(0.0, deadline - time.monotonic()),
            interrupted=self._stopped,
        )
        found = engine.improve_diagram(
            self.features.table(),
            self.losses,
            trees.widths,
            price=trees.price,
            start=start or (),
            upper=upper,
            judge=self._judge,
            limits=limits,
            picky=bool(trees.core.clauses),
            patience=patience,
        )
        trees.moves += found.moves
        self.spent += found.work
        trees.interrupted = trees.interrupted or (found.interrupted and not self.over())

    def _judge(self, value: int, layers: Layers) -> bool:
        """Whether a diagram may be kept; what is better than the best is offered."""
        raw = diagram_of(self.trees, layers)
        if raw is None:
            return False
        if value < self.trees.upper() - self.trees.price:
            return self._offer(raw)
        return self.trees.keeps(raw)

    def _offer(self, raw: RawDiagram) -> bool:
        """Tell of a diagram that is better; whether it breaks nothing."""
        if self.told is None:
            return self.trees.offer(raw)
        keeps = self.trees.keeps(raw)
        if keeps:
            self.told(raw)
        return keeps

    def _stopped(self) -> bool:
        return self.over() or self.trees.limits.interrupted()


def encoded(trees: Unrolled, raw: RawDiagram) -> Layers | None:
    """A diagram in the terms of the engine; None where one of its tests is no cut there."""
    from odtdsl.problem.ir.diagrams import DiagramEvaluation

    found = trees.features
    where = {pair: index for index, pair in enumerate(found.tests)}
    layers: list[list[tuple[int, int, int, int]]] = [[] for _ in raw.layers]
    for visit in DiagramEvaluation(trees.core, raw).visits:
        node = visit.node
        if not isinstance(node.split, RawTest):
            return None
        feature, cut = where.get((node.split.family, -1)), 0
        if feature is None:
            feature = where.get((node.split.family, node.split.test))
        else:
            family = trees.core.families[node.split.family]
            cut = _cut_of(found, feature, family, node.split.test, visit.rows)
        if feature is None or cut < 0:
            return None
        layers[visit.level].append((feature, cut, node.left, node.right))
    return layers


def _cut_of(found: Features, feature: int, family: Family, test: int, rows: IntArray) -> int:
    """The engine's cut that parts these rows as a threshold does; -1 without one."""
    gap = local_gap(family, test, family.codes[rows])
    if gap is None:
        return -1
    shift = int(family.missing == "left")
    cuts = np.arange(gap[0], gap[1]) + shift
    kept = found.cuts[feature] if found.cuts else None
    if kept is not None:
        cuts = np.intersect1d(cuts, kept, assume_unique=True)
    if not cuts.size:
        return -1
    cut = int(cuts[np.abs(cuts - shift - test).argmin()])
    return cut if kept is None else int(np.searchsorted(kept, cut))
