"""What users of scikit-learn's trees ask of a fitted one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from odtdsl.datasets.table import IntArray
from odtdsl.predictors.nodes import Branch, Leaf, TreeNode
from odtdsl.predictors.tree import Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class TreeMethods:
    """Leaves, paths and sizes, by the numbering of `tree_.nodes()`: the root is 0, and each
    branch stands before all nodes on its left, which stand before all on its right."""

    tree_: Tree

    if TYPE_CHECKING:
        max_depth: int | None
        max_leaf_nodes: int | None
        min_samples_leaf: int | float

        @property
        def _fitted(self) -> Any: ...

        def _places(self, X: Any) -> IntArray: ...

    def _said(self) -> dict[str, Any]:
        sizes = {
            "depth": self.max_depth,
            "leaves": self.max_leaf_nodes,
            "leaf_size": self.min_samples_leaf,
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
