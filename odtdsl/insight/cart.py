"""What a model is measured beside and by: scikit-learn's CART, and the prices of a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from odtdsl.auditor.meanings import price
from odtdsl.datasets.table import FloatArray, IntArray, Table
from odtdsl.predictors.encoding import encode_cells
from odtdsl.predictors.nodes import Branch, TreeNode
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.problem import FeatureDecl, TreeSkeleton, terms_of

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis


_FARTHEST = float(np.finfo(np.float32).max) / 2**33
"""CART keeps and adds up numbers as float32: those beyond are taken for the farthest."""


class Cart:
    """A tree that CART grows from the rows, features and weights of a spec, as deep as its trees.

    It knows no rule, price or cost. Numbers are as they are, with missing cells; ordered columns
    count by rank; of a category each level is a column of 0 and 1.
    """

    def __init__(self, analysis: Analysis) -> None:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        rows, problem = analysis.rows, analysis.problem
        self.features = problem.features
        skeleton = problem.skeleton
        assert isinstance(skeleton, TreeSkeleton), "`cart_of` asks"
        bounds = {"max_depth": skeleton.depth, "max_leaf_nodes": skeleton.leaves}
        columns = []
        self.asked: list[str] = []
        for feature in self.features:
            column = rows.data.columns[feature.name]
            columns.append(_columns(feature, column.numbers, column.codes))
            self.asked += [feature.name] * columns[-1].shape[1]
        labels = rows.data.labels
        made = DecisionTreeRegressor if labels is None else DecisionTreeClassifier
        truth = rows.data.targets if labels is None else labels
        self.tree = made(random_state=0, **bounds)
        self.tree.fit(np.hstack(columns), truth, sample_weight=rows.weights)

    def cells(self, table: Table) -> FloatArray:
        """The rows of a table as CART sees them."""
        columns = []
        for feature in self.features:
            cells = encode_cells(table.columns[feature.name], feature.type, table=table.name)
            columns.append(_columns(feature, cells.numbers, cells.codes))
        return np.hstack(columns)

    def ends(self, table: Table, n_classes: int) -> tuple[IntArray, FloatArray]:
        """The leaf of each row, and by leaf the share of each class among its training rows."""
        places = np.searchsorted(self._leaves, self.tree.apply(self.cells(table)))
        shares = np.zeros((len(self._leaves), n_classes))
        if n_classes:
            values = self.tree.tree_.value[self._leaves, 0]
            shares[:, self.tree.classes_] = values / values.sum(axis=1, keepdims=True)
        return places.astype(np.int64), shares

    @property
    def _leaves(self) -> IntArray:
        found: IntArray = np.flatnonzero(self.tree.tree_.children_left < 0)
        return found

    def tested(self) -> list[frozenset[str]]:
        """By leaf, the features that are asked on the way to it."""
        tree = self.tree.tree_
        above: dict[int, frozenset[str]] = {0: frozenset()}
        for node in range(tree.node_count):  # a node stands before those below it
            if tree.children_left[node] >= 0:
                here = above[node] | {self.asked[tree.feature[node]]}
                above[int(tree.children_left[node])] = above[int(tree.children_right[node])] = here
        return [above[leaf] for leaf in self._leaves.tolist()]

    def outputs(self, table: Table) -> FloatArray:
        """The numbers that it predicts, (n_rows, n_targets)."""
        found: FloatArray = self.tree.predict(self.cells(table))
        return found.reshape(len(found), -1)


def _columns(
    feature: FeatureDecl, numbers: FloatArray | None, codes: IntArray | None
) -> FloatArray:
    """A feature as columns of numbers: (n_rows, 1), or one column for each level of a category."""
    if numbers is not None:
        return np.clip(numbers, -_FARTHEST, _FARTHEST)[:, None]
    assert codes is not None, "a column holds numbers or codes"
    if feature.type.kind == "ordered":
        return np.where(codes < 0, np.nan, codes)[:, None]
    found: FloatArray = (codes[:, None] == np.arange(len(feature.type.levels))).astype(np.float64)
    return found


def cart_of(analysis: Analysis) -> Cart | None:
    """CART on the training rows; None for other models than trees, and other tasks."""
    skeleton, data = analysis.problem.skeleton, analysis.rows.data
    if not isinstance(skeleton, TreeSkeleton) or skeleton.depth == 0 or skeleton.leaves == 1:
        return None
    if data.labels is None and data.targets is None:
        return None
    return Cart(analysis)


class Prices:
    """What mistakes and questions cost by a spec.

    Attributes
    ----------
    losses
        float64, by true and predicted class; None where every mistake costs 1.
    counted
        Whether the spec speaks of the deviance of counts.
    """

    def __init__(self, analysis: Analysis, model: Predictor) -> None:
        self.problem = problem = analysis.problem
        found = np.array([[float(x) for x in line] for line in problem.losses])
        known = tuple(problem.target.classes) == tuple(model.classes)
        plain = not found.size or np.array_equal(found, 1 - np.eye(len(found)))
        self.losses: FloatArray | None = None if plain or not known else found
        amounts = (*problem.costs.features, *(one.amount for one in problem.costs.shared))
        self.counted = "poisson" in terms_of(problem)
        self._free = not any(amounts) or not isinstance(model, Tree)

    def paid(self, model: Predictor, grown: Cart | None) -> FloatArray | None:
        """By leaf, what the questions on the way to it cost; None where all are free."""
        if self._free:
            return None
        if grown is not None:
            tested = grown.tested()
        else:
            assert isinstance(model, Tree), "of diagrams no leaf tells what was asked"
            tested = _tested(model)
        return np.array([float(price(self.problem, features)) for features in tested])


def _tested(tree: Tree) -> list[frozenset[str]]:
    """By leaf, from the left, the features that are asked on the way to it."""
    found = []
    stack: list[tuple[TreeNode, frozenset[str]]] = [(tree.root, frozenset())]
    while stack:
        node, above = stack.pop()
        if isinstance(node, Branch):
            here = above | {node.feature}
            stack += [(node.right, here), (node.left, here)]
        else:
            found.append(above)
    return found
