"""What paths have done, numbered and stepped many at once: of one rule, of one sum, of all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np

from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.automata import PathRule, Payments, State, SumBounds

T = TypeVar("T", bound=Hashable)
MOST_KEYS = 62
"""What is paid once, as bits of an integer."""
MOST_PAID = 2**61
MOST_STATES = 50_000
HOLDS, LOST = 0, 1
"""In the place of a sum that no longer matters, where nothing is kept: `SETTLED`."""
SETTLED = -1
LAST = -(2**62)
"""In the place of a sum before the last test, where what is kept says which tests it may be."""


class TooManyStates(Exception):
    """The rules on paths tell more than `MOST_STATES` paths apart."""


class Lane(Protocol):
    """The states of one rule or sum; state 0 is that of a path without tests."""

    def step(self, states: IntArray, columns: Sequence[int], left: int | None) -> IntArray:
        """int64 (n, k): the states behind a test of each column, from n states.

        At most `left` tests follow, None for any number.
        """


class StepLane(Generic[T]):
    """States of any kind, each stepped once per column."""

    def __init__(self, start: T, step: Callable[[T, int, int | None], T]) -> None:
        self.states = [start]
        self._step = step
        self._known = {start: 0}
        self._behind: dict[tuple[int, int, int | None], int] = {}

    def step(self, states: IntArray, columns: Sequence[int], left: int | None) -> IntArray:
        """As `Lane` says."""
        found = np.empty((len(states), len(columns)), dtype=np.int64)
        kinds, place = np.unique(states, return_inverse=True)
        for k, column in enumerate(columns):
            found[:, k] = np.array([self._after(s, column, left) for s in kinds.tolist()])[place]
        return found

    def _after(self, state: int, column: int, left: int | None) -> int:
        key = (state, column, left)
        if key not in self._behind:
            after = self._step(self.states[state], column, left)
            number = self._known.setdefault(after, len(self.states))
            if number == len(self.states):
                self.states.append(after)
            self._behind[key] = number
        return self._behind[key]


class SumLane:
    """What tests have added up to, and what of it is not paid again.

    Parameters
    ----------
    payments
        Of a measure that `fits`.
    bounds
        What a budget asks of its sums; None where a path keeps only what is not paid again.
    """

    def __init__(self, payments: Payments, bounds: SumBounds | None = None) -> None:
        self.payments, self.bounds = payments, bounds
        self._bits = {key: 1 << bit for bit, key in enumerate(payments.amounts)}
        self._totals, self._kept = self._settled(
            np.array([payments.start[0] if bounds else 0]), np.zeros(1, dtype=np.int64), None
        )
        self._known = {(int(self._totals[0]), int(self._kept[0])): 0}

    @staticmethod
    def fits(payments: Payments, depth: int) -> bool:
        """Whether keys are few enough, and numbers short enough."""
        return len(payments.amounts) <= MOST_KEYS and payments.reach(depth) < MOST_PAID

    def holds(self) -> BoolArray:
        """bool (n_states,): whether the budget is kept on paths that end there."""
        assert self.bounds is not None, "only budgets can be kept"
        open_ = self.bounds.holds(self._totals)
        held: BoolArray = np.where(self._kept == SETTLED, self._totals == HOLDS, open_)
        held |= self._totals == LAST
        return held

    def added(self, states: IntArray, column: int) -> IntArray:
        """int64 (n,): what a test of a column adds in these states."""
        return self._price(self._kept[states], column)

    def step(self, states: IntArray, columns: Sequence[int], left: int | None) -> IntArray:
        """As `Lane` says."""
        totals = np.empty((len(states), len(columns)), dtype=np.int64)
        kept = np.empty_like(totals)
        last = self._totals[states] == LAST
        alike: dict[tuple[object, ...], int] = {}  # columns that pay the same lead to the same
        for k, column in enumerate(columns):
            kind = (self.payments.each[column], *self.payments.once[column])
            if (like := alike.setdefault(kind, k)) < k:
                kept[:, k], totals[:, k] = kept[:, like], totals[:, like]
                continue
            bits = sum(self._bits[key] for key, _ in self.payments.once[column])
            kept[:, k] = self._kept[states] | bits  # that of a settled state is all bits
            totals[:, k] = self._totals[states]
            if self.bounds is not None:
                going = (self._kept[states] != SETTLED) & ~last
                totals[:, k] += np.where(going, self.added(states, column), 0)
                totals[last, k] = np.where(self._may_be(states[last], column), HOLDS, LOST)
                kept[last, k] = SETTLED
        totals, kept = self._settled(totals, kept, left)
        first, place = firsts([totals.ravel(), kept.ravel()])
        if left is not None and len(first) > MOST_STATES:
            raise TooManyStates
        numbers = np.empty(len(first), dtype=np.int64)
        new: list[int] = []
        for i, at in enumerate(first.tolist()):
            key = (int(totals.flat[at]), int(kept.flat[at]))
            numbers[i] = self._known.setdefault(key, len(self._known))
            if numbers[i] == len(self._totals) + len(new):
                new.append(at)
        self._totals = np.concatenate([self._totals, totals.ravel()[new]])
        self._kept = np.concatenate([self._kept, kept.ravel()[new]])
        return numbers[place].reshape(totals.shape)

    def _settled(
        self, totals: IntArray, kept: IntArray, left: int | None
    ) -> tuple[IntArray, IntArray]:
        """The same without what no longer matters."""
        if left == 0:
            return self._ended(totals, kept)
        if self.bounds is None:
            return totals, kept
        unpaid = np.zeros((2, *totals.shape), dtype=np.int64)  # rebates, charges
        for key, amount in self.bounds.amounts.items():
            unpaid[int(amount > 0)] += np.where(kept & self._bits[key], 0, amount)
        known = self.bounds.known(totals, unpaid[0], unpaid[1])
        over = (kept != SETTLED) & (known != 0)
        holds = np.where(known > 0, HOLDS, LOST)
        totals, kept = np.where(over, holds, totals), np.where(over, SETTLED, kept)
        if left is None or not self.only_charges or not self._priced:
            return totals, kept
        return self._few_left(totals, kept, left)

    def _ended(self, totals: IntArray, kept: IntArray) -> tuple[IntArray, IntArray]:
        """Where no test follows."""
        if self.bounds is None:
            return totals, np.zeros_like(kept)
        holds = np.where(self.bounds.holds(totals), HOLDS, LOST)
        return np.where(kept == SETTLED, totals, holds), np.full_like(kept, SETTLED)

    def _few_left(self, totals: IntArray, kept: IntArray, left: int) -> tuple[IntArray, IntArray]:
        """What is kept by the dearest tests that may follow; before the last one, which may.

        A column that is tested again pays again what every test of it adds.
        """
        assert self.bounds is not None
        going = kept != SETTLED
        at, paid = totals[going], kept[going]
        prices = np.stack([self._price(paid, column) for column in self._priced], axis=-1)
        again = [self.payments.each[column] for column in self._priced] * (left - 1)
        ways = np.concatenate([prices, np.tile(np.array(again, np.int64), (len(at), 1))], axis=-1)
        dearest = np.sort(ways, axis=-1)[..., -left:].sum(axis=-1)
        holds = at + dearest <= self.bounds.at_most
        if left == 1:
            may = at[:, None] + prices <= self.bounds.at_most
            paid = (may.astype(np.int64) << np.arange(len(self._priced))).sum(axis=-1)
            at = np.full_like(at, LAST)
        totals, kept = totals.copy(), kept.copy()
        totals[going] = np.where(holds, HOLDS, at)
        kept[going] = np.where(holds, SETTLED, paid)
        return totals, kept

    def _may_be(self, states: IntArray, column: int) -> BoolArray:
        """bool (n,): whether a column may be the last test, in states where only that is known."""
        if column not in self._priced:
            return np.ones(len(states), dtype=np.bool_)
        may: BoolArray = (self._kept[states] >> self._priced.index(column)) & 1 != 0
        return may

    def _price(self, kept: IntArray, column: int) -> IntArray:
        """int64, as `kept`: what a test of a column adds."""
        found = np.full(kept.shape, self.payments.each[column], dtype=np.int64)
        for key, amount in self.payments.once[column]:
            found += np.where(kept & self._bits[key], 0, amount)
        return found

    @cached_property
    def only_charges(self) -> bool:
        """Whether a path keeps the budget wherever one with more tests does."""
        prices = [*self.payments.each, *self.payments.amounts.values()]
        return self.bounds is not None and self.bounds.positive and min(prices, default=0) >= 0

    @cached_property
    def _priced(self) -> tuple[int, ...]:
        """The columns that add something; none where they are too many for bits."""
        once = self.payments.once
        priced = tuple(c for c, each in enumerate(self.payments.each) if each or once[c])
        return priced if len(priced) <= MOST_KEYS else ()


class RuleLane(StepLane[State]):
    """The states of any rule."""

    def __init__(self, rule: PathRule) -> None:
        super().__init__(rule.start, rule.step)
        self.rule = rule

    def holds(self) -> BoolArray:
        """bool (n_states,): whether the rule holds on paths that end there."""
        return np.array([self.rule.holds(state) for state in self.states], dtype=np.bool_)


class KeptLane(StepLane[frozenset[int]]):
    """What any measure does not take again."""

    def __init__(self, payments: Payments) -> None:
        super().__init__(frozenset(), self._keep)
        self.payments = payments

    def _keep(self, kept: frozenset[int], column: int, left: int | None) -> frozenset[int]:
        return frozenset() if left == 0 else self.payments.add((0, kept), column)[1]

    def added(self, states: IntArray, column: int) -> IntArray:
        """int64 (n,): what a test of a column adds in these states.

        Raises
        ------
        OverflowError
            Beyond 64 bits.
        """
        paid = [self.payments.add((0, kept), column)[0] for kept in self.states]
        return np.array(paid, dtype=np.int64)[states]


def lane_of_rule(rule: PathRule, depth: int) -> SumLane | RuleLane:
    """The states of a rule."""
    sums = rule.single_budget()
    if sums is not None and SumLane.fits(sums[0], depth):
        return SumLane(*sums)
    return RuleLane(rule)


def lane_of_sum(payments: Payments, depth: int) -> SumLane | KeptLane:
    """What a measure does not take again."""
    return SumLane(payments) if SumLane.fits(payments, depth) else KeptLane(payments)


def firsts(parts: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Where different combinations stand first, in that order, and the place of each among them."""
    kinds = np.zeros(len(parts[0]), dtype=np.int64)
    for part in parts:
        dense = np.unique(part, return_inverse=True)[1]
        kinds = kinds * (int(dense.max(initial=0)) + 1) + dense
        kinds = np.unique(kinds, return_inverse=True)[1]
    _, first, place = np.unique(kinds, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return first[order], rank[place]


class Product:
    """States of all lanes together, numbered as they are met; state 0 is the first.

    With `levels`, those behind as many tests are told apart from others, and forget what matters
    on longer ways only.
    """

    def __init__(self, lanes: Sequence[Lane], levels: int | None = None) -> None:
        self.lanes, self.levels = lanes, levels
        self.parts: IntArray = np.zeros((1, len(lanes)), dtype=np.int64)
        self._known = {tuple(self.parts[0].tolist()): 0}

    def __len__(self) -> int:
        return len(self.parts)

    def step(self, states: IntArray, columns: Sequence[int]) -> IntArray:
        """int64 (n, k): the states behind a test of each column; of a whole level at once.

        Raises
        ------
        TooManyStates
            Of all levels so far together.
        """
        shape = (len(states), len(columns))
        if not self.lanes:
            return np.zeros(shape, dtype=np.int64)
        if self.levels is not None:
            self.levels -= 1
            self._known = {}
        after = [
            lane.step(self.parts[states, at], columns, self.levels).ravel()
            for at, lane in enumerate(self.lanes)
        ]
        first, place = firsts(after)
        if self.levels is not None and len(self.parts) + len(first) > MOST_STATES:
            raise TooManyStates
        rows = np.stack([part[first] for part in after], axis=1)
        numbers = np.empty(len(first), dtype=np.int64)
        new: list[int] = []
        for i, key in enumerate(map(tuple, rows.tolist())):
            numbers[i] = self._known.setdefault(key, len(self.parts) + len(new))
            if numbers[i] == len(self.parts) + len(new):
                new.append(i)
        self.parts = np.concatenate([self.parts, rows[new]])
        return numbers[place].reshape(shape)
