"""Where the boxes of a drawn tree go: a tidy layout for boxes of any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from odtdsl.predictors.nodes import Leaf, TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outline:
    """A subtree laid out about its root at x = 0.

    `centers` holds the middle of each node, in preorder; `extents` the leftmost and the
    rightmost x of the boxes at each level, the root's first.
    """

    centers: tuple[float, ...]
    extents: tuple[tuple[float, float], ...]


def node_centers(root: TreeNode, widths: Sequence[float], gap: float) -> tuple[float, ...]:
    """x of the middle of each node, in preorder; the leftmost box begins at 0.

    A parent stands midway above its children; subtrees stand as close as `gap` allows on
    every level that both have (after Reingold and Tilford, Tidier Drawings of Trees, 1981).

    Parameters
    ----------
    root
        The topmost node.
    widths
        The width of each node's box, in preorder.
    gap
        The least space between two boxes of one level.
    """
    outline = _outline(root, iter(widths), gap)
    start = min(left for left, _ in outline.extents)
    return tuple(center - start for center in outline.centers)


def _outline(node: TreeNode, widths: Iterator[float], gap: float) -> _Outline:
    half = next(widths) / 2
    if isinstance(node, Leaf):
        return _Outline(centers=(0.0,), extents=((-half, half),))
    left = _outline(node.left, widths, gap)
    right = _outline(node.right, widths, gap)
    apart = gap + max(a[1] - b[0] for a, b in zip(left.extents, right.extents, strict=False))
    shift = apart / 2
    below = [
        (a[0] - shift, b[1] + shift) for a, b in zip(left.extents, right.extents, strict=False)
    ]
    common = len(below)
    below += [(a - shift, b - shift) for a, b in left.extents[common:]]
    below += [(a + shift, b + shift) for a, b in right.extents[common:]]
    return _Outline(
        centers=(
            0.0,
            *(center - shift for center in left.centers),
            *(center + shift for center in right.centers),
        ),
        extents=((-half, half), *below),
    )
