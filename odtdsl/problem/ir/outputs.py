"""Conditions on leaf outputs: linear forms in them, and whether an output vector keeps one.

Outputs are floats, so a comparison is closed and allows `TOLERANCE * (1 + |bound|)`. The
checker does not use this: it evaluates conditions by the terms' own meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from odtdsl.problem.ir.expr import (
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
)

TOLERANCE = 1e-9

Form = tuple[Fraction, tuple[tuple[int, Fraction], ...]]
"""A constant, and the factor of each target that has one."""


class NotLinear(Exception):
    """An expression that is not linear in outputs; the message is the reason."""


def linear(expr: Expr) -> Form:
    """An expression as a constant plus multiples of outputs, in the order of targets.

    Raises
    ------
    NotLinear
        Products of outputs, `abs` of one, or a count among them.
    """
    match expr:
        case Const():
            return expr.value, ()
        case Apply(args=(TargetArg(index=index),)):
            return Fraction(0), ((index, Fraction(1)),)
        case Minus():
            return _scaled(linear(expr.operand), Fraction(-1))
        case Arith(op="+" | "-"):
            right = linear(expr.right)
            return _sum(linear(expr.left), _scaled(right, Fraction(1 if expr.op == "+" else -1)))
        case Arith():
            left, right = linear(expr.left), linear(expr.right)
            if expr.op == "*" and not left[1]:
                return _scaled(right, left[0])
            if right[1] or (expr.op == "/" and right[0] == 0):
                raise NotLinear("products and quotients of outputs are not linear")
            return _scaled(left, right[0] if expr.op == "*" else 1 / right[0])
        case Abs():
            inner = linear(expr.operand)
            if inner[1]:
                raise NotLinear("write `-5 <= x <= 5` for `abs(x) <= 5`")
            return abs(inner[0]), ()
        case Count() | RowShare() | Apply():
            raise NotLinear("`count` must be alone on one side of a comparison")


def difference(condition: Compare) -> Form:
    """Left side minus right side."""
    return linear(Arith(op="-", left=condition.left, right=condition.right))


def _scaled(form: Form, factor: Fraction) -> Form:
    parts = tuple((index, factor * a) for index, a in form[1] if factor)
    return form[0] * factor, parts


def _sum(left: Form, right: Form) -> Form:
    total: dict[int, Fraction] = {}
    for index, a in (*left[1], *right[1]):
        total[index] = total.get(index, Fraction(0)) + a
    return left[0] + right[0], tuple(sorted((i, a) for i, a in total.items() if a))


def counted(condition: Compare) -> tuple[Count, CompareOp, Fraction] | None:
    """A comparison of a count with a constant, the count on its left; None for others."""
    if isinstance(condition.left, Count) and isinstance(condition.right, Const):
        return condition.left, condition.op, condition.right.value
    if isinstance(condition.right, Count) and isinstance(condition.left, Const):
        return condition.right, MIRRORED[condition.op], condition.left.value
    return None


def admits(condition: Condition, output: Sequence[float]) -> bool:
    """Whether an output vector keeps a condition, its comparisons closed."""
    return _keeps(condition, output, positive=True)


def _keeps(condition: Condition, output: Sequence[float], *, positive: bool) -> bool:
    match condition:
        case NotC():
            return _keeps(condition.operand, output, positive=not positive)
        case AndC() | OrC():
            found = (_keeps(item, output, positive=positive) for item in condition.items)
            return all(found) if isinstance(condition, AndC) == positive else any(found)
        case OneOf():
            equal = any(
                _compared(linear(condition.item), "=", output, value) for value in condition.values
            )
            return equal == positive
        case Compare():
            op = condition.op if positive else COMPLEMENT[condition.op]
            count = counted(condition)
            if count is None:
                return _compared(difference(condition), op, output)
            if not isinstance(condition.left, Count):
                op = MIRRORED[op]
            return _counts(count[0], op, count[2], output)
        case _:
            raise NotLinear("only comparisons of outputs are allowed here")


def _counts(count: Count, op: str, bound: Fraction, output: Sequence[float]) -> bool:
    """Conditions at their boundary count as what makes the comparison hold."""
    surely = sum(not _keeps(item, output, positive=False) for item in count.conditions)
    maybe = sum(_keeps(item, output, positive=True) for item in count.conditions)
    below = surely < bound if op == "<" else surely <= bound
    above = maybe > bound if op == ">" else maybe >= bound
    match op:
        case "<" | "<=":
            return below
        case ">" | ">=":
            return above
        case "=":
            return below and above
        case _:
            return not surely == maybe == bound


def _compared(form: Form, op: str, output: Sequence[float], value: Fraction = Fraction(0)) -> bool:
    """Whether form (op) value, closed and within the tolerance."""
    bound = float(value - form[0])
    total = sum(float(factor) * output[index] for index, factor in form[1])
    slack = TOLERANCE * (1 + abs(bound))
    match op:
        case "<" | "<=":
            return total <= bound + slack
        case ">" | ">=":
            return total >= bound - slack
        case "=":
            return abs(total - bound) <= slack
        case _:
            return abs(total - bound) > 0


def on_grid(steps: Sequence[Fraction | None], output: Sequence[float]) -> bool:
    """Whether outputs are multiples of their targets' steps."""
    return all(
        step is None
        or abs(value - float(step) * round(value / float(step))) <= TOLERANCE * (1 + abs(value))
        for step, value in zip(steps, output, strict=True)
    )
