"""Rules on a whole tree of numbers, and what its objective has beside the loss, as components and
facts of the engine's search.

Components are floats there: whole numbers below 2^53, which floats hold exactly, or losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.exact.components import clipped, denominator_of, empty_paths
from odtdsl.backends.exact.feature_space import space
from odtdsl.backends.exact.lowering import constant_of, deepest_of, most_leaves
from odtdsl.backends.exact.number_rules import NumberRules
from odtdsl.backends.exact.ruled import Facts
from odtdsl.base import engine
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    LossBound,
    Monotone,
    PathSum,
    PathTotal,
    RegressionStage,
    Root,
    SignedAtom,
    StageForm,
    TargetLoss,
    Used,
)
from odtdsl.problem.ir.regression import allowance

EXACT = 2**53
"""Whole numbers below it are floats."""

Literal = tuple[str, int, float]
Term = tuple[float, int, int]
EXPRESSED = (Linear, PathTotal, Used, Root, Depth, Link, LossBound, Monotone)
"""Atoms of the whole tree that are sums or facts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Component:
    """What leaves, splits and rows add; `path` is the index of a path measure, or None."""

    leaf: float
    split: IntArray
    path: int | None = None
    weights: IntArray | None = None


class TooLong(Exception):
    """Sums leave what floats hold exactly."""


class TreeModel:
    """Components, facts and clauses of one search.

    Parameters
    ----------
    core
        With the clauses that the values of earlier stages have become.
    goal
        The stage that is made least, if that is not the loss of the engine.
    """

    def __init__(
        self, core: Core, rules: NumberRules, clauses: Iterable[Clause], goal: StageForm | None
    ) -> None:
        self.core, self.rules = core, rules
        self.depth, _ = deepest_of(core)
        self.facts = Facts(core, self.depth)
        self.components: list[_Component] = []
        self.measures: list[tuple[int, TargetLoss, int]] = []
        self.known: dict[tuple[object, ...], int] = {}
        self.possible = True
        self.clauses = list(self._clauses(clauses))
        self.prices: list[Term] = []
        self.goal = [] if goal is None else self._stage(goal)

    # ---- components

    def _additive(self, measure: Additive, total: PathSum | None = None) -> int:
        """A measure of the tree without its constant."""
        columns = measure.columns
        if columns is None:
            columns = np.zeros(len(self.core.columns), dtype=np.int64)
        path = None if total is None else self.rules.measures.index(total.measure)
        weights = None if total is None else total.weights
        self._demand_exact(measure, total, path)
        key = (
            measure.leaves,
            columns.tobytes(),
            path,
            None if weights is None else weights.tobytes(),
        )
        if key not in self.known:
            self.known[key] = len(self.components)
            made = _Component(leaf=measure.leaves, split=columns, path=path, weights=weights)
            self.components.append(made)
        return self.known[key]

    def _demand_exact(self, measure: Additive, total: PathSum | None, path: int | None) -> None:
        leaves = max(1, most_leaves(self.core, self.depth))
        largest = abs(measure.leaves) * leaves
        if measure.columns is not None:
            largest += int(np.abs(measure.columns).max(initial=0)) * leaves
        if total is not None and path is not None:
            paid = int(np.abs(self.rules.states.delta[path]).max(initial=0))
            largest += paid * int(np.abs(total.weights).sum()) * max(1, self.depth)
        if largest >= EXACT:
            raise TooLong

    def _loss(self, loss: TargetLoss, sign: int) -> int:
        """The sum over rows of a loss, or of what it is below zero."""
        key = (loss.kind, loss.factors, loss.weights.tobytes(), loss.total, sign)
        if key not in self.known:
            self.known[key] = len(self.components)
            nothing = np.zeros(len(self.core.columns), dtype=np.int64)
            self.measures.append((len(self.components), loss, sign))
            self.components.append(_Component(leaf=0, split=nothing))
        return self.known[key]

    # ---- rules

    def _clauses(self, clauses: Iterable[Clause]) -> Iterator[list[Literal]]:
        for clause in clauses:
            literals = [self._literal(literal) for literal in clause.literals]
            if any(literal is True for literal in literals):
                continue
            kept = [literal for literal in literals if not isinstance(literal, bool)]
            self.possible = self.possible and bool(kept)
            yield kept

    def _literal(self, literal: SignedAtom) -> Literal | bool:
        """A literal on components and facts; a truth value where no tree decides it."""
        atom: Atom = literal.atom
        match atom:
            case Linear(measure=measure, at_most=bound):
                at_most = bound - fixed_part(measure)
                if not measure.leaves and (measure.columns is None or not measure.columns.any()):
                    return at_most >= 0
                return ("component", self._additive(measure), float(clipped(at_most)))
            case PathTotal(measure=measure, path_sum=total, at_most=bound):
                at_most = bound - fixed_part(measure) - empty_paths(total)
                return ("component", self._additive(measure, total), float(clipped(at_most)))
            case LossBound(loss=loss, at_most=most):
                limit = float((most + allowance(most)) * loss.total)
                if literal.positive:
                    return ("component", self._loss(loss, 1), limit)
                return ("component", self._loss(loss, -1), -math.nextafter(limit, math.inf))
            case Used(column=column):
                return ("fact", self.facts.used(column), literal.positive)
            case Root(columns=columns):
                return ("fact", self.facts.wrong_root(columns), not literal.positive)
            case Depth(at_most=bound):
                if bound < 0 or bound >= self.depth:
                    return (bound >= 0) == literal.positive
                return ("fact", self.facts.reached(bound), not literal.positive)
            case Link(first=first, second=second):
                if first == second:
                    return literal.positive
                return ("fact", self.facts.parted(first, second), not literal.positive)
            case Monotone():
                return ("fact", self.facts.out_of_order(atom), not literal.positive)
        raise AssertionError(f"objections() refuses {atom}")

    # ---- the objective

    def _stage(self, stage: StageForm) -> list[Term]:
        """A stage that is made least; its value lacks a constant."""
        if isinstance(stage, DepthStage):
            return [(1.0, -1, self.facts.reached(level)) for level in range(self.depth)]
        if isinstance(stage, RegressionStage):
            terms = [(1.0 / stage.loss.total, self._loss(stage.loss, 1), -1)]
            if not stage.rest.is_constant:
                terms.append((1.0 / stage.rest.denominator, self._additive(stage.rest), -1))
            return terms
        assert isinstance(stage, LinearStage), "a number target has no quotients"
        common = denominator_of(stage)
        terms = [(common / stage.measure.denominator, self._additive(stage.measure), -1)]
        if (total := stage.path_sum) is not None:
            step = common // total.whole_denominator
            terms.append((float(step), self._additive(Additive(), total), -1))
        return terms

    def price(self, rest: Additive, unit: float) -> None:
        """Add a measure to the loss, in the engine's units."""
        self.prices.append((1.0 / rest.denominator / unit, self._additive(rest), -1))

    # ---- for the engine

    def native(self) -> engine.NumberModel:
        """The same in the engine."""
        states, width = len(self.rules.next), len(self.core.columns)
        rows = [one.split.astype(np.float64) for one in self.components]
        found, order = self.rules.features, self.facts.monotone
        tested = [self.core.families[family].column for family, _ in found.tests]
        return engine.NumberModel(
            leaf=[float(one.leaf) for one in self.components],
            split=np.array(rows, dtype=np.float64).reshape(len(rows), width),
            path_sum=[
                -1 if one.weights is None else self.rules.sums.of(one.weights)
                for one in self.components
            ],
            path_delta=[
                None if one.path is None else self._delta(one.path, states)
                for one in self.components
            ],
            measures=[
                (
                    component,
                    loss.kind,
                    [sign * float(factor) for factor in loss.factors],
                    loss.masses.astype(np.float64),
                )
                for component, loss, sign in self.measures
            ],
            facts=len(self.facts),
            split_facts=self.facts.split.ravel().tolist(),
            pairs=self.facts.pairs,
            clauses=self.clauses,
            prices=self.prices,
            goal=self.goal,
            space=space(self.core, found, self.depth, order).given() if order else None,
            column=tested or [0],
        )

    def _delta(self, path: int, states: int) -> IntArray:
        """What tests cost by state; relaxed states, which no tree is in, cost nothing."""
        found = np.zeros((states, len(self.core.columns)), dtype=np.int64)
        known = self.rules.states.delta[path]
        found[: len(known)] = known
        return found


def fixed_part(measure: Additive) -> int:
    """What a measure of a tree of numbers is by its rows alone, which all are in some leaf."""
    return constant_of(measure) + (0 if measure.output is None else int(measure.output[:, 0].sum()))
