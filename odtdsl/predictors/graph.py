"""Trees and diagrams alike, as numbered nodes: splits, and ends that predict.

Nodes of a tree are numbered in the order of `Tree.nodes()`; those of a diagram in the order of
`Diagram.nodes()`, and behind them the ends, one for each class that some arc leads to.
"""

from __future__ import annotations

import numpy as np

from odtdsl.base.frozen import dataclass
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Split, as_leaf, features_of
from odtdsl.predictors.nodes import Branch, Leaf
from odtdsl.predictors.structure import DiagramStructure, TreeStructure


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A split: where its rows go on, and how many training rows reach it.

    `sizes` are of its two sides.
    """

    number: int
    level: int
    split: Split
    left: int
    right: int
    size: int
    sizes: tuple[int, int]

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it tests."""
        return features_of(self.split)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A leaf, or the terminal of a class; `level` is the number of tests above it (for terminals at
    most).
    """

    number: int
    level: int
    leaf: Leaf

    @property
    def size(self) -> int:
        """The number of training rows that end here."""
        return self.leaf.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The nodes of a model, each at the place of its number; all rows begin at `root`."""

    nodes: tuple[Joint | End, ...]
    root: int

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The nodes that are splits, in order."""
        return tuple(node for node in self.nodes if isinstance(node, Joint))

    @property
    def ends(self) -> tuple[End, ...]:
        """The nodes that are leaves or classes, in order."""
        return tuple(node for node in self.nodes if isinstance(node, End))

    def arcs_into(self, number: int) -> tuple[tuple[Joint, str], ...]:
        """The splits that lead to a node, each with its answer."""
        return tuple(
            (joint, answer)
            for joint in self.joints
            for answer, to in (("yes", joint.left), ("no", joint.right))
            if to == number
        )


def of_tree(tree: TreeStructure) -> Graph:
    """See `Tree.graph`."""
    found: list[Joint | End] = []

    def place(node: Branch | Leaf, level: int) -> int:
        number = len(found)
        if isinstance(node, Leaf):
            found.append(End(number=number, level=level, leaf=node))
            return number
        split = AxisTest(feature=node.feature, test=node.test, missing=node.missing)
        found.append(End(number=number, level=level, leaf=Leaf()))  # kept until its sides are known
        left, right = place(node.left, level + 1), place(node.right, level + 1)
        found[number] = Joint(
            number=number,
            level=level,
            split=split,
            left=left,
            right=right,
            size=node.size,
            sizes=(node.left.size, node.right.size),
        )
        return number

    place(tree.root, 0)
    return Graph(nodes=tuple(found), root=0)


def of_diagram(diagram: DiagramStructure) -> Graph:
    """See `Diagram.graph`."""
    firsts: list[int] = np.cumsum([0, *diagram.widths]).tolist()
    ends = {label: firsts[-1] + i for i, label in enumerate(diagram.reached)}

    def number(arc: Arc, level: int) -> int:
        if arc.node is not None:
            return firsts[level] + arc.node
        assert arc.label is not None, "check_diagram: an arc leads somewhere"
        return ends[arc.label]

    joints = tuple(
        Joint(
            number=firsts[level] + position,
            level=level,
            split=node.split,
            left=number(node.left, level + 1),
            right=number(node.right, level + 1),
            size=node.size,
            sizes=(node.left.size, node.right.size),
        )
        for level, layer in enumerate(diagram.layers)
        for position, node in enumerate(layer)
    )
    terminals = tuple(
        End(number=at, level=diagram.depth, leaf=as_leaf(diagram.terminals[label], label))
        for label, at in ends.items()
    )
    return Graph(nodes=(*joints, *terminals), root=number(diagram.entry, 0))
