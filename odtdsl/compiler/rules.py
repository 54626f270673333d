"""Objectives and rules of a spec, resolved."""

from __future__ import annotations

from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.measures import Resolver, constant
from odtdsl.compiler.namespace import Namespace
from odtdsl.compiler.outputs import closed
from odtdsl.language import ast
from odtdsl.language.expressions import expr_to_text, measure_text
from odtdsl.problem.ir.expr import (
    Apply,
    Arith,
    Condition,
    Expr,
    FeatureArg,
    Minus,
    Scope,
    applications,
)
from odtdsl.problem.ir.problem import RuleDecl, StageDecl
from odtdsl.problem.terms.base import Kind
from odtdsl.problem.terms.registry import BY_NAME

SCOPES = {
    None: Scope.MODEL,
    "path": Scope.PATH,
    "leaf": Scope.LEAF,
    "split": Scope.SPLIT,
}


def stages(
    objective: ast.Objective, namespace: Namespace, reporter: Reporter
) -> tuple[StageDecl, ...]:
    """The stages; one without a direction has the first one's."""
    resolver = Resolver(namespace, Scope.MODEL, reporter)
    first = objective.stages[0].sense or "minimize"
    found: list[StageDecl] = []
    for stage in objective.stages:
        try:
            measure = resolver.value(stage.measure)
        except StatementError:
            continue
        if not applications(measure):
            reporter.error(
                "O101", "the objective is a constant", stage, helps=("write `minimize errors`",)
            )
            continue
        sense = stage.sense or first
        _check_direction(stage, sense, measure, reporter)
        text = f"{sense} {measure_text(stage.measure)}"
        found.append(StageDecl(sense=sense, measure=measure, text=text, span=stage.span))
    return tuple(found)


def _check_direction(stage: ast.Stage, sense: str, measure: Expr, reporter: Reporter) -> None:
    """Warn of a stage all of whose terms are better the other way."""
    wishes = {fewer == (sense == "minimize") for fewer in _wishes(measure, positive=True)}
    if wishes != {False}:
        return
    other = "maximize" if sense == "minimize" else "minimize"
    text = measure_text(stage.measure, later_stage=True)
    if stage.sense is None:
        reporter.warn(
            "O102",
            f"this stage takes the direction of the first: {sense} {text}",
            stage,
            helps=(f"write `then {other} {text}`, or `then {sense} {text}` if this is meant",),
        )
    else:
        reporter.warn(
            "O103",
            f"`{sense} {text}` is probably not what you want",
            stage,
            helps=(f"write `{other} {text}`",),
        )


def _wishes(expr: Expr, *, positive: bool) -> list[bool]:
    """For each term that has a better direction, whether less of the expression is better."""
    match expr:
        case Apply():
            fewer = BY_NAME[expr.term].fewer_is_better
            return [] if fewer is None else [fewer == positive]
        case Minus():
            return _wishes(expr.operand, positive=not positive)
        case Arith():
            left, right = constant(expr.left), constant(expr.right)
            by = left if left is not None else right
            turned = expr.op in ("*", "/") and by is not None and by < 0
            minus = (expr.op == "-") != turned
            return [
                *_wishes(expr.left, positive=positive != turned),
                *_wishes(expr.right, positive=positive != minus),
            ]
        case _:
            return []


def rules(found: list[ast.Rule], namespace: Namespace, reporter: Reporter) -> tuple[RuleDecl, ...]:
    """The rules that could be resolved; what is wrong with the others is reported."""
    done: list[RuleDecl] = []
    for rule in found:
        try:
            done.append(_rule(rule, namespace, reporter))
        except StatementError:
            continue
    return tuple(done)


def _rule(rule: ast.Rule, namespace: Namespace, reporter: Reporter) -> RuleDecl:
    scope = SCOPES[rule.scope]
    condition = Resolver(namespace, scope, reporter).condition(rule.condition)
    terms = {call.term for call in applications(condition)}
    if not terms:
        raise reporter.error(
            "R101",
            f"rule `{rule.name}` says nothing about the model",
            rule.condition,
            helps=("compare a measure, such as `errors <= 10`",),
        )
    _check_thresholds(rule, condition, reporter)
    if "output" in terms:
        condition = closed(condition, rule, reporter, namespace.target.step)
    head = "" if rule.scope is None else f"forall {rule.scope}: "
    text = head + expr_to_text(rule.condition, rule_head=rule.scope is None)
    return RuleDecl(name=rule.name, scope=scope, condition=condition, text=text, span=rule.span)


def _check_thresholds(rule: ast.Rule, condition: Condition, reporter: Reporter) -> None:
    """Check that a rule ranges over the splits of the one feature whose threshold it compares."""
    names = {
        arg.name
        for call in applications(condition)
        if BY_NAME[call.term].kind is Kind.THRESHOLD
        for arg in call.args
        if isinstance(arg, FeatureArg)
    }
    if len(names) > 1:
        raise reporter.error(
            "R102",
            f"rule `{rule.name}` mixes thresholds of several features",
            rule.condition,
            helps=("write one rule per feature",),
        )
