"""What growth reads of a core: codes in one array, admissible tests, bounds of the sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from odtdsl.base import engine
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import Core, Depth, Linear, Link, demanded
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

MAX_GROWTH_DEPTH = 64
"""Growth stops here where the skeleton has no depth; predictors are no deeper."""


@dataclass(slots=True)
class Node:
    """A node while it grows: a leaf as long as `left` and `right` are None."""

    rows: IntArray
    level: int
    above: tuple[int, ...]
    label: int = 0
    family: int = -1
    test: int = -1
    left: Node | None = field(default=None, repr=False)
    right: Node | None = field(default=None, repr=False)

    @property
    def children(self) -> tuple[Node, ...]:
        """Its left and right child; empty for a leaf."""
        return () if self.left is None or self.right is None else (self.left, self.right)

    def fold(self) -> None:
        """Make it a leaf."""
        self.left = self.right = None
        self.family = self.test = -1

    def nodes(self) -> list[Node]:
        """All nodes, each before its children, left before right."""
        found: list[Node] = []
        stack = [self]
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(reversed(node.children))
        return found

    def leaves(self) -> list[Node]:
        """The leaves below the node, itself if it is one."""
        return [node for node in self.nodes() if not node.children]

    def splits(self) -> list[Node]:
        """The splits at and below the node."""
        return [node for node in self.nodes() if node.children]

    def raw(self) -> RawTree:
        """The node and what is below it as a raw tree."""
        done: list[RawTree] = []
        for node in reversed(self.nodes()):
            if node.children:
                left, right = done.pop(), done.pop()
                done.append(RawSplit(family=node.family, test=node.test, left=left, right=right))
            else:
                done.append(RawLeaf(label=node.label))
        return done.pop()


class Tables:
    """A core, prepared for scanning.

    Attributes
    ----------
    scan
        The native scanner over all families.
    bounded, minima
        int64 (n_rows, k) and (k,): every leaf needs these sums of its rows.
    depth, leaves
        Limits by skeleton and rules; None for no limit on leaves.
    work
        Cells scanned so far: what growth counts its effort in, so that it does not depend on
        a clock.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.scan = _scanner(core)
        self.bounded, self.minima = _bounded(core)
        self.depth = _depth(core)
        self.leaves = _leaves(core)
        self.work = 0
        self.of_column: dict[int, list[int]] = {}
        for index, family in enumerate(core.families):
            if family.n_tests:
                self.of_column.setdefault(family.column, []).append(index)
        self._levels = {
            level for rule in core.filters if rule.levels is not None for level in rule.levels
        }
        self._allowed: dict[int, IntArray] = {}
        self._admitted: dict[int, list[BoolArray]] = {}

    def best(
        self, node: Node, columns: list[int], gains: IntArray, score: int
    ) -> tuple[IntArray, IntArray, IntArray, Any]:
        """The best test of each family of the columns at a node.

        Returns families, tests, exact scores and Gini scores of those that have a test.
        """
        families = np.array(
            [index for column in columns for index in self.of_column.get(column, ())],
            dtype=np.int64,
        )
        self.work += len(families) * len(node.rows)
        tests, exact, gini = self.scan.best(
            node.rows, gains, self.bounded, self.minima, self.allowed(node.level), families, score
        )
        found = tests >= 0
        return families[found], tests[found], exact[found], gini[found]

    def allowed(self, level: int) -> IntArray:
        """Running counts of the tests that may stand at a level, as the scanner takes them."""
        key = level if level in self._levels else -1
        if key not in self._allowed:
            self._allowed[key] = _running_counts(self.core, key)
        return self._allowed[key]

    def admitted(self, level: int) -> list[BoolArray]:
        """For each family, which of its tests may stand at a level."""
        key = level if level in self._levels else -1
        if key not in self._admitted:
            counts, at, found = self.allowed(level), 0, []
            for family in self.core.families:
                found.append(np.diff(counts[at : at + family.n_tests + 1]) > 0)
                at += family.n_tests + 1
            self._admitted[key] = found
        return self._admitted[key]

    def split(self, node: Node, family: int, test: int) -> None:
        """Give a node a test and two leaves below it."""
        of = self.core.families[family]
        left = goes_left(of, test, of.codes[node.rows])
        above = (*node.above, of.column)
        node.family, node.test = family, test
        node.left = Node(rows=node.rows[left], level=node.level + 1, above=above, label=node.label)
        node.right = Node(
            rows=node.rows[~left], level=node.level + 1, above=above, label=node.label
        )

    def root(self) -> Node:
        """A leaf with all training rows."""
        return Node(rows=np.arange(self.core.n_rows), level=0, above=())

    def placed(self, raw: RawTree) -> Node:
        """A raw tree with its rows; splits with an empty side give way to the other one."""
        root = self.root()
        stack: list[tuple[Node, RawTree]] = [(root, raw)]
        while stack:
            node, tree = stack.pop()
            while isinstance(tree, RawSplit):
                self.split(node, tree.family, tree.test)
                assert node.left is not None
                assert node.right is not None
                if node.left.rows.size and node.right.rows.size:
                    stack += [(node.right, tree.right), (node.left, tree.left)]
                    break
                tree = tree.left if node.left.rows.size else tree.right
                node.fold()
            else:
                node.label = tree.label
        return root


def _scanner(core: Core) -> engine.SplitScan:
    families = core.families
    codes = np.array([family.codes for family in families], dtype=np.int32)
    return engine.SplitScan(
        np.ascontiguousarray(codes.reshape(len(families), core.n_rows)),
        np.array([0 if family.kind == "threshold" else 1 for family in families], dtype=np.uint8),
        np.array([family.n_tests for family in families], dtype=np.int64),
        np.array(
            [len(f.bins) if f.kind == "bin" else len(f.values) for f in families], dtype=np.int64
        ),
    )


def _running_counts(core: Core, level: int) -> IntArray:
    together = [(link.first, link.second) for link in demanded(core.clauses, Link)]
    counts: list[IntArray] = []
    filters = by_column(core.filters)
    for family in core.families:
        mask = tests_at(family, filters.get(family.column, []), level).copy()
        for i, j in together:
            low, high = sorted((int(family.codes[i]), int(family.codes[j])))
            if family.kind == "threshold":
                mask[max(low, 0) : max(high, 0)] = False
            else:
                apart = [
                    test
                    for test in {low, high}
                    if 0 <= test < family.n_tests
                    and len(set(goes_left(family, test, family.codes[[i, j]]).tolist())) == 2
                ]
                mask[apart] = False
        counts.append(np.concatenate(([0], np.cumsum(mask))).astype(np.int64))
    return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)


def _bounded(core: Core) -> tuple[IntArray, IntArray]:
    """Rules that every leaf holds enough of something, which then every node must."""
    columns: list[IntArray] = []
    minima: list[int] = []
    for atom in demanded(core.clauses, Linear, Scope.LEAF):
        measure = atom.measure
        if measure.rows is not None and measure.output is None and (measure.rows <= 0).all():
            columns.append(-measure.rows)
            there = -sum(measure.rows.tolist())  # more than all is never met: in 64 bits
            minima.append(min(measure.constant - atom.at_most, there + 1))
    bounded = np.column_stack(columns) if columns else np.zeros((core.n_rows, 0))
    return np.ascontiguousarray(bounded, dtype=np.int64), np.array(minima, dtype=np.int64)


def _depth(core: Core) -> int:
    limits = [MAX_GROWTH_DEPTH, *(rule.at_most for rule in demanded(core.clauses, Depth))]
    if not isinstance(core.skeleton, DiagramSkeleton) and core.skeleton.depth is not None:
        limits.append(core.skeleton.depth)
    return max(0, min(limits))


def _leaves(core: Core) -> int | None:
    limits: list[int] = []
    if not isinstance(core.skeleton, DiagramSkeleton) and core.skeleton.leaves is not None:
        limits.append(core.skeleton.leaves)
    for atom in demanded(core.clauses, Linear, Scope.MODEL):
        measure = atom.measure
        if measure.leaves > 0 and measure.columns is None and measure.output is None:
            rows = 0 if measure.rows is None else int(measure.rows.sum())
            limits.append((atom.at_most - measure.constant - rows) // measure.leaves)
    return max(1, min(limits)) if limits else None
