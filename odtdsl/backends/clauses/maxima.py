"""Bounds on sums of the largest of sums, for solvers that have sums as they are."""

from __future__ import annotations

from collections.abc import Callable

from odtdsl.backends.clauses.formula import BoundOfMaxima, Formula
from odtdsl.backends.clauses.sums import Terms
from odtdsl.problem.ir.forms import Additive, MaximaBound
from odtdsl.problem.ir.maxima import whole


def bound_maxima(
    formula: Formula,
    atom: MaximaBound,
    terms: Callable[[Additive], Terms],
    guard: tuple[int, ...] = (),
) -> None:
    """The atom holds, or one of the guard's literals is true; `terms` gives numerators."""
    assert formula.bounds is not None, "clauses alone are refused before"
    asked = whole(atom)
    formula.maxima.append(
        BoundOfMaxima(
            groups=len(formula.groups),
            parts=tuple(
                (coefficient, tuple(_raised(terms(one), up) for up, one in parts))
                for coefficient, parts in asked.terms
            ),
            most=asked.at_most,
            guard=guard,
        )
    )


def _raised(terms: Terms, factor: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    constant, weighted = terms.positive()
    return constant * factor, tuple((literal, weight * factor) for literal, weight in weighted)
