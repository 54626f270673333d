"""What rules on paths leave open: a finite automaton over the columns that a path tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.automata import (
    PathRule,
    Payments,
    State,
    columns_of_splits,
    rules_of_paths,
)
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Budget,
    Clause,
    Core,
    Linear,
    LinearStage,
    PathMeasure,
    PathSum,
    PathTotal,
    Root,
    SignedAtom,
)

MOST_STATES = 20_000
MOST_COMPARED = 500
NEVER = 10**6


class TooManyStates(Exception):
    """The rules on paths tell more than `MOST_STATES` paths apart."""


@dataclass(frozen=True, slots=True)
class _PathState:
    """All that later splits and the leaf can ask about a path.

    Attributes
    ----------
    rules
        By rule of `_StateSearch.rules` its state.
    kept
        By measure of `_StateSearch.sums` what is not paid again.
    """

    rules: tuple[State, ...]
    kept: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """The automaton.

    Attributes
    ----------
    next
        int32 (n_states, n_columns): the state behind a split, -1 where none may stand.
    need
        Per state, the splits that must follow before a leaf may stand.
    leaf_rules, split_rules
        Per state, which clauses on leaves (splits) the path leaves to be met by rows.
    closed
        Whether leaving a test out of a path that may stand always gives one that may: then
        fewer rows never lose more.
    delta
        Per path measure, int64 (n_states, n_columns): what a test adds to it.
    """

    next: npt.NDArray[np.int32]
    need: tuple[int, ...]
    leaf_rules: tuple[tuple[int, ...], ...]
    split_rules: tuple[tuple[int, ...], ...]
    delta: tuple[npt.NDArray[np.int64], ...]
    closed: bool


def path_sums(core: Core) -> list[PathSum]:
    """The expected costs in the objective and rules."""
    sums = [
        stage.path_sum
        for stage in core.objective
        if isinstance(stage, LinearStage) and stage.path_sum is not None
    ]
    for clause in core.clauses:
        sums += [x.atom.path_sum for x in clause.literals if isinstance(x.atom, PathTotal)]
    return sums


def path_measures(core: Core) -> tuple[PathMeasure, ...]:
    """Measures of the expected costs in the objective and rules, each once."""
    return tuple(dict.fromkeys(one.measure for one in path_sums(core)))


def tests_of(core: Core) -> Counter[int]:
    """How many tests there are of each column."""
    found = Counter[int]()
    for family in core.families:
        found[family.column] += family.n_tests
    return found


class _StateSearch:
    """States by breadth from the root; transitions and what holds in each state."""

    def __init__(self, core: Core, depth: int) -> None:
        self.core, self.depth = core, depth
        self.columns = columns_of_splits(core)
        tests = tests_of(core)
        of_root = [
            clause
            for clause in rules_of_paths(core)
            if clause.scope is Scope.MODEL and isinstance(clause.literals[0].atom, Root)
        ]
        self.asks_root = bool(of_root)
        self.clauses = {
            scope: (*clauses_of(core, scope), *(of_root if scope is Scope.PATH else ()))
            for scope in (Scope.PATH, Scope.LEAF, Scope.SPLIT)
        }
        self.rules: list[PathRule] = []
        self.scoped: dict[Scope, tuple[int, ...]] = {}
        for scope, clauses in self.clauses.items():
            self.scoped[scope] = tuple(range(len(self.rules), len(self.rules) + len(clauses)))
            self.rules += [
                PathRule([_simpler(one, tests) for one in clause.literals], self.columns)
                for clause in clauses
            ]
        self.sums = tuple(
            Payments(_paid_by_test(measure, tests), self.columns) for measure in path_measures(core)
        )

    # ---- states

    def step(self, place: _PathState, column: int) -> _PathState:
        return _PathState(
            rules=tuple(
                rule.step(state, column)
                for rule, state in zip(self.rules, place.rules, strict=True)
            ),
            kept=tuple(
                payments.add((0, kept), column)[1]
                for payments, kept in zip(self.sums, place.kept, strict=True)
            ),
        )

    def open_rules(self, place: _PathState, scope: Scope) -> tuple[int, ...] | None:
        """Indices of clauses that rows must meet; None where no rows can."""
        found: list[int] = []
        for index, (clause, rule) in enumerate(
            zip(self.clauses[scope], self.scoped[scope], strict=True)
        ):
            if self.rules[rule].holds(place.rules[rule]):
                continue
            if not any(isinstance(literal.atom, Linear) for literal in clause.literals):
                return None
            found.append(index)
        return tuple(found)

    def build(self) -> Paths:
        first = _PathState(
            rules=tuple(rule.start for rule in self.rules),
            kept=(frozenset(),) * len(self.sums),
        )
        index, states, rows = {first: 0}, [first], []
        layer = [first]
        for level in range(self.depth + 1):
            following: list[_PathState] = []
            for state in layer:
                row = np.full(len(self.core.columns), -1, dtype=np.int32)
                if level < self.depth and self.open_rules(state, Scope.SPLIT) is not None:
                    for column in self.columns:
                        after = self.step(state, column)
                        if after not in index:
                            index[after] = len(states)
                            states.append(after)
                            following.append(after)
                            if len(states) > MOST_STATES:
                                raise TooManyStates
                        row[column] = index[after]
                rows.append(row)
            layer = following
        return self._finish(states, np.array(rows, dtype=np.int32))

    def _finish(self, states: list[_PathState], following: npt.NDArray[np.int32]) -> Paths:
        leaf = [self.open_rules(state, Scope.LEAF) for state in states]
        path = [self.open_rules(state, Scope.PATH) for state in states]
        ends = np.array([a is not None and b is not None for a, b in zip(leaf, path, strict=True)])
        need = np.where(ends, 0, NEVER)
        for _ in range(self.depth):
            below = np.where(following >= 0, need[following], NEVER).min(axis=1, initial=NEVER)
            need = np.minimum(need, below + 1)
        need = np.minimum(need, NEVER)
        dead = (following >= 0) & (need[following] >= NEVER)
        split = [self.open_rules(state, Scope.SPLIT) or () for state in states]
        return Paths(
            next=np.where(dead, -1, following).astype(np.int32),
            need=tuple(need.tolist()),
            leaf_rules=tuple(rules or () for rules in leaf),
            split_rules=tuple(split),
            closed=closed(np.where(dead, -1, following), need, first=int(self.asks_root)),
            delta=tuple(
                self._delta([state.kept[index] for state in states], following, payments)
                for index, payments in enumerate(self.sums)
            ),
        )

    def _delta(
        self,
        kept: list[frozenset[int]],
        following: npt.NDArray[np.int32],
        payments: Payments,
    ) -> npt.NDArray[np.int64]:
        change = np.zeros(following.shape, dtype=np.int64)
        for state, column in np.argwhere(following >= 0).tolist():
            change[state, column] = payments.add((0, kept[state]), column)[0]
        return change


def _paid_by_test(measure: PathMeasure, tests: Counter[int]) -> PathMeasure:
    """The same on every path, with a price per test where a column has one test only.

    A path of a reduced tree asks no test twice, so that nothing has to be remembered.
    """
    moved = [price if tests[column] <= 1 else 0 for column, price in enumerate(measure.once)]
    return replace(
        measure,
        per_test=tuple(a + b for a, b in zip(measure.per_test, moved, strict=True)),
        once=tuple(a - b for a, b in zip(measure.once, moved, strict=True)),
    )


def _simpler(one: SignedAtom, tests: Counter[int]) -> SignedAtom:
    if not isinstance(one.atom, Budget):
        return one
    return replace(one, atom=replace(one.atom, measure=_paid_by_test(one.atom.measure, tests)))


def closed(following: npt.NDArray[np.int32], need: IntArray, *, first: int) -> bool:
    """Whether each state from `first` on allows all that the states behind it allow."""
    n_states = len(following)
    if n_states > MOST_COMPARED or ((need > 0) & (need < NEVER)).any():
        return False
    allows = np.ones((n_states, n_states), dtype=bool)  # all that the second one does
    while True:
        before = int(allows.sum())
        for column in range(following.shape[1]):
            after = following[:, column]
            there = after >= 0
            both = there[:, None] & allows[np.ix_(after, after)]
            allows &= both | ~there[None, :]
        if int(allows.sum()) == before:
            break
    steps: IntArray = np.argwhere(following >= 0)
    steps = steps[steps[:, 0] >= first]
    return bool(allows[steps[:, 0], following[steps[:, 0], steps[:, 1]]].all())


def paths(core: Core, depth: int) -> Paths:
    """The automaton of a core's rules on paths, for trees of at most this depth.

    Raises
    ------
    TooManyStates
        There are more than `MOST_STATES`.
    """
    return _StateSearch(core, depth).build()


def clauses_of(core: Core, scope: Scope) -> tuple[Clause, ...]:
    """The clauses of a scope, in the order that `Paths` numbers them."""
    return tuple(clause for clause in core.clauses if clause.scope is scope)
