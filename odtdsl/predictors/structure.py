"""What trees and diagrams are made of: their nodes, features and targets.

What is done with them stands above: `Tree` and `Diagram` add the methods that users call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.predictors.diagram_nodes import Arc, Hyperplane, Node, Terminal, as_leaf
from odtdsl.predictors.nodes import Branch, Leaf, TreeNode


class Structure(ABC):
    """What a tree and a diagram have alike.

    Attributes
    ----------
    features
        Type of each feature that the spec allows, in the order of the spec; predictors
        take columns by these names, arrays in this order.
    targets
        Names of the target columns (one for classes).
    classes
        Labels in declared (else sorted) order; empty for number targets.
    task
        The kind of target; empty where `classes` tell it: a class with them, a number without.
    """

    __slots__ = ()

    kind: ClassVar[Literal["tree", "diagram"]]
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...]
    task: str

    @property
    def target_kind(self) -> str:
        """The kind of target, such as `class`: a key of `odtdsl.base.tasks.tasks()`."""
        return self.task or ("class" if self.classes else "number")

    @property
    @abstractmethod
    def ends(self) -> tuple[Leaf, ...]:
        """Where rows can end, in the order that `apply` counts them."""

    @property
    @abstractmethod
    def leaves(self) -> tuple[Leaf, ...]:
        """Those of `ends` that something leads to."""

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.leaves)

    @property
    @abstractmethod
    def n_splits(self) -> int:
        """The number of splits."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Splits on the longest path."""

    @property
    @abstractmethod
    def tested(self) -> tuple[str, ...]:
        """The features that some split tests, in the order of `nodes()`."""

    @property
    def weighed(self) -> Collection[str]:
        """The features that some hyperplane weighs."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStructure(Structure):
    """The nodes of a decision tree; see `Tree`."""

    kind: ClassVar = "tree"

    root: TreeNode
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...] = ()
    task: str = ""

    def __post_init__(self) -> None:
        if self.task == ("class" if self.classes else "number"):
            object.__setattr__(self, "task", "")

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
    def ends(self) -> tuple[Leaf, ...]:
        """The leaves."""
        return self.leaves

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return self.n_leaves - 1

    @property
    def depth(self) -> int:
        """Splits on the longest path; 0 for a single leaf."""
        deepest, level = 0, [self.root]
        while level := [
            child for node in level if isinstance(node, Branch) for child in (node.left, node.right)
        ]:
            deepest += 1
        return deepest

    @property
    def tested(self) -> tuple[str, ...]:
        """The features that some branch node tests, in the order of `nodes()`."""
        return tuple(dict.fromkeys(n.feature for n in self.nodes() if isinstance(n, Branch)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramStructure(Structure):
    """The layers of a decision diagram; see `Diagram`."""

    kind: ClassVar = "diagram"

    entry: Arc
    layers: tuple[tuple[Node, ...], ...]
    terminals: tuple[Terminal, ...]
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...]
    task: str = ""

    def nodes(self) -> Iterator[Node]:
        """All nodes, layer by layer, each layer from left to right."""
        for layer in self.layers:
            yield from layer

    @property
    def widths(self) -> tuple[int, ...]:
        """Nodes of each layer."""
        return tuple(map(len, self.layers))

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return sum(self.widths)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The classes that some arc leads to."""
        ends = self.ends
        return tuple(ends[label] for label in self.reached)

    @property
    def reached(self) -> tuple[int, ...]:
        """The classes that some arc leads to, ascending."""
        arcs = [self.entry, *(arc for node in self.nodes() for arc in (node.left, node.right))]
        return tuple(sorted({arc.label for arc in arcs if arc.label is not None}))

    @property
    def ends(self) -> tuple[Leaf, ...]:
        """The terminals as leaves, one for each class."""
        return tuple(as_leaf(one, label) for label, one in enumerate(self.terminals))

    @property
    def depth(self) -> int:
        """Splits on the longest path; 0 for a class alone."""
        return len(self.layers)

    @property
    def tested(self) -> tuple[str, ...]:
        """The features that some node tests, in the order of `nodes()`."""
        return tuple(dict.fromkeys(name for node in self.nodes() for name in node.features))

    @property
    def weighed(self) -> frozenset[str]:
        """The features that some hyperplane weighs."""
        planes = [node.split for node in self.nodes() if isinstance(node.split, Hyperplane)]
        return frozenset(weight.feature for plane in planes for weight in plane.weights)
