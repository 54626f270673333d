"""Rules and groups of an estimator, in all the forms that Python offers, as statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.frozen import field_names
from odtdsl.interfaces.api import parse
from odtdsl.interfaces.api import statements as say
from odtdsl.interfaces.api.model import Model
from odtdsl.language import ast
from odtdsl.language.fragments import without_places
from odtdsl.words import col, values
from odtdsl.words.expr import Condition, Expression

Rules = Any
"""Texts, conditions, models: one, several, or a mapping of names to them."""

_STATEMENT = re.compile(
    r"\s*(rule|group|let|loss|cost|drop|candidates|missing|feature)\b[^<>=]*[:={]"
)


def add_groups(model: Model, groups: Mapping[str, Any], masks: Iterable[str]) -> None:
    """Append groups, and those masks that some measure names as its group."""
    for name, condition in groups.items():
        model.group(name, condition)
    declared = {one.name for one in model.spec.statements if isinstance(one, ast.Group)}
    named = set(_group_names(model))
    for name in masks:
        if name in named and name not in declared:
            model.group(name, col(name) == "True")


def _group_names(model: Model) -> Iterator[str]:
    """Names that stand as the group of a measure, and not as what `gap` or `ratio` part by."""
    for statement in model.spec.statements:
        if isinstance(statement, ast.Rule):
            yield from _names_in_calls(statement.condition)
        elif isinstance(statement, ast.Objective):
            for stage in statement.stages:
                yield from _names_in_calls(stage.measure)
        elif isinstance(statement, ast.Let):
            yield from _names_in_calls(statement.value)


def _names_in_calls(node: ast.Node) -> Iterator[str]:
    if isinstance(node, ast.Call):
        parted = node.function in ("gap", "ratio")
        yield from (
            one.name for one in node.args[: 1 if parted else None] if isinstance(one, ast.Name)
        )
        if parted and len(node.args) > 2:  # a list of groups
            yield from (one.name for one in node.args[1:] if isinstance(one, ast.Name))
    for name in field_names(type(node)):
        value = getattr(node, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, ast.Node):
                yield from _names_in_calls(one)


# ---- rules


def add_rules(model: Model, rules: Rules, outputs: Sequence[str] = ()) -> None:
    """Append rules; those without a scope that name one of `outputs` apply to leaves.

    Raises
    ------
    OdtError
        What the parser says of a text. U401: a rule of no such form.
    """
    taken = {one.name for one in model.spec.statements if isinstance(one, ast.Rule)}
    for name, rule in _named(rules):
        _rule(model, name, rule, taken, outputs)


def _named(rules: Rules) -> Iterator[tuple[str | None, Any]]:
    if isinstance(rules, Mapping):
        yield from ((str(name), rule) for name, rule in rules.items())
    elif isinstance(rules, str | Model | Expression):
        yield None, rules
    elif isinstance(rules, Iterable):
        yield from ((None, rule) for rule in rules)
    elif rules is not None:
        raise values.wrong("`rules`", rules, _RULE_HELP)


_RULE_HELP = (
    'pass a list of strings such as "forall leaf: size >= 5", conditions of `odtdsl.words`, '
    "pairs of a scope and a condition, or models; or a mapping of names to them"
)


def _rule(
    model: Model, name: str | None, rule: Any, taken: set[str], outputs: Sequence[str]
) -> None:
    if isinstance(rule, Model):
        append(model, rule.spec.statements)
        return
    if name is None and isinstance(rule, str) and (found := _statements(rule)):
        append(model, found)
        taken.update(one.name for one in found if isinstance(one, ast.Rule))
        return
    scope: Any = None
    if isinstance(rule, tuple) and len(rule) == 2:
        scope, rule = rule
    if not isinstance(rule, str | Condition):
        raise values.wrong("a rule", rule, _RULE_HELP)
    word = name or _fresh(taken)
    found_rule = say.rule(word, rule, scope)
    if found_rule.scope is None and any(one in outputs for one in _all_names(found_rule)):
        found_rule = replace(found_rule, scope="leaf")
    taken.add(word)
    append(model, [found_rule])


def _fresh(taken: set[str]) -> str:
    return next(name for k in range(1, len(taken) + 2) if (name := f"rule{k}") not in taken)


def _statements(text: str) -> tuple[ast.Statement, ...]:
    """What a text says as statements; nothing where it is a condition."""
    try:
        return parse(text).spec.statements
    except OdtError:
        if _STATEMENT.match(text):
            raise
        return ()


def _all_names(node: ast.Node) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.name
    for name in field_names(type(node)):
        value = getattr(node, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, ast.Node):
                yield from _all_names(one)


def append(model: Model, statements: Iterable[ast.Statement]) -> None:
    """Append statements, without their places in some other text."""
    model._append(*(without_places(one) for one in statements))
