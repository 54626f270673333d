"""The value of typed expressions on finished models: the meaning that answers are audited by."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import assert_never

from odtdsl.ir.expr import (
    Abs,
    AndC,
    Apply,
    Arith,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    Level,
    Minus,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    RowShare,
    Scope,
)  # fmt: skip
from odtdsl.ir.problem import RuleDecl
from odtdsl.terms.base import Kind, Ratio
from odtdsl.terms.registry import BY_NAME
from odtdsl.terms.view import ModelView, SplitView, View

COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
    "=": operator.eq, "!=": operator.ne,
}  # fmt: skip

OUTPUT_TOLERANCE = 1e-9
"""Leaf outputs are floats: `value <= bound` allows 1e-9 * (1 + |bound|)."""


def instances(rule: RuleDecl, view: ModelView) -> Sequence[View]:
    """What a rule ranges over: the model itself, or its paths, leaves or splits.

    A rule with `threshold(f)` ranges over the splits that test f.
    """
    match rule.scope:
        case Scope.MODEL:
            return (view,)
        case Scope.PATH:
            return view.paths
        case Scope.LEAF:
            return view.leaves
        case Scope.SPLIT:
            feature = threshold_feature(rule.condition)
            return [s for s in view.splits if feature is None or s.branch.feature == feature]
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


def threshold_feature(condition: Condition) -> str | None:
    """The feature of the `threshold(f)` in a condition; None without one."""
    for call in applications(condition):
        if call.term == "threshold":
            arg = call.args[0]
            return None if not hasattr(arg, "name") else arg.name
    return None


def number(expr: Expr, view: View) -> Fraction | Ratio:
    """The value of a numeric expression; a `Ratio` only for a bare quotient."""
    match expr:
        case Const():
            return expr.value
        case RowShare():
            return expr.share * int(view.rows.mask(expr.group).sum())
        case Apply():
            value = BY_NAME[expr.term].value(view, expr)
            return Fraction(value) if isinstance(value, bool) else value
        case Minus():
            return -_plain(expr.operand, view)
        case Abs():
            return abs(_plain(expr.operand, view))
        case Count():
            return Fraction(sum(holds(condition, view) for condition in expr.conditions))
        case Arith():
            left, right = _plain(expr.left, view), _plain(expr.right, view)
            match expr.op:
                case "+":
                    return left + right
                case "-":
                    return left - right
                case "*":
                    return left * right
                case "/":
                    return left / right
                case _:
                    assert_never(expr.op)
        case _:
            assert_never(expr)


def _plain(expr: Expr, view: View) -> Fraction:
    value = number(expr, view)
    if isinstance(value, Ratio):
        return Fraction(0) if value.under == 0 else value.over / value.under
    return value


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
            value = _plain(condition.item, view)
            return is_multiple(value, condition.step, float_like=_is_threshold(condition.item))
        case Level():
            assert isinstance(view, SplitView)
            return getattr(view.branch.test, "value", None) in condition.values
        case _:
            assert_never(condition)


def is_multiple(value: Fraction, step: Fraction, *, float_like: bool) -> bool:
    """Whether a value is a multiple; a float is one iff it is the nearest float of one."""
    if float_like:
        return float(round(value / step) * step) == float(value)
    return (value / step).denominator == 1


def _is_threshold(expr: Expr) -> bool:
    return isinstance(expr, Apply) and BY_NAME[expr.term].kind is Kind.THRESHOLD


def _compare(condition: Compare, view: View) -> bool:
    left, right = number(condition.left, view), number(condition.right, view)
    if isinstance(left, Ratio):
        return COMPARE[condition.op](left.over, _number(right) * left.under)
    if isinstance(right, Ratio):
        return COMPARE[condition.op](left * right.under, right.over)
    if _is_threshold(condition.left) or _is_threshold(condition.right):
        # A threshold is a float64: it is compared with the literal's nearest float64.
        left, right = Fraction(float(left)), Fraction(float(right))
    if any(call.term == "output" for call in applications(condition)):
        return _nearly(condition.op, left, right)
    return COMPARE[condition.op](left, right)


def _nearly(op: CompareOp, left: Fraction, right: Fraction) -> bool:
    """Compare leaf outputs: strict is read as its closure, with the stated tolerance."""
    slack = Fraction(OUTPUT_TOLERANCE) * (1 + abs(right))
    match op:
        case "<=" | "<":
            return left <= right + slack
        case ">=" | ">":
            return left >= right - slack
        case "=":
            return abs(left - right) <= slack
        case "!=":
            return left != right
        case _:
            assert_never(op)


def _number(value: Fraction | Ratio) -> Fraction:
    assert isinstance(value, Fraction), "analysis admits quotients against constants only"
    return value
