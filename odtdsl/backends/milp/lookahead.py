"""Bounds on what each test at the root can still gain: rows that tighten the relaxation.

Below a test at the root of a tree of depth D <= 3 there are two subtrees of depth D - 1.
The largest gain that any such subtree reaches on the patterns of its side is computed by
trying all tests of the levels below (sums over pairs of tests are matrix products), and
stated as rows

    gain of the left slots - price of the left splits
        <= sum over tests r of best_left(r) [the root tests r]

and the same on the right. Path rules (on the columns of a whole path) and leaf rules that
only count rows are obeyed below; all other rules are left out, so that the bounds hold with
them too. On problems without other rules the linear relaxation then starts at the optimum.
The rows follow from the others for integer points; they never cut off a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odtdsl.backends.milp.pattern_flow import PatternFlow
from odtdsl.backends.milp.patterns import gains_of
from odtdsl.backends.milp.program import OBJECTIVE, Affine
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.automata import PathRule, on_paths
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Core, Linear, demanded
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

MAX_LOOKAHEAD_DEPTH = 3
"""The rows are made for trees up to this depth."""

WORK = 2e10
"""Multiplications that the bounds of a model may take; with more, there are no such rows."""

MOST_PATHS = 50_000
"""Sequences of columns that path rules are asked about; with more, path rules are left out."""

EXACT_FLOAT = 2**50
"""Sums of gains stay below this, so that float64 matrix products are exact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Level:
    """All tests of a level.

    Attributes
    ----------
    left
        float64 (n_tests, n_patterns): 1 where the test sends the pattern left.
    price
        float64 (n_tests,).
    column
        int64 (n_tests,).
    """

    left: FloatArray
    price: FloatArray
    column: IntArray


def add_lookahead(
    encoding: PatternFlow, measure: Additive, tick: Callable[[], None]
) -> RawTree | None:
    """Add the rows for an objective's measure, where depth and size allow them.

    Returns
    -------
    RawTree or None
        A tree that reaches the bound; it may break rules that the bounds leave out.
    """
    if not _affordable(encoding, measure):
        return None
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(limits=1):  # many small products: more threads only wait for each other
        return _Lookahead(encoding, measure, tick).rows()


def _affordable(encoding: PatternFlow, measure: Additive) -> bool:
    depth, patterns = encoding.perfect.depth, encoding.patterns
    gain = gains_of(measure, patterns, encoding.core.n_classes).gain
    if not 1 <= depth <= MAX_LOOKAHEAD_DEPTH or not gain.any():
        return False
    prices = np.abs(_prices(encoding.core, measure)).sum()
    if float(gain.sum(dtype=np.float64)) + float(prices) * 2**depth > EXACT_FLOAT:
        return False
    tests = [
        sum(len(part.tests) for part in encoding.tests[encoding.perfect.at_level(level)[0]])
        for level in range(depth)
    ]
    limits = 1 + sum(clause.scope is Scope.LEAF for clause in encoding.core.clauses)
    work: float = 2.0 * patterns.count * (gain.shape[1] + limits)
    for count in tests:
        work *= max(1, count)
    return bool(work <= WORK)


def _prices(core: Core, measure: Additive) -> IntArray:
    """What a split costs, by the column that it tests."""
    columns = measure.columns
    if columns is None:
        columns = np.zeros(len(core.columns), dtype=np.int64)
    prices: IntArray = columns + measure.leaves
    return prices


class _Lookahead:
    def __init__(self, encoding: PatternFlow, measure: Additive, tick: Callable[[], None]) -> None:
        self.encoding = encoding
        self.core: Core = encoding.core
        self.measure = measure
        self.depth = encoding.perfect.depth
        self._tick = tick
        gains = gains_of(measure, encoding.patterns, self.core.n_classes)
        self.gain = gains.gain.astype(np.float64)
        self.levels = tuple(self._level(level) for level in range(self.depth))
        self.limits = tuple(self._leaf_limits())
        self._allowed = self._paths()

    def _level(self, level: int) -> _Level:
        node = self.encoding.perfect.at_level(level)[0]
        lefts: list[FloatArray] = []
        columns: list[int] = []
        for part in self.encoding.tests[node]:
            family = self.core.families[part.family]
            codes = self.encoding.patterns.codes[part.family]
            for test in part.tests.tolist():
                chained = family.kind == "threshold"
                left = codes <= test if chained else (codes == test) | (codes == -1)
                lefts.append(left.astype(np.float64))
                columns.append(family.column)
        where = np.array(columns, dtype=np.int64)
        return _Level(
            left=np.array(lefts).reshape(len(lefts), self.encoding.patterns.count),
            price=_prices(self.core, self.measure)[where].astype(np.float64),
            column=where,
        )

    def _leaf_limits(self) -> list[tuple[FloatArray, int]]:
        """Rules `sum of rows <= bound` on every leaf: weights of patterns, and the bound."""
        found = [(-np.ones(self.encoding.patterns.count), -1)]  # every leaf holds a row
        for atom in demanded(self.core.clauses, Linear, Scope.LEAF):
            rows = None if atom.measure.output is not None else atom.measure.rows
            if rows is not None and int(np.abs(rows).sum()) < EXACT_FLOAT:
                sums = self.encoding.patterns.sum_rows(rows).astype(np.float64)
                found.append((sums, atom.at_most - atom.measure.constant))
        return found

    # ---- which columns may follow each other

    def _paths(self) -> tuple[BoolArray, ...]:
        """Per length of a path: which sequences of columns are allowed as a whole path."""
        count = len(self.core.columns)
        tables = [np.ones((count,) * length, dtype=bool) for length in range(self.depth + 1)]
        if count**self.depth > MOST_PATHS:
            return tuple(tables)
        for clause in filter(on_paths, self.core.clauses):
            rule = PathRule(clause.literals, range(count))
            states = [rule.start]
            for length, table in enumerate(tables):
                if length:
                    states = [rule.step(above, c) for above in states for c in range(count)]
                table &= np.array([rule.holds(state) for state in states]).reshape(table.shape)
                self._tick()
        return tuple(tables)

    # ---- the best below

    def _leaf(self, sums: Sequence[FloatArray], ok: Any) -> FloatArray:
        """Best gain of leaves: per label sums, then sums of the limits; -inf where forbidden."""
        classes = self.gain.shape[1]
        best: FloatArray = np.maximum.reduce(list(sums[:classes]))
        allowed = np.asarray(ok)
        for total, (_, bound) in zip(sums[classes:], self.limits, strict=True):
            allowed = allowed & (total <= bound)
        return np.where(allowed, best, -np.inf)

    def _weights(self) -> list[FloatArray]:
        return [*self.gain.T, *(weights for weights, _ in self.limits)]

    def below(self, inside: FloatArray, level: int, path: tuple[int, ...]) -> tuple[float, int]:
        """The best subtree on a mask of patterns, under a path of columns.

        Its net gain, and the index of its topmost test, -1 for a leaf.
        """
        weights = [w * inside for w in self._weights()]
        totals = [np.asarray(w.sum()) for w in weights]
        best = float(self._leaf(totals, self._allowed[len(path)][path]))
        if level == self.depth:
            return best, -1
        first = self.levels[level]
        sums = [first.left @ w for w in weights]
        ends = self._allowed[len(path) + 1][path][first.column]
        left = self._leaf(sums, ends)
        right = self._leaf([t - s for t, s in zip(totals, sums, strict=True)], ends)
        if level + 2 == self.depth:
            deeper_left, deeper_right = self._second(weights, totals, sums, level, path)
            left, right = np.maximum(left, deeper_left), np.maximum(right, deeper_right)
        net = left + right - first.price
        if not len(net) or net.max() <= best:
            return best, -1
        return float(net.max()), int(net.argmax())

    def _second(
        self,
        weights: list[FloatArray],
        totals: list[Any],
        sums: list[FloatArray],
        level: int,
        path: tuple[int, ...],
    ) -> tuple[FloatArray, FloatArray]:
        """Best split on each side of every test of a level, on all pairs with the next."""
        first, second = self.levels[level], self.levels[level + 1]
        ends = self._allowed[len(path) + 2][path][np.ix_(first.column, second.column)]
        both = [(first.left * w) @ second.left.T for w in weights]
        alone = [second.left @ w for w in weights]
        left_left = self._leaf(both, ends)
        left_right = self._leaf([s[:, None] - b for s, b in zip(sums, both, strict=True)], ends)
        below = [a[None, :] - b for a, b in zip(alone, both, strict=True)]
        right_left = self._leaf(below, ends)
        rest = [t - s[:, None] - d for t, s, d in zip(totals, sums, below, strict=True)]
        right_right = self._leaf(rest, ends)
        left = left_left + left_right - second.price
        right = right_left + right_right - second.price
        return left.max(axis=1, initial=-np.inf), right.max(axis=1, initial=-np.inf)

    # ---- rows

    def rows(self) -> RawTree | None:
        """Add the rows; returns a tree that reaches the bounds (other rules aside)."""
        root = self.levels[0]
        lefts: list[float] = []
        rights: list[float] = []
        for index in range(root.left.shape[0]):
            path = (int(root.column[index]),)
            lefts.append(self.below(root.left[index], 1, path)[0])
            rights.append(self.below(1 - root.left[index], 1, path)[0])
            self._tick()
        alone = [np.asarray(w.sum()) for w in self._weights()]
        leaf = float(self._leaf(alone, self._allowed[0][()]))
        possible = np.isfinite(lefts) & np.isfinite(rights)
        self._forbid(possible, np.isfinite(leaf))
        left = np.where(possible, lefts, 0).astype(np.int64)
        right = np.where(possible, rights, 0).astype(np.int64)
        self._bound("left", left, 0)
        self._bound("right", right, int(leaf) if np.isfinite(leaf) else 0)
        net = np.where(possible, np.add(lefts, rights) - root.price, -np.inf)
        if net.max(initial=-np.inf) > leaf:
            return self._split(np.ones(self.encoding.patterns.count), 0, (), int(net.argmax()))
        return self._grow(np.ones(self.encoding.patterns.count), self.depth, ())

    # ---- a tree

    def _grow(self, inside: FloatArray, level: int, path: tuple[int, ...]) -> RawTree | None:
        value, test = self.below(inside, level, path)
        if not np.isfinite(value):
            return None
        if test >= 0:
            return self._split(inside, level, path, test)
        sums = (self.gain * inside[:, None]).sum(axis=0)
        return RawLeaf(label=int(sums.argmax()))

    def _split(
        self, inside: FloatArray, level: int, path: tuple[int, ...], index: int
    ) -> RawTree | None:
        here = self.levels[level]
        sent = here.left[index]
        longer = (*path, int(here.column[index]))
        left = self._grow(inside * sent, level + 1, longer)
        right = self._grow(inside * (1 - sent), level + 1, longer)
        if left is None or right is None:
            return None
        family, test = self._tests(level)[index]
        return RawSplit(family=family, test=test, left=left, right=right)

    def _tests(self, level: int) -> list[tuple[int, int]]:
        node = self.encoding.perfect.at_level(level)[0]
        parts = self.encoding.tests[node]
        return [(part.family, test) for part in parts for test in part.tests.tolist()]

    # ---- columns and values

    def _picked(self, values: IntArray) -> Affine:
        """The value of the test that the root picks."""
        result, at = Affine(), 0
        for part in self.encoding.tests[0]:
            mine = values[at : at + len(part.tests)]
            at += len(part.tests)
            if self.core.families[part.family].kind == "threshold":
                mine = np.diff(mine, prepend=0)
            result.add_terms(part.columns, mine)
        return result

    def _forbid(self, possible: BoolArray, leaf: bool) -> None:
        program = self.encoding.program
        if not possible.all():
            wrong = self._picked((~possible).astype(np.int64))
            program.row("lookahead_never(n0)", OBJECTIVE, wrong, upper=0)
        if not leaf:
            program.row("lookahead_split(n0)", OBJECTIVE, self.encoding.is_active(0), lower=1)

    def _bound(self, name: str, values: IntArray, leaf: int) -> None:
        encoding = self.encoding
        child = 1 if name == "left" else 2
        slots = encoding.perfect.slots(child)
        row = Affine(constant=-leaf).add(encoding.is_active(0), leaf).add(self._picked(values), -1)
        x, c = np.nonzero(self.gain)
        gain = self.gain[x, c].astype(np.int64)
        where = np.asarray(slots)
        row.add_terms(encoding.hit[x, c][:, where].ravel(), np.repeat(gain, len(slots)))
        prices = _prices(self.core, self.measure)
        for node in range(encoding.perfect.n_branches):
            if child in (*encoding.perfect.above(node), node):
                for column in np.flatnonzero(prices).tolist():
                    row.add(encoding.use(node, column), -int(prices[column]))
        encoding.program.row(f"lookahead_{name}(n0)", OBJECTIVE, row, upper=0)
