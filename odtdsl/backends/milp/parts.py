"""Subtrees below a test at the root, and which of them rules refuse.

A subtree is a leaf, or a split with two leaves; with the test of the root and the side its rows
are known. Tests of a column that part these rows alike are one, the first of them. A subtree is
left out where

- a rule on paths, leaves or splits refuses it by itself;
- a bound on a measure of the tree is passed with every subtree on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from odtdsl.backends.milp.patterns import Patterns, gains_of, present
from odtdsl.backends.milp.structure import Tick
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.automata import PathRule, on_paths
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, PathSum, PathTotal
from odtdsl.problem.ir.paths import path_numerator

Tests = tuple[tuple[int, int], ...]
"""Tests of a level, by family and number."""

ROUNDS = 20
"""How often bounds may leave out subtrees that others needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """Subtrees: int64 (n,) each, or (n, 2) for the leaves on the left and right.

    Attributes
    ----------
    root
        Which test of the root.
    side
        0 left of it, 1 right.
    test
        Which test of the lower level; -1 for a leaf.
    cells
        Of each leaf, see `Sums`. A leaf without a split is the right one; the left is -1.
    labels
        Of each leaf; -1 where there is none.
    """

    root: IntArray
    side: IntArray
    test: IntArray
    cells: IntArray
    labels: IntArray

    def only(self, kept: BoolArray) -> Parts:
        """The subtrees that a mask, bool (n,), keeps."""
        return Parts(**{field.name: getattr(self, field.name)[kept] for field in fields(self)})

    @property
    def node(self) -> IntArray:
        """1 or 2, child of the root."""
        node: IntArray = 1 + self.side
        return node


def find_parts(
    core: Core, patterns: Patterns, tests_at: tuple[Tests, ...], tick: Tick
) -> tuple[Parts, BoolArray]:
    """All subtrees, and the patterns of their cells: bool (n_cells, n_patterns), the first all."""
    return _Finder(core, patterns, tests_at).run(tick)


class _Finder:
    def __init__(self, core: Core, patterns: Patterns, tests_at: tuple[Tests, ...]) -> None:
        self.core, self.patterns, self.tests_at = core, patterns, tests_at
        self._cells: list[BoolArray] = [np.ones((1, patterns.count), dtype=bool)]
        self._n_cells = 1
        kinds = [core.families[family].kind == "threshold" for family, _ in tests_at[-1]]
        self._chained = np.array(kinds, dtype=bool)
        self._families = np.array([family for family, _ in tests_at[-1]], dtype=np.int64)

    def run(self, tick: Tick) -> tuple[Parts, BoolArray]:
        none = np.zeros(0, dtype=np.int64)
        pairs = np.zeros((0, 2), dtype=np.int64)
        found = [Parts(root=none, side=none, test=none, cells=pairs, labels=pairs)]
        levels = [self._sent(tests) for tests in self.tests_at]
        everything = self._cells[0][0]
        for root in np.flatnonzero(_parts_rows(everything, *levels[0])).tolist():
            for side, inside in enumerate((levels[0][0][root], ~levels[0][0][root])):
                found.append(self._leaves(root, side, inside))
                if len(levels) > 1:
                    found.append(self._splits(root, side, inside, *levels[1]))
            tick()
        joined = {
            f.name: np.concatenate([getattr(p, f.name) for p in found]) for f in fields(Parts)
        }
        return Parts(**joined), np.concatenate(self._cells)

    def _sent(self, tests: Tests) -> tuple[BoolArray, BoolArray]:
        """bool (n_tests, n_patterns): who goes left, and whose values a threshold lies between."""
        shape = (len(tests), self.patterns.count)
        left, known = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
        for i, (index, test) in enumerate(tests):
            family, codes = self.core.families[index], self.patterns.codes[index]
            if family.kind == "threshold":
                left[i], known[i] = codes <= test, present(family, codes)
            else:
                left[i] = (codes == test) | (codes == -1)
        return left, known

    def _add(self, cells: BoolArray) -> IntArray:
        self._cells.append(cells)
        self._n_cells += len(cells)
        return np.arange(self._n_cells - len(cells), self._n_cells)

    def _leaves(self, root: int, side: int, inside: BoolArray) -> Parts:
        labels = np.arange(self.core.n_classes)
        none, cell = np.full_like(labels, -1), np.full_like(labels, self._add(inside[None, :])[0])
        return Parts(
            root=np.full_like(labels, root),
            side=np.full_like(labels, side),
            test=none,
            cells=np.stack([none, cell], axis=1),
            labels=np.stack([none, labels], axis=1),
        )

    def _splits(
        self, root: int, side: int, inside: BoolArray, left: BoolArray, known: BoolArray
    ) -> Parts:
        stands = np.flatnonzero(_parts_rows(inside, left, known))
        # Thresholds of a family send nested sets left: with as many rows, the same ones.
        sizes = (left[stands] & inside).sum(axis=1)
        key = np.where(
            self._chained[stands], self._families[stands] * (len(inside) + 1) + sizes, -1 - stands
        )
        kept = stands[np.sort(np.unique(key, return_index=True)[1])]
        k = self.core.n_classes
        cells = [self._add(left[kept] & inside), self._add(inside & ~left[kept])]
        tests = np.repeat(kept, k * k)
        return Parts(
            root=np.full_like(tests, root),
            side=np.full_like(tests, side),
            test=tests,
            cells=np.repeat(np.stack(cells, axis=1), k * k, axis=0),
            labels=np.tile(np.stack(np.divmod(np.arange(k * k), k), axis=1), (len(kept), 1)),
        )


def _parts_rows(inside: BoolArray, left: BoolArray, known: BoolArray) -> BoolArray:
    """Which tests have rows (thresholds: with values) on both sides, of those inside."""
    here = inside & known
    found: BoolArray = np.logical_and((here & left).any(axis=1), (here & ~left).any(axis=1))
    return found


class Sums:
    """Sums of measures over the leaves of subtrees.

    Attributes
    ----------
    cells
        bool (n_cells, n_patterns): the patterns of each leaf; the first cell has all.
    """

    def __init__(
        self, core: Core, patterns: Patterns, tests_at: tuple[Tests, ...], cells: BoolArray
    ) -> None:
        self.core, self.patterns, self.cells = core, patterns, cells
        self.columns_at = [
            np.array([core.families[family].column for family, _ in tests], dtype=np.int64)
            for tests in tests_at
        ]
        self._splits = len(tests_at) > 1 and len(tests_at[1]) > 0

    def of_cells(self, measure: Additive) -> IntArray:
        """int64 (n_cells, n_classes): rows and outputs of a measure, by the label there."""
        table = gains_of(measure, self.patterns, self.core.n_classes).by_label
        sums: IntArray = self.cells @ table
        return sums

    def of_leaves(self, measure: Additive, parts: Parts) -> IntArray:
        """int64 (n_parts, 2): the same of each leaf of a subtree; 0 where there is none."""
        values = self.of_cells(measure)[parts.cells, parts.labels]
        leaves: IntArray = np.where(parts.cells >= 0, values, 0)
        return leaves

    def of_all(self, measure: Additive) -> IntArray:
        """int64 (n_classes,): the same of a leaf without splits."""
        table = gains_of(measure, self.patterns, self.core.n_classes).by_label
        sums: IntArray = table.sum(axis=0)
        return sums

    def of_paths(self, paths: PathSum, parts: Parts) -> IntArray:
        """int64 (n_parts,): what the rows of a subtree pay for their tests."""
        weights = self.cells @ self.patterns.sum_rows(paths.weights)
        rows = np.where(parts.cells >= 0, weights[parts.cells], 0).sum(axis=1)
        prices = {path: path_numerator(paths.measure, path) for path in set(self.paths(parts))}
        each = np.array([prices[path] for path in self.paths(parts)], dtype=np.int64)
        paid: IntArray = rows * each
        return paid

    def of_empty_path(self, paths: PathSum) -> int:
        """What the rows of a leaf without splits pay."""
        return int(paths.weights.sum()) * path_numerator(paths.measure, ())

    def paths(self, parts: Parts) -> list[tuple[int, ...]]:
        """The columns that are tested down to the leaves of each subtree."""
        first = self.columns_at[0][parts.root].tolist()
        if not self._splits:
            return [(a,) for a in first]
        second = np.where(parts.test >= 0, self.columns_at[1][parts.test], -1).tolist()
        return [(a,) if b < 0 else (a, b) for a, b in zip(first, second, strict=True)]

    def of_model(self, measure: Additive, parts: Parts) -> IntArray:
        """int64 (n_parts,): the leaves of a subtree, and its own split."""
        values = self.of_leaves(measure, parts).sum(axis=1)
        splits = measure.leaves * (parts.test >= 0)
        if measure.columns is not None and self._splits:
            prices = measure.columns[self.columns_at[1]]
            splits = splits + np.where(parts.test >= 0, prices[parts.test], 0)
        total: IntArray = values + splits
        return total

    def of_roots(self, measure: Additive) -> IntArray:
        """int64 (n_tests,): the rest of a measure of the model, by the test of the root."""
        rest = np.full(len(self.columns_at[0]), measure.constant + 2 * measure.leaves)
        if measure.columns is not None:
            rest = rest + measure.columns[self.columns_at[0]]
        return rest.astype(np.int64)


# ---- what rules leave out


def is_of_parts(clause: Clause) -> bool:
    """Whether a rule is about single paths, leaves or splits, so that a subtree shows it all.

    (Of a rule on splits what the root's split has is left to be asked.)
    """
    if clause.scope is Scope.PATH:
        return on_paths(clause)
    if clause.scope is Scope.MODEL or not clause.literals:
        return False
    return all(isinstance(literal.atom, Linear) for literal in clause.literals)


def keeping(core: Core, sums: Sums, parts: Parts) -> tuple[Parts, BoolArray]:
    """The subtrees that rules leave, and the labels of a leaf without splits: bool (n_classes,)."""
    lone = np.ones(core.n_classes, dtype=bool)
    for clause in core.clauses:
        if not is_of_parts(clause):
            continue
        if clause.scope is Scope.PATH:
            paths = sums.paths(parts)
            rule = PathRule(clause.literals, range(len(core.columns)))
            holds = {path: rule.holds(rule.after(path)) for path in {*paths, ()}}
            parts = parts.only(np.array([holds[path] for path in paths], dtype=bool))
            lone &= holds[()]
        elif clause.scope is Scope.LEAF:
            held = _bounds_hold(clause, [sums.of_cells(m) for m in _measures(clause)])
            told = held[parts.cells, parts.labels] | (parts.cells < 0)
            parts = parts.only(np.logical_and(told[:, 0], told[:, 1]))
            lone &= held[0]
        else:
            values = [sums.of_leaves(m, parts).sum(axis=1) for m in _measures(clause)]
            held = _bounds_hold(clause, values)
            held[parts.test < 0] = True
            parts = parts.only(held)
    bounds = [bound for clause in core.clauses if (bound := _bound(clause)) is not None]
    return _completed(sums, parts, bounds), lone


def _measures(clause: Clause) -> list[Additive]:
    return [x.atom.measure for x in clause.literals if isinstance(x.atom, Linear)]


def _bounds_hold(clause: Clause, values: list[IntArray]) -> BoolArray:
    """Where one of a clause's bounds holds, given the values of its measures."""
    found = np.zeros(values[0].shape, dtype=bool)
    for literal, value in zip(clause.literals, values, strict=True):
        assert isinstance(literal.atom, Linear), "asked before"
        found |= value + literal.atom.measure.constant <= literal.atom.at_most
    return found


def _bound(clause: Clause) -> Linear | PathTotal | None:
    """The bound on a measure of the tree that a rule is."""
    if clause.scope is not Scope.MODEL or len(clause.literals) != 1:
        return None
    atom = clause.literals[0].atom
    return atom if isinstance(atom, Linear | PathTotal) else None


def _completed(sums: Sums, parts: Parts, bounds: list[Linear | PathTotal]) -> Parts:
    """Without subtrees that break a bound with all that may stand on the other side."""
    n_roots = len(sums.columns_at[0])
    for _ in range(ROUNDS):
        before = len(parts.root)
        here, there = 2 * parts.root + parts.side, 2 * parts.root + 1 - parts.side
        counts = np.bincount(here, minlength=2 * n_roots)
        kept = counts[there] > 0
        for bound in bounds:
            own = sums.of_model(bound.measure, parts)
            if isinstance(bound, PathTotal):
                own = own + sums.of_paths(bound.path_sum, parts)
            least = np.full(2 * n_roots, np.iinfo(np.int64).max // 4)
            np.minimum.at(least, here, own)
            whole = own + least[there] + sums.of_roots(bound.measure)[parts.root]
            kept &= whole <= bound.at_most
        parts = parts.only(kept)
        if len(parts.root) == before:
            break
    return parts
