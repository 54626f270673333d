"""What users of scikit-learn's trees ask of a fitted one."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.estimators.base import DataWarning, RuleWarning
from odtdsl.estimators.nodes import NodeFigures, importances, view, view_columns
from odtdsl.predictors.nodes import Branch, Leaf, TreeNode
from odtdsl.predictors.tree import Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class TreeMethods:
    """Leaves, paths and sizes, by the numbering of `tree_.nodes()`: the root is 0, and each
    branch stands before all nodes on its left, which stand before all on its right."""

    tree_: Tree

    if TYPE_CHECKING:
        classes_: Any
        _kinds: dict[str, Any]
        max_depth: int | None
        max_leaf_nodes: int | None
        min_samples_leaf: int | float

        @property
        def _fitted(self) -> Any: ...

        def _figures_of_nodes(self) -> NodeFigures | None: ...

        def _places(self, X: Any) -> IntArray: ...

        def _columns(self, X: Any) -> Any: ...

    def _said(self) -> dict[str, Any]:
        sizes = {
            "depth": self.max_depth,
            "leaves": self.max_leaf_nodes,
            "leaf_size": self.min_samples_leaf,
            "split_size": getattr(self, "min_samples_split", 2),
        }
        return {**super()._said(), **sizes}  # type: ignore[misc]

    def apply(self, X: Any) -> IntArray:
        """The node of the leaf that each row reaches.

        Parameters
        ----------
        X
            As for `predict`.

        Returns
        -------
        int64 array, shape (n_rows,)
            Numbers of nodes, as in `decision_path`.
        """
        places = self._places(X)
        nodes = [i for i, node in enumerate(self.tree_.nodes()) if isinstance(node, Leaf)]
        return np.array(nodes, dtype=np.int64)[places]

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes that each row passes.

        Returns
        -------
        sparse matrix, shape (n_rows, n_nodes)
            1 where the row passes the node.
        """
        from scipy.sparse import csr_matrix

        places = self._places(X)
        found = paths(self.tree_)
        columns = [found[place] for place in places.tolist()]
        ends = np.cumsum([0, *map(len, columns)])
        n_nodes = 2 * self.tree_.n_leaves - 1
        flat = np.array([node for path in columns for node in path], dtype=np.int64)
        return csr_matrix(
            (np.ones(len(flat), dtype=np.int64), flat, ends), shape=(len(places), n_nodes)
        )

    @property
    def feature_importances_(self) -> FloatArray:
        """What the splits on each feature take from the impurity: float64, shape (n_features,).

        The impurity is Gini's for classes, the variance for numbers (the mean over targets), and
        for choices what is lost against the best one; each split counts by the training weight
        that reaches it, and all sum to 1 (to 0 where nothing is taken). This is scikit-learn's
        definition, so that forests and trees compare. It is not what the search minimizes, it
        favours features with many values, and of several equally good trees it describes one:
        `sklearn.inspection.permutation_importance` on other rows, or `odt solve --near` for all
        good trees, say more.
        """
        return importances(self.tree_, self._counted(), list(self._kinds))

    def to_sklearn(self) -> Any:
        """The tree as scikit-learn's own functions take it: `export_text`, `plot_tree`,
        `export_graphviz`, `dtreeviz`, SHAP.

        Returns
        -------
        DecisionTreeClassifier or DecisionTreeRegressor
            Fitted, with nodes numbered as in `tree_.nodes()`. `feature_names_in_` are the features
            of `fit`; behind them stands a column of 0 and 1 for each test that scikit-learn does
            not have, such as `color == "red"`, and `view_columns` makes these columns. Its values
            are shares of classes, means of targets, or of what each choice holds. Its `predict`
            tells cells apart to float32 only, and says the class of the largest share: for
            predictions ask the estimator itself, which keeps all digits and the labels that
            losses ask for.
        """
        counted = self._counted()
        order = getattr(self, "_order", None)
        classes = None if order is None else (self.classes_, order)
        return view(self.tree_, counted, list(self._kinds), classes)

    def _counted(self) -> NodeFigures:
        self._fitted  # noqa: B018 - says that it is not fitted
        found = self._figures_of_nodes()
        if found is None:
            raise AttributeError(
                f"{type(self).__name__} has no impurity of nodes: what it predicts is neither a"
                " class, nor a number, nor a choice"
            )
        return found

    def view_columns(self, X: Any) -> FloatArray:
        """The columns of `to_sklearn()` for rows: float64, shape (n_rows, n_columns).

        A feature that no split tests, and one of levels, is NaN: its tests have their own columns.
        """
        columns = self._columns(X)
        shown = self.to_sklearn().feature_names_in_.tolist()
        return view_columns(self.tree_, columns, list(self._kinds), shown)

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> Any:
        """The prices per leaf at which the best tree changes, under all rules.

        scikit-learn prunes one tree; here every tree of the path is the best one of its number of
        leaves, found by a search for each number. So it takes as many searches as the best tree
        has leaves.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features
            As for `fit`. The estimator stays as it is; its `cost_complexity` is not looked at.

        Returns
        -------
        Bunch
            `ccp_alphas`: from 0, ascending: from this `cost_complexity` on the tree is best.
            `impurities`: the objective of the tree without a price (with its sign turned where it
            is maximized). `n_leaves`: its leaves, descending.

        Warns
        -----
        ConvergenceWarning
            A search met its limit, so the path is that of the best trees found.

        Raises
        ------
        OdtError
            As `fit`.
        """
        return pruning_path(self, X, y, sample_weight, sensitive_features)

    def get_depth(self) -> int:
        """Splits on the longest path; 0 for a single leaf."""
        depth: int = self._fitted.depth
        return depth

    def get_n_leaves(self) -> int:
        """Leaves of the tree."""
        leaves: int = self._fitted.n_leaves
        return leaves


def paths(tree: Tree) -> list[tuple[int, ...]]:
    """The numbers of the nodes down to each leaf, leaves from the left."""
    found: list[tuple[int, ...]] = []
    stack: list[tuple[TreeNode, tuple[int, ...]]] = [(tree.root, ())]
    number = 0
    while stack:
        node, above = stack.pop()
        here = (*above, number)
        number += 1
        if isinstance(node, Branch):
            stack += [(node.right, here), (node.left, here)]
        else:
            found.append(here)
    return found


def pruning_path(estimator: Any, X: Any, y: Any, weight: Any, sensitive: Any) -> Any:
    """See `TreeMethods.cost_complexity_pruning_path`."""
    from sklearn.base import clone
    from sklearn.utils import Bunch

    def best(most: int | None) -> tuple[int, Fraction]:
        one = clone(estimator).set_params(cost_complexity=0.0)
        if most is not None:
            one.set_params(max_leaf_nodes=most)
        one.fit(X, y, weight, sensitive_features=sensitive)
        result = one.result_
        value = result.stages[0].value
        sense = result.rows.problem.objective[0].sense
        return one.get_n_leaves(), value if sense == "minimize" else -value

    points = [best(estimator.max_leaf_nodes)]
    most = points[0][0] - 1
    while most > 0:
        try:
            with warnings.catch_warnings():
                for told in (DataWarning, RuleWarning):  # of the first tree
                    warnings.simplefilter("ignore", told)
                point = best(most)
        except OdtError as caught:
            if all(found.code != "U607" for found in caught.diagnostics):
                raise
            break  # no tree of so few leaves satisfies the rules
        points.append(point)
        most = min(most, point[0]) - 1
    hull = _lower_hull(points)
    prices = [Fraction(0)]
    for (many, low), (few, high) in pairwise(hull):
        prices.append((high - low) / (many - few))
    return Bunch(
        ccp_alphas=np.array([float(price) for price in prices]),
        impurities=np.array([float(value) for _, value in hull]),
        n_leaves=np.array([leaves for leaves, _ in hull], dtype=np.int64),
    )


def _lower_hull(points: list[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    """The trees that are best at some price, from many leaves to few."""
    hull: list[tuple[int, Fraction]] = []
    for leaves, value in points:  # by falling leaves, so by rising values
        if hull and value <= hull[-1][1]:
            hull.pop()
        while len(hull) > 1:
            (a, low), (b, mid) = hull[-2:]
            if (mid - low) * (b - leaves) < (value - mid) * (a - b):
                break
            hull.pop()
        hull.append((leaves, value))
    return hull
