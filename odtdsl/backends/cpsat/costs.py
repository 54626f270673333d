"""Stages of the objective as integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from odtdsl.backends.clauses.sums import Terms
from odtdsl.backends.cpsat.program import Cost
from odtdsl.problem.ir.forms import Additive, LinearStage


def scaled(stage: LinearStage, terms: Callable[[Additive], Terms]) -> tuple[Cost, int]:
    """A stage over one denominator, its largest of sums included; without its sum over paths,
    whose denominator the whole one has as a factor."""
    whole = stage.measure.denominator
    if stage.path_sum is not None:
        whole = lcm(whole, stage.path_sum.whole_denominator)
    for factor, parts in stage.maxima:
        inner = lcm(*(part.denominator for part in parts))
        whole = lcm(whole, factor.denominator * inner)
    maxima: list[tuple[int, tuple[Terms, ...]]] = []
    for factor, parts in stage.maxima:
        inner = lcm(*(part.denominator for part in parts))
        times = factor * whole / inner
        assert times.denominator == 1, "`whole` is a multiple of it"
        raised = tuple(terms(part.scaled(Fraction(inner // part.denominator))) for part in parts)
        maxima.append((times.numerator, raised))
    first = terms(stage.measure.scaled(Fraction(whole // stage.measure.denominator)))
    return Cost(terms=first, maxima=tuple(maxima)), whole
