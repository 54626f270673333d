"""Certificates of squared error: targets as whole numbers, losses in whole units.

`odtcheck` rounds the loss of each leaf down to a unit, of which the loss of a single leaf has some
10^11; so what it shows holds within a billionth of that loss, as what the search proves does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, product
from math import floor

import numpy as np

from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.backends.exact.lowering import deepest_of
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
from odtdsl.problem.outputs.feasible import FeasibleSet, feasible_set
from odtdsl.problem.outputs.leaves import fitted
from odtdsl.problem.outputs.union import (
    FREE,
    Interval,
    Number,
    OutputUnion,
    Piece,
    Range,
    is_empty,
    meet,
)

MOST_DIGITS = 9
MOST_UNITS = 10**12
"""`odtcheck` takes a little more."""
MOST_SQUARES = 10**17
MOST_TARGETS = 8
MOST_PIECES = 100
MOST_LEVELS = 6
"""Of trees with rules on what leaves predict."""
ABOVE = Fraction(2, 3)
"""What the best price of a leaf may be of the loss of a leaf less."""
SOME_STEPS = Fraction(1, 10)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whole:
    """Targets and losses of a core in whole numbers.

    Attributes
    ----------
    scales
        What each target is multiplied by.
    parts
        How many units of loss a square of a scaled target is, one per target.
    weights
        Of the rows.
    price
        Of a leaf, in units.
    unit
        What a unit is worth in the value of the stage.
    """

    scales: tuple[int, ...]
    parts: tuple[Fraction, ...]
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
    if len(loss.factors) > MOST_TARGETS:
        yield f"it predicts more than {MOST_TARGETS} numbers"
    elif not all(loss.factors):
        yield "numbers without a loss"
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
        atoms = {type(literal.atom) for literal in clause.literals}
        if LossBound in atoms or (OutputSet in atoms and len(atoms) > 1):
            yield f"rule `{clause.origin.rule}`: a condition on the numbers that leaves predict"
    if not any(core.steps) and pieces(core) is None:
        yield "rules on what leaves predict with very many cases, or with none left"
    elif pieces(core) and deepest_of(core)[0] > MOST_LEVELS:
        yield f"rules on what leaves predict, in trees of more than {MOST_LEVELS} levels"


def whole(core: Core) -> Whole | None:
    """The whole numbers of a core; None where targets have too many digits."""
    stage = core.objective[0]
    assert isinstance(stage, RegressionStage), "as `beyond_squares` has it"
    assert core.targets is not None, "squared error has targets"
    weights, factors = stage.loss.weights, stage.loss.factors
    scales, worth, value = [], [], Fraction(0)
    for targets, factor in zip(core.targets.T, factors, strict=True):
        for digits in range(MOST_DIGITS + 1):
            scaled = targets * 10.0**digits
            if (np.abs(scaled) < 1e15).all() and (np.abs(scaled - np.round(scaled)) < 1e-5).all():
                break
        else:
            return None
        around = scaled - np.round(np.average(scaled, weights=weights if weights.any() else None))
        squares = float((weights * around * around).sum()) * (1 + 1e-6) + weights.sum()
        if squares > MOST_SQUARES:
            return None
        scales.append(10**digits)
        worth.append(Fraction(factor) / (stage.loss.total * 100**digits))
        value += worth[-1] * Fraction(max(1.0, squares))
    first = MOST_UNITS * worth[0] / value
    shift = floor(first).bit_length() - 1 if first >= 1 else -floor(1 / first).bit_length()
    unit = worth[0] / Fraction(2) ** shift
    price = floor(Fraction(stage.rest.leaves, stage.rest.denominator) / unit)
    parts = tuple(each / unit for each in worth)
    return Whole(scales=tuple(scales), parts=parts, weights=weights, price=price, unit=unit)


Condition = tuple[tuple[Fraction, ...], Fraction]
"""Factors of the outputs, and what their sum is at most."""


def pieces(core: Core) -> tuple[tuple[Condition, ...], ...] | None:
    """The outputs that leaves may have: in one of the pieces all conditions hold.

    Empty where any output may be; None where there are no such, or very many pieces.
    """
    union = feasible_set(core)
    if union is None:
        return ()
    found: list[tuple[Condition, ...]] = []
    for piece in union.union.pieces:
        cases = list(islice(_cases(piece, union.n_targets), MOST_PIECES + 1))
        found += [x for x in cases if x not in found and not _is_empty(x, union.n_targets)]
        if len(found) > MOST_PIECES:
            return None
    return tuple(found) or None


def _is_empty(case: tuple[Condition, ...], n: int) -> bool:
    bounds, ranges = [FREE] * n, []
    for row, high in case:
        factors = tuple((target, x) for target, x in enumerate(row) if x)
        (target, first) = factors[0]
        end: Interval = (None, high / first) if first > 0 else (high / first, None)
        if len(factors) == 1:
            bounds[target] = meet(bounds[target], end)
        else:
            scaled = tuple((at, x / first) for at, x in factors)
            ranges.append(Range(factors=scaled, low=end[0], high=end[1]))
    if any(map(is_empty, bounds)):
        return True
    piece = Piece(bounds=tuple(bounds), ranges=tuple(ranges))
    return FeasibleSet(OutputUnion(steps=(None,) * n, pieces=(piece,))).is_empty


def _cases(piece: Piece, n: int) -> Iterator[tuple[Condition, ...]]:
    """A piece without gaps, counts and choices, in as many cases as these have."""

    def bound(
        factors: Sequence[tuple[int, Fraction]], low: Number, high: Number
    ) -> list[Condition]:
        row = [Fraction(0)] * n
        for target, factor in factors:
            row[target] = factor
        below = [] if high is None else [(tuple(row), high)]
        return below + ([] if low is None else [(tuple(-x for x in row), -low)])

    def one(target: int, low: Number, high: Number) -> list[Condition]:
        return bound([(target, Fraction(1))], low, high)

    def ranges(of: Sequence[Range]) -> list[Condition]:
        return [x for each in of for x in bound(each.factors, each.low, each.high)]

    fixed = [x for target, ends in enumerate(piece.bounds) for x in one(target, *ends)]
    fixed += ranges(piece.ranges)
    ways: list[tuple[list[Condition], ...]] = []
    ways += [(one(t, None, low), one(t, high, None)) for t, low, high in piece.gaps]
    for count in piece.counts:
        kept = combinations(count.inside, max(0, len(count.inside) - count.most))
        ways.append(tuple([x for each in some for x in one(*each)] for some in kept))
    ways += [tuple(ranges(each) for each in choice) for choice in piece.choices]
    for way in product(*ways):
        yield tuple(dict.fromkeys(fixed + [x for some in way for x in some]))


def without_numbers(core: Core) -> Core:
    """The core with one class and no loss: its rules on paths, leaves and trees."""
    kept = tuple(
        clause
        for clause in core.clauses
        if not any(isinstance(literal.atom, OutputSet) for literal in clause.literals)
    )
    return replace(
        core,
        clauses=kept,
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
        return b"".join(varints([depth, 1 << (55 if pieces(core) else 52), 0, *rules]))
    assert isinstance(answer.model, RawLeaf | RawSplit), "a tree is asked for"
    target = _units(core, units, answer.model) - _slack(core, units, depth)
    priced = _price_of_leaves(core, made, answer.model, limits) if target > 0 else None
    if priced is not None:
        at, price = priced
        rules[at] = max(0, floor(price / units.unit))  # rules may demand a split that costs more
    return b"".join(varints([depth, max(0, target), *([1, *rules] if target > 0 else [])]))


def _units(core: Core, units: Whole, tree: RawTree) -> int:
    stage = core.objective[0]
    assert isinstance(stage, RegressionStage), "as `beyond_squares` has it"
    constant = Fraction(stage.rest.constant, stage.rest.denominator)
    return units.units(Fraction(Evaluation(core, tree).stage_value(stage)), constant)


def _slack(core: Core, units: Whole, depth: int) -> int:
    """Some less than a billionth of the squares of one leaf, and what leaves are rounded by."""
    from odtdsl.problem.ir import regression

    squares = _units(core, units, regression.fitted(core, RawLeaf())) - units.price
    return floor(max(0, squares) * regression.TOLERANCE / 2) + (3 << depth)


def _price_of_leaves(
    core: Core, made: Ruled, answer: RawTree, limits: Limits
) -> tuple[int, Fraction] | None:
    """A price of leaves with which the bound on trees of few leaves is good, and the rule that asks
    for few; None where no rule bounds them, or no larger tree is known to be better.

    The best price is what one leaf more or less is worth. It lies below the loss of a leaf less in
    the answer, by a third or so in what was measured. Where the rule leaves room for more leaves,
    but a tree with too many is better, it is what that one gains.
    """
    bounds = [
        (clause[0][2], at)
        for at, clause in enumerate(made.rules.clauses)
        if len(clause) == 1 and clause[0][0] == "component" and _counts(made, clause[0][1])
    ]
    if not bounds or min(bounds)[0] >= 1 << made.depth:
        return None
    most, at = min(bounds)
    known, leaves = _loss(core, answer), _leaves(answer)
    if 1 < leaves == most:
        fewer = min(_loss(core, fitted(core, one)) for one in _without_a_leaf(answer))
        return at, (fewer - known) * ABOVE
    large = _good_tree(core, made.depth, limits)
    if large is None or _leaves(large) <= most:
        return None
    return at, max(Fraction(0), known - _loss(core, large)) / (_leaves(large) - leaves)


def _loss(core: Core, tree: RawTree) -> Fraction:
    stage = core.objective[0]
    assert isinstance(stage, RegressionStage), "as `beyond_squares` has it"
    return Fraction(Evaluation(core, tree).stage_value(stage))


def _without_a_leaf(tree: RawTree) -> Iterator[RawTree]:
    """The trees in which a split of two leaves is a leaf."""
    if isinstance(tree, RawLeaf):
        return
    if isinstance(tree.left, RawLeaf) and isinstance(tree.right, RawLeaf):
        yield RawLeaf()
    for one in _without_a_leaf(tree.left):
        yield replace(tree, left=one)
    for one in _without_a_leaf(tree.right):
        yield replace(tree, right=one)


def _good_tree(core: Core, depth: int, limits: Limits) -> RawTree | None:
    """A good tree that may have more leaves than the rules allow."""
    from odtdsl.backends.exact.number_stages import search_of

    rest = [c for c in core.clauses if not isinstance(c.atom, Linear) or not c.atom.measure.leaves]
    tree = replace(core.tree, leaves=None, depth=depth)
    free = replace(core, clauses=tuple(rest), skeleton=tree)
    some = replace(limits, ledger=None, proves=False, steps=SOME_STEPS)
    found = search_of(free, some, None, None).model
    return found if isinstance(found, RawLeaf | RawSplit) else None


def _counts(made: Ruled, component: int) -> bool:
    found = made.rules.components
    return found.leaf[component] == 1 and all(at < 0 for at in found.sum_of[component])


def _leaves(tree: RawTree) -> int:
    return _leaves(tree.left) + _leaves(tree.right) if isinstance(tree, RawSplit) else 1
