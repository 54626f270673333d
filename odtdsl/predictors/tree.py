"""Decision trees as values: immutable, named, independent of any solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from odtdsl.data.dataset import ColumnType, Value

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """`x <= value` goes left. For an ordered column `value` is a level, compared by rank."""

    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """`x == value` goes left; an unseen category goes right."""

    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class InBin:
    """`low <= x < high` goes left (`<=` where `high` is the last edge); ends may be infinite."""

    low: float
    high: float
    closed: bool
    """Whether `high` itself belongs to the bin."""


Test = Threshold | Equals | InBin


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A leaf.

    Attributes
    ----------
    label
        Index into the tree's classes; None for number targets.
    output
        The output vector for number targets; None for classes.
    size
        Training rows in the leaf.
    class_weights
        Training weight per class (as floats, for display); empty for number targets.
    """

    label: int | None = None
    output: tuple[float, ...] | None = None
    size: int = 0
    class_weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch node: rows that pass the test go to `left`, the others to `right`.

    `missing` is the side of rows where the feature is missing. `size` counts training rows.
    """

    feature: str
    test: Test
    left: TreeNode
    right: TreeNode
    missing: Side
    size: int = 0


TreeNode = Leaf | Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A decision tree.

    Attributes
    ----------
    root
        The topmost node.
    features
        Type of each feature that the spec allows, in the order of the spec; predictors
        take columns by these names, arrays in this order.
    targets
        Names of the target columns (one for classes).
    classes
        Labels in declared (else sorted) order; empty for number targets.
    """

    root: TreeNode
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...] = ()

    def nodes(self) -> Iterator[TreeNode]:
        """All nodes, each before its children, left before right."""
        stack: list[TreeNode] = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if isinstance(node, Branch):
                stack.extend((node.right, node.left))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaves from left to right."""
        return tuple(node for node in self.nodes() if isinstance(node, Leaf))

    @property
    def n_leaves(self) -> int:
        return len(self.leaves)

    @property
    def n_splits(self) -> int:
        return self.n_leaves - 1

    @property
    def depth(self) -> int:
        """Splits on the longest path; 0 for a single leaf."""

        def of(node: TreeNode) -> int:
            return 0 if isinstance(node, Leaf) else 1 + max(of(node.left), of(node.right))

        return of(self.root)
