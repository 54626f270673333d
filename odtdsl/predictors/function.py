"""The function that a tree computes, in a form that is the same for all trees that compute it.

The feature space is that of the rules on order: each number line, each level, one value for all
categories that no spec names, and missing cells where the training rows have some. A function is
written down feature by feature, in the order of the spec: the line is cut only where the rest of
the function changes, and a feature on which nothing depends is left out. So two trees have equal
forms iff they predict alike everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass

from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold, TreeNode
from odtdsl.predictors.tree import Tree

Cut = tuple[float, int]
"""A place on the number line: before the number (0), or behind it (1)."""

WHOLE: Cut = (-math.inf, 0)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The parts of a feature that its tests distinguish; the last one holds missing cells.

    `cuts` begin all parts of a line but the first one. `values` are tested for equality, and the
    part behind them holds all others.
    """

    name: str
    cuts: tuple[Cut, ...]
    values: tuple[Value, ...]
    missing: bool

    @property
    def present(self) -> int:
        return max(len(self.cuts), len(self.values)) + 1

    def passing(self, test: Test, levels: tuple[Value, ...]) -> int:
        """The parts that go left, missing cells apart, as a mask."""
        if isinstance(test, Equals):
            return 1 << self.values.index(test.value)
        low, high = _ends(test, levels)
        first = 0 if low == WHOLE else self.cuts.index(low) + 1
        last = len(self.cuts) if high[0] == math.inf else self.cuts.index(high)
        return (1 << last + 1) - (1 << first)


def function_of(tree: Tree, missing: Collection[str]) -> Hashable:
    """The form of a tree's function.

    Parameters
    ----------
    tree
        The tree.
    missing
        The features whose cells may be missing.
    """
    return _Form(tree, missing).of(0, (1 << tree.n_leaves) - 1)


def _ends(test: Threshold | InBin, levels: tuple[Value, ...]) -> tuple[Cut, Cut]:
    if isinstance(test, Threshold):
        value = levels.index(test.value) if levels else test.value
        assert not isinstance(value, str), "a level has a rank"
        return WHOLE, (float(value), 1)
    low = WHOLE if test.low == -math.inf else (test.low, 0)
    return low, (test.high, int(test.closed))


def _cells(type_: ColumnType, tests: list[Test], missing: bool) -> _Cells:
    cuts: set[Cut] = set()
    values: dict[Value, None] = {}
    for test in tests:
        if isinstance(test, Equals):
            values[test.value] = None
        else:
            cuts.update(c for c in _ends(test, _ranked(type_)) if not math.isinf(c[0]))
    return _Cells(type_.name, tuple(sorted(cuts)), tuple(values), missing)


def _ranked(type_: ColumnType) -> tuple[Value, ...]:
    return type_.levels if type_.kind == "ordered" else ()


class _Form:
    def __init__(self, tree: Tree, missing: Collection[str]) -> None:
        types = {type_.name: type_ for type_ in tree.features}
        tests: dict[str, list[Test]] = {}
        for node in tree.nodes():
            if isinstance(node, Branch):
                tests.setdefault(node.feature, []).append(node.test)
        self.levels = {name: _ranked(types[name]) for name in tests}
        self.cells = tuple(
            _cells(type_, tests[type_.name], type_.name in missing)
            for type_ in tree.features
            if type_.name in tests
        )
        self.at = {cells.name: index for index, cells in enumerate(self.cells)}
        self.leaves: list[tuple[tuple[int, ...], Hashable]] = []
        whole = tuple((1 << cells.present + cells.missing) - 1 for cells in self.cells)
        self.walk(tree.root, whole)
        self.known: dict[tuple[int, int], Hashable] = {}

    def walk(self, node: TreeNode, box: tuple[int, ...]) -> None:
        """The parts of each feature that reach each leaf."""
        if isinstance(node, Leaf):
            self.leaves.append((box, node.label if node.output is None else node.output))
            return
        index = self.at[node.feature]
        cells = self.cells[index]
        left = cells.passing(node.test, self.levels[node.feature])
        if cells.missing and node.missing == "left":
            left |= 1 << cells.present
        for child, side in ((node.left, box[index] & left), (node.right, box[index] & ~left)):
            self.walk(child, (*box[:index], side, *box[index + 1 :]))

    def of(self, index: int, leaves: int) -> Hashable:
        """The function of the features from `index` on, where only these leaves are left."""
        if index == len(self.cells):
            return self.leaves[leaves.bit_length() - 1][1]
        if (index, leaves) not in self.known:
            self.known[index, leaves] = self._written(index, leaves)
        return self.known[index, leaves]

    def _written(self, index: int, leaves: int) -> Hashable:
        cells = self.cells[index]
        parts = []
        for part in range(cells.present + cells.missing):
            rest = sum(
                1 << leaf
                for leaf, (box, _) in enumerate(self.leaves)
                if leaves >> leaf & 1 and box[index] >> part & 1
            )
            parts.append(self.of(index + 1, rest))
        if all(part == parts[0] for part in parts):
            return parts[0]
        absent = parts.pop() if cells.missing else None
        if cells.values:
            other = parts.pop()
            differ = {v: p for v, p in zip(cells.values, parts, strict=True) if p != other}
            return (cells.name, frozenset(differ.items()), other, absent)
        pairs = zip(cells.cuts, parts, parts[1:], strict=False)
        changes = tuple((cut, after) for cut, before, after in pairs if before != after)
        return (cells.name, parts[0], changes, absent)
