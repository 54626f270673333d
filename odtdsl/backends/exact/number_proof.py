"""Certificates of squared error: targets as whole numbers, losses in whole units.

`odtcheck` rounds the loss of each leaf down to a unit, of which the loss of a single leaf has some
10^11; so what it shows holds within a billionth of that loss, as what the search proves does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np

from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.backends.exact.multipliers import varints
from odtdsl.backends.exact.ruled import Ruled, assemble
from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import (
    Additive,
    Core,
    Linear,
    LinearStage,
    LossBound,
    OutputSet,
    RegressionStage,
)
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

MOST_DIGITS = 9
MOST_UNITS = 10**12
"""`odtcheck` takes a little more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whole:
    """Targets and losses of a core in whole numbers.

    Attributes
    ----------
    scale
        What targets are multiplied by.
    parts
        How many units of loss a square of a scaled target is.
    weights
        Of the rows.
    price
        Of a leaf, in units.
    unit
        What a unit is worth in the value of the stage.
    """

    scale: int
    parts: int
    weights: IntArray
    price: int
    unit: Fraction

    def units(self, value: Fraction, constant: Fraction) -> int:
        """A value of the stage in units."""
        return floor((value - constant) / self.unit)


def beyond_squares(core: Core) -> Iterator[str]:
    """What of a core for numbers has no certificate, its rules on trees apart."""
    first = core.objective[0] if core.objective else None
    if not isinstance(first, RegressionStage) or first.loss.kind != "squared":
        yield "it predicts numbers by another loss than squared error"
        return
    loss = first.loss
    if len(loss.factors) > 1:
        yield "it predicts several numbers"
    elif len(core.objective) > 1:
        yield "further stages after the squared error"
    elif loss.everyone is not None or loss.exposure is not None or loss.over is not None:
        yield "the squared error of some rows only"
    elif any(core.steps):
        yield "outputs on a grid"
    elif first.rest.leaves < 0:
        yield "rewards for leaves in the objective"
    elif first.rest.columns is not None and first.rest.columns.any():
        yield "prices of tests in the objective"
    elif whole(core) is None:
        yield f"targets of more than {MOST_DIGITS} decimals, or too far apart"
    for clause in core.clauses:
        for literal in clause.literals:
            if isinstance(literal.atom, OutputSet | LossBound):
                yield f"rule `{clause.origin.rule}`: a condition on the numbers that leaves predict"


def whole(core: Core) -> Whole | None:
    """The whole numbers of a core; None where targets have too many digits."""
    stage = core.objective[0]
    assert isinstance(stage, RegressionStage), "as `beyond_squares` has it"
    assert core.targets is not None, "squared error has targets"
    targets, weights = core.targets[:, 0], stage.loss.weights
    for digits in range(MOST_DIGITS + 1):
        scaled = targets * 10.0**digits
        if (np.abs(scaled) < 1e15).all() and (np.abs(scaled - np.round(scaled)) < 1e-5).all():
            break
    else:
        return None
    scale = 10**digits
    around = scaled - np.round(np.average(scaled, weights=weights if weights.any() else None))
    squares = float((weights * around * around).sum()) * (1 + 1e-6) + weights.sum()
    if squares > MOST_UNITS:
        return None
    parts = max(1, int(MOST_UNITS / max(1.0, squares)))
    parts = 1 << (parts.bit_length() - 1)
    unit = Fraction(stage.loss.factors[0]) / (stage.loss.total * scale * scale * parts)
    price = floor(Fraction(stage.rest.leaves, stage.rest.denominator) / unit)
    return Whole(scale=scale, parts=parts, weights=weights, price=price, unit=unit)


def without_numbers(core: Core) -> Core:
    """The core with one class and no loss: its rules on paths, leaves and trees."""
    return replace(
        core,
        n_classes=1,
        labels=np.zeros(core.n_rows, dtype=np.int64),
        targets=None,
        steps=(),
        objective=(LinearStage(measure=Additive(leaves=1)),),
    )


def number_certificate(core: Core, depth: int, answer: RawAnswer, limits: Limits) -> bytes:
    """The steps that show an answer to be the least, within rounding, or that there is no tree."""
    made = assemble(without_numbers(core), depth)
    units = whole(core)
    assert units is not None, "as `beyond_squares` has it"
    rules = [0] * len(made.rules.clauses)
    if answer.model is None:
        return b"".join(varints([depth, 1 << 52, 0, *rules]))
    assert isinstance(answer.model, RawLeaf | RawSplit), "a tree is asked for"
    target = _units(core, units, answer.model) - _slack(core, units, depth)
    if target > 0 and (priced := _price_of_leaves(core, made, limits)) is not None:
        at, price = priced
        rules[at] = floor(price / units.unit)
    return b"".join(varints([depth, max(0, target), *([1, *rules] if target > 0 else [])]))


def _units(core: Core, units: Whole, tree: RawTree) -> int:
    stage = core.objective[0]
    assert isinstance(stage, RegressionStage), "as `beyond_squares` has it"
    constant = Fraction(stage.rest.constant, stage.rest.denominator)
    return units.units(Fraction(Evaluation(core, tree).stage_value(stage)), constant)


def _slack(core: Core, units: Whole, depth: int) -> int:
    """Some less than a billionth of the squares of one leaf, and what leaves are rounded by."""
    from odtdsl.problem.ir.regression import TOLERANCE, fitted

    squares = _units(core, units, fitted(core, RawLeaf())) - units.price
    return floor(max(0, squares) * TOLERANCE / 2) + (3 << depth)


def _price_of_leaves(core: Core, made: Ruled, limits: Limits) -> tuple[int, Fraction] | None:
    """A price at which the free tree has about as many leaves as a rule allows, and the rule.

    None where no rule bounds them, or the free tree keeps it.
    """
    from odtdsl.backends.exact.number_stages import search_of

    bounds = [
        (clause[0][2], at)
        for at, clause in enumerate(made.rules.clauses)
        if len(clause) == 1 and clause[0][0] == "component" and _counts(made, clause[0][1])
    ]
    if not bounds or min(bounds)[0] >= 1 << made.depth:
        return None
    most, at = min(bounds)
    stage = core.objective[0]
    assert isinstance(stage, RegressionStage), "as `beyond_squares` has it"
    rest = [c for c in core.clauses if not isinstance(c.atom, Linear) or not c.atom.measure.leaves]
    tree = replace(core.tree, leaves=None, depth=made.depth)
    low, high = Fraction(0), None
    price = Fraction(0)
    for _ in range(12):
        priced = replace(stage, rest=stage.rest + _as_price(price))
        free = replace(core, clauses=tuple(rest), skeleton=tree, objective=(priced,))
        found = search_of(free, replace(limits, ledger=None), None, None).model
        if not isinstance(found, RawLeaf | RawSplit):
            return None
        leaves = _leaves(found)
        if leaves == most or (leaves < most and price == 0):
            return None if price == 0 else (at, price)
        if leaves > most:
            low = price
        else:
            high = price
        start = Evaluation(core, found).stage_value(stage) / 64
        price = 2 * low or Fraction(start) if high is None else (low + high) / 2
        price = Fraction(floor(price * 10**9), 10**9)
    return at, (high or price)


def _as_price(price: Fraction) -> Additive:
    return Additive(leaves=price.numerator, denominator=price.denominator)


def _counts(made: Ruled, component: int) -> bool:
    found = made.rules.components
    return found.leaf[component] == 1 and all(at < 0 for at in found.sum_of[component])


def _leaves(tree: RawTree) -> int:
    return _leaves(tree.left) + _leaves(tree.right) if isinstance(tree, RawSplit) else 1
