"""Additive measures as components of a sub-tree: row values, prices of leaves and splits."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from odtdsl.backends.exact.lowering import constant_of
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Additive, Core, LinearStage, PathSum

Range = tuple[int, int]

HUGE = 2**60
"""Whatever the search adds up stays below this, so that 64 bits never wrap."""


class Components:
    """Measures, each once; a component's value lacks the measure's constant.

    Attributes
    ----------
    leaf
        Per component, what each leaf adds.
    split
        Per component, int64 (n_columns,): what a split adds.
    sum_of
        Per component and label, the row value that is summed over a leaf's rows, or -1.
    path
        Per component, None, or the index of its path measure in `ir.paths.path_measures`.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.sums: list[IntArray] = []
        self._where: dict[bytes, int] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self.leaf: list[int] = []
        self.split: list[IntArray] = []
        self.sum_of: list[tuple[int, ...]] = []
        self.path_weight: list[int] = []
        self.path: list[int | None] = []

    def __len__(self) -> int:
        return len(self.leaf)

    def sum(self, values: IntArray | None) -> int:
        """Index of a row value, int64 (n_rows,)."""
        if values is None or not values.any():
            return -1
        values = np.ascontiguousarray(values, dtype=np.int64)
        key = values.tobytes()
        if key not in self._where:
            self._where[key] = len(self.sums)
            self.sums.append(values)
        return self._where[key]

    def add(
        self,
        measure: Additive,
        paths: PathSum | None = None,
        path: int | None = None,
        *,
        shift: bool = False,
    ) -> int:
        """A measure of the model, with the numerators of a path sum over its `path`th measure.

        `shift` counts the constant too, with the first row.
        """
        output = measure.output
        if output is None:
            output = np.zeros((self.core.n_rows, self.core.n_classes), dtype=np.int64)
        if shift:
            output = output.copy()
            output[0] += constant_of(measure)
        columns = measure.columns
        if columns is None:
            columns = np.zeros(len(self.core.columns), dtype=np.int64)
        labels = tuple(self.sum(output[:, c]) for c in range(self.core.n_classes))
        weight = -1 if paths is None else self.sum(paths.weights)
        return self._add(labels, measure.leaves, columns, weight, path)

    def _add(
        self, labels: tuple[int, ...], leaf: int, split: IntArray, weight: int, path: int | None
    ) -> int:
        key = (labels, leaf, split.tobytes(), weight, path)
        if key not in self._known:
            self._known[key] = len(self)
            self.sum_of.append(labels)
            self.leaf.append(leaf)
            self.split.append(split.astype(np.int64))
            self.path_weight.append(weight)
            self.path.append(path)
        return self._known[key]

    def table(self) -> npt.NDArray[np.int64]:
        """int64 (n_rows, n_sums)."""
        if not self.sums:
            return np.zeros((self.core.n_rows, 0), dtype=np.int64)
        return np.ascontiguousarray(np.array(self.sums, dtype=np.int64).T)

    def range_of(
        self, component: int, leaves: int, deltas: tuple[IntArray, ...], depth: int
    ) -> Range:
        """Bounds on a component over all trees of a depth with so many leaves."""
        labels = np.zeros((self.core.n_rows, self.core.n_classes), dtype=np.int64)
        for label, at in enumerate(self.sum_of[component]):
            if at >= 0:
                labels[:, label] = self.sums[at]
        low, high = int(labels.min(axis=1).sum()), int(labels.max(axis=1).sum())
        ends = [self.leaf[component], self.leaf[component] * leaves]
        low, high = low + min(ends), high + max(ends)
        split = self.split[component]
        low += min(0, int(split.min(initial=0))) * (leaves - 1)
        high += max(0, int(split.max(initial=0))) * (leaves - 1)
        path = self.path[component]
        if path is not None and self.path_weight[component] >= 0:
            weights = int(np.abs(self.sums[self.path_weight[component]]).sum())
            reach = int(np.abs(deltas[path]).max(initial=0)) * weights * depth
            low, high = low - reach, high + reach
        return low, high

    def reach(self, component: int, leaves: int, deltas: tuple[IntArray, ...], depth: int) -> int:
        """What the size of a component's value, and of all that it is summed of, stays below."""
        found = 0.0
        for at in {at for at in self.sum_of[component] if at >= 0}:
            found += float(np.abs(self.sums[at]).sum(dtype=np.float64))
        found += float(abs(self.leaf[component])) * leaves
        found += float(np.abs(self.split[component]).max(initial=0)) * leaves
        path = self.path[component]
        if path is not None and self.path_weight[component] >= 0:
            weights = float(np.abs(self.sums[self.path_weight[component]]).sum(dtype=np.float64))
            found += float(np.abs(deltas[path]).max(initial=0)) * weights * depth
        return int(found * (1 + 1e-9)) + 1


def clipped(bound: int) -> int:
    """A bound as one that the engine can read, and that the same values keep."""
    return max(-4 * HUGE, min(4 * HUGE, bound))


def denominator_of(stage: LinearStage) -> int:
    """A common denominator of a stage's values."""
    found = stage.measure.denominator
    if stage.path_sum is not None:
        found = lcm(found, stage.path_sum.whole_denominator)
    for factor, parts in stage.maxima:
        for part in parts:
            found = lcm(found, factor.denominator * part.denominator)
    return found


def empty_paths(paths: PathSum) -> int:
    """The numerator of a path sum where no path has a test; no component counts it."""
    return paths.measure.constant * int(paths.weights.sum())


def alike(parts: tuple[Additive, ...]) -> tuple[int, tuple[Additive, ...]]:
    """The parts of a maximum over one denominator."""
    common = lcm(*(part.denominator for part in parts))
    scaled = tuple(part.scaled(Fraction(common, part.denominator)) for part in parts)
    return common, scaled
