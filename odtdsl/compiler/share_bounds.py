"""Bounds that cannot have been meant: above all that a share can be, as in
`gap(rate("yes"), sex) <= 5`, where `5%` was meant; a part of a row, as in `size >= 0.03`; and those
of costs that are all 0; and losses that nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from odtdsl.base.frozen import dataclass
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.percentages import kind_of
from odtdsl.language import ast
from odtdsl.language.expressions import coded
from odtdsl.problem.ir.expr import (
    MIRRORED,
    Abs,
    Apply,
    Arith,
    Compare,
    Condition,
    Const,
    Expr,
    Minus,
    applications,
    parts,
)
from odtdsl.problem.ir.intervals import nearest_float
from odtdsl.problem.ir.problem import Costs, Problem, RuleDecl
from odtdsl.problem.terms.base import Kind

Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveAll:
    """A comparison of shares with a number above all that they can be.

    Attributes
    ----------
    bound, most
        The number, and the most that the other side can be.
    always
        Whether the whole rule always holds by it.
    """

    bound: Const
    most: Fraction
    always: bool

    @property
    def helps(self) -> tuple[str, ...]:
        """What to write instead."""
        value = self.bound.value
        if self.bound.percent or value / 100 > self.most:
            return ()
        return (f"if a percentage is meant, write {coded(f'{nearest_float(value):g}%')}",)


def above_all(condition: Condition) -> Iterator[AboveAll]:
    """The comparisons in a condition whose bound no share reaches."""
    for one in _compared(condition):
        for side, other, op in (
            (one.left, one.right, one.op),
            (one.right, one.left, MIRRORED[one.op]),
        ):
            range_ = _range(side)
            if isinstance(other, Const) and range_ is not None and other.value > range_[1]:
                always = one is condition and op in ("<=", "<", "!=")
                yield AboveAll(bound=other, most=range_[1], always=always)


def warn_of_bound(rule: RuleDecl, reporter: Reporter) -> None:
    """Warn of bounds that no share reaches."""
    for one in above_all(rule.condition):
        scaled = one.bound.value * (100 if one.bound.percent else 1)
        shown = f"{nearest_float(scaled):g}" + ("%" if one.bound.percent else "")
        most = "1 (100%)" if one.most == 1 else f"{nearest_float(one.most):g}"
        reporter.warn(
            "R115",
            f"rule `{rule.name}` compares a share with {shown}, but no share is that large",
            rule.span,
            notes=(
                f"the value is never above {most}"
                + (", so the rule always holds" if one.always else ""),
            ),
            helps=one.helps,
        )


def warn_of_rows(rule: RuleDecl, weighted: bool, reporter: Reporter) -> None:
    """Warn of numbers of rows that are compared with a part of a row."""
    for one in _compared(rule.condition):
        for side, other, op in (
            (one.left, one.right, one.op),
            (one.right, one.left, MIRRORED[one.op]),
        ):
            if not (isinstance(side, Apply) and isinstance(other, Const)):
                continue
            if not 0 < other.value < 1 or kind_of(side) is not Kind.ROW_COUNT:
                continue
            if side.term == "gap" or (weighted and side.term == "errors"):
                continue
            bound = f"{nearest_float(other.value):g}"
            same = {"<=": "<= 0", "<": "<= 0", ">=": ">= 1", ">": ">= 1"}.get(op)
            reporter.warn(
                "R116",
                f"rule `{rule.name}` compares a number of rows with {bound}, a part of a row",
                rule.span,
                notes=(
                    f"numbers of rows are whole, so it means {coded(same)}"
                    if same is not None
                    else f"numbers of rows are whole, so it {_ALWAYS[op == '!=']} holds",
                ),
                helps=(
                    "if a share of the rows is meant, write "
                    + coded(f"{nearest_float(other.value * 100):g}%"),
                ),
            )


_ALWAYS = ("never", "always")


def warn_of_costs(rule: RuleDecl, costs: Costs, reporter: Reporter) -> None:
    """Warn of a rule on costs where no feature has one."""
    if any(costs.features) or any(shared.amount for shared in costs.shared):
        return
    sides = (side for one in _compared(rule.condition) for side in (one.left, one.right))
    named = next((term for side in sides for term in _terms(side) if term in _COSTS), None)
    if named is not None:
        reporter.warn(
            "R117",
            f"rule `{rule.name}` speaks of `{named}`, but no feature has a cost, so it is always 0",
            rule.span,
            helps=("say what features cost: `cost * = 1, NAME = 20`",),
        )


_COSTS = ("cost", "expected_cost")


def warn_of_losses(problem: Problem, losses: Sequence[ast.Loss], reporter: Reporter) -> None:
    """Warn of losses that neither a stage nor a rule speaks of: the answer is that without them."""
    said = [
        *(stage.measure for stage in problem.objective),
        *(rule.condition for rule in problem.rules),
    ]
    used = {one.term for part in said for one in applications(part)}
    if losses and used.isdisjoint(("loss", "expected_loss")):
        reporter.warn(
            "O105",
            "losses change nothing here: neither the objective nor a rule speaks of them",
            losses[0],
            helps=("write `minimize expected_loss`, or a rule such as `expected_loss <= 0.5`",),
        )


def _compared(condition: Condition) -> Iterator[Compare]:
    """The comparisons in a condition."""
    return (one for one in parts(condition) if isinstance(one, Compare))


def _terms(expr: Expr) -> Iterator[str]:
    """The terms whose values make up an expression."""
    match expr:
        case Apply():
            yield expr.term
            if expr.of is not None:
                yield expr.of.term
        case Minus() | Abs():
            yield from _terms(expr.operand)
        case Arith():
            yield from _terms(expr.left)
            yield from _terms(expr.right)
        case _:
            pass


def _range(expr: Expr) -> Range | None:
    """The least and the most that an expression of shares can be; None for what has others."""
    match expr:
        case Apply():
            calls = (expr,) if expr.of is None else (expr, expr.of)
            shares = all(kind_of(call) is Kind.SHARE for call in calls)
            return (Fraction(0), Fraction(1)) if shares else None
        case Minus():
            return None if (of := _range(expr.operand)) is None else (-of[1], -of[0])
        case Abs():
            if (of := _range(expr.operand)) is None:
                return None
            return Fraction(0), max(abs(of[0]), abs(of[1]))
        case Arith(op="+" | "-"):
            left, right = _summand(expr.left), _summand(expr.right)
            if left is None or right is None:
                return None
            if expr.op == "-":
                right = -right[1], -right[0]
            return left[0] + right[0], left[1] + right[1]
        case _:
            return None


def _summand(expr: Expr) -> Range | None:
    return (expr.value, expr.value) if isinstance(expr, Const) else _range(expr)
