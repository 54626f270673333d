"""Rules on paths as automata, which read the columns that a path tests from the root down.

A `PathRule` starts in `start`, takes a `step` for every test, `holds` where the path ends, and
says whether it `may_hold` on a path that goes on. A state is what the rule still needs to know
of the path above, and no more: paths in one state are alike from there on. Splits test one
column each. `problem.ir.paths` says what holds on a finished path.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    Order,
    PathMeasure,
    Root,
    SignedAtom,
    Used,
)

PathAtom = Used | Order | Budget | Root | Depth
Paid = tuple[int, frozenset[int]]
"""The numerator of a measure so far, and what of it is not paid again: a column that is paid
once, or `~index` for a shared set."""
State = tuple[Hashable, ...] | None
"""By literal what it has seen, or `LOST`. None: the rule holds whatever follows."""

LOST = "lost"
"""A literal that holds on no path that goes on from here."""


# ---- measures


class Payments:
    """What tests add to a path measure, and how far it can still go.

    Parameters
    ----------
    columns
        Those that later tests can test, for `least` and `most`.
    """

    start: Paid
    """What a path without tests has paid."""
    each: list[int]
    """By column, what every test of it adds."""
    once: list[list[tuple[int, int]]]
    """By column, the key and amount of what its first test adds."""

    def __init__(self, measure: PathMeasure, columns: Collection[int]) -> None:
        self.start = (measure.constant, frozenset())
        self.each = [price + measure.per_split for price in measure.per_test]
        self.once = [
            [(column, price)] if price else [] for column, price in enumerate(measure.once)
        ]
        for index, shared in enumerate(measure.shared):
            for column in shared.columns if shared.amount else ():
                self.once[column].append((~index, shared.amount))
        prices = {column: (self.each[column], self.once[column]) for column in columns}
        self._falls = _Falls(prices, 1)
        self._rises = _Falls(prices, -1)

    def add(self, before: Paid, column: int) -> Paid:
        """What a path has paid after one more test."""
        total, kept = before
        total += self.each[column]
        for key, amount in self.once[column]:
            if key not in kept:
                total += amount
                kept |= {key}
        return total, kept

    @property
    def amounts(self) -> dict[int, int]:
        """By key what is paid once."""
        return {key: amount for keys in self.once for key, amount in keys}

    def reach(self, tests: int) -> int:
        """What the size of a sum over so many tests never passes."""
        dearest = max(map(abs, self.each), default=0)
        return abs(self.start[0]) + tests * dearest + sum(map(abs, self.amounts.values()))

    def least(self, before: Paid, left: int | None) -> float:
        """A bound that the numerator is never below, where at most `left` tests follow.

        None for any number of tests; minus infinity where nothing bounds it.
        """
        return before[0] + self._falls.furthest(before[1], left)

    def most(self, before: Paid, left: int | None) -> float:
        """A bound that the numerator never passes, as `least`."""
        return before[0] - self._rises.furthest(before[1], left)


class _Falls:
    """How far a sum can fall by the tests to come; with the sign -1 how far it can rise."""

    def __init__(self, prices: dict[int, tuple[int, list[tuple[int, int]]]], sign: int) -> None:
        self.tests = [
            (sign * each, [(key, sign * amount) for key, amount in once if sign * amount < 0])
            for each, once in prices.values()
        ]
        self.cheapest = min(0, *(each for each, _ in self.tests)) if self.tests else 0
        self.once = {key: amount for _, once in self.tests for key, amount in once}
        self._known: dict[tuple[frozenset[int], int | None], float] = {}

    def furthest(self, kept: frozenset[int], left: int | None) -> float:
        if left == 0:
            return 0
        key = (kept, left)
        if key not in self._known:
            self._known[key] = self._furthest(kept, left)
        return self._known[key]

    def _furthest(self, kept: frozenset[int], left: int | None) -> float:
        unpaid = {key: amount for key, amount in self.once.items() if key not in kept}
        if left is None:
            return -inf if self.cheapest < 0 else sum(unpaid.values())
        if not unpaid:
            return left * self.cheapest
        of_columns = sorted(amount for key, amount in unpaid.items() if key >= 0)
        of_sets = sum(amount for key, amount in unpaid.items() if key < 0)
        apart = left * self.cheapest + sum(of_columns[:left]) + of_sets
        each = min(price + sum(unpaid.get(key, 0) for key, _ in once) for price, once in self.tests)
        return max(apart, left * min(0, each))


# ---- atoms


class _Machine(Protocol):
    """The automaton of an atom; what it has `seen` of a path is its own affair."""

    start: Any

    def step(self, seen: Any, column: int) -> Any:
        """What it has seen after one more test."""

    def holds(self, seen: Any) -> bool:
        """Whether the atom holds on a path that ends here."""

    def known(self, seen: Any, left: int | None) -> bool | None:
        """Whether it holds on every, or on no path that goes on by at most `left` tests (not 0;
        None for any number); None where that depends."""


class _Used:
    start = False

    def __init__(self, atom: Used, columns: Collection[int]) -> None:
        self.column, self.open = atom.column, atom.column in columns

    def step(self, seen: bool, column: int) -> bool:
        return seen or column == self.column

    def holds(self, seen: bool) -> bool:
        return seen

    def known(self, seen: bool, left: int | None) -> bool | None:
        return True if seen else None if self.open else False


class _Order:
    """Seen: whether it held somewhere, and whether `above` was tested."""

    start = (False, False)

    def __init__(self, atom: Order, columns: Collection[int]) -> None:
        self.atom = atom
        self.open = atom.here in columns
        self.above_open = atom.above in columns

    def step(self, seen: tuple[bool, bool], column: int) -> tuple[bool, bool]:
        held, above = seen
        held = held or (column == self.atom.here and above != self.atom.absent)
        return held, above or column == self.atom.above

    def holds(self, seen: tuple[bool, bool]) -> bool:
        return seen[0]

    def known(self, seen: tuple[bool, bool], left: int | None) -> bool | None:
        held, above = seen
        if held:
            return True
        over = not self.open or (self.atom.absent and above)
        if not self.atom.absent and not above:  # two more tests are needed
            over = over or left == 1 or not self.above_open
        return False if over else None


class _Budget:
    def __init__(self, atom: Budget, columns: Collection[int]) -> None:
        self.columns = columns
        self.at_most = atom.at_most
        self.payments = Payments(atom.measure, columns)
        self.start = self.payments.start
        self.step = self.payments.add

    def holds(self, seen: Paid) -> bool:
        return seen[0] <= self.at_most

    def known(self, seen: Paid, left: int | None) -> bool | None:
        if self.payments.most(seen, left) <= self.at_most:
            return True
        return False if self.payments.least(seen, left) > self.at_most else None

    def bounds(self, *, positive: bool) -> SumBounds:
        prices = [self.payments.each[column] for column in self.columns]
        return SumBounds(
            at_most=self.at_most,
            positive=positive,
            amounts={k: amount for c in self.columns for k, amount in self.payments.once[c]},
            falls=min(prices, default=0) < 0,
            rises=max(prices, default=0) > 0,
        )


@dataclass(frozen=True, slots=True)
class SumBounds:
    """What a literal asks of sums, many at once.

    Attributes
    ----------
    at_most, positive
        The budget, and whether it is to be kept or broken.
    falls, rises
        Whether a test can lower (raise) a sum again and again.
    amounts
        By key what later tests can still pay once.
    """

    at_most: int
    positive: bool
    amounts: dict[int, int]
    falls: bool
    rises: bool

    def holds(self, totals: IntArray) -> BoolArray:
        """bool: whether the literal holds on paths with these sums."""
        kept: BoolArray = (totals <= self.at_most) == self.positive
        return kept

    def known(self, totals: IntArray, rebates: IntArray, charges: IntArray) -> IntArray:
        """1 where it holds on every path that goes on, -1 where on none, 0 where that depends.

        Parameters
        ----------
        totals
            Sums so far.
        rebates, charges
            What of negative and positive amounts is still to be paid once.
        """
        kept = (
            np.zeros(totals.shape, dtype=np.bool_)
            if self.rises
            else (totals + charges <= self.at_most)
        )
        broken = (
            np.zeros(totals.shape, dtype=np.bool_)
            if self.falls
            else (totals + rebates > self.at_most)
        )
        found: IntArray = np.where(kept, 1, np.where(broken, -1, 0))
        return found if self.positive else -found


class _Root:
    """Seen: None before the first test, then whether that one is among the columns."""

    start = None

    def __init__(self, atom: Root) -> None:
        self.columns = frozenset(atom.columns)

    def step(self, seen: bool | None, column: int) -> bool:
        return column in self.columns if seen is None else seen

    def holds(self, seen: bool | None) -> bool:
        return seen is not False

    def known(self, seen: bool | None, left: int | None) -> bool | None:
        return seen


class _Depth:
    """Seen: how many tests there were."""

    start = 0

    def __init__(self, atom: Depth) -> None:
        self.at_most = atom.at_most

    def step(self, seen: int, column: int) -> int:
        return seen + 1

    def holds(self, seen: int) -> bool:
        return seen <= self.at_most

    def known(self, seen: int, left: int | None) -> bool | None:
        if left is not None and seen + left <= self.at_most:
            return True
        return None if self.holds(seen) else False


def _machine(atom: Atom, columns: Collection[int]) -> _Machine:
    match atom:
        case Used():
            return _Used(atom, columns)
        case Order():
            return _Order(atom, columns)
        case Budget():
            return _Budget(atom, columns)
        case Root():
            return _Root(atom)
        case Depth():
            return _Depth(atom)
        case _:
            raise AssertionError(f"{type(atom).__name__} is not of paths")


# ---- rules


class PathRule:
    """The literals of a clause that concern a path, as an automaton.

    Parameters
    ----------
    literals
        Those of other kinds are left out.
    columns
        The columns that a split can test.
    """

    def __init__(self, literals: Collection[SignedAtom], columns: Collection[int]) -> None:
        self.literals = tuple(one for one in literals if isinstance(one.atom, PathAtom))
        self._machines = [(_machine(one.atom, columns), one.positive) for one in self.literals]
        self._steps: dict[tuple[State, int, int | None], State] = {}
        self.start = self.settled(tuple(one.start for one, _ in self._machines), None)

    def single_budget(self) -> tuple[Payments, SumBounds] | None:
        """What a rule asks of sums, where it is a budget alone."""
        if len(self._machines) != 1:
            return None
        machine, positive = self._machines[0]
        if not isinstance(machine, _Budget):
            return None
        return machine.payments, machine.bounds(positive=positive)

    def step(self, state: State, column: int, left: int | None = None) -> State:
        """The state after a test; `left` tests may follow at most, None for any number."""
        if state is None:
            return None
        key = (state, column, left)
        if key not in self._steps:
            after = (
                seen if seen == LOST else machine.step(seen, column)
                for (machine, _), seen in zip(self._machines, state, strict=True)
            )
            self._steps[key] = self.settled(tuple(after), left)
        return self._steps[key]

    def after(self, path: Collection[int]) -> State:
        """The state at the end of a path."""
        state = self.start
        for column in path:
            state = self.step(state, column)
        return state

    def settled(self, state: State, left: int | None) -> State:
        """The same state without what no longer matters, where at most `left` tests follow."""
        if state is None:
            return None
        found: list[Hashable] = []
        for (machine, positive), seen in zip(self._machines, state, strict=True):
            known: bool | None = not positive
            if seen != LOST:
                known = machine.holds(seen) if left == 0 else machine.known(seen, left)
            if known == positive:
                return None
            found.append(seen if known is None else LOST)
        return tuple(found)

    def holds(self, state: State) -> bool:
        """Whether the rule holds on a path that ends here."""
        return state is None or any(
            seen != LOST and machine.holds(seen) == positive
            for (machine, positive), seen in zip(self._machines, state, strict=True)
        )

    def may_hold(self, state: State, left: int | None = None) -> bool:
        """False: the rule holds on no path that goes on by at most `left` tests."""
        settled = self.settled(state, left)
        return settled is None or any(seen != LOST for seen in settled)


# ---- which rules speak of paths


def rules_of_paths(core: Core) -> tuple[Clause, ...]:
    """The clauses that every path satisfies or breaks on its own.

    Those on paths, and of the model those of a single literal that holds of the model if and
    only if it does of each path.
    """
    return tuple(clause for clause in core.clauses if on_paths(clause) or _of_model(clause))


def on_paths(clause: Clause) -> bool:
    """Whether a clause concerns the columns of every path, and nothing else."""
    return clause.scope is Scope.PATH and all(
        isinstance(literal.atom, PathAtom) for literal in clause.literals
    )


def _of_model(clause: Clause) -> bool:
    return (
        clause.scope is Scope.MODEL
        and len(clause.literals) == 1
        and _of_each_path(clause.literals[0])
    )


def _of_each_path(one: SignedAtom) -> bool:
    match one.atom:
        case Root():
            return True  # all paths share the root
        case Used():
            return not one.positive
        case Depth():
            return one.positive
        case _:
            return False


def columns_of_splits(core: Core) -> tuple[int, ...]:
    """The columns that some test tests, ascending."""
    return tuple(sorted({family.column for family in core.families if family.n_tests}))
