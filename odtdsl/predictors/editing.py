"""New trees from old: counts from rows, and splits collapsed that say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from odtdsl.data.dataset import Weights
from odtdsl.data.table import IntArray, Table
from odtdsl.predictors.nodes import Branch, Leaf, Side, TreeNode
from odtdsl.predictors.routing import reach
from odtdsl.predictors.tree import Tree

Place = tuple[Side, ...]
"""Where a node stands: the sides taken from the root."""


def with_counts(
    tree: Tree, table: Table, labels: IntArray | None = None, weights: Weights | None = None
) -> Tree:
    """The tree with `size` and `class_weights` of all nodes as these rows fill them.

    Parameters
    ----------
    tree
        The tree; the counts it has are forgotten.
    table
        The training rows.
    labels
        int64 (n_rows,), class index of each row; None for number targets.
    weights
        Row weights; None where all are one.

    Raises
    ------
    OdtError
        As `route`.
    """
    reached = reach(tree, table)
    units = np.ones(table.n_rows, dtype=np.int64) if weights is None else weights.numerators
    denominator = 1 if weights is None else weights.denominator
    done: list[TreeNode] = []
    # Backwards each node comes after its children: the left one is on top.
    for node, rows in reversed(reached):
        if isinstance(node, Branch):
            left, right = done.pop(), done.pop()
            done.append(replace(node, left=left, right=right, size=len(rows)))
        else:
            shares: tuple[float, ...] = ()
            if labels is not None:
                sums = np.zeros(len(tree.classes), dtype=np.int64)
                np.add.at(sums, labels[rows], units[rows])
                shares = tuple(total / denominator for total in sums.tolist())
            done.append(replace(node, size=len(rows), class_weights=shares))
    return replace(tree, root=done.pop())


def collapse(tree: Tree, keep: Callable[[Tree], bool]) -> Tree:
    """The tree without splits whose two sides predict alike everywhere.

    They do where all their leaves predict the same, or where both sides have the same tests
    with the same predictions. The counts of what is merged are added.

    Parameters
    ----------
    tree
        The tree.
    keep
        Says of a tree with one collapse more whether every rule and the objective still hold;
        a collapse that it refuses is not made. It is asked about deeper splits first, left
        before right, again from the start after each collapse, since that can free others.
    """
    while True:
        for place, node in _candidates(tree.root):
            smaller = replace(tree, root=_with(tree.root, place, node))
            if keep(smaller):
                tree = smaller
                break
        else:
            return tree


def _candidates(root: TreeNode) -> Iterator[tuple[Place, TreeNode]]:
    """Branch nodes that could be something smaller, and what: children before parents."""
    stack: list[tuple[TreeNode, Place]] = [(root, ())]
    found: list[tuple[Place, TreeNode]] = []
    while stack:
        node, place = stack.pop()
        if isinstance(node, Branch):
            # Read backwards: the leaf is tried before the overlay, which saves fewer splits.
            for smaller in (_overlaid(node.left, node.right), _constant(node)):
                if smaller is not None:
                    found.append((place, smaller))
            stack.append((node.left, (*place, "left")))
            stack.append((node.right, (*place, "right")))
    return reversed(found)


def _constant(node: TreeNode) -> Leaf | None:
    """The one leaf that predicts as all leaves below a node, None where they differ."""
    leaves = tuple(_leaves(node))
    merged = leaves[0]
    for leaf in leaves[1:]:
        if not _same_prediction(leaf, merged):
            return None
        merged = _added(merged, leaf)
    return merged


def _overlaid(a: TreeNode, b: TreeNode) -> TreeNode | None:
    """Two subtrees of the same tests and predictions as one, None where they differ."""
    match a, b:
        case Leaf(), Leaf():
            return _added(a, b) if _same_prediction(a, b) else None
        case Branch(), Branch():
            if (a.feature, a.test, a.missing) != (b.feature, b.test, b.missing):
                return None
            left = _overlaid(a.left, b.left)
            right = None if left is None else _overlaid(a.right, b.right)
            if left is None or right is None:
                return None
            return replace(a, left=left, right=right, size=a.size + b.size)
        case _:
            return None


def _same_prediction(a: Leaf, b: Leaf) -> bool:
    return (a.label, a.output) == (b.label, b.output)


def _added(a: Leaf, b: Leaf) -> Leaf:
    weights = tuple(x + y for x, y in zip(a.class_weights, b.class_weights, strict=False))
    return replace(a, size=a.size + b.size, class_weights=weights)


def _leaves(node: TreeNode) -> Iterator[Leaf]:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            yield node
        else:
            stack.extend((node.right, node.left))


def _with(root: TreeNode, place: Place, node: TreeNode) -> TreeNode:
    if not place:
        return node
    assert isinstance(root, Branch)
    if place[0] == "left":
        return replace(root, left=_with(root.left, place[1:], node))
    return replace(root, right=_with(root.right, place[1:], node))
