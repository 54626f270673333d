"""A spec with rules left out or moved, or with a wider skeleton, on the same rows."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.insight.explanations.oracle import Constraint, relaxed
from odtdsl.problem.ir.problem import Problem, TreeSkeleton
from odtdsl.problem.ir.regression import near
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

Vector = tuple[Fraction, ...]
"""Values of the stages, signed so that less is better; a shorter one leaves the rest open below."""


def varied(analysis: Analysis, problem: Problem) -> Analysis:
    """The analysis with another problem on the same rows."""
    return replace(analysis, problem=problem, rows=Rows(problem, analysis.rows.data))


def without(analysis: Analysis, dropped: Set[Constraint], deeper: int) -> Analysis:
    """The analysis with some constraints relaxed: rules gone, bounds of the skeleton wider."""
    problem = analysis.problem
    names = {one.name for one in dropped if one.kind == "rule"}
    kinds = {one.kind for one in dropped}
    assert isinstance(problem.skeleton, TreeSkeleton), "diagrams have been rejected"
    return varied(
        analysis,
        replace(
            problem,
            rules=tuple(rule for rule in problem.rules if rule.name not in names),
            skeleton=relaxed(
                problem.skeleton,
                deeper=deeper if "depth" in kinds else 0,
                leaves="leaves" in kinds,
            ),
        ),
    )


def signed(problem: Problem, values: Vector) -> Vector:
    """Values of the spec's stages so that less is better; and back again."""
    return tuple(
        value if stage.sense == "minimize" else -value
        for stage, value in zip(problem.objective, values, strict=False)
    )


def compared(problem: Problem, a: Vector, b: Vector) -> int:
    """-1, 0 or 1 as `a` is less than, equal to or more than `b`, the first stages first.

    What is left open below counts as least. Losses of number targets are floats: near ones are
    equal.
    """
    floats = ProblemPart.of(problem.target.kind).in_floats
    for x, y in zip(a, b, strict=False):
        if x != y and not (floats and near(x, y)):
            return -1 if x < y else 1
    return (len(a) > len(b)) - (len(a) < len(b))
