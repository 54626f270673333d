"""What rules on paths leave open: a finite automaton over the columns that a path tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from odtdsl.data.table import IntArray
from odtdsl.problem.ir.evaluate import path_numerator
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Budget,
    Clause,
    Core,
    Linear,
    LinearStage,
    Order,
    PathMeasure,
    PathTotal,
    Root,
    SignedAtom,
    Used,
)

MOST_STATES = 20_000
MOST_COMPARED = 500
NEVER = 10**6


class TooManyStates(Exception):
    """The rules on paths tell more than `MOST_STATES` paths apart."""


@dataclass(frozen=True, slots=True)
class State:
    """All that later splits and the leaf can ask about a path.

    Attributes
    ----------
    used
        The columns tested so far, of those that a rule or cost asks about.
    tests
        Per measure that a rule bounds, what was paid for tests.
    orders
        Per `Order` atom, whether it holds already.
    start
        Whether this is the root, where a rule on the root asks.
    """

    used: frozenset[int]
    tests: tuple[int, ...]
    orders: tuple[bool, ...]
    start: bool


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


def path_measures(core: Core) -> tuple[PathMeasure, ...]:
    """Measures of the expected costs in the objective and rules, each once."""
    sums = [
        stage.path_sum
        for stage in core.objective
        if isinstance(stage, LinearStage) and stage.path_sum is not None
    ]
    for clause in core.clauses:
        sums += [x.atom.path_sum for x in clause.literals if isinstance(x.atom, PathTotal)]
    return tuple(dict.fromkeys(one.measure for one in sums))


def root_columns(core: Core) -> frozenset[int] | None:
    """The columns that unconditional rules leave to the root; None for all."""
    found: frozenset[int] | None = None
    for clause in core.clauses:
        atom = clause.literals[0].atom if len(clause.literals) == 1 else None
        if isinstance(atom, Root) and clause.literals[0].positive:
            columns = frozenset(atom.columns)
            found = columns if found is None else found & columns
    return found


def tests_of(core: Core) -> Counter[int]:
    """How many tests there are of each column."""
    found = Counter[int]()
    for family in core.families:
        found[family.column] += family.n_tests
    return found


class _Build:
    """States by breadth from the root; transitions and what holds in each state."""

    def __init__(self, core: Core, depth: int) -> None:
        self.core, self.depth = core, depth
        self.of = {
            scope: tuple(c for c in core.clauses if c.scope is scope)
            for scope in (Scope.PATH, Scope.LEAF, Scope.SPLIT)
        }
        atoms = tuple(literal.atom for c in chain(*self.of.values()) for literal in c.literals)
        self.orders = tuple(dict.fromkeys(a for a in atoms if isinstance(a, Order)))
        self.sums = tuple(self._simpler(measure) for measure in path_measures(core))
        bounded = {a.measure: self._simpler(a.measure) for a in atoms if isinstance(a, Budget)}
        self.bounded = bounded
        self.measures = tuple(dict.fromkeys(bounded.values()))
        self.relevant = frozenset(self._relevant(atoms))
        self.root = root_columns(core)
        self.columns = sorted({family.column for family in core.families if family.n_tests})

    def _relevant(self, atoms: tuple[object, ...]) -> Iterator[int]:
        for atom in atoms:
            if isinstance(atom, Used):
                yield atom.column
            elif isinstance(atom, Order):
                yield atom.above
        for measure in (*self.measures, *self.sums):
            yield from (column for column, price in enumerate(measure.once) if price)
            for shared in measure.shared:
                yield from shared.columns

    def _simpler(self, measure: PathMeasure) -> PathMeasure:
        """The same on every path, with a price per test where a column has one test only.

        A path of a reduced tree asks no test twice, so that nothing has to be remembered.
        """
        tests = tests_of(self.core)
        kept = {column for shared in measure.shared for column in shared.columns}
        kept |= {column for column, count in tests.items() if count > 1}
        moved = [0 if column in kept else price for column, price in enumerate(measure.once)]
        return replace(
            measure,
            per_test=tuple(a + b for a, b in zip(measure.per_test, moved, strict=True)),
            once=tuple(a - b for a, b in zip(measure.once, moved, strict=True)),
        )

    # ---- states

    def step(self, state: State, column: int) -> State:
        return State(
            used=state.used | ({column} & self.relevant),
            tests=tuple(
                paid + measure.per_test[column]
                for paid, measure in zip(state.tests, self.measures, strict=True)
            ),
            orders=tuple(
                held or (column == order.here and (order.above in state.used) != order.absent)
                for held, order in zip(state.orders, self.orders, strict=True)
            ),
            start=False,
        )

    def numerator(self, state: State, measure: PathMeasure) -> int:
        return _once(measure, state) + state.tests[self.measures.index(measure)]

    def holds(self, state: State, literal: SignedAtom) -> bool:
        """Whether a literal about the path holds; those about rows do not count."""
        match literal.atom:
            case Used(column=column):
                return (column in state.used) == literal.positive
            case Order():
                return state.orders[self.orders.index(literal.atom)] == literal.positive
            case Budget(measure=measure, at_most=bound):
                return self.numerator(state, self.bounded[measure]) <= bound
        return False

    def open_rules(self, state: State, scope: Scope) -> tuple[int, ...] | None:
        """Indices of clauses that rows must meet; None where no rows can."""
        found: list[int] = []
        for index, clause in enumerate(self.of[scope]):
            if any(self.holds(state, literal) for literal in clause.literals):
                continue
            if not any(isinstance(literal.atom, Linear) for literal in clause.literals):
                return None
            found.append(index)
        return tuple(found)

    def build(self) -> Paths:
        first = State(
            used=frozenset(),
            tests=(0,) * len(self.measures),
            orders=(False,) * len(self.orders),
            start=self.root is not None,
        )
        index, states, rows = {first: 0}, [first], []
        layer = [first]
        for level in range(self.depth + 1):
            following: list[State] = []
            for state in layer:
                row = np.full(len(self.core.columns), -1, dtype=np.int32)
                if level < self.depth and self.open_rules(state, Scope.SPLIT) is not None:
                    for column in self.columns:
                        if state.start and self.root is not None and column not in self.root:
                            continue
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

    def _finish(self, states: list[State], following: npt.NDArray[np.int32]) -> Paths:
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
            closed=closed(np.where(dead, -1, following), need, first=int(self.root is not None)),
            delta=tuple(self._delta(states, following, measure) for measure in self.sums),
        )

    def _delta(
        self, states: list[State], following: npt.NDArray[np.int32], measure: PathMeasure
    ) -> npt.NDArray[np.int64]:
        once = np.array([_once(measure, state) for state in states], dtype=np.int64)
        each = np.array(measure.per_test, dtype=np.int64)
        change: npt.NDArray[np.int64] = np.where(
            following >= 0, once[following] - once[:, None] + each[None, :], 0
        )
        return change


def _once(measure: PathMeasure, state: State) -> int:
    """What is paid for features and shared sets, however often they are tested."""
    tested = tuple(state.used)
    return path_numerator(measure, tested) - sum(measure.per_test[column] for column in tested)


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
    return _Build(core, depth).build()


def clauses_of(core: Core, scope: Scope) -> tuple[Clause, ...]:
    """The clauses of a scope, in the order that `Paths` numbers them."""
    return tuple(clause for clause in core.clauses if clause.scope is scope)
