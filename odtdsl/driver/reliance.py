"""What a set of good trees relies on: the features that each needs, and how much it loses without.

Model reliance (Fisher, Rudin, Dominici 2019, "All models are wrong, but many are useful", section
3.1) is what a model's loss grows by if the values of one feature are taken from other rows. Here
it is the difference of two error rates, the second one over all ordered pairs of rows (their
`e_switch`, equation 3.3): so nothing is drawn at random. Its range over the set of good models is
their model class reliance. It depends on the function of a tree only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import BoolArray, FloatArray
from odtdsl.predictors.nodes import Branch, Leaf, TreeNode
from odtdsl.predictors.routing import passes, tested_cells
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliance:
    """How far good trees rely on a feature.

    Attributes
    ----------
    feature
        Its name.
    needed
        Whether each good tree tests it, listed or not; None if they were not counted.
    without
        How many good trees do not, those that predict alike counted each; None as above.
    least, most
        The least and the largest growth of the error rate, among the listed trees, if the
        feature's value is taken from another row: 0.1 is ten rows in a hundred.
    """

    feature: str
    needed: bool | None
    without: int | None
    least: float
    most: float


def reliance_of(trees: Sequence[Tree], rows: Rows, without: Sequence[int]) -> tuple[Reliance, ...]:
    """The range of each feature over trees, the largest first.

    Parameters
    ----------
    trees
        Trees with classes.
    rows
        The training rows.
    without
        Per feature how many of all good trees do not test it; empty: not known.

    Raises
    ------
    OdtError
        B103: the target has no classes.
    """
    if rows.data.labels is None:
        raise error("B103", "reliance on features is defined only for class targets")
    measure = _Measure(rows)
    names = [feature.name for feature in rows.problem.features]
    growth = {name: [0.0, 0.0] if not trees else [np.inf, -np.inf] for name in names}
    for tree in trees:
        of = measure.growth(tree)
        for name, ends in growth.items():
            value = of.get(name, 0.0)
            ends[0], ends[1] = min(ends[0], value), max(ends[1], value)
    found = [
        Reliance(
            feature=name,
            needed=without[at] == 0 if without else None,
            without=without[at] if without else None,
            least=growth[name][0],
            most=growth[name][1],
        )
        for at, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda one: -one.most))


class _Measure:
    """Model reliance of one tree after the other; tests are put to the rows once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.weights: FloatArray = rows.weights / float(rows.weight_denominator)
        self.total = float(self.weights.sum())
        self.pairs = self.total**2 - float((self.weights**2).sum())
        self.known: dict[tuple[object, ...], BoolArray] = {}

    def growth(self, tree: Tree) -> dict[str, float]:
        """Per feature that the tree tests, what its error rate grows by."""
        if not self.pairs:
            return {}
        everyone = np.ones(len(self.weights), dtype=np.bool_)
        nodes = list(self._leaves(tree, tree.root, everyone, everyone, None))
        errors = sum(float(self.weights[own & wrong].sum()) for own, _, wrong in nodes)
        return {
            name: self._switched(self._leaves(tree, tree.root, everyone, everyone, name))
            - errors / self.total
            for name in tree.tested
        }

    def _switched(self, leaves: Iterable[tuple[BoolArray, BoolArray, BoolArray]]) -> float:
        """The error rate over pairs of rows: the feature is that of the second one."""
        lost = 0.0
        for own, others, wrong in leaves:
            here = own & wrong
            same = self.weights[here & others]
            lost += float(self.weights[here].sum()) * float(self.weights[others].sum())
            lost -= float((same**2).sum())
        return lost / self.pairs

    def _leaves(
        self, tree: Tree, node: TreeNode, own: BoolArray, others: BoolArray, feature: str | None
    ) -> Iterable[tuple[BoolArray, BoolArray, BoolArray]]:
        """Per leaf: rows that reach it by all other tests, rows that pass the feature's tests on
        the way, rows that it gets wrong."""
        if isinstance(node, Leaf):
            yield own, others, self.rows.labels != node.label
            return
        left = self._left(tree, node)
        for child, side in ((node.left, left), (node.right, ~left)):
            if node.feature == feature:
                yield from self._leaves(tree, child, own, others & side, feature)
            else:
                yield from self._leaves(tree, child, own & side, others, feature)

    def _left(self, tree: Tree, node: Branch) -> BoolArray:
        key = (node.feature, node.test, node.missing)
        if key not in self.known:
            table = self.rows.data.table
            cells = tested_cells(tree, table.columns, table.name)[node.feature]
            levels = next(t.levels for t in tree.features if t.name == node.feature)
            left = passes(node.test, cells, levels, np.arange(table.n_rows))
            self.known[key] = np.where(cells.missing, node.missing == "left", left)
        return self.known[key]
