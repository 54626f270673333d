"""The value of typed expressions on finished models: the meaning that answers are audited by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from odtdsl.ir.expr import (
    COMPARE,
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
)  # fmt: skip
from odtdsl.ir.intervals import nearest_float
from odtdsl.ir.problem import RuleDecl
from odtdsl.terms.base import Kind, Ratio
from odtdsl.terms.registry import BY_NAME
from odtdsl.terms.view import ModelView, SplitView, View

FLOAT_TOLERANCE = Fraction(1, 10**9)
"""Leaf outputs and losses of number targets are floats: `value <= bound` allows
1e-9 * (1 + |bound|)."""

Number = Fraction | Ratio


def instances(rule: RuleDecl, view: ModelView) -> Sequence[View]:
    """What a rule ranges over: the model itself, or its paths, leaves or splits.

    A rule with `threshold(f)` ranges over the splits that test f, one with `feature` over each
    feature of each split: a hyperplane has several.
    """
    match rule.scope:
        case Scope.MODEL:
            return (view,)
        case Scope.PATH:
            return view.paths
        case Scope.LEAF:
            return view.leaves
        case Scope.SPLIT:
            calls = applications(rule.condition)
            feature = threshold_feature(calls)
            splits = [s for s in view.splits if feature is None or feature in s.features]
            if not any(call.term == "feature" for call in calls):
                return splits
            return [replace(s, features=(name,)) for s in splits for name in s.features]
        case _:
            assert_never(rule.scope)


def applications(node: Condition | Expr) -> list[Apply]:
    """All terms applied in an expression, from left to right, with those inside `gap`."""
    match node:
        case Apply():
            return [node] if node.of is None else [node, node.of]
        case Const() | RowShare():
            return []
        case Minus() | Abs() | NotC():
            return applications(node.operand)
        case Arith() | Compare():
            return applications(node.left) + applications(node.right)
        case OneOf() | MultipleOf() | Level():
            return applications(node.item)
        case Count():
            return [found for item in node.conditions for found in applications(item)]
        case AndC() | OrC():
            return [found for item in node.items for found in applications(item)]
        case _:
            assert_never(node)


def threshold_feature(calls: Iterable[Apply]) -> str | None:
    """The feature of the `threshold(f)` among a condition's terms; None without one."""
    for call in calls:
        if BY_NAME[call.term].kind is Kind.THRESHOLD:
            (argument,) = call.args
            assert isinstance(argument, FeatureArg)
            return argument.name
    return None


# ---- numbers


def number(expr: Expr, view: View) -> Number:
    """The value of a numeric expression; a `Ratio` where it holds a quotient."""
    match expr:
        case Const():
            return expr.value
        case RowShare():
            return expr.share * int(view.rows.mask(expr.group).sum())
        case Apply():
            value = BY_NAME[expr.term].value(view, expr)
            assert not isinstance(value, bool), "analysis admits numbers only"
            return value
        case Minus():
            return _times(Fraction(-1), number(expr.operand, view))
        case Abs():
            value = number(expr.operand, view)
            if isinstance(value, Ratio):
                return Ratio(over=abs(value.over), under=value.under)
            return abs(value)
        case Count():
            return Fraction(sum(holds(condition, view) for condition in expr.conditions))
        case Arith():
            return _arith(expr, view)
        case _:
            assert_never(expr)


def _arith(expr: Arith, view: View) -> Number:
    left, right = number(expr.left, view), number(expr.right, view)
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
    if isinstance(left, Ratio):
        assert isinstance(right, Fraction), "normalization refuses sums of quotients"
        return Ratio(over=left.over + right * left.under, under=left.under)
    return _plus(right, left) if isinstance(right, Ratio) else left + right


def _times(factor: Fraction, value: Number) -> Number:
    if isinstance(value, Ratio) and factor:
        return Ratio(over=factor * value.over, under=value.under)
    return Fraction(0) if isinstance(value, Ratio) else factor * value


# ---- conditions


def holds(condition: Condition, view: View) -> bool:
    """Whether a condition holds on a model, a path, a leaf or a split."""
    match condition:
        case Apply():
            value = BY_NAME[condition.term].value(view, condition)
            assert isinstance(value, bool), "analysis admits conditions only"
            return value
        case NotC():
            return not holds(condition.operand, view)
        case AndC():
            return all(holds(item, view) for item in condition.items)
        case OrC():
            return any(holds(item, view) for item in condition.items)
        case Compare():
            return _compare(condition, view)
        case OneOf():
            return any(
                _compare(Compare(op="=", left=condition.item, right=Const(value=value)), view)
                for value in condition.values
            )
        case MultipleOf():
            value = number(condition.item, view)
            assert isinstance(value, Fraction), "normalization refuses multiples of quotients"
            return is_multiple(value, condition.step, float_like=_is_threshold(condition.item))
        case Level():
            assert isinstance(view, SplitView)
            return getattr(view.test, "value", None) in condition.values
        case _:
            assert_never(condition)


def is_multiple(value: Fraction, step: Fraction, *, float_like: bool) -> bool:
    """Whether a value is a multiple; a float is one iff it is the nearest float of one."""
    if float_like:
        return nearest_float(round(value / step) * step) == nearest_float(value)
    return (value / step).denominator == 1


def _is_threshold(expr: Expr) -> bool:
    return isinstance(expr, Apply) and BY_NAME[expr.term].kind is Kind.THRESHOLD


def _in_floats(expr: Expr) -> bool:
    return any(BY_NAME[call.term].in_floats for call in applications(expr))


def _compare(condition: Compare, view: View) -> bool:
    if _in_floats(condition.left) or _in_floats(condition.right):
        return _nearly(condition, view)
    left, right = number(condition.left, view), number(condition.right, view)
    if isinstance(left, Ratio) or isinstance(right, Ratio):
        difference = _plus(left, _times(Fraction(-1), right))
        assert isinstance(difference, Ratio), "a quotient and a constant"
        vacuous = difference.under == 0
        return vacuous or COMPARE[condition.op](difference.over, Fraction(0))
    if _is_threshold(condition.left) or _is_threshold(condition.right):
        # A threshold is a float64: it is compared with the literal's nearest float64.
        return COMPARE[condition.op](nearest_float(left), nearest_float(right))
    return COMPARE[condition.op](left, right)


# ---- leaf outputs and losses of number targets


def _nearly(condition: Compare, view: View) -> bool:
    """Compare floats: strict is read as its closure, with the stated tolerance.

    A condition inside `count` is neither wholly true nor false at its boundary; a comparison
    of a count holds if some way of counting those there makes it hold.
    """
    (low, high), (from_, to) = _range(condition.left, view), _range(condition.right, view)
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


def _range(expr: Expr, view: View) -> tuple[Fraction, Fraction]:
    """The least and the largest value, over how conditions at their boundary are counted."""
    match expr:
        case Count():
            surely = sum(not _open_holds(item, view, wish=False) for item in expr.conditions)
            maybe = sum(_open_holds(item, view, wish=True) for item in expr.conditions)
            return Fraction(surely), Fraction(maybe)
        case Minus():
            low, high = _range(expr.operand, view)
            return -high, -low
        case Arith(op="+" | "-"):
            low, high = _range(expr.left, view)
            from_, to = _range(expr.right, view)
            if expr.op == "-":
                from_, to = -to, -from_
            return low + from_, high + to
        case _:
            value = number(expr, view)
            assert isinstance(value, Fraction), "outputs are no quotients"
            return value, value


def _open_holds(condition: Condition, view: View, *, wish: bool) -> bool:
    """Whether the closure of a condition (`wish`) or of its negation holds."""
    match condition:
        case NotC():
            return _open_holds(condition.operand, view, wish=not wish)
        case AndC() | OrC():
            found = (_open_holds(item, view, wish=wish) for item in condition.items)
            return all(found) if isinstance(condition, AndC) == wish else any(found)
        case OneOf() if not wish:
            return not holds(condition, view)
        case Compare() if not wish:
            op = COMPLEMENT[condition.op]
            return holds(Compare(op=op, left=condition.left, right=condition.right), view)
        case _:
            return holds(condition, view) == wish
