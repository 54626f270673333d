"""A rule on all paths of a diagram as an automaton that reads the columns of their tests.

A state tells what the literals of the rule have seen, as far as the outcome still depends on
it. What rows do is of no account: every path of arcs counts.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from odtdsl.problem.ir.forms import Budget, Clause, Order, PathMeasure, SignedAtom, Used

MOST_STATES = 1_000
"""Rules with more states in one layer are refused."""

Seen = tuple[Hashable, ...]
"""By literal: what it has seen, or `LOST` for one that no longer can hold."""
State = Seen | None
"""None: the rule holds whatever follows."""
LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The states at the nodes of a layer, and what a test of each column makes of them.

    Attributes
    ----------
    states
        Those in which the rule can still break.
    after
        By state and column: the state on the arcs.
    """

    states: tuple[Seen, ...]
    after: dict[Seen, tuple[State, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Automaton:
    """The states by layer; `start` is the state without any test."""

    clause: Clause
    start: State
    layers: tuple[Layer, ...]

    def breaks(self, state: State) -> bool:
        """Whether a path that ends in a state breaks the rule."""
        if state is None:
            return False
        pairs = zip(self.clause.literals, state, strict=True)
        return not any(seen != LOST and _holds(one, seen) for one, seen in pairs)


def automaton(clause: Clause, columns: int, depth: int) -> Automaton | None:
    """The automaton of a rule on paths of at most `depth` tests; None where it has too many
    states."""
    start = _joint(clause, [_first(one) for one in clause.literals], depth)
    layers: list[Layer] = []
    states: list[State] = [start]
    for level in range(depth):
        open_ = [state for state in states if state is not None]
        after = {
            state: tuple(_step(clause, state, c, depth - level - 1) for c in range(columns))
            for state in open_
        }
        layers.append(Layer(states=tuple(open_), after=after))
        states = list(dict.fromkeys(to for some in after.values() for to in some))
        if len(states) > MOST_STATES:
            return None
    return Automaton(clause=clause, start=start, layers=tuple(layers))


def _step(clause: Clause, state: Seen, column: int, left: int) -> State:
    pairs = zip(clause.literals, state, strict=True)
    return _joint(clause, [s if s == LOST else _next(one, s, column) for one, s in pairs], left)


def _joint(clause: Clause, seen: list[Hashable], left: int) -> State:
    """The states of the literals, with `left` tests to come at most."""
    found: list[Hashable] = []
    for one, state in zip(clause.literals, seen, strict=True):
        known = None if state == LOST else _known(one, state, left)
        if known is True:
            return None
        found.append(LOST if state == LOST or known is False else state)
    return tuple(found)


# ---- literals


def _first(one: SignedAtom) -> Hashable:
    match one.atom:
        case Used():
            return False
        case Order():
            return (False, False)
        case Budget():
            return (one.atom.measure.constant, frozenset())
        case _:
            raise AssertionError(f"{type(one.atom).__name__} is not of paths")


def _next(one: SignedAtom, state: Hashable, column: int) -> Hashable:
    """What a literal has seen after one more test."""
    match one.atom:
        case Used():
            return state or column == one.atom.column
        case Order():
            return _ordered(one.atom, state, column)
        case Budget():
            return _paid(one.atom.measure, state, column)
        case _:
            raise AssertionError(f"{type(one.atom).__name__} is not of paths")


def _ordered(atom: Order, state: Hashable, column: int) -> Hashable:
    """Whether it held somewhere, and whether `above` was tested."""
    assert isinstance(state, tuple)
    held, above = state
    if column == atom.here:
        before = above or (not atom.absent and column == atom.above)
        held = held or before != atom.absent
    return held, above or column == atom.above


def _paid(measure: PathMeasure, state: Hashable, column: int) -> Hashable:
    """The sum so far, and what of it is not paid again."""
    assert isinstance(state, tuple)
    total, paid = state
    total += measure.per_test[column] + measure.per_split
    kept = set(paid)
    if measure.once[column] and ("once", column) not in kept:
        total += measure.once[column]
        kept.add(("once", column))
    for index, shared in enumerate(measure.shared):
        if shared.amount and column in shared.columns and ("shared", index) not in kept:
            total += shared.amount
            kept.add(("shared", index))
    return total, frozenset(kept)


def _known(one: SignedAtom, state: Hashable, left: int) -> bool | None:
    """Whether the literal holds on every, or on no path that goes on; None: that depends."""
    match one.atom:
        case Used():
            return one.positive if state else None if left else not one.positive
        case Order():
            assert isinstance(state, tuple)
            held, above = state
            if held:
                return one.positive
            over = not left or (one.atom.absent and above)
            return not one.positive if over else None
        case Budget():
            assert isinstance(state, tuple)
            steps = [
                measure_step(one.atom.measure, c) for c in range(len(one.atom.measure.per_test))
            ]
            most = left * max(0, *(high for _, high in steps), 0)
            least = left * min(0, *(low for low, _ in steps), 0)
            if state[0] + most <= one.atom.at_most:
                return True
            return False if state[0] + least > one.atom.at_most else None
        case _:
            raise AssertionError(f"{type(one.atom).__name__} is not of paths")


def measure_step(measure: PathMeasure, column: int) -> tuple[int, int]:
    """The least and the most that one test of a column can add."""
    each = measure.per_test[column] + measure.per_split
    extra = [measure.once[column]]
    extra += [shared.amount for shared in measure.shared if column in shared.columns]
    return each + sum(min(0, x) for x in extra), each + sum(max(0, x) for x in extra)


def _holds(one: SignedAtom, state: Hashable) -> bool:
    """Whether the literal holds on a path that ends here."""
    match one.atom:
        case Used():
            return bool(state) == one.positive
        case Order():
            assert isinstance(state, tuple)
            return bool(state[0]) == one.positive
        case Budget():
            assert isinstance(state, tuple)
            return bool(state[0] <= one.atom.at_most)
        case _:
            raise AssertionError(f"{type(one.atom).__name__} is not of paths")
