"""Stages of the objective as integer expressions, and how their values come back.

A stage's value is `(constant + grid * y) / scale` with an integer y on every tree: the
common divisor of all coefficients is taken out, so that a bound rounds up to the next
integer and an absolute gap below 1 proves optimality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd, inf, lcm

from odtdsl.backends.milp.charges import total_range
from odtdsl.backends.milp.encoding import Encoding
from odtdsl.backends.milp.maxima import largest
from odtdsl.backends.milp.number_flow import NumberFlow
from odtdsl.backends.milp.patterns import Patterns, least_possible
from odtdsl.backends.milp.program import MAX_COEFFICIENT, OBJECTIVE, Affine, any_of
from odtdsl.base.diagnostics.model import error
from odtdsl.problem.ir.forms import (
    Additive,
    DepthStage,
    LinearStage,
    RegressionStage,
    StageForm,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Goal:
    """A stage inside a program.

    Attributes
    ----------
    cost
        y: integer coefficients without a common divisor, no constant.
    constant, grid, scale
        The value is `(constant + grid * y) / scale`.
    loose
        How many steps it may lie beside y: losses of numbers are rounded to whole ones.
    """

    cost: Affine
    constant: int
    grid: int
    scale: int
    loose: int = 0

    def value(self, y: int) -> Fraction:
        """The value of the stage at a value of the objective's integer column sum."""
        return Fraction(self.constant + self.grid * y, self.scale)

    def steps(self, value: Fraction) -> int:
        """The y of a value on the grid."""
        scaled = value * self.scale - self.constant
        return int(scaled // self.grid) + self.loose

    def lower_bound(self, bound: float) -> Fraction | None:
        """A solver's bound of y, forgiven its rounding errors, as a bound of the value."""
        if bound == -inf:
            return None
        return self.value(ceil(bound - max(1e-5, 1e-9 * abs(bound))) - self.loose)


def measures_of(stage: StageForm) -> list[Additive]:
    """All measures of a stage."""
    if isinstance(stage, DepthStage):
        return []
    if isinstance(stage, RegressionStage):
        return [stage.rest]
    assert isinstance(stage, LinearStage), "quotients are asked for as sums"
    return [stage.measure, *(part for _, parts in stage.maxima for part in parts)]


def lower_stage(encoding: Encoding, stage: StageForm, index: int) -> Goal:
    """The stage's expression; maxima and levels get columns and rows.

    Raises
    ------
    OdtError
        B221 the objective's numbers spread too far to be exact in a solver with floats.
    """
    if isinstance(stage, DepthStage):
        return _goal(_depth(encoding, index), 1)
    if isinstance(stage, RegressionStage):
        return _of_loss(encoding, stage)
    assert isinstance(stage, LinearStage), "quotients are asked for as sums"
    scale = stage.measure.denominator
    commons: list[int] = []
    for factor, parts in stage.maxima:
        common = lcm(*(part.denominator for part in parts))
        commons.append(common)
        scale = lcm(scale, (factor / common).denominator)
    if (paths := stage.path_sum) is not None:
        scale = lcm(scale, paths.whole_denominator)
    cost = Affine().add(encoding.of_model(stage.measure), scale // stage.measure.denominator)
    for number, ((factor, parts), common) in enumerate(zip(stage.maxima, commons, strict=True)):
        name = f"largest(stage{index},{number})"
        column = largest(encoding, parts, common, name, OBJECTIVE)
        cost.add_term(column, int(factor / common * scale))
    if paths is not None:
        spent = encoding.charges.total(encoding, paths, OBJECTIVE)
        cost.add(spent, scale // paths.whole_denominator)
    return _goal(cost, scale)


def _of_loss(encoding: Encoding, stage: RegressionStage) -> Goal:
    """A loss of numbers and the prices beside it, in whole steps of the loss."""
    assert isinstance(encoding, NumberFlow), "only trees of numbers have losses"
    rest, under = encoding.of_model(stage.rest), stage.rest.denominator
    prices = {column: Fraction(price, under) for column, price in rest.terms.items() if price}
    found = encoding.lost(stage.loss, tuple(prices.values()))
    cost = found.cost.copy()
    for column, price in prices.items():
        cost.add_term(column, round(price / found.step))
    constant = Fraction(rest.constant, under)
    scale = lcm(constant.denominator, found.step.denominator)
    return Goal(
        cost=Affine(terms={c: v for c, v in cost.terms.items() if v}),
        constant=int(constant * scale),
        grid=int(found.step * scale),
        scale=scale,
        loose=found.loose,
    )


def _goal(cost: Affine, scale: int) -> Goal:
    values = [v for v in cost.terms.values() if v]
    grid = gcd(*values) if values else 1
    reduced = Affine(terms={c: v // grid for c, v in cost.terms.items() if v})
    if max(map(abs, reduced.terms.values()), default=0) > MAX_COEFFICIENT:
        raise error(
            "B221",
            "the numbers of the objective need more than nine digits for `milp`",
            notes=("HiGHS computes in floats, with tolerances that would blur the optimum",),
            helps=(
                "round weights, costs or losses to fewer decimals",
                "`exact` takes up to 15 digits, of all stages together",
            ),
        )
    return Goal(cost=reduced, constant=cost.constant, grid=grid, scale=scale)


def _depth(encoding: Encoding, index: int) -> Affine:
    """One column per level: some node of it is active."""
    program, perfect = encoding.program, encoding.perfect
    depth = Affine()
    for level in range(perfect.depth):
        actives = [encoding.is_active(node) for node in perfect.at_level(level)]
        reached = program.column(f"reached(stage{index},{level})")
        for node, active in zip(perfect.at_level(level), actives, strict=True):
            row = active.copy().add_term(reached, -1)
            program.row(f"reach(stage{index},n{node})", OBJECTIVE, row, upper=0)
        depth.add_term(reached)
        program.completed_by(reached, any_of(actives))
    return depth


def keep(encoding: Encoding, goal: Goal, index: int, value: Fraction) -> None:
    """A row that keeps an earlier stage at its optimum."""
    encoding.program.row(f"keep_stage{index}", OBJECTIVE, goal.cost, upper=goal.steps(value))


def trivial_bound(
    stage: StageForm, patterns: Patterns, n_classes: int, most_splits: int
) -> Fraction:
    """A bound that needs no solver: every pattern has its best label."""

    def least(part: Additive) -> Fraction:
        cheapest = 0 if part.columns is None else int(part.columns.min(initial=0))
        per_split = min(0, cheapest + part.leaves)
        numerator = least_possible(part, patterns, n_classes) + most_splits * per_split
        return Fraction(numerator, part.denominator)

    return bound_by_parts(stage, least, patterns, most_splits)


def bound_by_parts(
    stage: StageForm,
    least: Callable[[Additive], Fraction],
    patterns: Patterns,
    most_splits: int,
    *,
    several: bool = False,
) -> Fraction:
    """A bound of a stage from those of its measures; `several` as in `charges.most_spent`."""
    if isinstance(stage, DepthStage):
        return Fraction(0)
    assert isinstance(stage, LinearStage), "losses of numbers have no such bound"
    value = least(stage.measure)
    for factor, parts in stage.maxima:
        value += factor * max(least(part) for part in parts)
    if (paths := stage.path_sum) is not None:
        lowest = total_range(paths, patterns, most_splits, several=several)[0]
        value += Fraction(lowest, paths.whole_denominator)
    return value
