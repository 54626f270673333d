"""The value of typed expressions on finished models, and whether conditions hold there.

Expressions are those of the analysed problem, with names resolved; what each term in them means
is in `meanings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from odtdsl.auditor.meanings import IN_FLOATS, MEANINGS, Share
from odtdsl.auditor.routing import ModelOn, Place, SplitOn
from odtdsl.auditor.rows import ORDER, NoValue, nearest
from odtdsl.problem.ir.expr import (
    COMPLEMENT,
    Abs,
    AndC,
    Apply,
    Arith,
    Compare,
    Condition,
    Const,
    Count,
    Expr,
    FeatureArg,
    Level,
    Minus,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    RowShare,
    Scope,
    applications,
)
from odtdsl.problem.ir.problem import RuleDecl

FLOAT_TOLERANCE = Fraction(1, 10**9)
"""Leaf outputs and losses of number targets are floats: `value <= bound` allows
1e-9 * (1 + |bound|)."""

Number = Fraction | Share


def instances(rule: RuleDecl, place: ModelOn) -> Sequence[Place]:
    """What a rule ranges over: the model itself, or its paths, leaves or splits.

    A rule with `threshold(f)` ranges over the splits that test f, one with `feature` over each
    feature of each split: a hyperplane has several.
    """
    match rule.scope:
        case Scope.MODEL:
            return (place,)
        case Scope.PATH:
            return place.paths
        case Scope.LEAF:
            return place.leaves
        case Scope.SPLIT:
            calls = applications(rule.condition)
            feature = threshold_feature(calls)
            splits = [s for s in place.splits if feature is None or feature in s.features]
            if not any(call.term == "feature" for call in calls):
                return splits
            return [replace(s, features=(name,)) for s in splits for name in s.features]
        case _:
            assert_never(rule.scope)


def threshold_feature(calls: Sequence[Apply]) -> str | None:
    """The feature of the `threshold(f)` among a condition's terms; None without one."""
    asked = [arg for call in calls if call.term == "threshold" for arg in call.args]
    return next((arg.name for arg in asked if isinstance(arg, FeatureArg)), None)


# ---- numbers


def number(expr: Expr, place: Place) -> Number:
    """The value of a numeric expression; a `Share` where it holds a quotient."""
    match expr:
        case Const():
            return expr.value
        case RowShare():
            group = () if expr.group is None else (expr.group,)
            return expr.share * place.rows.count(place.rows.of_group(group))
        case Apply():
            value = MEANINGS[expr.term](place, expr)
            assert not isinstance(value, bool), "analysis admits numbers only"
            return value
        case Minus():
            return _times(Fraction(-1), number(expr.operand, place))
        case Abs():
            value = number(expr.operand, place)
            if isinstance(value, Share):
                return replace(value, over=abs(value.over))
            return abs(value)
        case Count():
            return Fraction(sum(holds(condition, place) for condition in expr.conditions))
        case Arith():
            return _arith(expr, place)
        case _:
            assert_never(expr)


def _arith(expr: Arith, place: Place) -> Number:
    left, right = number(expr.left, place), number(expr.right, place)
    match expr.op:
        case "+":
            return _plus(left, right)
        case "-":
            return _plus(left, _times(Fraction(-1), right))
        case "*":
            if isinstance(left, Fraction):
                return _times(left, right)
            assert isinstance(right, Fraction), "normalization refuses products of measures"
            return _times(right, left)
        case "/":
            assert isinstance(right, Fraction), "normalization refuses quotients by measures"
            return _times(1 / right, left)
        case _:
            assert_never(expr.op)


def _plus(left: Number, right: Number) -> Number:
    if isinstance(left, Share):
        assert isinstance(right, Fraction), "normalization refuses sums of quotients"
        return replace(left, over=left.over + right * left.under)
    return _plus(right, left) if isinstance(right, Share) else left + right


def _times(factor: Fraction, value: Number) -> Number:
    if isinstance(value, Share) and factor:
        return replace(value, over=factor * value.over)
    return Fraction(0) if isinstance(value, Share) else factor * value


# ---- conditions


def holds(condition: Condition, place: Place) -> bool:
    """Whether a condition holds on a model, a path, a leaf or a split."""
    match condition:
        case Apply():
            value = MEANINGS[condition.term](place, condition)
            assert isinstance(value, bool), "analysis admits conditions only"
            return value
        case NotC() if _in_floats(condition):
            return _open_holds(condition.operand, place, wish=False)
        case NotC():
            return not holds(condition.operand, place)
        case AndC():
            return _decided(condition.items, place, by=False)
        case OrC():
            return _decided(condition.items, place, by=True)
        case Compare():
            return _compare(condition, place)
        case OneOf():
            return any(
                _compare(Compare(op="=", left=condition.item, right=Const(value=value)), place)
                for value in condition.values
            )
        case MultipleOf():
            value = number(condition.item, place)
            assert isinstance(value, Fraction), "normalization refuses multiples of quotients"
            return is_multiple(value, condition.step, float_like=_is_threshold(condition.item))
        case Level():
            assert isinstance(place, SplitOn)
            return getattr(place.test, "value", None) in condition.values
        case _:
            assert_never(condition)


def _decided(items: Sequence[Condition], place: Place, *, by: bool) -> bool:
    """Whether conditions joined by `or` (which a true one decides) or `and` (a false one) hold.

    One without a value matters only if no other decides.
    """
    unknown = None
    for item in items:
        try:
            if holds(item, place) == by:
                return by
        except NoValue as reason:
            unknown = reason
    if unknown is not None:
        raise unknown
    return not by


def is_multiple(value: Fraction, step: Fraction, *, float_like: bool) -> bool:
    """Whether a value is a multiple; a float is one iff it is the nearest float of one."""
    if float_like:
        return nearest(round(value / step) * step) == nearest(value)
    return (value / step).denominator == 1


def _is_threshold(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.term == "threshold"


def _in_floats(expr: Expr | Condition) -> bool:
    return any(call.term in IN_FLOATS for call in applications(expr))


def _compare(condition: Compare, place: Place) -> bool:
    if _in_floats(condition.left) or _in_floats(condition.right):
        return _nearly(condition, place)
    left, right = number(condition.left, place), number(condition.right, place)
    if isinstance(left, Share) or isinstance(right, Share):
        difference = _plus(left, _times(Fraction(-1), right))
        assert isinstance(difference, Share), "a quotient and a constant"
        vacuous = difference.under == 0
        return vacuous or ORDER[condition.op](difference.over, Fraction(0))
    if _is_threshold(condition.left) or _is_threshold(condition.right):
        # A threshold is a float64: it is compared with the literal's nearest float64.
        return bool(ORDER[condition.op](nearest(left), nearest(right)))
    return bool(ORDER[condition.op](left, right))


# ---- leaf outputs and losses of number targets


def _nearly(condition: Compare, place: Place) -> bool:
    """Compare floats: strict is read as its closure, with the stated tolerance.

    A condition inside `count` is neither wholly true nor false at its boundary; a comparison
    of a count holds if some way of counting those there makes it hold.
    """
    (low, high), (from_, to) = _range(condition.left, place), _range(condition.right, place)
    bound = high if _in_floats(condition.right) and not _in_floats(condition.left) else to
    slack = FLOAT_TOLERANCE * (1 + abs(bound))
    match condition.op:
        case "<=" | "<":
            return low <= to + slack
        case ">=" | ">":
            return high >= from_ - slack
        case "=":
            return low <= to + slack and high >= from_ - slack
        case "!=":
            return not (low == high == from_ == to)
        case _:
            assert_never(condition.op)


def _range(expr: Expr, place: Place) -> tuple[Fraction, Fraction]:
    """The least and the largest value, over how conditions at their boundary are counted."""
    match expr:
        case Count():
            surely = sum(not _open_holds(item, place, wish=False) for item in expr.conditions)
            maybe = sum(_open_holds(item, place, wish=True) for item in expr.conditions)
            return Fraction(surely), Fraction(maybe)
        case Minus():
            low, high = _range(expr.operand, place)
            return -high, -low
        case Arith(op="+" | "-"):
            low, high = _range(expr.left, place)
            from_, to = _range(expr.right, place)
            if expr.op == "-":
                from_, to = -to, -from_
            return low + from_, high + to
        case _:
            value = number(expr, place)
            assert isinstance(value, Fraction), "outputs are no quotients"
            return value, value


def _open_holds(condition: Condition, place: Place, *, wish: bool) -> bool:
    """Whether the closure of a condition (`wish`) or of its negation holds."""
    match condition:
        case NotC():
            return _open_holds(condition.operand, place, wish=not wish)
        case AndC() | OrC():
            found = (_open_holds(item, place, wish=wish) for item in condition.items)
            return all(found) if isinstance(condition, AndC) == wish else any(found)
        case OneOf() if not wish:
            return not holds(condition, place)
        case Compare() if not wish:
            op = COMPLEMENT[condition.op]
            return holds(Compare(op=op, left=condition.left, right=condition.right), place)
        case _:
            return holds(condition, place) == wish
