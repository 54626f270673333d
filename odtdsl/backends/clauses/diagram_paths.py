"""A rule on all paths of a diagram, layer by layer: the states that its nodes can be in.

What rows do is of no account: every path of arcs counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from odtdsl.problem.ir.automata import PathRule, State
from odtdsl.problem.ir.forms import Clause

MOST_STATES = 1_000
"""Rules with more states in one layer are refused."""


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

    states: tuple[State, ...]
    after: dict[State, tuple[State, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layered:
    """The automaton of a rule by layer; `start` is the state without any test."""

    rule: PathRule
    start: State
    layers: tuple[Layer, ...]


def layered(clause: Clause, columns: int, depth: int) -> Layered | None:
    """The automaton of a rule on paths of at most `depth` tests; None where it has too many
    states."""
    rule = PathRule(clause.literals, range(columns))
    start = rule.settled(rule.start, depth)
    layers: list[Layer] = []
    states: list[State] = [start]
    for level in range(depth):
        open_ = [state for state in states if state is not None]
        left = depth - level - 1
        after: dict[State, tuple[State, ...]] = {
            state: tuple(rule.step(state, column, left) for column in range(columns))
            for state in open_
        }
        layers.append(Layer(states=tuple(open_), after=after))
        states = list(dict.fromkeys(to for some in after.values() for to in some))
        if len(states) > MOST_STATES:
            return None
    return Layered(rule=rule, start=start, layers=tuple(layers))
