"""Linear forms: numeric expressions multiplied out to constants and multiples of measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import assert_never

from odtdsl.problem.ir.expr import Abs, Apply, Arith, Const, Count, Expr, Minus, RowShare, Scope
from odtdsl.problem.ir.forms import Additive, Maxima, PathSum, TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import AllOf, AnyOf, Holds, Largest, Measure, Unsupported
from odtdsl.problem.terms.formulas import TooManyCases
from odtdsl.problem.terms.registry import BY_NAME
from odtdsl.problem.terms.regression import sum_of

MOST_PARTS = 20_000
"""Of a linear form: nested `abs` doubles what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearForm:
    """A constant plus multiples of measures, of counts of conditions, and of maxima of forms.

    `abs(x)` is the larger of x and -x, `gap` the largest difference of a pair.

    Attributes
    ----------
    size
        Constants and multiples in all, those inside maxima too.

    Raises
    ------
    TooManyCases
        Where maxima nest so deep that more than `MOST_PARTS` would be written.
    """

    constant: Fraction
    parts: tuple[tuple[Fraction, Measure], ...] = ()
    counts: tuple[tuple[Fraction, Count], ...] = ()
    maxima: tuple[tuple[Fraction, tuple[LinearForm, ...]], ...] = ()
    size: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        inside = sum(form.size for _, forms in self.maxima for form in forms)
        size = 1 + len(self.parts) + len(self.counts) + inside
        if size > MOST_PARTS:
            raise TooManyCases
        object.__setattr__(self, "size", size)

    @property
    def cases(self) -> int:
        """How many linear forms the maxima stand for, one of each taken together."""
        return prod(sum(form.cases for form in forms) for _, forms in self.maxima)

    @property
    def is_constant(self) -> bool:
        """Whether the form has no measure, only a number."""
        return not (self.parts or self.counts or self.maxima)

    def mentions(self, kind: type[Measure]) -> bool:
        """Whether a measure of a kind occurs, inside maxima too."""
        return any(isinstance(measure, kind) for _, measure in self.parts) or any(
            form.mentions(kind) for _, forms in self.maxima for form in forms
        )


def linear_form(expr: Expr, rows: Rows, scope: Scope) -> LinearForm:
    """Multiply out; `Unsupported` for products and quotients of measures."""
    match expr:
        case Const():
            return LinearForm(constant=expr.value)
        case RowShare():
            return LinearForm(constant=expr.share * int(rows.mask(expr.group).sum()))
        case Apply():
            return _of_term(expr, rows, scope)
        case Minus():
            return times(Fraction(-1), linear_form(expr.operand, rows, scope))
        case Abs():
            return _absolute(linear_form(expr.operand, rows, scope))
        case Count():
            return LinearForm(constant=Fraction(0), counts=((Fraction(1), expr),))
        case Arith():
            left = linear_form(expr.left, rows, scope)
            right = linear_form(expr.right, rows, scope)
            return _arith(expr.op, left, right)
        case _:
            assert_never(expr)


def _of_term(call: Apply, rows: Rows, scope: Scope) -> LinearForm:
    measure = BY_NAME[call.term].translate(rows, scope, call)
    assert not isinstance(measure, Holds | AllOf | AnyOf), "analysis admits numbers only"
    if isinstance(measure, Largest):
        each = tuple(
            LinearForm(constant=Fraction(0), parts=((Fraction(1), m),)) for m in measure.of
        )
        return LinearForm(constant=Fraction(0), maxima=((Fraction(1), each),))
    return LinearForm(constant=Fraction(0), parts=((Fraction(1), measure),))


def plus(left: LinearForm, right: LinearForm) -> LinearForm:
    """The sum of two forms."""
    return LinearForm(
        constant=left.constant + right.constant,
        parts=left.parts + right.parts,
        counts=left.counts + right.counts,
        maxima=left.maxima + right.maxima,
    )


def times(factor: Fraction, form: LinearForm) -> LinearForm:
    """The form times a constant; a factor 0 leaves nothing."""
    if factor == 1:
        return form
    if factor == 0:
        return LinearForm(constant=Fraction(0))
    return LinearForm(
        constant=form.constant * factor,
        parts=tuple((factor * a, measure) for a, measure in form.parts),
        counts=tuple((factor * a, count) for a, count in form.counts),
        maxima=tuple((factor * a, forms) for a, forms in form.maxima),
    )


def _arith(op: str, left: LinearForm, right: LinearForm) -> LinearForm:
    if op == "-":
        return plus(left, times(Fraction(-1), right))
    if op == "+":
        return plus(left, right)
    if op == "*":
        if left.is_constant:
            return times(left.constant, right)
        if right.is_constant:
            return times(right.constant, left)
        raise Unsupported(
            "a product of measures is not linear",
            code="R201",
            help="bound each by a number in a rule of its own; sums of measures are linear",
        )
    if not right.is_constant:
        raise Unsupported(
            "a quotient by a measure is not linear",
            code="R201",
            help="multiply both sides by it: `errors <= 3 * leaves` for `errors / leaves <= 3`",
        )
    if right.constant == 0:
        raise Unsupported("it divides by 0", code="R201")
    return times(1 / right.constant, left)


def _absolute(form: LinearForm) -> LinearForm:
    if form.is_constant:
        return LinearForm(constant=abs(form.constant))
    both = (form, times(Fraction(-1), form))
    return LinearForm(constant=Fraction(0), maxima=((Fraction(1), both),))


def additive(form: LinearForm) -> Additive | None:
    """The form as one additive measure, its constant included; None where it is not one."""
    if form.counts or form.maxima:
        return None
    if len(form.parts) == 1 and not form.constant and form.parts[0][0] == 1:
        only = form.parts[0][1]
        return only if isinstance(only, Additive) else None
    total = Additive(constant=form.constant.numerator, denominator=form.constant.denominator)
    for factor, measure in form.parts:
        if not isinstance(measure, Additive):
            return None
        total = total + measure.scaled(factor)
    return total


def additive_maxima(form: LinearForm) -> Maxima | None:
    """The maxima of a form of the model; None where one is of more than additive measures."""
    found: list[tuple[Fraction, tuple[Additive, ...]]] = []
    for factor, forms in form.maxima:
        each = [additive(one) for one in forms]
        measures = tuple(of_model(measure) for measure in each if measure is not None)
        if len(measures) < len(each):
            return None
        found.append((factor, measures))
    return tuple(found)


def one_loss(form: LinearForm) -> tuple[TargetLoss, Additive]:
    """A form as a loss of number targets and the additive measure beside it.

    Raises
    ------
    Unsupported
        For losses of two kinds, and for a loss beside what is not additive.
    """
    if form.counts or form.maxima:
        raise Unsupported("`abs`, `gap` and `count` cannot be added to `mse` or `mae`")
    losses = [measure.scaled(a) for a, measure in form.parts if isinstance(measure, TargetLoss)]
    others = tuple((a, m) for a, m in form.parts if not isinstance(m, TargetLoss))
    rest = additive(LinearForm(constant=form.constant, parts=others))
    if rest is None:
        raise Unsupported("only numbers of leaves and splits can be added to `mse` or `mae`")
    if len({loss.kind for loss in losses}) > 1:
        raise Unsupported(
            "different losses, such as squared and absolute errors, have different best "
            "outputs: use only one"
        )
    loss = sum_of(losses)
    if loss is None:
        raise Unsupported("losses of several groups can be added for the same targets only")
    return loss, rest


def expected(form: LinearForm) -> tuple[Additive, PathSum | None]:
    """The additive measures of a form of the model, and its path sums; None where they cancel."""
    rest = [(factor, m) for factor, m in form.parts if not isinstance(m, PathSum)]
    total = additive(LinearForm(constant=form.constant, parts=tuple(rest)))
    assert total is not None, "all other measures are additive"
    factor, paths = Fraction(0), None
    for times_paths, measure in form.parts:
        if isinstance(measure, PathSum):  # there is one: the expected cost
            factor, paths = factor + times_paths, measure
    return of_model(total), paths.scaled(factor) if paths is not None and factor else None


def of_model(measure: Additive) -> Additive:
    """In the scope of the model every row counts: its weights by row are a constant."""
    if measure.rows is None:
        return measure
    return Additive(
        constant=measure.constant + int(measure.rows.sum()),
        output=measure.output,
        columns=measure.columns,
        leaves=measure.leaves,
        splits=measure.splits,
        denominator=measure.denominator,
    )
