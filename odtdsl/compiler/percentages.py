"""Percentages: plain shares, or against a count of rows that part of the training rows."""

from __future__ import annotations

from odtdsl.base.frozen import dataclass
from odtdsl.problem.ir.expr import Abs, Apply, Arith, Const, Count, Expr, GroupArg, Minus, RowShare
from odtdsl.problem.terms.base import Kind
from odtdsl.problem.terms.registry import BY_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The rows that a percentage is a share of: a group's, or (None) all training rows."""

    group: GroupArg | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoWhole:
    """A percentage that is a share of nothing in sight; `term` is what it stands against."""

    term: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A percentage that could be a share of several things."""


def whole_of(left: Expr, right: Expr) -> Whole | NoWhole | Unclear | None:
    """Of which rows a percentage in a comparison is a share.

    None where there is no percentage, or where it is a plain ratio, as against a share.
    """
    if not (_has_percent(left) or _has_percent(right)):
        return None
    calls = [*_measured(left), *_measured(right)]
    kinds = {kind_of(call) for call in calls}
    if Kind.ROW_COUNT not in kinds:
        if calls and Kind.SHARE not in kinds:
            return NoWhole(term=calls[0].term)
        return None
    counts = [call for call in calls if kind_of(call) is Kind.ROW_COUNT]
    groups = {next((a for a in c.args if isinstance(a, GroupArg)), None) for c in counts}
    if len(groups) > 1 or Kind.SHARE in kinds or any(call.of is not None for call in counts):
        return Unclear()
    return Whole(group=groups.pop())


def shares_of_rows(expr: Expr, whole: Whole) -> Expr:
    """The expression with percentages as shares of rows; factors of measures stay ratios."""
    match expr:
        case Const(percent=True):
            return RowShare(share=expr.value, group=whole.group)
        case Minus():
            return Minus(operand=shares_of_rows(expr.operand, whole))
        case Abs():
            return Abs(operand=shares_of_rows(expr.operand, whole))
        case Arith(op="+" | "-"):
            left, right = shares_of_rows(expr.left, whole), shares_of_rows(expr.right, whole)
            return Arith(op=expr.op, left=left, right=right)
        case Arith(op="*") if _is_factor(expr.left, expr.right):
            return Arith(op="*", left=expr.left, right=shares_of_rows(expr.right, whole))
        case Arith():
            return Arith(op=expr.op, left=shares_of_rows(expr.left, whole), right=expr.right)
        case _:
            return expr


def _has_percent(expr: Expr) -> bool:
    """Whether a percentage stands as a summand."""
    return expr != shares_of_rows(expr, Whole(group=None))


def _is_factor(left: Expr, right: Expr) -> bool:
    """Whether the left side of a product is its factor: the other holds measures or the percent."""
    if _measured(left):
        return False
    return bool(_measured(right)) or _has_percent(right) or not _has_percent(left)


def kind_of(call: Apply) -> Kind:
    """The kind of a term's value; that of `gap` is the kind of its measure."""
    if call.term == "gap" and call.of is not None:
        return BY_NAME[call.of.term].kind
    return BY_NAME[call.term].kind


def _measured(expr: Expr) -> list[Apply]:
    """The terms whose values an expression adds up; conditions inside `count` are not."""
    match expr:
        case Apply():
            return [expr]
        case Minus() | Abs():
            return _measured(expr.operand)
        case Arith():
            return [*_measured(expr.left), *_measured(expr.right)]
        case Const() | RowShare() | Count():
            return []
