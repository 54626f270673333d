"""What data, skeleton and rules leave to any tree: bounds that hold without a search.

A `ModelFacts` holds facts about every tree that satisfies some rules: rows that no admitted test
parts, features that no split tests, the most leaves and levels. `refute` says whether rules
contradict each other by these facts. It never says so of rules that a tree can keep; it may
miss a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.automata import Payments
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import LEFT_CODE, Family
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    Linear,
    Link,
    MaximaBound,
    Order,
    PathMeasure,
    PathTotal,
    SignedAtom,
    SplitFilter,
    Used,
)
from odtdsl.problem.ir.problem import DiagramSkeleton, TreeSkeleton

MOST_BOUNDS = 40
"""Bounds that are held against each other; many groups make many."""

MAX_COMPARED_CELLS = 2e7
"""Rows times pairs of bounds that are looked at."""

ROUNDS = 4
"""How often facts are drawn from facts at most."""

KEYS = 2**62
"""Keys of rows stay below this."""


class Frame:
    """What no rule changes: skeleton, rows and candidate tests."""

    def __init__(
        self,
        *,
        skeleton: TreeSkeleton | DiagramSkeleton,
        n_rows: int,
        n_columns: int,
        families: tuple[Family, ...],
    ) -> None:
        self.skeleton, self.families = skeleton, families
        self.n_rows, self.n_columns = n_rows, n_columns

    @cached_property
    def candidates(self) -> tuple[BoolArray, ...]:
        """Per family the tests that stand where no rule filters its feature, at every level."""
        return tuple(tests_at(family, (), 0) for family in self.families)

    @property
    def axis(self) -> bool:
        """Whether models are trees whose splits test one feature each."""
        return isinstance(self.skeleton, TreeSkeleton) and self.skeleton.splits == "axis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refutation:
    """Why no tree satisfies the rules: a clause that is plainly false, or two at odds."""

    clauses: tuple[Clause, ...]


class ModelFacts:
    """Facts about all trees that keep some clauses and filters.

    Attributes
    ----------
    closed
        bool (n_columns,): features that no split tests.
    leaves, depth
        No tree has more.
    """

    def __init__(
        self, frame: Frame, clauses: Sequence[Clause] = (), filters: Sequence[SplitFilter] = ()
    ) -> None:
        self.frame, self.clauses, self.filters = frame, tuple(clauses), by_column(filters)
        self.leaves = self.depth = max(1, frame.n_rows)
        self.closed: BoolArray = np.zeros(frame.n_columns, dtype=bool)
        self.blocks: IntArray = np.arange(frame.n_rows)
        self._needy: set[int] = set()
        self.alone = [(c.scope, c.literals[0]) for c in clauses if len(c.literals) == 1]
        if isinstance(frame.skeleton, TreeSkeleton):
            self.depth = self.leaves - 1
            if frame.skeleton.depth is not None:
                self.depth = min(self.depth, frame.skeleton.depth)
            self.leaves = min(self.leaves, frame.skeleton.leaves or self.leaves)
            self.leaves = min(self.leaves, 2**self.depth)
        if frame.axis:
            for _ in range(ROUNDS):
                known = self.leaves, self.depth
                self._draw()
                if known == (self.leaves, self.depth):
                    break  # all else follows from these

    # ---- facts

    def _draw(self) -> None:
        """One round: tests, then features, rows, leaves and levels."""
        flags = self._admitted()
        self.closed = self._closed(flags)
        if self.closed.all() or not self._root_may_split():
            self._no_split()
        self.blocks = parted(self.frame, flags, self.closed, whole=self.leaves == 1)
        self.__dict__.pop("_order", None)
        self._bound_leaves()
        if any(
            c.scope is Scope.SPLIT and all(self.impossible(x, c.scope) for x in c.literals)
            for c in self.clauses
        ):
            self._no_split()

    def _no_split(self) -> None:
        self.leaves, self.depth = 1, 0

    def _admitted(self) -> tuple[BoolArray, ...]:
        """Per family the tests that may stand at some level."""
        named = [level for here in self.filters.values() for f in here for level in f.levels or ()]
        levels = range(min(max(1, self.depth), max(named, default=-1) + 2))
        found = []
        for family, flags in zip(self.frame.families, self.frame.candidates, strict=True):
            if filters := self.filters.get(family.column):
                flags = np.zeros(family.n_tests, dtype=bool)
                for level in levels:
                    flags |= tests_at(family, filters, level)
            found.append(flags)
        return tuple(found)

    def _closed(self, flags: tuple[BoolArray, ...]) -> BoolArray:
        closed = np.ones(self.frame.n_columns, dtype=bool)
        for family, admitted in zip(self.frame.families, flags, strict=True):
            if admitted.any():
                closed[family.column] = False
        needs: dict[int, set[int]] = {}
        for scope, literal in self.alone:
            match literal.atom:
                case Used(column=column) if not literal.positive:
                    closed[column] = True
                case Budget(measure=measure, at_most=at_most) if scope is Scope.PATH:
                    closed |= self._too_dear(measure, at_most)
                case Order(here=here, above=above, absent=True) if not literal.positive:
                    needs.setdefault(here, set()).add(above)
        # The first test of a feature stands under tests of all that it requires.
        usable = {f for f in range(len(closed)) if not closed[f] and f not in needs}
        while more := {
            f for f, above in needs.items() if f not in usable and not closed[f] and above <= usable
        }:
            usable |= more
        closed[[f for f in range(len(closed)) if f not in usable]] = True
        self._needy = set(needs)
        return closed

    def _too_dear(self, measure: PathMeasure, at_most: int) -> BoolArray:
        """The features of which a single test already passes a budget."""
        dear = np.zeros(self.frame.n_columns, dtype=bool)
        if min(_weights(measure), default=0) >= 0:
            payments = Payments(measure, ())
            for column in range(self.frame.n_columns):
                dear[column] = payments.add(payments.start, column)[0] > at_most
        return dear

    def _root_may_split(self) -> bool:
        """Whether some test may stand at the root."""
        for family in self.frame.families:
            if self.closed[family.column] or family.column in self._needy:
                continue
            if tests_at(family, self.filters.get(family.column, []), 0).any():
                return True
        return False

    def _bound_leaves(self) -> None:
        self.leaves = min(self.leaves, int(self.blocks.max(initial=0)) + 1)
        for scope, literal in self.alone:
            match literal.atom:
                case Depth(at_most=at_most) if literal.positive and at_most >= 0:
                    self.depth = min(self.depth, at_most)
                case Budget(measure=measure, at_most=at_most) if scope is Scope.PATH:
                    self._bound_length(measure, at_most)
                case Linear(measure=measure, at_most=at_most) if scope is Scope.MODEL:
                    self._bound_by_model(measure, at_most)
                case Linear(measure=measure, at_most=at_most) if scope is Scope.LEAF:
                    self._bound_by_leaf(measure, at_most)
        self.leaves = min(self.leaves, 2**self.depth)
        self.depth = min(self.depth, self.leaves - 1)

    def _bound_length(self, measure: PathMeasure, at_most: int) -> None:
        price = min(
            (p for p, shut in zip(measure.per_test, self.closed, strict=True) if not shut),
            default=0,
        )
        if price > 0 and min(_weights(measure)) >= 0:
            self.depth = max(0, min(self.depth, (at_most - measure.constant) // price))

    def _bound_by_model(self, measure: Additive, at_most: int) -> None:
        """More leaves cost more, whatever the rest."""
        cheapest = self._cheapest_split(measure)
        price = measure.leaves + cheapest
        if price > 0:
            facts = at_most - measure.constant - self._least_outputs(measure) + cheapest
            self.leaves = max(1, min(self.leaves, facts // price))

    def _bound_by_leaf(self, measure: Additive, at_most: int) -> None:
        """Every leaf takes its share of what all rows have together."""
        share, everything = at_most - measure.constant, self._least_outputs(measure)
        if share < 0 and everything < 0:
            self.leaves = max(1, min(self.leaves, everything // share))

    # ---- least values

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.blocks, kind="stable")
        starts = np.flatnonzero(np.diff(self.blocks[order], prepend=-1))
        return order, starts

    def _of_blocks(self, measure: Additive) -> IntArray:
        """int64 (n_blocks, n_classes or 1): what the rows of a block add, by their label.

        The order of the blocks means nothing. Where every row is a block of its own, which it
        mostly is of numbers, there is nothing to sum.
        """
        order, starts = self._order
        parts: IntArray = np.zeros((len(starts), 1), dtype=np.int64)
        for each in (measure.rows, measure.output):
            if each is not None:
                columns = each[:, None] if each.ndim == 1 else each
                apart = len(starts) == len(order)
                parts = parts + (columns if apart else np.add.reduceat(columns[order], starts))
        return parts

    def _least_outputs(self, measure: Additive) -> int:
        if measure.rows is None and measure.output is None:
            return 0
        # Label by label: NumPy takes five times as long along an axis as short as this.
        return int(reduce(np.minimum, self._of_blocks(measure).T).sum())

    def _cheapest_split(self, measure: Additive) -> int:
        if measure.columns is None:
            return 0
        return 0 if self.closed.all() else int(measure.columns[~self.closed].min())

    def least_of_model(self, measure: Additive) -> int | None:
        """Rows that nothing parts share a label; splits are one less than leaves."""
        least = measure.constant + self._least_outputs(measure)
        if not self.frame.axis:
            columns = 0 if measure.columns is None else int(measure.columns.min(initial=0))
            falls = measure.leaves < 0 or measure.splits < 0 or columns < 0
            return None if falls else least + measure.leaves
        step = measure.leaves + self._cheapest_split(measure)
        return least + measure.leaves + min(0, step * (self.leaves - 1))

    def least_of_rows(self, measure: Additive, scope: Scope) -> int:
        """Of a leaf or split: it holds some blocks, at least one; a leaf has one label."""
        parts = self._of_blocks(measure)
        if scope is Scope.SPLIT:
            parts = parts.min(axis=1, keepdims=True)
        below = np.minimum(parts, 0).sum(axis=0)
        return measure.constant + int(np.where(below < 0, below, parts.min(axis=0)).min())

    def least_of_path(self, measure: PathMeasure) -> int | None:
        """Of open features only, and of no more tests than there are levels."""
        if not self.frame.axis:
            return measure.constant if min(_weights(measure), default=0) >= 0 else None
        open_ = np.flatnonzero(~self.closed).tolist()
        payments = Payments(measure, open_)
        return int(payments.least(payments.start, self.depth))

    def least(self, literal: SignedAtom, scope: Scope) -> int | None:
        """A value that a measure is never below; None where none is plain."""
        match literal.atom:
            case Budget(measure=measure):
                return self.least_of_path(measure)
            case Linear(measure=measure) if scope is Scope.MODEL:
                return self.least_of_model(measure)
            case Linear(measure=measure):
                return self.least_of_rows(measure, scope)
            case PathTotal(measure=measure, path_sum=paths):
                rest, path = self.least_of_model(measure), self.least_of_path(paths.measure)
                if rest is None or path is None or paths.weights.min(initial=0) < 0:
                    return None
                return rest + path * int(paths.weights.sum())
            case _:
                return None

    def _least_with_maxima(self, atom: MaximaBound) -> Fraction | None:
        """Of each maximum what its measures are never below."""
        found = {id(one): self.least_of_model(one) for one in atom.measures}
        if None in found.values():
            return None

        def least(measure: Additive) -> Fraction:
            return Fraction(found[id(measure)] or 0, measure.denominator)

        return least(atom.measure) + sum(
            factor * max(map(least, parts)) for factor, parts in atom.maxima
        )

    # ---- verdicts

    def impossible(self, literal: SignedAtom, scope: Scope) -> bool:
        """Whether a literal is false of every instance in every tree."""
        atom: Atom = literal.atom
        match atom:
            case Budget() | Linear() | PathTotal():
                least = self.least(literal, scope)
                return least is not None and least > atom.at_most
            case MaximaBound():
                value = self._least_with_maxima(atom)
                return value is not None and value > atom.at_most
            case Used():
                return literal.positive and bool(self.closed[atom.column])
            case Depth():
                if literal.positive:
                    return atom.at_most < 0
                is_tree = isinstance(self.frame.skeleton, TreeSkeleton)
                return is_tree and self.depth <= atom.at_most
            case Link():
                return not literal.positive and self._together(atom)
            case _:
                return False

    def _together(self, link: Link) -> bool:
        """Whether rows share a leaf: by their cells, or by rules that tie rows together."""
        tied = self.blocks.copy()
        for _, literal in self.alone:
            if isinstance(literal.atom, Link) and literal.positive:
                one, other = tied[literal.atom.first], tied[literal.atom.second]
                tied[tied == one] = other
        return bool(tied[link.first] == tied[link.second])

    def refute(self) -> Refutation | None:
        """Why no tree keeps the clauses, where that is plain."""
        for clause in self.clauses:
            if clause.scope is not Scope.SPLIT and all(
                self.impossible(literal, clause.scope) for literal in clause.literals
            ):
                return Refutation(clauses=(clause,))
        for scope in (Scope.MODEL, Scope.LEAF, Scope.PATH):
            for one, other in self._pairs(scope):
                if self._at_odds(one.literals[0].atom, other.literals[0].atom, scope):
                    return Refutation(clauses=(one, other))
        return None

    def _pairs(self, scope: Scope) -> Iterator[tuple[Clause, Clause]]:
        kind = Budget if scope is Scope.PATH else Linear
        bounds = [
            c
            for c in self.clauses
            if c.scope is scope and len(c.literals) == 1 and isinstance(c.literals[0].atom, kind)
        ][:MOST_BOUNDS]
        for count, pair in enumerate(combinations(bounds, 2)):
            if count * self.frame.n_rows > MAX_COMPARED_CELLS:
                return
            yield pair

    def _at_odds(self, one: Atom, other: Atom, scope: Scope) -> bool:
        """Whether two bounds cannot both hold: their sum's cannot."""
        both: Additive | PathMeasure
        if isinstance(one, Budget) and isinstance(other, Budget):
            both = one.measure + other.measure
            least = self.least_of_path(both)
        elif isinstance(one, Linear) and isinstance(other, Linear):
            try:
                both = one.measure + other.measure
            except OdtError:  # R301: each alone is exact, their sum is not, and nobody asked for it
                return False
            least = (
                self.least_of_model(both)
                if scope is Scope.MODEL
                else self.least_of_rows(both, scope)
            )
        else:
            return False
        facts = Fraction(one.at_most, one.measure.denominator)
        facts += Fraction(other.at_most, other.measure.denominator)
        return least is not None and Fraction(least, both.denominator) > facts


def least_asking(measure: PathMeasure, column: int) -> int:
    """The least of a measure without rebates on a path that tests a feature."""
    payments = Payments(measure, ())
    return payments.add(payments.start, column)[0]


def _weights(measure: PathMeasure) -> tuple[int, ...]:
    shared = (each.amount for each in measure.shared)
    return (*measure.per_test, *measure.once, *shared, measure.per_split)


def parted(
    frame: Frame, flags: tuple[BoolArray, ...], closed: BoolArray, *, whole: bool
) -> IntArray:
    """int64 (n_rows,): the block of each row; no admitted test parts the rows of a block."""
    blocks = np.zeros(frame.n_rows, dtype=np.int64)
    count = 1
    if whole:
        return blocks
    for family, admitted in zip(frame.families, flags, strict=True):
        if closed[family.column] or not admitted.any():
            continue
        marks = _marks(family, admitted)
        width = int(marks.max(initial=0)) + 1
        if count * width >= KEYS:
            blocks = np.unique(blocks, return_inverse=True)[1].astype(np.int64)
            count = int(blocks.max(initial=0)) + 1
            if count == frame.n_rows:
                return blocks  # every row is parted from all others
        blocks, count = blocks * width + marks, count * width
    dense: IntArray = np.unique(blocks, return_inverse=True)[1].astype(np.int64)
    return dense


def _marks(family: Family, admitted: BoolArray) -> IntArray:
    """int64 (n_rows,), at least 0: equal where no admitted test of the family parts two rows."""
    codes, n = family.codes, family.n_tests
    if family.kind == "threshold":
        below = np.concatenate([[0], np.cumsum(admitted)])
        return below[np.clip(codes, 0, n)].astype(np.int64)
    rest = np.minimum(codes, n)  # equality and bins are admitted all or none
    left = 0 if n == 1 else n + 1
    return np.where(codes == LEFT_CODE, left, rest)


def plainly_refuted(core: Core) -> bool:
    """Whether it takes no search to see that no tree keeps a core."""
    frame = Frame(
        skeleton=core.skeleton,
        n_rows=core.n_rows,
        n_columns=len(core.columns),
        families=core.families,
    )
    return ModelFacts(frame, core.clauses, core.filters).refute() is not None
