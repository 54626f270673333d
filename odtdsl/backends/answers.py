"""What an answer may claim: the values of its own model, bounds that no value passes, proofs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import RawAnswer, StageOutcome
from odtdsl.base.kept import kept
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.forms import Core, RegressionStage, StageForm
from odtdsl.problem.ir.raw import RawModel
from odtdsl.problem.ir.regression import near, rounding

NOTHING = StageOutcome(value=None, bound=None, proven=False)


@kept  # a back end, the course of its steps and the driver ask for the same
def values_of(core: Core, model: RawModel) -> tuple[Fraction, ...]:
    """The values of all stages on the training rows."""
    evaluation = evaluated(core, model)
    return tuple(evaluation.stage_value(stage) for stage in core.objective)


def with_model(core: Core, answer: RawAnswer, model: RawModel) -> RawAnswer:
    """The answer with another model: its values, and the bounds as they were.

    Bounds are of the problem, not of a model. A stage is proven where its value meets its bound
    and all stages before it are proven.
    """
    outcomes: list[StageOutcome] = []
    proven = True
    for index, (stage, value) in enumerate(
        zip(core.objective, values_of(core, model), strict=True)
    ):
        bound = answer.stages[index].bound if index < len(answer.stages) else None
        proven = proven and bound is not None and same(core, stage, value, bound)
        outcomes.append(StageOutcome(value=value, bound=bound, proven=proven))
    return replace(
        answer,
        model=model,
        stages=tuple(outcomes),
        status="optimal" if proven else "feasible",
    )


def never_worse(core: Core, answer: RawAnswer, start: RawModel | None) -> RawAnswer:
    """The answer, or what is known of the start where that is better.

    A start that contradicts what the answer proves takes its place as well: `unfounded` tells.
    """
    if start is None:
        return answer
    model = answer.model
    if model is not None and not better(core, values_of(core, start), values_of(core, model)):
        return answer
    kept = with_model(core, answer, start)
    return replace(kept, status=answer.status) if answer.status == "infeasible" else kept


def better(core: Core, one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> bool:
    """Lexicographically less; losses of number targets, which are floats, beyond rounding."""
    for stage, a, b in zip(core.objective, one, other, strict=True):
        if not same(core, stage, a, b):
            return a < b
    return False


def same(core: Core, stage: StageForm, one: Fraction, other: Fraction) -> bool:
    """Equal; for losses of number targets, which are floats, up to rounding.

    That is 1e-9 of the loss of a single leaf: sums of squares are that large before they cancel.
    """
    if not isinstance(stage, RegressionStage):
        return one == other
    return near(one, other) or abs(one - other) <= rounding(core, stage.loss)


def unfounded(core: Core, answer: RawAnswer) -> str:
    """What an answer claims that cannot be; empty where it claims nothing of the kind."""
    model = answer.model
    if model is None:
        return f"`{answer.status}` without a model" if answer.status in WITH_MODEL else ""
    if answer.status not in WITH_MODEL:
        return f"`{answer.status}` with a model"
    if answer.status == "optimal" and not all(outcome.proven for outcome in answer.stages):
        return "`optimal` with a stage that is not proven"
    values = values_of(core, model)
    for index, (stage, value) in enumerate(zip(core.objective, values, strict=True)):
        told = answer.stages[index] if index < len(answer.stages) else NOTHING
        if told.value is not None and not same(core, stage, told.value, value):
            return f"stage {index + 1}: the value {told.value} of a model of value {value}"
        above = None if told.bound is None or told.bound <= value else told.bound
        if above is not None and not same(core, stage, above, value):
            return f"stage {index + 1}: a bound of {told.bound} above a model of value {value}"
        if told.proven and (told.bound is None or not same(core, stage, told.bound, value)):
            return f"stage {index + 1}: {value} is told as proven, with a bound of {told.bound}"
        if not told.proven:
            break  # bounds of later stages are of the best value of this one
    return ""


WITH_MODEL = ("optimal", "feasible")
