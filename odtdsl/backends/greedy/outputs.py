"""Greedy growth for output vectors: splits scored, and leaves filled, in one of four ways each.

`optimal` takes the feasible output of least loss, `relaxed` weighs violations, `medoid` takes
a row's own outputs, `average` the free optimum. The study's S(O):L(O) is
`greedy(split = optimal, leaf = optimal)`.

References: Output-Constrained Decision Trees, sections 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from odtdsl.backends.exact.features import features
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.greedy.regression import RegressionGrowth, Root, no_tests, table_of
from odtdsl.backends.greedy.tables import Node
from odtdsl.backends.incumbent import Incumbent
from odtdsl.base import engine
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.forms import Core, OutputSet
from odtdsl.problem.ir.problem import Growth
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.problem.ir.regression import fitted as free_outputs
from odtdsl.problem.ir.regression import loss_in
from odtdsl.problem.outputs.feasible import anything, feasible_set
from odtdsl.problem.outputs.leaves import target_weights

SOFT = ("relaxed", "average")
"""Ways of filling leaves that may leave the rules on outputs."""


def is_soft(growth: Growth) -> bool:
    """Whether rules on outputs are only counted."""
    return growth.leaf in SOFT


def softened(core: Core) -> Core:
    """The core without its rules on outputs."""
    clauses = tuple(
        clause
        for clause in core.clauses
        if not any(isinstance(literal.atom, OutputSet) for literal in clause.literals)
    )
    return replace(core, clauses=clauses, steps=())


class OutputGrowth(RegressionGrowth):
    """One tree, grown as asked, and folded where rules or prices want it."""

    def __init__(
        self, core: Core, incumbent: Incumbent[RawTree], seed: int, growth: Growth
    ) -> None:
        super().__init__(core, incumbent, seed)
        self.growth = growth
        loss = loss_in(core)
        self.found = feasible_set(core) or anything(len(target_weights(core)))
        self.factors = target_weights(core)
        alike = (self.weights == self.weights[0]).all() and (loss is None or loss.exposure is None)
        self.unequal = None if alike else self.weights

    def run(self) -> None:
        """Offer the tree, and what folding makes of it."""
        whole = self._grown_at_once()
        if whole is None:
            super().run()
            return
        whole = self._tidied(whole)
        self.incumbent.offer(whole)
        if self.incumbent.best is None or self.price:
            self._fold(self.tables.placed(whole))

    def _tidied(self, tree: RawTree) -> RawTree:
        """Best outputs that no rule bends, anew: about a centre, zeros alone have a mean near 0."""
        way = self.growth.leaf
        bent = way == "medoid" or (way != "average" and feasible_set(self.core) is not None)
        return tree if bent else free_outputs(self.core, tree)

    def _plans(self) -> Iterator[tuple[float, bool, int]]:
        yield 1.0, False, self.tables.depth

    # ---- the whole tree in the engine

    def _grown_at_once(self) -> RawTree | None:
        """The tree, where no rule tells nodes apart; else None."""
        if self.rules.rules:
            return None
        if any(rule.levels is not None for rule in self.core.filters):
            return None
        if any(f.kind == "threshold" and f.missing is not None for f in self.core.families):
            return None
        found = features(self.core)
        tree = self._engine(
            found.table(),
            np.arange(self.core.n_rows),
            depth=self.tables.depth,
            leaves=self.tables.leaves,
            leaf=self.growth.leaf,
        ).tree
        raw = to_raw(self.core, found, tree)
        return _with_outputs(raw, tree, self._outputs(tree))

    def _engine(
        self,
        table: engine.RankTable,
        rows: IntArray,
        *,
        depth: int,
        leaves: int | None,
        leaf: str,
    ) -> engine.Grown:
        assert self.core.targets is not None
        growth = self.growth
        price = growth.leaf_penalty if leaf == growth.leaf else growth.split_penalty
        problem = engine.NumberProblem(
            table,
            np.ascontiguousarray(self.core.targets[rows]),
            depth,
            factors=self.factors,
            space=self.found.native,
            weights=None if self.unequal is None else self.unequal[rows],
            loss=self.kind,
            max_leaves=leaves,
            bounded=np.ascontiguousarray(self.tables.bounded[rows]),
            minima=self.tables.minima,
        )
        return engine.grow_outputs(
            problem,
            split=growth.split,
            leaf=leaf,
            split_price=float(growth.split_penalty),
            leaf_price=float(price),
            interrupted=self.incumbent.stopped,
        )

    def _outputs(self, tree: engine.Tree) -> FloatArray:
        """float64 (n_nodes, n_targets)."""
        assert tree.output is not None, "trees of outputs have them"
        return tree.output.reshape(-1, len(self.factors))

    # ---- node by node, under rules on paths and levels

    def _searched(
        self, node: Node, ranks: list[IntArray], allowed: list[BoolArray], depth: int
    ) -> Root | None:
        table = table_of(ranks, allowed)
        found = self._engine(table, node.rows, depth=1, leaves=None, leaf=self.growth.split)
        return Root.of(found.tree, found.value)

    def _loss(self, rows: IntArray) -> float:
        return self._alone(rows, self.growth.split).value

    def _alone(self, rows: IntArray, leaf: str) -> engine.Grown:
        """One leaf of some rows."""
        return self._engine(no_tests(len(rows)), rows, depth=0, leaves=None, leaf=leaf)

    def _offer(self, root: Node) -> None:
        self.tables.work += 100 * len(root.nodes())
        self.incumbent.offer(self._tidied(self._filled(root)))

    def _filled(self, node: Node) -> RawTree:
        if node.left is None or node.right is None:
            (output,) = self._outputs(self._alone(node.rows, self.growth.leaf).tree)
            return RawLeaf(output=tuple(output.tolist()))
        return RawSplit(
            family=node.family,
            test=node.test,
            left=self._filled(node.left),
            right=self._filled(node.right),
        )


def _with_outputs(raw: RawTree, tree: engine.Tree, outputs: FloatArray, at: int = 0) -> RawTree:
    if isinstance(raw, RawLeaf):
        return RawLeaf(output=tuple(outputs[at].tolist()))
    return replace(
        raw,
        left=_with_outputs(raw.left, tree, outputs, int(tree.left[at])),
        right=_with_outputs(raw.right, tree, outputs, int(tree.right[at])),
    )
