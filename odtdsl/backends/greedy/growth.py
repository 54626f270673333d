"""Growth from the root down, and pruning from the leaves up."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.greedy.costs import PenalizedObjective
from odtdsl.backends.greedy.labels import leaf_options
from odtdsl.backends.greedy.paths import PathRules
from odtdsl.backends.greedy.tables import Node, Tables
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Linear

GINI, GAIN, SIDES = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one tree is grown.

    Attributes
    ----------
    depth, leaves
        Limits; None for no limit on leaves.
    noise
        Scores are multiplied by exp(noise * normal).
    gain_last
        Whether the last level goes for the objective itself instead of Gini.
    first
        The column of the root, where it is forced.
    full
        Whether nodes that no label can improve are split too, at random: rules on shares of
        predictions may need parts of them.
    """

    depth: int
    leaves: int | None
    noise: float = 0.0
    gain_last: bool = True
    first: int | None = None
    full: bool = False


class Grower:
    """Grows and prunes trees over one core."""

    def __init__(
        self, tables: Tables, rules: PathRules, stopped: Callable[[], bool], seed: int
    ) -> None:
        self.tables = tables
        self.rules = rules
        self.stopped = stopped
        self.random = np.random.default_rng(seed)
        self.on_leaves = any(c.scope is Scope.LEAF for c in tables.core.clauses)
        self.support = [
            clause.literals for clause in tables.core.clauses if clause.scope is Scope.SPLIT
        ]

    def grow(self, root: Node, objective: PenalizedObjective, plan: Plan) -> Node:
        """Split `root`, a leaf, and what comes below it, the largest improvement first."""
        heap: list[tuple[float, int, Node, int, int]] = []
        count, n_leaves = 0, 1

        def consider(node: Node) -> None:
            nonlocal count
            found = self._split_of(node, objective, plan)
            if found is not None:
                urgency, family, test = found
                heapq.heappush(heap, (-urgency, count, node, family, test))
                count += 1

        consider(root)
        while heap and not self.stopped():
            if plan.leaves is not None and n_leaves >= plan.leaves:
                break
            _, _, node, family, test = heapq.heappop(heap)
            self.tables.split(node, family, test)
            n_leaves += 1
            for child in node.children:
                consider(child)
        return root

    def _split_of(
        self, node: Node, objective: PenalizedObjective, plan: Plan
    ) -> tuple[float, int, int] | None:
        """How urgent the best split of a node is, and the split; None where it stays a leaf."""
        remaining = plan.depth - node.level
        if remaining <= 0 or len(node.rows) < 2:
            return None
        sums = objective.gains[node.rows].sum(axis=0)
        unfinished = not self.rules.ends(node.above) or (
            self.on_leaves and not leaf_options(self.tables.core, node.rows).any()
        )
        most = int(objective.gains[node.rows].max(axis=1).sum()) if len(sums) else 0
        pure = most == int(sums.max(initial=0))
        if (pure and not unfinished and not plan.full) or not self._has_support(node):
            return None
        columns = self.rules.choices(node.above, remaining)
        if pure and plan.full:
            return self._random_split(node, columns)
        if node.level == 0 and plan.first is not None:
            columns = [column for column in columns if column == plan.first]
        score = GAIN if plan.gain_last and remaining == 1 else GINI
        families, tests, exact, gini = self.tables.best(node, columns, objective.gains, score)
        if not len(families):
            return None
        best = self._chosen(sums, exact, gini, score, plan.noise)
        total = float(sums.sum())
        before = float((sums.astype(np.float64) ** 2).sum()) / total if total > 0 else 0.0
        urgency = np.inf if unfinished else max(0.0, float(gini[best]) - before)
        return urgency, int(families[best]), int(tests[best])

    def _random_split(self, node: Node, columns: list[int]) -> tuple[float, int, int] | None:
        """Some test of some column, anywhere between its values."""
        columns = [column for column in columns if column in self.tables.of_column]
        if not columns:
            return None
        column = columns[int(self.random.integers(len(columns)))]
        codes = self.tables.core.families[self.tables.of_column[column][0]].codes
        cut = codes[node.rows[int(self.random.integers(len(node.rows)))]]
        gains = np.zeros((len(codes), 2), dtype=np.int64)
        gains[codes <= cut, 0] = gains[codes > cut, 1] = 1
        families, tests, exact, _ = self.tables.best(node, [column], gains, SIDES)
        if not len(families):
            return None
        best = int(np.argmax(exact))
        return 0.0, int(families[best]), int(tests[best])

    def _chosen(
        self, sums: IntArray, exact: IntArray, gini: FloatArray, score: int, noise: float
    ) -> int:
        if noise == 0.0:
            keys = (gini, exact) if score == GAIN else (gini,)
            return int(np.lexsort(keys)[-1]) if score == GAIN else int(np.argmax(gini))
        total = float(sums.sum())
        if score == GAIN:
            improved = exact - float(sums.max(initial=0)) + 1e-3 * gini / max(total, 1e-300)
        else:
            before = float((sums.astype(np.float64) ** 2).sum()) / total if total > 0 else 0.0
            improved = gini - before
        improved = np.maximum(improved, 0.0) + 1e-9 * max(total, 1.0)
        factors = np.exp(noise * self.random.standard_normal(len(improved)))
        return int(np.argmax(improved * factors))

    def _has_support(self, node: Node) -> bool:
        """Whether the rules on splits that speak of rows alone let this node be one."""
        for literals in self.support:
            holds = False
            for literal in literals:
                atom = literal.atom
                if not isinstance(atom, Linear) or atom.measure.output is not None:
                    holds = True  # told only when the labels below are known
                    continue
                rows = atom.measure.rows
                value = atom.measure.constant + (0 if rows is None else int(rows[node.rows].sum()))
                holds |= (value <= atom.at_most) == literal.positive
            if not holds:
                return False
        return True

    # ---- from the leaves up

    def fold_broken(self, root: Node) -> None:
        """Fold splits above leaves that the rules on paths and leaves do not admit."""
        core = self.tables.core
        while True:
            broken = {
                id(leaf)
                for leaf in root.leaves()
                if not self.rules.ends(leaf.above)
                or (self.on_leaves and not leaf_options(core, leaf.rows).any())
            }
            folded = False
            for node in reversed(root.splits()):
                if any(id(child) in broken for child in node.children):
                    node.fold()
                    folded = True
            if not folded:
                return

    def prune(self, root: Node, objective: PenalizedObjective) -> None:
        """Fold every split that does not pay for its leaves, exactly for the objective's prices."""
        values: dict[int, float] = {}
        for node in reversed(root.nodes()):
            sums = objective.gains[node.rows].sum(axis=0)
            alone = float(sums.max(initial=0)) - objective.leaf_price
            if node.children:
                left, right = node.children
                column = self.tables.core.families[node.family].column
                apart = (
                    values[id(left)] + values[id(right)] - float(objective.column_prices[column])
                )
                if alone >= apart and self.rules.ends(node.above):
                    node.fold()
                else:
                    alone = apart
            values[id(node)] = alone
