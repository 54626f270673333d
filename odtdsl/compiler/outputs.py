"""Rules on leaf outputs: negations pushed inwards, strict comparisons closed, linear only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm

from odtdsl.compiler.context import Reporter
from odtdsl.language import ast
from odtdsl.problem.ir.expr import (
    COMPLEMENT,
    MIRRORED,
    AndC,
    Arith,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    NotC,
    OneOf,
    OrC,
    applications,
    parts,
)
from odtdsl.problem.ir.outputs import NotLinear, counted, difference, linear

CLOSED: dict[CompareOp, CompareOp] = {"<": "<=", ">": ">="}


def closed(
    condition: Condition, rule: ast.Rule, reporter: Reporter, step: Fraction | None = None
) -> Condition:
    """A rule on outputs as it is meant: every comparison is closed.

    Negations are pushed inwards first, then strict comparisons become non-strict; on a grid
    (`step`) the bound moves to the next value. Conditions inside `count` keep their form: what
    counts them says on which side they are closed. Files a mix with other terms, products of
    outputs and what would have to differ; warns of a condition that became always true, and of
    one that admits its bound though it says otherwise.

    Raises
    ------
    Stop
        After filing what cannot be.
    """
    others = [call.term for call in applications(condition) if call.term != "output"]
    if others:
        raise reporter.error(
            "R103",
            f"rule `{rule.name}` mixes leaf outputs with `{others[0]}`",
            rule.condition,
            helps=("write two rules: one on the outputs, one on the rest",),
        )
    try:
        opened: list[Compare] = []
        found = _pushed(condition, positive=True, step=step, opened=opened)
        _check(found)
    except NotLinear as problem:
        raise reporter.error(
            "R104", f"rule `{rule.name}` cannot restrict leaf outputs: {problem}", rule.condition
        ) from None
    if _always(found):
        reporter.warn(
            "R105",
            f"rule `{rule.name}` is always true when its bounds are included",
            rule.condition,
            notes=("on outputs `<` is read as `<=` and `>` as `>=`",),
        )
    elif opened:
        reporter.warn(
            "R111",
            f"rule `{rule.name}` includes its bounds: on outputs `<` is read as `<=`",
            rule.condition,
            notes=("with a strict bound there may be no best output",),
            helps=("give the distance as part of the bound, or declare a `step` of the target",),
        )
    return found


def _pushed(
    condition: Condition,
    *,
    positive: bool,
    step: Fraction | None = None,
    opened: list[Compare] | None = None,
) -> Condition:
    match condition:
        case NotC():
            return _pushed(condition.operand, positive=not positive, step=step, opened=opened)
        case AndC() | OrC():
            items = tuple(
                _pushed(item, positive=positive, step=step, opened=opened)
                for item in condition.items
            )
            return (
                AndC(items=items) if isinstance(condition, AndC) == positive else OrC(items=items)
            )
        case Compare():
            op = condition.op if positive else COMPLEMENT[condition.op]
            if op == "!=":
                raise NotLinear("a single value cannot be excluded; write `<` or `>`")
            return _shut(Compare(op=op, left=condition.left, right=condition.right), step, opened)
        case OneOf() if not positive:
            raise NotLinear("a single value cannot be excluded; write `<` or `>`")
        case OneOf():
            return condition
        case _:
            raise NotLinear("only comparisons of outputs are allowed here")


def _shut(condition: Compare, step: Fraction | None, opened: list[Compare] | None) -> Compare:
    """A strict comparison closed: at the next value of a grid, else at its bound (`opened`)."""
    op = CLOSED.get(condition.op)
    if op is None:
        return condition
    if (count := counted(condition)) is not None:
        bound = -(-count[2] // 1) - 1 if count[1] == "<" else count[2] // 1 + 1
        return Compare(op=CLOSED[count[1]], left=count[0], right=Const(value=Fraction(bound)))
    constant, parts = difference(condition)
    if step is None or not parts:
        if opened is not None:
            opened.append(condition)
        return replace(condition, op=op)
    # The sum of multiples of some numbers is a multiple of their greatest common divisor.
    factors = [factor * step for _, factor in parts]
    common = lcm(*(factor.denominator for factor in factors))
    unit = Fraction(gcd(*(int(factor * common) for factor in factors)), common)
    at = -constant / unit
    last = (-(-at // 1) - 1 if op == "<=" else at // 1 + 1) * unit + constant
    return Compare(
        op=op,
        left=Arith(op="-", left=condition.left, right=condition.right),
        right=Const(value=last),
    )


def _check(condition: Condition) -> None:
    """Every comparison is linear in the outputs, or compares a count with a constant."""
    for one in parts(condition):
        if isinstance(one, OneOf):
            linear(one.item)
        if not isinstance(one, Compare):
            continue
        counts = [side for side in (one.left, one.right) if isinstance(side, Count)]
        if not counts:
            difference(one)
            continue
        _check_count(counts[0], one.right if counts[0] is one.left else one.left, one)


def _check_count(count: Count, other: Expr, condition: Compare) -> None:
    if not isinstance(other, Const):
        raise NotLinear("`count` can be compared only with constants")
    op = condition.op if count is condition.left else MIRRORED[condition.op]
    for inner in count.conditions:
        if op in (">=", "="):
            _check(_pushed(inner, positive=True))
        if op in ("<=", "="):
            _check(_pushed(inner, positive=False))


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
        constant, parts = difference(item)
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
