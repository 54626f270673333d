"""The audit: a finished model against its spec, rule by rule, by a second opinion.

It takes the analysed problem, the cells as they were read, and the finished model. It routes
rows, weighs them, and computes skeleton, candidates, rules and objective by code of its own: it
uses no back end, no core form, and none of the masks and translations that these are made of.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from odtdsl.auditor.candidates import candidates
from odtdsl.auditor.counts import counted
from odtdsl.auditor.meanings import Share
from odtdsl.auditor.notes import in_no_group, in_training_rows, left_out
from odtdsl.auditor.results import Audit, AuditLine, AuditOfRows
from odtdsl.auditor.routing import DiagramOn, Place, SplitOn, TreeOn, model_on
from odtdsl.auditor.row_counts import group_values, row_counts
from odtdsl.auditor.rows import AuditRows, NoValue
from odtdsl.auditor.skeleton import diagram_form, tree_form
from odtdsl.auditor.targets import AuditPart
from odtdsl.auditor.values import Number, holds, instances, number, threshold_feature
from odtdsl.base.diagnostics.model import error
from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Dataset
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.expr import (
    Apply,
    Compare,
    Condition,
    Const,
    Count,
    FeatureArg,
    Scope,
    TargetArg,
    applications,
)
from odtdsl.problem.ir.problem import DiagramSkeleton, Problem, RuleDecl, StageDecl

if TYPE_CHECKING:
    from odtdsl.problem.ir.rows import Rows

_AUDIT_ROWS: WeakKeyDictionary[Dataset, tuple[Problem, AuditRows]] = WeakKeyDictionary()
"""Cells that were read once, for many models of one problem."""


def audit(model: Predictor, rows: Rows, *, backend: str | None = None) -> Audit:
    """Check a tree or a diagram against a problem on its training rows.

    Parameters
    ----------
    model, rows
        The tree or diagram, and the problem with its rows.
    backend
        What made the tree, where the spec does not say it: the ways of `greedy` are its own.

    Raises
    ------
    OdtError
        U301: the model is not one for this problem (other classes or targets, or a tree for a
        diagram). U201 to U204: the data lack a column that the model tests, or hold cells that
        it cannot read. R304: a stage of the objective is a share of no row.
    """
    here = model_on_data(model, rows.problem, rows.data)
    part = AuditPart.of(rows.problem.target.kind)
    if isinstance(here, DiagramOn):
        lines = [*diagram_form(here), candidates(here), *counted(here)]
    else:
        lines = [*tree_form(here), candidates(here), *counted(here), *part.lines(here, backend)]
    lines += _weights(here.rows)
    rules = rows.problem.rules
    lines += [part.ruled(_check(rule, here), rule, here, backend) for rule in rules]
    objective = tuple(_stage(stage, here) for stage in rows.problem.objective)
    return Audit(lines=tuple(lines), objective=objective, errors=part.errors(here))


def audit_rows(model: Predictor, problem: Problem, data: Dataset) -> AuditOfRows:
    """The rules and the objective of a problem on any rows, such as test rows.

    What training rows alone decide (candidates, that every leaf holds a row, counts) is not
    asked, nor what no rows decide (skeleton, grids of outputs). A share of no row here has no
    value, nor has what names training rows: whether it holds is not measured (None), and a note
    says why. `gap` and `ratio` are taken over the groups with rows here if these are two or more,
    and a note names the others; as a stage of the objective they have no value then.

    Raises
    ------
    OdtError
        As `audit`.
    """
    here = model_on_data(model, problem, data, training=False)
    return AuditOfRows(
        lines=tuple(_check(rule, here) for rule in problem.rules),
        objective=tuple(_value(stage, here) for stage in problem.objective),
        of_rows=tuple(bool(row_counts(stage.measure, here)) for stage in problem.objective),
        n_rows=here.rows.n_rows,
    )


def values_of(model: Predictor, problem: Problem, data: Dataset) -> tuple[Fraction | None, ...]:
    """The value of each stage of the objective on the training rows; None where it has none.

    Raises
    ------
    OdtError
        As `audit`.
    """
    here = model_on_data(model, problem, data)
    return tuple(_value(stage, here) for stage in problem.objective)


def model_on_data(
    model: Predictor, problem: Problem, data: Dataset, *, training: bool = True
) -> TreeOn | DiagramOn:
    """A model on the rows of a problem: where they go, and what they are.

    Raises
    ------
    OdtError
        As `audit`.
    """
    _fits(model, problem)
    AuditPart.of(problem.target.kind)  # the meanings of its terms are entered as it is loaded
    known = _AUDIT_ROWS.get(data)
    if known is None or known[0] is not problem or known[1].training != training:
        known = (problem, AuditRows(problem, data, training=training))
        _AUDIT_ROWS[data] = known
    return model_on(model, known[1])


def _value(stage: StageDecl, here: TreeOn | DiagramOn) -> Fraction | None:
    if left_out(stage.measure, here):
        return None
    try:
        return plain(number(stage.measure, here))
    except NoValue:
        return None


def _stage(stage: StageDecl, here: TreeOn | DiagramOn) -> Fraction:
    try:
        return plain(number(stage.measure, here))
    except NoValue as reason:
        raise error("R304", f"`{stage.text}` has no value: {reason}") from None


def without_slack(model: Tree, rows: Rows, leaf: int, names: Collection[str]) -> tuple[str, ...]:
    """Of some rules, the comparisons that have no slack for the rows of a leaf.

    A rule of leaves is asked of this leaf, one of paths of the path to it, one of splits of those
    above it: where it is tightest may be elsewhere. `leaf` counts from the left.

    Raises
    ------
    OdtError
        As `audit`.
    """
    here = model_on_data(model, rows.problem, rows.data)
    assert isinstance(here, TreeOn), "a tree"
    inside = here.leaves[leaf].inside

    def concerned(rule: RuleDecl) -> Sequence[Place]:
        match rule.scope:
            case Scope.PATH:
                return (here.paths[leaf],)
            case Scope.LEAF:
                return (here.leaves[leaf],)
            case _:
                return [
                    one
                    for one in instances(rule, here)
                    if not isinstance(one, SplitOn) or np.isin(inside, one.inside).any()
                ]

    return tuple(
        rule.name
        for rule in rows.problem.rules
        if rule.name in names and any(_is_tight(rule.condition, one) for one in concerned(rule))
    )


def _is_tight(condition: Condition, place: Place) -> bool:
    try:
        sides = _numbers(condition, place)
    except NoValue:
        return False
    if sides is None or _vacuous(sides):
        return False
    assert isinstance(condition, Compare), "only these have sides"
    return _slack(condition, *sides) == 0


def _fits(model: Predictor, problem: Problem) -> None:
    target = problem.target
    if isinstance(model, Diagram) != isinstance(problem.skeleton, DiagramSkeleton):
        one, other = ("diagram", "tree") if isinstance(model, Diagram) else ("tree", "diagram")
        raise error("U301", f"the model is a {one}, but the spec asks for a {other}")
    spoken = (model.target_kind, model.classes, model.targets)
    if spoken != (target.kind, target.classes, target.names):
        raise error(
            "U301",
            "the model does not predict the target of the spec",
            notes=(
                f"model: {', '.join(model.targets)} {_shown(model.classes, model.target_kind)}",
                f"spec: {', '.join(target.names)} {_shown(target.classes, target.kind)}",
            ),
        )


def _shown(classes: Sequence[object], kind: str) -> str:
    return "{" + ", ".join(map(str, classes)) + "}" if classes else f": {kind}"


def plain(value: Fraction | Share) -> Fraction:
    """A value as a number; a share of nothing is 0."""
    if isinstance(value, Share):
        return Fraction(0) if value.under == 0 else value.over / value.under
    return value


def _weights(rows: AuditRows) -> list[AuditLine]:
    """A line where weights are not what their cells say, as far as they may be."""
    if not rows.rounding:
        return []
    note = f"off by at most {float(rows.rounding):.2g} of the largest"
    text = "row weights match the data"
    return [AuditLine(rule="weights", text=text, holds=rows.may_round, note=note)]


# ---- rules


def _check(rule: RuleDecl, here: TreeOn | DiagramOn) -> AuditLine:
    """A rule over all it ranges over, with the sides of a comparison where it is tightest."""
    over = instances(rule, here)
    line = AuditLine(rule=rule.name, text=rule.text, holds=True, instances=len(over))
    if not over:
        feature = threshold_feature(applications(rule.condition))
        what = rule.scope.value if feature is None else f"split on `{printable(feature)}`"
        return replace(line, note=f"vacuous: the {here.kind} has no {what}")
    if rule.scope is Scope.MODEL:
        line = replace(line, groups=group_values(rule.condition, here))
    try:
        kept = all(holds(rule.condition, instance) for instance in over)
        notes = (
            left_out(rule.condition, here),
            in_no_group(rule.condition, here),
            "" if kept else in_training_rows(rule.condition, here),
        )
        line = replace(line, holds=kept, note="; ".join(filter(None, notes)))
        sides = [side for one in over if (side := _numbers(rule.condition, one)) is not None]
        if rule.scope is Scope.MODEL:
            line = replace(line, rows=row_counts(rule.condition, here))
        if len(sides) < len(over):
            return line
    except NoValue as reason:
        # Rules are enforced on training rows; on others what has no value is not known to hold.
        return replace(
            line, note=f"no value: {reason}", holds=False if here.rows.training else None
        )
    assert isinstance(rule.condition, Compare), "only these have sides"
    measured = [at for at, side in enumerate(sides) if not _vacuous(side)]
    if not measured:
        return replace(line, note=_vacuous(sides[0]))
    slacks = [_slack(rule.condition, *side) for side in sides]
    at = min(measured, key=slacks.__getitem__)
    value, bound = map(plain, sides[at])
    return replace(
        line,
        value=value,
        bound=bound,
        slack=slacks[at],
        rows=row_counts(rule.condition, over[at]),
        days=_of_days(rule.condition, here),
    )


def _of_days(condition: Condition, here: TreeOn | DiagramOn) -> bool:
    """Whether a comparison is of a threshold or an output in days with a date."""
    if not isinstance(condition, Compare):
        return False
    sides = (condition.left, condition.right)
    calls = [side for side in sides if isinstance(side, Apply)]
    named = [
        arg.name for call in calls for arg in call.args if isinstance(arg, FeatureArg | TargetArg)
    ]
    asked = any(call.term in ("threshold", "output") for call in calls)
    other = any(isinstance(side, Const) for side in sides)
    return asked and other and any(name in here.rows.problem.data.days for name in named)


def _numbers(condition: Condition, place: Place) -> tuple[Number, Number] | None:
    """Both sides of a comparison; None for other conditions."""
    if not isinstance(condition, Compare):
        return None
    if isinstance(condition.left, Count) or isinstance(condition.right, Count):
        return None  # of outputs at their bounds no number is the count
    return number(condition.left, place), number(condition.right, place)


def _slack(condition: Compare, left: Number, right: Number) -> Fraction:
    """By how much the sides of a comparison keep it."""
    more = plain(right) - plain(left)
    match condition.op:
        case "<=" | "<":
            return more
        case ">=" | ">":
            return -more
        case "=":
            return -abs(more)
        case _:
            return abs(more)


def _vacuous(sides: tuple[Number, Number]) -> str:
    """The note on a comparison of a share of nothing; empty where there is something."""
    empty = (side.empty for side in sides if isinstance(side, Share) and side.under == 0)
    return next((f"vacuous: {one}" for one in empty), "")


__all__ = [
    "Audit",
    "AuditLine",
    "AuditOfRows",
    "audit",
    "audit_rows",
    "model_on_data",
    "plain",
    "values_of",
    "without_slack",
]
