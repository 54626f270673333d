"""Views of a finished model on its training rows: what the values of terms are taken from.

Nothing here knows a back end: routing is the predictor's own, on raw cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odtdsl.data.table import BoolArray, IntArray
from odtdsl.diagnostics.model import error
from odtdsl.ir.rows import Rows
from odtdsl.predictors import diagram_routing
from odtdsl.predictors.diagram import AxisTest, Diagram, Node
from odtdsl.predictors.routing import paths, route
from odtdsl.predictors.tree import Branch, Leaf, Test, Tree

MOST_PATHS = 200_000
"""Diagrams with more paths that differ in what they ask are not audited."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathView:
    """A root-to-leaf path: the features that each split tests, from the root down.

    A split of a tree and an axis test have one feature, a hyperplane all that it weighs. On
    diagrams paths that ask the same are one.
    """

    rows: Rows
    asked: tuple[tuple[str, ...], ...]

    @property
    def features(self) -> frozenset[str]:
        """All features that the path tests."""
        return frozenset(name for names in self.asked for name in names)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafView:
    """A leaf (a terminal that rows reach) and the training rows in it: bool (n_rows,)."""

    rows: Rows
    leaf: Leaf
    inside: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitView:
    """A split, its level (0 at the root), and the training rows that reach it.

    Attributes
    ----------
    features
        What it tests: one feature; of a hyperplane all that it weighs.
    test
        None for a hyperplane.
    inside
        bool (n_rows,).
    """

    rows: Rows
    features: tuple[str, ...]
    test: Test | None
    level: int
    inside: BoolArray


class ModelView(ABC):
    """A model on the training rows: a `TreeView` or a `DiagramView`."""

    rows: Rows

    @property
    @abstractmethod
    def predicted(self) -> IntArray:
        """int64 (n_rows,): class index that the model predicts for each training row."""

    @property
    @abstractmethod
    def paths(self) -> tuple[PathView, ...]:
        """All paths."""

    @property
    @abstractmethod
    def taken(self) -> tuple[tuple[PathView, IntArray], ...]:
        """The paths that rows take, each with its rows."""

    @property
    @abstractmethod
    def leaves(self) -> tuple[LeafView, ...]:
        """Leaves from left to right."""

    @property
    @abstractmethod
    def splits(self) -> tuple[SplitView, ...]:
        """Splits, each before those below it."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Splits on the longest path."""


class TreeView(ModelView):
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

    @property
    def depth(self) -> int:
        return self.tree.depth

    @cached_property
    def predicted(self) -> IntArray:
        labels = [-1 if leaf.label is None else leaf.label for leaf in self.tree.leaves]
        return np.asarray(labels, dtype=np.int64)[self.leaf_of]

    @cached_property
    def paths(self) -> tuple[PathView, ...]:
        return tuple(
            PathView(rows=self.rows, asked=tuple((branch.feature,) for branch, _ in steps))
            for steps in paths(self.tree)
        )

    @cached_property
    def taken(self) -> tuple[tuple[PathView, IntArray], ...]:
        return tuple(
            (path, np.flatnonzero(leaf.inside))
            for path, leaf in zip(self.paths, self.leaves, strict=True)
        )

    @cached_property
    def leaves(self) -> tuple[LeafView, ...]:
        return tuple(
            LeafView(rows=self.rows, leaf=leaf, inside=self.leaf_of == position)
            for position, leaf in enumerate(self.tree.leaves)
        )

    @cached_property
    def splits(self) -> tuple[SplitView, ...]:
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
            found.append(
                SplitView(
                    rows=self.rows, features=(node.feature,), test=node.test, level=level,
                    inside=inside,
                )
            )  # fmt: skip
            stack.extend(((node.right, level + 1), (node.left, level + 1)))
        return tuple(found)


def _below(node: Branch | Leaf) -> list[Branch | Leaf]:
    if isinstance(node, Leaf):
        return [node]
    return [node, *_below(node.left), *_below(node.right)]


class DiagramView(ModelView):
    """A diagram on the training rows."""

    def __init__(self, diagram: Diagram, rows: Rows) -> None:
        self.diagram = diagram
        self.rows = rows
        self._predicted = diagram_routing.route(diagram, rows.data.table)

    @property
    def depth(self) -> int:
        return self.diagram.depth

    @property
    def predicted(self) -> IntArray:
        return self._predicted

    @cached_property
    def visits(self) -> tuple[tuple[Node, IntArray, BoolArray], ...]:
        """Each node with the rows that reach it and which of them go left."""
        return diagram_routing.reach(self.diagram, self.rows.data.table)

    @cached_property
    def paths(self) -> tuple[PathView, ...]:
        found = diagram_routing.sequences(self.diagram, MOST_PATHS)
        if found is None:
            raise error(
                "U330", f"the diagram has more than {MOST_PATHS} paths that ask differently",
                helps=("bound its depth, or leave out the rules of paths",),
            )  # fmt: skip
        return tuple(PathView(rows=self.rows, asked=asked) for asked in found)

    @cached_property
    def taken(self) -> tuple[tuple[PathView, IntArray], ...]:
        return tuple(
            (PathView(rows=self.rows, asked=asked), rows)
            for asked, rows in diagram_routing.taken(self.diagram, self.rows.data.table)
        )

    @cached_property
    def leaves(self) -> tuple[LeafView, ...]:
        return tuple(
            LeafView(rows=self.rows, leaf=Leaf(label=label), inside=self.predicted == label)
            for label in np.unique(self.predicted).tolist()
        )

    @cached_property
    def splits(self) -> tuple[SplitView, ...]:
        found: list[SplitView] = []
        levels = [level for level, many in enumerate(self.diagram.widths) for _ in range(many)]
        for (node, rows, _), level in zip(self.visits, levels, strict=True):
            inside = np.zeros(self.rows.n_rows, dtype=bool)
            inside[rows] = True
            test = node.split.test if isinstance(node.split, AxisTest) else None
            found.append(
                SplitView(
                    rows=self.rows, features=node.features, test=test, level=level, inside=inside
                )
            )
        return tuple(found)


def model_view(model: Tree | Diagram, rows: Rows) -> TreeView | DiagramView:
    """A model of either kind on the training rows."""
    return DiagramView(model, rows) if isinstance(model, Diagram) else TreeView(model, rows)


View = ModelView | PathView | LeafView | SplitView
