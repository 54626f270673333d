"""What rules on paths leave open: a finite automaton over the columns that a path tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from odtdsl.backends.exact.path_states import (
    MOST_STATES,
    KeptLane,
    Product,
    RuleLane,
    SumLane,
    TooManyStates,
    lane_of_rule,
    lane_of_sum,
)
from odtdsl.base.kept import kept
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.automata import (
    PathRule,
    Payments,
    columns_of_splits,
    on_paths,
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

MOST_COMPARED = 500
NEVER = 10**6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Open:
    """By state, whether rows can meet the clauses of a scope, and those that they must meet."""

    stands: BoolArray
    rules: tuple[tuple[int, ...], ...]


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

    def build(self) -> Paths:
        """The automaton, state by state from the root.

        Where many states are met, they are told apart by level, and by what may follow there.
        """
        try:
            return self._built(None, MOST_COMPARED)
        except TooManyStates:
            return self._built(self.depth, MOST_STATES)

    def _built(self, levels: int | None, most: int) -> Paths:
        self.lanes = [lane_of_rule(rule, self.depth) for rule in self.rules]
        self.kept = [lane_of_sum(payments, self.depth) for payments in self.sums]
        states = Product([*self.lanes, *self.kept], levels)
        rows: list[npt.NDArray[np.int32]] = []
        layer = np.zeros(1, dtype=np.int64)
        for level in range(self.depth + 1):
            before = len(states)
            following = np.full((len(layer), len(self.core.columns)), -1, dtype=np.int32)
            if level < self.depth and self.columns:
                may = np.flatnonzero(self._open(states, layer, Scope.SPLIT).stands)
                after = states.step(layer[may], self.columns)
                following[may[:, None], list(self.columns)] = after
            if len(states) > most:
                raise TooManyStates
            rows.append(following)
            layer = np.arange(before, len(states))
            if not len(layer):
                break
        return self._finish(states, np.concatenate(rows))

    def _open(self, states: Product, numbers: IntArray, scope: Scope) -> _Open:
        """What the clauses of a scope ask of the rows of these states."""
        stands = np.ones(len(numbers), dtype=np.bool_)
        asked: dict[int, list[int]] = {}
        for index, (clause, at) in enumerate(
            zip(self.clauses[scope], self.scoped[scope], strict=True)
        ):
            held = self.lanes[at].holds()[states.parts[numbers, at]]
            if any(isinstance(literal.atom, Linear) for literal in clause.literals):
                for state in np.flatnonzero(~held).tolist():
                    asked.setdefault(state, []).append(index)
            else:
                stands &= held
        rules: list[tuple[int, ...]] = [()] * len(numbers)
        for state, indices in asked.items():
            rules[state] = tuple(indices) if stands[state] else ()
        return _Open(stands=stands, rules=tuple(rules))

    def _finish(self, states: Product, following: npt.NDArray[np.int32]) -> Paths:
        every = np.arange(len(states))
        leaf, path, split = (
            self._open(states, every, scope) for scope in (Scope.LEAF, Scope.PATH, Scope.SPLIT)
        )
        need = np.where(leaf.stands & path.stands, 0, NEVER)
        for _ in range(self.depth):
            below = np.where(following >= 0, need[following], NEVER).min(axis=1, initial=NEVER)
            need = np.minimum(need, below + 1)
        need = np.minimum(need, NEVER)
        dead = (following >= 0) & (need[following] >= NEVER)
        return Paths(
            next=np.where(dead, -1, following).astype(np.int32),
            need=tuple(need.tolist()),
            leaf_rules=leaf.rules,
            split_rules=split.rules,
            closed=self._closed(np.where(dead, -1, following).astype(np.int32), need),
            delta=tuple(
                self._delta(lane, states.parts[:, len(self.lanes) + index], following)
                for index, lane in enumerate(self.kept)
            ),
        )

    def _closed(self, following: npt.NDArray[np.int32], need: IntArray) -> bool:
        if len(following) <= MOST_COMPARED:
            return closed(following, need, first=int(self.asks_root))
        if self.asks_root or ((need > 0) & (need < NEVER)).any():
            return False
        return all(
            self._closed_alone(clause, self.lanes[at])
            for scope, clauses in self.clauses.items()
            for clause, at in zip(clauses, self.scoped[scope], strict=True)
        )

    def _closed_alone(self, clause: Clause, lane: SumLane | RuleLane) -> bool:
        """Whether a test may be left out as far as this clause goes: then as far as all go."""
        if not on_paths(clause):
            return False
        if isinstance(lane, SumLane):
            return lane.only_charges
        alone = replace(self.core, clauses=(clause,), objective=())
        try:
            return _StateSearch(alone, self.depth)._built(None, MOST_COMPARED).closed
        except TooManyStates:
            return False

    def _delta(
        self, lane: SumLane | KeptLane, numbers: IntArray, following: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int64]:
        """int64 (n_states, n_columns): what a test adds where one may stand, else 0."""
        change = np.zeros(following.shape, dtype=np.int64)
        for column in self.columns:
            change[:, column] = lane.added(numbers, column)
        return np.where(following >= 0, change, 0)


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
    steps: IntArray = np.argwhere(following >= 0)
    steps = steps[steps[:, 0] >= first]
    more, less = steps[:, 0], following[steps[:, 0], steps[:, 1]]
    asked = np.zeros((n_states, n_states), dtype=bool)  # whether a state allows all another does
    while True:
        pairs = np.unique(more * n_states + less)
        more, less = np.divmod(pairs, n_states)
        new = (more != less) & ~asked[more, less]
        more, less = more[new], less[new]
        if not len(more):
            return True
        asked[more, less] = True
        there = following[less] >= 0
        if (there & (following[more] < 0)).any():
            return False
        more, less = following[more][there].astype(np.int64), following[less][there]


def paths(core: Core, depth: int) -> Paths:
    """The automaton of a core's rules on paths, for trees of at most this depth.

    Raises
    ------
    TooManyStates
        There are more than `MOST_STATES`.
    """
    found = tried(core, depth)
    if found is None:
        raise TooManyStates
    return found


@kept  # asked by both searches, each before it begins and then again
def tried(core: Core, depth: int) -> Paths | None:
    """As `paths`; None where there are too many states."""
    try:
        return _StateSearch(core, depth).build()
    except TooManyStates:
        return None


def clauses_of(core: Core, scope: Scope) -> tuple[Clause, ...]:
    """The clauses of a scope, in the order that `Paths` numbers them."""
    return tuple(clause for clause in core.clauses if clause.scope is scope)
