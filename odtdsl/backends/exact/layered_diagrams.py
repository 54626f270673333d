"""Diagrams on `exact`, shape by shape: what bounds by trees leave open.

A shape says how many splits each layer has. Shapes are asked in rounds of growing effort: what
the trees of a shape lose at least, then its best diagram by branch and bound (`engine.Layered`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.exact.lowering import kinds_of_rows
from odtdsl.backends.exact.raw_trees import raw_test
from odtdsl.backends.exact.unrolled import Unrolled
from odtdsl.base import engine
from odtdsl.problem.ir.raw import RawDiagram, RawNode

Shape = tuple[int, ...]

Layers = Sequence[Sequence[tuple[int, int, int, int]]]
"""A diagram as the engine has it: feature, cut and the ends of both arcs of each node."""

MOST_SHAPES = 5000
"""Skeletons with more shapes are left to the back ends."""

MOST_LAYERS = 30
"""Of a shape that is looked at."""

EFFORTS = tuple(10_000_000 * 4**k for k in range(12))
"""Rows visited for a shape, round by round: the first takes less than a second."""

UNLIMITED = 20_000_000_000
"""Rows visited times features, in all, where no time is given: a minute or two."""


def shapes(widths: Shape, splits: int) -> Iterator[Shape]:
    """Splits in each layer of the diagrams of at most so many, fewest layers first."""
    found: list[Shape] = [(1,)]
    while found:
        yield from found
        found = [
            (*shape, nodes)
            for shape in found
            if len(shape) < len(widths)
            for nodes in range(1, min(widths[len(shape)], 2 * shape[-1], splits - sum(shape)) + 1)
        ]


def copies_of(shape: Shape) -> int:
    """Splits at most of the tree that a diagram of the shape unrolls to.

    One node below stands for a layer's arcs once for each node, two or more for both arcs.
    """
    every = last = 1
    for nodes in shape[1:]:
        last *= min(2, nodes)
        every += last
    return every


class Layered:
    """One solve. Bounds are in the steps of `Unrolled`, prices of splits included."""

    def __init__(self, trees: Unrolled) -> None:
        self.trees = trees
        self.bounds: dict[Shape, int] = {}
        self.asked: set[Shape] = set()
        self.whole = self._list()
        self.search = self._table() if self.whole else None

    def _list(self) -> bool:
        """The shapes with room for something better; whether these are all."""
        for number, shape in enumerate(shapes(self.trees.widths, self.trees.affordable())):
            if number == MOST_SHAPES or len(shape) > MOST_LAYERS:
                return False
            bound = self.trees.floor_of_shape(shape, copies_of(shape))
            if bound < self.trees.upper():
                self.bounds[shape] = bound
        return True

    def _table(self) -> engine.Layered | None:
        """The search over rows that tests tell apart; None where it does not take them."""
        trees = self.trees
        output = trees.measure.output
        if output is None or output.shape[1] > engine.most_layered_labels:
            return None
        above = output - output.min(axis=1, keepdims=True)
        kinds = kinds_of_rows(trees.features.ranks)
        _, one_of = np.unique(kinds, return_index=True)
        if len(one_of) > engine.most_layered_rows:
            return None
        ranks = trees.features.ranks[:, one_of]
        losses = np.zeros((len(one_of), above.shape[1]), dtype=np.int64)
        np.add.at(losses, kinds, above)
        features = replace(trees.features, ranks=np.ascontiguousarray(ranks))
        return engine.Layered(features.table(), losses)

    def open(self) -> list[Shape]:
        """Shapes that may hold something better, the most promising first."""
        upper = self.trees.upper()
        left = [shape for shape, bound in self.bounds.items() if bound < upper]
        return sorted(left, key=lambda shape: (self.bounds[shape], shape))

    def room(self) -> tuple[int, Shape]:
        """Splits at most, and widths, of the diagrams that could be better than the best."""
        if not self.whole:
            return self.trees.room()
        shapes = self.open()
        deepest = max(map(len, shapes), default=1)
        return max(map(sum, shapes), default=0), tuple(
            max((shape[level] for shape in shapes if level < len(shape)), default=1)
            for level in range(deepest)
        )

    def bound(self, deadline: float | None) -> int:
        """A bound on all diagrams; what is found is offered."""
        spent = 0
        for number, effort in enumerate(EFFORTS if self.search else ()):
            # what leaves the least room is closed soonest by trees alone
            todo = self.open() if number else sorted(self.open(), key=lambda s: -sum(s))
            for shape in todo:
                if shape in self.asked or self.bounds[shape] >= self.trees.upper():
                    continue
                left = None if deadline is None else deadline - time.monotonic()
                over = spent > UNLIMITED if left is None else left <= 0
                # a short search ends before it looks, and there may be thousands
                if self.trees.limits.interrupted():
                    self.trees.interrupted = True
                if over or self.trees.interrupted:
                    return self._least()
                spent += self._ask(shape, bound_only=not number, effort=effort, seconds=left)
            if self.asked.issuperset(self.open()):
                break
        return self._least()

    def _least(self) -> int:
        if not self.whole:
            return 0
        return min((self.bounds[shape] for shape in self.open()), default=self.trees.upper())

    def _ask(self, shape: Shape, *, bound_only: bool, effort: int, seconds: float | None) -> int:
        """More about a shape; returns the rows visited times the features."""
        trees = self.trees
        trees.shape_searches += 1
        paid = trees.price * (sum(shape) + 1)
        assert self.search is not None
        limits = engine.Limits(
            work_limit=effort,
            time_limit=seconds,
            memory_limit=trees.limits.table_bytes(),
            interrupted=trees.limits.interrupted,
        )
        found = self.search.solve(shape, trees.upper() - paid, limits, bound_only=bound_only)
        trees.interrupted = trees.interrupted or found.interrupted
        if found.value is not None:
            trees.offer(diagram_of(trees, found.layers))
        self.bounds[shape] = max(self.bounds[shape], found.bound + paid)
        if found.complete:  # a rule may forbid its best diagram: more is not known of it
            self.asked.add(shape)
        return found.work * len(trees.features.distinct)


def diagram_of(trees: Unrolled, layers: Layers) -> RawDiagram | None:
    """The engine's layers as a diagram.

    Arcs that lead to one place, and what they leave alone, are left out.
    """
    core, features = trees.tree_core, trees.features
    return folded(
        Draft(
            entry=0,
            layers=[
                [
                    RawNode(split=raw_test(core, features, f, cut), left=left, right=right)
                    for f, cut, left, right in layer
                ]
                for layer in layers
            ],
        )
    )
