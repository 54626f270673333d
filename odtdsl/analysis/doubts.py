"""Warnings about rules that no split, path or model can keep, told before any search."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from odtdsl.analysis.desk import Desk
from odtdsl.diagnostics.model import OdtError
from odtdsl.ir.expr import Compare, Scope
from odtdsl.ir.forms import (
    Additive,
    Budget,
    Clause,
    Linear,
    PathMeasure,
    PathTotal,
    SignedAtom,
    SplitFilter,
)
from odtdsl.ir.intervals import FULL, RealSet, nearest_float
from odtdsl.ir.problem import FeatureDecl, RuleDecl
from odtdsl.ir.rows import Rows
from odtdsl.syntax.expressions import name_text
from odtdsl.terms.base import EmptyDenominator, Unsupported
from odtdsl.terms.formulas import TooManyCases
from odtdsl.terms.normalize import rule_forms

MOST_BOUNDS = 30
"""Bounds of one rule that are held against each other; many groups make many."""


def doubts(rows: Rows, desk: Desk) -> None:
    """File warnings; rules that normalization refuses are left to it."""
    for feature in rows.problem.features:
        if feature.candidates.place == "values":
            listed = RealSet.points(float(value) for value in feature.candidates.values)
            if (range_ := _range(feature, rows)) is not None and not _meets(listed, range_):
                desk.warn(
                    "D212", f"`{feature.name}` is never split: no candidate lies among its values",
                    notes=(_between(feature, range_),),
                )  # fmt: skip
    for rule in rows.problem.rules:
        try:
            forms = rule_forms(rule, rows)
        except (Unsupported, EmptyDenominator, TooManyCases, OdtError):
            continue
        _doubt_filters(rule, forms.filters, rows, desk)
        _doubt_clauses(rule, forms.clauses, rows, desk)


# ---- thresholds


def _doubt_filters(
    rule: RuleDecl, filters: tuple[SplitFilter, ...], rows: Rows, desk: Desk
) -> None:
    for each in filters:
        feature = rows.problem.features[each.column]
        range_ = _range(feature, rows)
        if range_ is None or not each.allowed or each.allowed == FULL:
            continue
        if not _meets(each.allowed, range_):
            desk.warn(
                "R106", f"rule `{rule.name}` lets no split test `{feature.name}`", rule.span,
                notes=(_between(feature, range_),),
                helps=(
                    "take thresholds inside this range, or say what you mean with"
                    f" `not uses({name_text(feature.name)})`",
                ),
            )  # fmt: skip


def _range(feature: FeatureDecl, rows: Rows) -> tuple[float, float] | None:
    """The least and largest training value of a number; None for others and without two."""
    numbers = rows.data.columns[feature.name].numbers
    if numbers is None:
        return None
    present = numbers[~np.isnan(numbers)]
    if not present.size or present.min() == present.max():
        return None
    return float(present.min()), float(present.max())


def _meets(allowed: RealSet, range_: tuple[float, float]) -> bool:
    """Whether some threshold of the set parts the values: it lies in [low, high)."""
    low, high = range_
    return bool(allowed & RealSet.above(low, closed=True) & RealSet.below(high, closed=False))


def _between(feature: FeatureDecl, range_: tuple[float, float]) -> str:
    return f"the training values of `{feature.name}` lie between {range_[0]:g} and {range_[1]:g}"


# ---- clauses


def _doubt_clauses(rule: RuleDecl, clauses: tuple[Clause, ...], rows: Rows, desk: Desk) -> None:
    """A clause all of whose literals are plainly false."""
    what = "tree" if rule.scope is Scope.MODEL else rule.scope.value
    for clause in clauses:
        if all(_impossible(literal, rule.scope) for literal in clause.literals):
            desk.warn(
                "R107", f"no {what} can keep rule `{rule.name}`", rule.span,
                notes=_why(rule, clause.literals),
            )  # fmt: skip
            return
    if rule.scope is Scope.MODEL and _at_odds(clauses):
        desk.warn(
            "R107", f"no tree can keep rule `{rule.name}`", rule.span,
            notes=("two of the bounds that it stands for leave nothing between them",),
        )  # fmt: skip


def _at_odds(clauses: tuple[Clause, ...]) -> bool:
    """Whether two bounds on measures of the model cannot both hold: their sum's cannot."""
    alone = [clause.literals[0].atom for clause in clauses if len(clause.literals) == 1]
    bounds = [atom for atom in alone if isinstance(atom, Linear)][:MOST_BOUNDS]
    for one, other in combinations(bounds, 2):
        both = one.measure + other.measure
        least = _least_of_model(both)
        room = Fraction(one.at_most, one.measure.denominator)
        room += Fraction(other.at_most, other.measure.denominator)
        if least is not None and Fraction(least, both.denominator) > room:
            return True
    return False


def _impossible(literal: SignedAtom, scope: Scope) -> bool:
    least = _least(literal, scope)
    atom = literal.atom
    return (
        least is not None and isinstance(atom, Budget | Linear | PathTotal) and least > atom.at_most
    )


def _least(literal: SignedAtom, scope: Scope) -> int | None:
    """A value that a measure is never below; None where none is plain."""
    match literal.atom:
        case Budget(measure=measure):
            return _least_of_path(measure)
        case Linear(measure=measure) if scope is Scope.MODEL:
            return _least_of_model(measure)
        case Linear(measure=measure):
            return _least_of_rows(measure)
        case PathTotal(measure=measure, path_sum=paths):
            rest, path = _least_of_model(measure), _least_of_path(paths.measure)
            if rest is None or path is None or paths.weights.min(initial=0) < 0:
                return None
            return rest + path * int(paths.weights.sum())
        case _:
            return None


def _least_of_path(measure: PathMeasure) -> int | None:
    weights = (*measure.per_test, *measure.once, *(s.amount for s in measure.shared))
    return measure.constant if min(weights, default=0) >= 0 else None


def _least_of_model(measure: Additive) -> int | None:
    """Every row has its best label; splits may be none, and one leaf there is."""
    if measure.leaves < 0 or (measure.columns is not None and measure.columns.min(initial=0) < 0):
        return None
    least = measure.constant + measure.leaves
    if measure.rows is not None:
        least += int(measure.rows.sum())
    if measure.output is not None:
        least += int(measure.output.min(axis=1).sum())
    return least


def _least_of_rows(measure: Additive) -> int | None:
    """Of a leaf or split: of the rows with their best labels those that lower it, at least one."""
    parts = [0 if measure.rows is None else measure.rows]
    if measure.output is not None:
        parts.append(measure.output.min(axis=1))
    each = np.atleast_1d(sum(parts))
    below = each[each < 0]
    return measure.constant + int(below.sum() if below.size else each.min())


def _why(rule: RuleDecl, literals: tuple[SignedAtom, ...]) -> tuple[str, ...]:
    """By how much a bound is missed at the best; nothing where it is strict."""
    if isinstance(rule.condition, Compare) and rule.condition.op in ("<", ">"):
        return ()
    if len(literals) != 1 or (least := _least(literals[0], rule.scope)) is None:
        return ()
    atom = literals[0].atom
    if not isinstance(atom, Budget | Linear | PathTotal):
        return ()
    room = Fraction(atom.at_most - least, atom.measure.denominator)
    return (f"even at best the bound is missed by {nearest_float(-room):g}",)
