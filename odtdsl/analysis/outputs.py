"""Rules on leaf outputs: negations pushed inwards, strict comparisons closed, linear only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from odtdsl.analysis.desk import Desk
from odtdsl.ir.expr import (
    COMPLEMENT,
    MIRRORED,
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
    Minus,
    NotC,
    OneOf,
    OrC,
    RowShare,
    TargetArg,
)  # fmt: skip
from odtdsl.syntax import ast
from odtdsl.terms.evaluate import applications

CLOSED: dict[CompareOp, CompareOp] = {"<": "<=", ">": ">="}

Form = tuple[Fraction, tuple[tuple[int, Fraction], ...]]
"""A constant, and the factor of each target that has one."""


class _NotLinear(Exception):
    pass


def closed(condition: Condition, rule: ast.Rule, desk: Desk) -> Condition:
    """A rule on outputs as it is meant: every comparison is closed.

    Negations are pushed inwards first, then strict comparisons become non-strict. Conditions
    inside `count` keep their form: what counts them says on which side they are closed.
    Files a mix with other terms, products of outputs and what would have to differ; warns of
    a condition that became always true.

    Raises
    ------
    Stop
        After filing what cannot be.
    """
    others = [call.term for call in applications(condition) if call.term != "output"]
    if others:
        raise desk.error(
            "R103", f"rule `{rule.name}` mixes leaf outputs with `{others[0]}`", rule.condition,
            helps=("write two rules: one on the outputs, one on the rest",),
        )  # fmt: skip
    try:
        found = _pushed(condition, positive=True)
        _check(found)
    except _NotLinear as problem:
        raise desk.error(
            "R104", f"rule `{rule.name}` cannot be kept by leaf outputs: {problem}", rule.condition
        ) from None
    if _always(found):
        desk.warn(
            "R105", f"rule `{rule.name}` is always true once its bounds belong to it",
            rule.condition, notes=("on outputs `<` is read as `<=` and `>` as `>=`",),
        )  # fmt: skip
    return found


def _pushed(condition: Condition, *, positive: bool) -> Condition:
    match condition:
        case NotC():
            return _pushed(condition.operand, positive=not positive)
        case AndC() | OrC():
            items = tuple(_pushed(item, positive=positive) for item in condition.items)
            return (
                AndC(items=items) if isinstance(condition, AndC) == positive else OrC(items=items)
            )
        case Compare():
            op = condition.op if positive else COMPLEMENT[condition.op]
            if op == "!=":
                raise _NotLinear("outputs cannot be kept from a single value; say `<` or `>`")
            return Compare(op=CLOSED.get(op, op), left=condition.left, right=condition.right)
        case OneOf() if not positive:
            raise _NotLinear("outputs cannot be kept from a single value; say `<` or `>`")
        case OneOf():
            return condition
        case _:
            raise _NotLinear("only comparisons of outputs have a meaning here")


def _check(condition: Condition) -> None:
    """Every comparison is linear in the outputs, or compares a count with a constant."""
    match condition:
        case AndC() | OrC():
            for item in condition.items:
                _check(item)
        case Compare():
            counts = [side for side in (condition.left, condition.right) if isinstance(side, Count)]
            if not counts:
                _linear(Arith(op="-", left=condition.left, right=condition.right))
                return
            other = condition.right if counts[0] is condition.left else condition.left
            _check_count(counts[0], other, condition)
        case OneOf():
            _linear(condition.item)
        case _:
            pass


def _check_count(count: Count, other: Expr, condition: Compare) -> None:
    if not isinstance(other, Const):
        raise _NotLinear("`count` is compared with constants only")
    op = condition.op if count is condition.left else MIRRORED[condition.op]
    for inner in count.conditions:
        if op in (">=", "="):
            _check(_pushed(inner, positive=True))
        if op in ("<=", "="):
            _check(_pushed(inner, positive=False))


def _linear(expr: Expr) -> Form:
    match expr:
        case Const():
            return expr.value, ()
        case Apply(args=(TargetArg(index=index),)):
            return Fraction(0), ((index, Fraction(1)),)
        case Minus():
            return _scaled(_linear(expr.operand), Fraction(-1))
        case Arith(op="+" | "-"):
            right = _linear(expr.right)
            return _sum(_linear(expr.left), _scaled(right, Fraction(1 if expr.op == "+" else -1)))
        case Arith():
            left, right = _linear(expr.left), _linear(expr.right)
            if expr.op == "*" and not left[1]:
                return _scaled(right, left[0])
            if right[1] or (expr.op == "/" and right[0] == 0):
                raise _NotLinear("products and quotients of outputs are not linear")
            return _scaled(left, right[0] if expr.op == "*" else 1 / right[0])
        case Abs():
            inner = _linear(expr.operand)
            if inner[1]:
                raise _NotLinear("write `-5 <= x <= 5` for `abs(x) <= 5`")
            return abs(inner[0]), ()
        case Count() | RowShare() | Apply():
            raise _NotLinear("a count stands alone on one side of a comparison")


def _scaled(form: Form, factor: Fraction) -> Form:
    parts = tuple((index, factor * a) for index, a in form[1] if factor)
    return form[0] * factor, parts


def _sum(left: Form, right: Form) -> Form:
    total: dict[int, Fraction] = {}
    for index, a in (*left[1], *right[1]):
        total[index] = total.get(index, Fraction(0)) + a
    return left[0] + right[0], tuple(sorted((i, a) for i, a in total.items() if a))


def _always(condition: Condition) -> bool:
    """Whether a condition is plainly true of every output: two half-lines that meet."""
    match condition:
        case AndC():
            return all(_always(item) for item in condition.items)
        case OrC():
            return _covers(condition.items) or any(_always(item) for item in condition.items)
        case Compare():
            return _covers([condition])
        case _:
            return False


def _covers(items: Sequence[Condition]) -> bool:
    """Whether comparisons of one form, joined by `or`, leave nothing out."""
    above: dict[object, Fraction] = {}
    below: dict[object, Fraction] = {}
    for item in items:
        if not isinstance(item, Compare) or isinstance(item.left, Count) or item.op == "=":
            continue
        if isinstance(item.right, Count):
            continue
        constant, parts = _linear(Arith(op="-", left=item.left, right=item.right))
        if not parts:
            if (constant <= 0 and item.op == "<=") or (constant >= 0 and item.op == ">="):
                return True
            continue
        lead = parts[0][1]
        key = tuple((index, a / lead) for index, a in parts)
        bound, op = -constant / lead, item.op if lead > 0 else MIRRORED[item.op]
        if op == "<=":
            below[key] = max(bound, below.get(key, bound))
        else:
            above[key] = min(bound, above.get(key, bound))
    return any(key in above and above[key] <= bound for key, bound in below.items())
