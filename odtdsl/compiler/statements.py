"""Statements sorted by kind, with what may occur only once, and `let` put in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from odtdsl.base.frozen import field_names
from odtdsl.base.source import NOWHERE
from odtdsl.compiler.context import Reporter
from odtdsl.language import ast

S = TypeVar("S", bound=ast.Node)


@dataclass(slots=True, kw_only=True)
class Statements:
    """The statements of a spec by kind. What a spec must have may still be None."""

    data: ast.Data | None = None
    target: ast.Target | None = None
    skeleton: ast.Tree | ast.Diagram | None = None
    objective: ast.Objective | None = None
    weight: ast.Weight | None = None
    features: list[ast.Feature] = field(default_factory=list)
    drops: list[ast.Drop] = field(default_factory=list)
    missing: list[ast.Missing] = field(default_factory=list)
    candidates: list[ast.Candidates] = field(default_factory=list)
    costs: list[ast.Cost] = field(default_factory=list)
    losses: list[ast.Loss] = field(default_factory=list)
    groups: list[ast.Group] = field(default_factory=list)
    lets: dict[str, ast.Let] = field(default_factory=dict)
    rules: list[ast.Rule] = field(default_factory=list)
    solves: list[ast.Solve] = field(default_factory=list)


def sort_statements(
    spec: ast.Spec, reporter: Reporter, settings: Mapping[str, ast.Expr]
) -> Statements:
    """Sort by kind; report what is missing, given twice or set without a `let`."""
    found = Statements()
    for statement in spec.statements:
        _place(statement, found, reporter)
    for name, value in settings.items():
        if name not in found.lets:
            known = ", ".join(f"`{n}`" for n in found.lets) or "none"
            reporter.error(
                "N113",
                f"`{name}` is set, but the spec has no `let {name} = ...`",
                notes=(f"`let` names of the spec: {known}",),
                helps=(
                    f"define it in the spec and use it, such as `let {name} = 3` and "
                    f"`tree depth <= {name}`",
                ),
            )
        else:
            found.lets[name] = replace(found.lets[name], value=without_spans(value))
    if not spec.statements:
        reporter.error(
            "K101",
            "the spec is empty",
            helps=(
                "a spec needs at least data, a target, a skeleton and an objective, for example",
                'data "file.csv" target survived tree depth <= 3 minimize errors',
            ),
        )
    else:
        _demand(found, reporter)
    return found


N = TypeVar("N")


def without_spans(node: N) -> N:
    """A syntax node from another text, whose spans say nothing in this one."""
    if isinstance(node, tuple):
        return tuple(without_spans(item) for item in node)  # type: ignore[return-value]
    if not isinstance(node, ast.Node):
        return node
    values = {name: without_spans(getattr(node, name)) for name in field_names(type(node))}
    return replace(node, **{**values, "span": NOWHERE})


def _place(statement: ast.Statement, found: Statements, reporter: Reporter) -> None:
    match statement:
        case ast.Data():
            found.data = _once(found.data, statement, "data", reporter)
        case ast.Target():
            found.target = _once(found.target, statement, "target", reporter)
        case ast.Tree() | ast.Diagram():
            found.skeleton = _once(found.skeleton, statement, "skeleton", reporter)
        case ast.Objective():
            found.objective = _once(found.objective, statement, "objective", reporter)
        case ast.Weight():
            found.weight = _once(found.weight, statement, "weight", reporter)
        case ast.Feature():
            found.features.append(statement)
        case ast.Drop():
            found.drops.append(statement)
        case ast.Missing():
            found.missing.append(statement)
        case ast.Candidates():
            found.candidates.append(statement)
        case ast.Cost():
            found.costs.append(statement)
        case ast.Loss():
            found.losses.append(statement)
        case ast.Group():
            _named_once(found.groups, statement, "group", reporter)
            found.groups.append(statement)
        case ast.Let():
            if statement.name in found.lets:
                _twice("let", statement.name, found.lets[statement.name], statement, reporter)
            found.lets.setdefault(statement.name, statement)
        case ast.Rule():
            _named_once(found.rules, statement, "rule", reporter)
            found.rules.append(statement)
        case ast.Solve():
            found.solves.append(statement)


def _once(old: S | None, new: S, what: str, reporter: Reporter) -> S:
    if old is None:
        return new
    helps = {
        "objective": "write several objectives in order: `minimize errors then leaves`",
        "target": "name several number targets in one statement: `target math, reading: number`",
    }
    reporter.error(
        "N101",
        f"a spec has only one {what} statement",
        new,
        label="the second",
        also=((old, "the first"),),
        helps=(helps.get(what, "remove one of them"),),
    )
    return old


def _named_once(
    old: list[ast.Group] | list[ast.Rule], new: ast.Group | ast.Rule, what: str, reporter: Reporter
) -> None:
    for other in old:
        if other.name == new.name:
            _twice(what, new.name, other, new, reporter)
            return


def _twice(what: str, name: str, old: ast.Node, new: ast.Node, reporter: Reporter) -> None:
    reporter.error(
        "N102",
        f"{what} `{name}` is defined twice",
        new,
        label="again here",
        also=((old, "first here"),),
        helps=("give each its own name, which messages use",),
    )


def _demand(found: Statements, reporter: Reporter) -> None:
    for missing, what, example in (
        (found.data is None, "data", 'data "file.csv"'),
        (found.target is None, "target", "target survived"),
        (found.skeleton is None, "skeleton", "tree depth <= 3"),
        (found.objective is None, "objective", "minimize errors"),
    ):
        if missing:
            reporter.error(
                "K102", f"the spec has no {what}", helps=(f"add it, for example `{example}`",)
            )
