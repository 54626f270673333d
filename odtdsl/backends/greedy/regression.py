"""Greedy growth on number targets: CART by the loss of the objective, under the rules.

The best split of a node comes from the exact search at depth one (or two, where a tree may
still grow by two levels: the look-ahead that plain CART lacks). Restarts see a random part of
the columns. What comes out is judged like class trees are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.greedy.paths import PathRules
from odtdsl.backends.greedy.tables import Node, Tables
from odtdsl.backends.greedy.thresholds import Thresholds
from odtdsl.backends.incumbent import Incumbent
from odtdsl.base import engine
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.forms import Core, RegressionStage
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.ir.regression import loss_in
from odtdsl.problem.outputs.leaves import fitted

RESTARTS = 30
WORK = 20_000_000
"""Cells scanned at most."""
AHEAD = 300_000_000
"""Nodes with more cells times cuts are split without looking ahead."""
SHARE = 0.6
"""Of the columns that a node may test, what a restart looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """The best split of a node, and what it takes off the sum of losses."""

    family: int
    test: int
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The engine's first split (feature -1: a leaf), and the loss of its tree."""

    feature: int
    cut: int
    loss: float

    @classmethod
    def of(cls, tree: engine.Tree, loss: float) -> Root:
        """The root's split of a tree of the engine, and the tree's loss."""
        return cls(feature=int(tree.feature[0]), cut=int(tree.cut[0]), loss=loss)


def table_of(ranks: list[IntArray], allowed: list[BoolArray]) -> engine.RankTable:
    """Features of a node for the engine: ranks of its rows, and where cuts may stand."""
    distinct = np.array([len(one) for one in allowed], dtype=np.uint32)
    return engine.RankTable(np.array(ranks, dtype=np.uint32), distinct, allowed)


def no_tests(rows: int) -> engine.RankTable:
    """So many rows that no test tells apart."""
    return engine.RankTable(np.zeros((1, rows), dtype=np.uint32), np.ones(1, dtype=np.uint32))


class RegressionGrowth:
    """One run: growth with and without look-ahead, then restarts."""

    def __init__(
        self, core: Core, incumbent: Incumbent[RawTree], seed: int, *, brief: bool = False
    ) -> None:
        self.core, self.incumbent, self.brief = core, incumbent, brief
        self.tables = Tables(core)
        self.thresholds = Thresholds(core, self.tables)
        self.rules = PathRules(core)
        self.random = np.random.default_rng(seed)
        assert core.targets is not None
        loss = loss_in(core)
        self.kind = "squared" if loss is None else loss.kind
        self.weights = np.ones(core.n_rows) if loss is None else loss.masses.astype(np.float64)
        self.target = np.ascontiguousarray(core.targets[:, 0])
        self.price = _price(core)
        self.offered: set[RawTree] = set()

    def run(self) -> None:
        """Offer trees until the effort is spent."""
        self._offer(self.tables.root())
        for share, ahead, depth in self._plans():
            if self.incumbent.stopped() or self.tables.work > WORK:
                return
            self._attempt(share, ahead, depth)
            if self.brief and self.incumbent.best is not None:
                return

    def _plans(self) -> Iterator[tuple[float, bool, int]]:
        """Share of the columns, look-ahead, depth."""
        depth = self.tables.depth
        yield 1.0, False, depth
        yield 1.0, True, depth
        for shallow in range(1, min(depth, 4)):
            yield 1.0, True, shallow
        for attempt in range(RESTARTS):
            yield SHARE, attempt % 2 == 1, depth

    def _attempt(self, share: float, ahead: bool, depth: int) -> None:
        self._fold(self._grow(share, ahead, depth))

    def _fold(self, root: Node) -> None:
        """Offer a tree, and without the splits that rules or prices take away."""
        self._offer(root)
        for node in reversed(root.splits()):  # rules on leaves and prices, from below
            if self.incumbent.stopped():
                return
            bottom = not any(child.children for child in node.children)
            if bottom and (not self._worthy(node) or not self._ends(node)):
                node.fold()
        self._offer(root)

    def _offer(self, root: Node) -> None:
        self.tables.work += 100 * len(root.nodes())
        tree = root.raw()
        if tree not in self.offered:  # outputs are those of the splits
            self.offered.add(tree)
            self.incumbent.offer(fitted(self.core, tree))

    # ---- one tree

    def _grow(self, share: float, ahead: bool, depth: int) -> Node:
        """The largest gain first, until no leaf can be split or their number is reached."""
        root = self.tables.root()
        heap: list[tuple[float, int, Node, _Split]] = []
        count = 0

        def consider(node: Node) -> None:
            nonlocal count
            split = self._split_of(node, share, depth - node.level, ahead)
            if split is not None:
                heapq.heappush(heap, (-split.gain, count, node, split))
                count += 1

        consider(root)
        n_leaves = 1
        while heap and not self.incumbent.stopped():
            if self.tables.leaves is not None and n_leaves >= self.tables.leaves:
                break
            _, _, node, split = heapq.heappop(heap)
            self.tables.split(node, split.family, split.test)
            n_leaves += 1
            for child in node.children:
                consider(child)
        return root

    def _split_of(self, node: Node, share: float, remaining: int, ahead: bool) -> _Split | None:
        if remaining <= 0 or len(node.rows) < 2:
            return None
        columns = [
            column
            for column in self.rules.choices(node.above, remaining)
            if share == 1.0 or self.random.random() < share
        ]
        if (self.tables.bounded[node.rows].sum(axis=0) < 2 * self.tables.minima).any():
            return None  # no two sides hold enough of what rules on leaves count
        ranks, allowed, tests = self._features(node, columns)
        if not tests:
            return None
        scan = len(tests) * len(node.rows)
        pairs = scan * sum(int(cuts.sum()) for cuts in allowed)
        ahead = ahead and remaining > 1 and pairs <= AHEAD
        self.tables.work += scan + (pairs // 20 if ahead else 0)
        before = self._loss(node.rows)
        found = self._searched(node, ranks, allowed, 2 if ahead else 1)
        if found is None or found.feature < 0:
            return None
        family, test = tests[found.feature]
        gain = before - found.loss
        cut = found.cut - 1 if test < 0 else test  # ranks are codes above -1
        return _Split(family=family, test=cut, gain=gain)

    def _searched(
        self, node: Node, ranks: list[IntArray], allowed: list[BoolArray], depth: int
    ) -> Root | None:
        """The root of the best tree of a depth; None where the search was stopped before one."""
        problem = engine.NumberProblem(
            table_of(ranks, allowed),
            self.target[node.rows, None],
            depth,
            weights=self.weights[node.rows],
            loss=self.kind,
        )
        limits = engine.Limits(interrupted=self.incumbent.stopped)
        found = engine.solve_numbers(problem, limits)
        if found.tree is None or found.objective is None:
            return None
        return Root.of(found.tree, found.objective)

    def _features(
        self, node: Node, columns: list[int]
    ) -> tuple[list[IntArray], list[BoolArray], list[tuple[int, int]]]:
        """Ranks of the node's rows, where cuts may stand, and (family, test or -1), by feature."""
        ranks: list[IntArray] = []
        allowed: list[BoolArray] = []
        tests: list[tuple[int, int]] = []
        indices = [i for c in columns for i in self.tables.of_column.get(c, ())]
        cut = self.thresholds.cuts(
            node, [i for i in indices if self.core.families[i].kind == "threshold"]
        )
        for index in indices:
            family = self.core.families[index]
            if family.kind == "threshold":
                if index in cut:
                    of_rows, cuts = cut[index]
                    ranks.append(of_rows)
                    allowed.append(cuts)
                    tests.append((index, -1))
                continue
            for test in np.flatnonzero(self.tables.admitted(node.level)[index]).tolist():
                right = ~family.goes_left(test)[node.rows]
                if right.any() and not right.all() and self._enough(node.rows, right):
                    ranks.append(right.astype(np.int64))
                    allowed.append(np.array([True, False]))
                    tests.append((index, test))
        return ranks, allowed, tests

    def _enough(self, rows: IntArray, right: BoolArray) -> bool:
        for bounded, least in zip(self.tables.bounded.T, self.tables.minima, strict=True):
            if min(bounded[rows[right]].sum(), bounded[rows[~right]].sum()) < least:
                return False
        return True

    # ---- from the leaves up

    def _ends(self, node: Node) -> bool:
        return all(self.rules.ends(child.above) for child in node.children)

    def _worthy(self, node: Node) -> bool:
        """Whether a split takes off more than the leaf that it adds costs."""
        apart = sum(self._loss(child.rows) for child in node.children)
        return self._loss(node.rows) - apart > self.price

    def _loss(self, rows: IntArray) -> float:
        """The least sum of losses of one leaf with these rows."""
        problem = engine.NumberProblem(
            no_tests(len(rows)),
            self.target[rows, None],
            0,
            weights=self.weights[rows],
            loss=self.kind,
        )
        found = engine.solve_numbers(problem, engine.Limits())
        assert found.objective is not None, "nothing stops the search for a leaf"
        return found.objective


def _price(core: Core) -> float:
    """What a leaf more costs, in sums of weighted losses."""
    first = core.objective[0] if core.objective else None
    if not isinstance(first, RegressionStage) or not first.rest.leaves:
        return 0.0
    weight = int(first.loss.weights.sum())
    price = first.rest.leaves / first.rest.denominator * weight
    return float(price / max(first.loss.factors))
