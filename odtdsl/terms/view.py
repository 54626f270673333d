"""Views of a finished model on its training rows: what the values of terms are taken from.

Nothing here knows a back end: routing is the predictor's own, on raw cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from odtdsl.data.table import BoolArray, IntArray
from odtdsl.ir.rows import Rows
from odtdsl.predictors.routing import paths, route
from odtdsl.predictors.tree import Branch, Leaf, Tree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathView:
    """A root-to-leaf path: the splits on it, from the root down, and its leaf."""

    rows: Rows
    branches: tuple[Branch, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """The feature that each split of the path tests, from the root down."""
        return tuple(branch.feature for branch in self.branches)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafView:
    """A leaf and the training rows in it: `inside` is bool (n_rows,)."""

    rows: Rows
    leaf: Leaf
    inside: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitView:
    """A split, its level (0 at the root), and the training rows that reach it."""

    rows: Rows
    branch: Branch
    level: int
    inside: BoolArray


class ModelView:
    """A tree on the training rows.

    Attributes
    ----------
    leaf_of
        int64 (n_rows,): position of each row's leaf, from left to right.
    """

    def __init__(self, tree: Tree, rows: Rows) -> None:
        self.tree = tree
        self.rows = rows
        self.leaf_of: IntArray = route(tree, rows.data.table)

    @cached_property
    def predicted(self) -> IntArray:
        """int64 (n_rows,): class index that the tree predicts for each training row."""
        import numpy as np

        labels = [-1 if leaf.label is None else leaf.label for leaf in self.tree.leaves]
        return np.asarray(labels, dtype=np.int64)[self.leaf_of]

    @cached_property
    def paths(self) -> tuple[PathView, ...]:
        return tuple(
            PathView(rows=self.rows, branches=tuple(branch for branch, _ in steps))
            for steps in paths(self.tree)
        )

    @cached_property
    def leaves(self) -> tuple[LeafView, ...]:
        return tuple(
            LeafView(rows=self.rows, leaf=leaf, inside=self.leaf_of == position)
            for position, leaf in enumerate(self.tree.leaves)
        )

    @cached_property
    def splits(self) -> tuple[SplitView, ...]:
        """Splits in the order of `Tree.nodes`: each before its children."""
        found: list[SplitView] = []
        first = 0
        stack: list[tuple[Branch | Leaf, int]] = [(self.tree.root, 0)]
        while stack:
            node, level = stack.pop()
            if isinstance(node, Leaf):
                first += 1
                continue
            last = first + sum(isinstance(n, Leaf) for n in _below(node))
            inside = (self.leaf_of >= first) & (self.leaf_of < last)
            found.append(SplitView(rows=self.rows, branch=node, level=level, inside=inside))
            stack.extend(((node.right, level + 1), (node.left, level + 1)))
        return tuple(found)


def _below(node: Branch | Leaf) -> list[Branch | Leaf]:
    if isinstance(node, Leaf):
        return [node]
    return [node, *_below(node.left), *_below(node.right)]


View = ModelView | PathView | LeafView | SplitView
