"""Comparisons of numbers to formulas of atoms, by the measures that they hold.

Every comparison is `form op 0` for a linear form. What is linear in the end is accepted in
any arrangement; all bounds are integers, so that `<` and `!=` are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, lcm
from typing import assert_never

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.expr import COMPARE, MIRRORED, Arith, Compare, CompareOp, Condition, Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Budget,
    Depth,
    DepthMeasure,
    Linear,
    LossBound,
    MaximaBound,
    PathMeasure,
    PathSum,
    PathTotal,
    TargetLoss,
)
from odtdsl.problem.ir.maxima import common_denominator
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Formula,
    Holds,
    Quotient,
    Smallest,
    Unsupported,
)
from odtdsl.problem.terms.formulas import MOST_CLAUSES, TooManyCases, at_least, at_most, negated
from odtdsl.problem.terms.linear import (
    LinearForm,
    additive,
    additive_maxima,
    expected,
    linear_form,
    of_model,
    one_loss,
    plus,
    times,
)
from odtdsl.problem.terms.registry import quotients

FEW_CASES = 64
"""Up to so many cases, a bound on a sum of maxima is written as clauses, which more back ends
have."""

Nested = Callable[[Condition], Formula]
"""How a condition inside `count` becomes a formula."""


def comparison(condition: Compare, rows: Rows, scope: Scope, nested: Nested) -> Formula:
    """`left op right` as `left - right op 0`."""
    form = linear_form(Arith(op="-", left=condition.left, right=condition.right), rows, scope)
    return _compare(condition.op, form, scope, nested)


def _compare(op: CompareOp, form: LinearForm, scope: Scope, nested: Nested) -> Formula:
    if form.maxima:
        return _with_maximum(op, form, scope, nested)
    if form.counts:
        return _count(op, form, nested)
    if form.mentions(TargetLoss):
        return _loss(op, form)
    if form.mentions(Quotient) or form.mentions(Smallest):
        return _only_with_constants(op, form, scope)
    if form.mentions(DepthMeasure):
        return _depth(op, form)
    if form.mentions(PathMeasure):
        return _budget(op, form)
    if form.mentions(PathSum):
        return _path_total(op, form)
    total = additive(form)
    assert total is not None, "all other measures are additive"
    return _linear(op, total, scope)


def _truth(op: CompareOp, number: Fraction | int) -> Formula:
    return TRUE if COMPARE[op](Fraction(number), Fraction(0)) else FALSE


def _by_op(op: CompareOp, bounded: Callable[[int, int], Formula]) -> Formula:
    """`n op 0` for an integer n, given `bounded(b, s)` for `s n <= b`."""
    match op:
        case "<=":
            return bounded(0, 1)
        case "<":
            return bounded(-1, 1)
        case ">=":
            return bounded(0, -1)
        case ">":
            return bounded(-1, -1)
        case "=":
            return AllOf(items=(bounded(0, 1), bounded(0, -1)))
        case "!=":
            return AnyOf(items=(bounded(-1, 1), bounded(-1, -1)))
        case _:
            assert_never(op)


def _linear(op: CompareOp, measure: Additive, scope: Scope) -> Formula:
    """`measure op 0` for an additive measure."""
    if scope is Scope.MODEL:
        measure = of_model(measure)
    if measure.is_constant:
        return _truth(op, measure.constant)

    def bounded(bound: int, sign: int) -> Formula:
        signed = measure if sign > 0 else measure.scaled(Fraction(-1))
        if scope is Scope.MODEL and _never_exceeds(signed, bound):
            return TRUE
        return Holds(atom=Linear(measure=signed, at_most=bound))

    return _by_op(op, bounded)


def _never_exceeds(measure: Additive, bound: int) -> bool:
    """Whether no model at all exceeds the bound: half of `errors = 0` says nothing."""
    columns_rise = measure.columns is not None and bool((measure.columns > 0).any())
    if measure.leaves > 0 or measure.splits > 0 or columns_rise:
        return False
    largest = measure.constant + measure.leaves  # every model has a leaf
    if measure.output is not None:
        largest += int(measure.output.max(axis=1).sum())
    return largest <= bound


def _budget(op: CompareOp, form: LinearForm) -> Formula:
    """`form op 0` for measures of a path."""
    total: PathMeasure | None = None
    for factor, measure in form.parts:
        assert isinstance(measure, PathMeasure), "a path has no other measures"
        scaled = measure.scaled(factor)
        total = scaled if total is None else total + scaled
    assert total is not None, "the form mentions one"
    n = len(total.once)
    total = total + PathMeasure(
        per_test=(0,) * n,
        once=(0,) * n,
        constant=form.constant.numerator,
        denominator=form.constant.denominator,
    )
    amounts = (*total.per_test, *total.once, *(s.amount for s in total.shared), total.per_split)
    if not any(amounts):
        return _truth(op, total.constant)

    def bounded(bound: int, sign: int) -> Formula:
        signed = total if sign > 0 else total.scaled(Fraction(-1))
        return Holds(atom=Budget(measure=signed, at_most=bound))

    return _by_op(op, bounded)


def _loss(op: CompareOp, form: LinearForm) -> Formula:
    """`form op 0` for a loss of number targets: floats, so that `<` is read as `<=`."""
    loss, rest = one_loss(form)
    if not rest.is_constant:
        raise Unsupported("a loss of number targets can be compared only with constants")
    if op in ("=", "!="):
        raise Unsupported(
            "a loss of number targets is a floating-point number: only `<=` is allowed"
        )
    if not any(loss.factors) or not loss.weights.any():  # of two groups of the same rows
        return _truth(op, rest.constant)
    bound = -Fraction(rest.constant, rest.denominator)
    signs = {factor > 0 for factor in loss.factors if factor}
    if len(signs) != 1:
        raise Unsupported("differences of losses of number targets are not supported")
    if signs == {False}:
        loss, bound, op = loss.scaled(Fraction(-1)), -bound, MIRRORED[op]
    return Holds(atom=LossBound(loss=loss, at_most=bound), positive=op in ("<", "<="))


def _path_total(op: CompareOp, form: LinearForm) -> Formula:
    """`form op 0` for the expected cost, with additive measures or without."""
    rest, paths = expected(form)
    if paths is None:
        return _linear(op, rest, Scope.MODEL)
    common = lcm(rest.denominator, paths.whole_denominator)
    measure = rest + Additive(denominator=common)
    path_sum = PathSum(
        weights=paths.scaled(Fraction(common // paths.whole_denominator)).weights,
        measure=paths.measure,
        denominator=common // paths.measure.denominator,
    )

    def bounded(bound: int, sign: int) -> Formula:
        factor = Fraction(sign)
        return Holds(
            atom=PathTotal(
                measure=measure.scaled(factor), path_sum=path_sum.scaled(factor), at_most=bound
            )
        )

    return _by_op(op, bounded)


def _depth(op: CompareOp, form: LinearForm) -> Formula:
    """`factor * depth + constant op 0`."""
    if any(not isinstance(measure, DepthMeasure) for _, measure in form.parts):
        raise Unsupported("`depth` is not additive: it can be compared only with constants")
    factor = sum((a for a, _ in form.parts), Fraction(0))
    if factor == 0:
        return _truth(op, form.constant)
    limit = -form.constant / factor
    sense = op if factor > 0 else MIRRORED[op]

    def bounded(bound: int) -> Formula:
        return FALSE if bound < 0 else Holds(atom=Depth(at_most=bound))

    match sense:
        case "<=":
            return bounded(floor(limit))
        case "<":
            return bounded(ceil(limit) - 1)
        case ">=":
            return negated(bounded(ceil(limit) - 1))
        case ">":
            return negated(bounded(floor(limit)))
        case "=" | "!=":
            equal: Formula = FALSE
            if limit.denominator == 1:
                equal = AllOf(items=(bounded(int(limit)), negated(bounded(int(limit) - 1))))
            return equal if sense == "=" else negated(equal)
        case _:
            assert_never(sense)


def _with_maximum(op: CompareOp, form: LinearForm, scope: Scope, nested: Nested) -> Formula:
    """Few cases as clauses. Else, and where all cases together have too many digits, a sum of
    maxima that is bounded from above is an atom of its own."""
    if op in ("=", "!="):
        parts: tuple[CompareOp, CompareOp] = ("<=", ">=") if op == "=" else ("<", ">")
        both = tuple(_with_maximum(part, form, scope, nested) for part in parts)
        return AllOf(items=both) if op == "=" else AnyOf(items=both)
    if form.cases > FEW_CASES and (atom := _maxima_bound(op, form, scope)) is not None:
        return Holds(atom=atom)
    if form.cases > MOST_CLAUSES:
        raise TooManyCases
    try:
        return _cases(op, form, scope, nested)
    except OdtError:  # R301: a denominator for all
        if (atom := _maxima_bound(op, form, scope)) is None:
            raise
        return Holds(atom=atom)


def _maxima_bound(op: CompareOp, form: LinearForm, scope: Scope) -> MaximaBound | None:
    """`form op 0` as one atom; None where the maxima are bounded from below, or not additive."""
    if op in (">", ">="):
        op, form = MIRRORED[op], times(Fraction(-1), form)
    rest = additive(LinearForm(constant=Fraction(0), parts=form.parts))
    maxima = additive_maxima(form) if all(factor > 0 for factor, _ in form.maxima) else None
    if scope is not Scope.MODEL or form.counts or rest is None or maxima is None:
        return None
    atom = MaximaBound(measure=of_model(rest), maxima=maxima, at_most=-form.constant)
    if op == "<=":
        return atom
    over = common_denominator(atom)
    below = Fraction(ceil(atom.at_most * over) - 1, over)
    return MaximaBound(measure=atom.measure, maxima=maxima, at_most=below)


def _cases(op: CompareOp, form: LinearForm, scope: Scope, nested: Nested) -> Formula:
    """Take the maxima apart, one after the other.

    A maximum is at most a bound iff all its forms are, and at least a bound iff one is; a
    negative factor swaps the two. Neither goes through a negation, which would turn what
    holds vacuously.
    """
    if not form.maxima:
        return _compare(op, form, scope, nested)
    (factor, forms), *others = form.maxima
    rest = LinearForm(
        constant=form.constant, parts=form.parts, counts=form.counts, maxima=tuple(others)
    )
    cases = tuple(_cases(op, plus(rest, times(factor, each)), scope, nested) for each in forms)
    return AllOf(items=cases) if (op in ("<", "<=")) == (factor > 0) else AnyOf(items=cases)


def _count(op: CompareOp, form: LinearForm, nested: Nested) -> Formula:
    """`factor * count(C1, ..., Cn) + constant op 0`, by how many may hold."""
    if form.parts or len(form.counts) != 1:
        raise Unsupported("`count` can be compared only with constants", code="R204")
    factor, count = form.counts[0]
    items = tuple(nested(item) for item in count.conditions)
    n = len(items)
    good = [k for k in range(n + 1) if COMPARE[op](factor * k + form.constant, Fraction(0))]
    runs: list[tuple[int, int]] = []
    for k in good:
        if runs and runs[-1][1] == k - 1:
            runs[-1] = (runs[-1][0], k)
        else:
            runs.append((k, k))
    return AnyOf(
        items=tuple(AllOf(items=(at_least(low, items), at_most(high, items))) for low, high in runs)
    )


def _only_with_constants(op: CompareOp, form: LinearForm, scope: Scope) -> Formula:
    """A quotient, or a ratio over groups, against a constant."""
    if len(form.parts) != 1:
        raise Unsupported(
            f"a quotient such as `{quotients(scope)[0]}` can be compared only with constants",
            code="R202",
            help="compare it with a number, such as 80%, and the other one in a rule of its own",
        )
    factor, measure = form.parts[0]
    bound = -form.constant / factor
    sense = op if factor > 0 else MIRRORED[op]
    if isinstance(measure, Smallest):
        return _ratio(sense, measure.of, bound)
    assert isinstance(measure, Quotient)
    cleared = _linear(sense, measure.over + measure.under.scaled(-bound), scope)
    if sense in ("<=", ">=", "="):
        return cleared
    return AnyOf(items=(cleared, _linear("<=", measure.under, scope)))


def _ratio(op: CompareOp, of: tuple[Additive, ...], bound: Fraction) -> Formula:
    """Smallest over largest of measures that are at least 0 against a bound; 1 for 0 over 0."""
    if op in ("<", "<="):
        return negated(_ratio(">=" if op == "<" else ">", of, bound))
    if op in ("=", "!="):
        equal = AllOf(items=(_ratio("<=", of, bound), _ratio(">=", of, bound)))
        return equal if op == "=" else negated(equal)
    if bound < 0:
        return TRUE
    if bound > 1 or (bound == 1 and op == ">"):
        return FALSE
    pairs = AllOf(
        items=tuple(
            _linear(op, a + b.scaled(-bound), Scope.MODEL)
            for i, a in enumerate(of)
            for j, b in enumerate(of)
            if i != j
        )
    )
    if op == ">=":
        return pairs
    nothing = AllOf(items=tuple(_linear("<=", a, Scope.MODEL) for a in of))
    return AnyOf(items=(nothing, pairs))
