"""Stages of the objective to forms that back ends minimize."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    DepthMeasure,
    DepthStage,
    LinearStage,
    Maxima,
    PathSum,
    QuotientStage,
    RegressionStage,
    StageForm,
    TargetLoss,
)
from odtdsl.problem.ir.problem import StageDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Quotient, Unsupported
from odtdsl.problem.terms.linear import (
    LinearForm,
    additive_maxima,
    expected,
    linear_form,
    of_model,
    one_loss,
    times,
)
from odtdsl.problem.terms.registry import quotients


def stage_form(stage: StageDecl, rows: Rows) -> StageForm:
    """The stage, signed so that less is better; `Unsupported` where it is not linear."""
    form = linear_form(stage.measure, rows, Scope.MODEL)
    if form.mentions(DepthMeasure):
        return _depth(form, stage)
    if form.counts:
        raise Unsupported("`count` cannot be an objective", code="R205")
    sign = Fraction(1 if stage.sense == "minimize" else -1)
    form = times(sign, form)
    if form.mentions(TargetLoss):
        return _regression(form, 1 if sign > 0 else -1)
    if form.mentions(Quotient):
        return _share(form, sign)
    if any(not isinstance(measure, Additive | PathSum) for _, measure in form.parts):
        raise _not_linear()
    total, path_sum = expected(form)
    return LinearStage(
        measure=total, maxima=_maxima(form), path_sum=path_sum, sign=1 if sign > 0 else -1
    )


def _regression(form: LinearForm, sign: Literal[1, -1]) -> RegressionStage:
    """A loss of number targets plus a price per leaf or split."""
    loss, rest = one_loss(form)
    if loss.everyone is not None:
        raise Unsupported(
            "outputs of leaves are the best for all rows: the loss of a group is no objective",
            code="R205",
            help="bound it by a rule, such as `rule fair: mse(women) <= 20`",
        )
    if any(factor < 0 for factor in loss.factors) or not any(loss.factors):
        raise Unsupported("losses of number targets can only be minimized", code="R205")
    return RegressionStage(loss=loss, rest=of_model(rest), sign=sign)


def _share(form: LinearForm, sign: Fraction) -> QuotientStage:
    """A quotient, alone but for a factor; `form` is signed so that less is better."""
    (factor, measure), *others = form.parts
    if others or form.counts or form.maxima or form.constant or not isinstance(measure, Quotient):
        raise Unsupported(
            f"a quotient such as `{quotients(Scope.MODEL)[0]}` must be alone in its stage",
            code="R205",
            help=(
                "write other measures as rules or in stages of their own, as in `maximize "
                'f1("yes") then minimize leaves`; a mean over classes is `balanced_accuracy`'
            ),
        )
    if factor > 0:
        raise Unsupported(
            "a quotient can only be maximized",
            code="R205",
            help='maximize the quotient itself, as in `maximize f1("yes")`, or bound it by a rule',
        )
    over, under = of_model(measure.over), of_model(measure.under)
    return QuotientStage(over=over, under=under, factor=-factor, sign=1 if sign > 0 else -1)


def _depth(form: LinearForm, stage: StageDecl) -> DepthStage:
    alone = len(form.parts) == 1 and not (form.counts or form.maxima or form.constant)
    if alone and form.parts[0][0] == 1 and stage.sense == "minimize":
        return DepthStage()
    raise Unsupported(
        "`depth` must be alone in its stage: write `minimize depth then ...`", code="R205"
    )


def _maxima(form: LinearForm) -> Maxima:
    if any(factor < 0 for factor, _ in form.maxima):
        raise Unsupported("a difference between groups or `abs` can only be minimized", code="R205")
    found = additive_maxima(form)
    if found is None:
        raise _not_linear()
    return found


def _not_linear() -> Unsupported:
    return Unsupported(
        (
            "an objective must be a sum of additive measures, differences between groups, and "
            "`abs`, or one quotient of rows such as "
            f"`{quotients(Scope.MODEL)[0]}`; write `ratio` as a rule"
        ),
        code="R205",
    )
