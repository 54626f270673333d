"""Warnings about groups that capitals part: `M` and `m` of one column are two values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from odtdsl.base.source import Span
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.statements import Statements
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.expr import (
    CellAnd,
    CellCompare,
    CellCondition,
    CellIn,
    CellNot,
    CellOr,
    GroupArg,
    applications,
)
from odtdsl.problem.ir.rows import Rows

SHOWN = 3
"""Sets of values that one warning lists; it counts the others."""


def warn_of_groups(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    """Report values of a category, apart only in capitals, of which a group takes some."""
    found: dict[str, dict[tuple[str, ...], ast.Node | Span | None]] = {}
    alike: dict[str, dict[str, list[str]]] = {}
    for group in rows.problem.groups:
        taken: dict[str, set[str]] = {}
        for column, value in _named(group.condition):
            taken.setdefault(column, set()).add(value)
        for column, values in taken.items():
            if column not in alike:
                alike[column] = _alike(rows, column)
            for value in values:
                same = alike[column].get(value.casefold(), [])
                if len(same) > 1 and not values.issuperset(same):
                    at = _said_at(group.name, rows, statements)
                    found.setdefault(column, {}).setdefault(tuple(same), at)
    for column, sets in found.items():
        listed = [" and ".join(f'"{value}"' for value in same) for same in sets]
        more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        first = ", ".join(f'"{value}"' for value in next(iter(sets)))
        both = coded(f"{name_text(column)} in {{{first}}}")
        reporter.warn(
            "D233",
            f"`{column}` has values that differ only in capitals, in different groups",
            next(iter(sets.values())),
            notes=(f"{', '.join(listed[:SHOWN])}{more}",),
            helps=(
                "if they are one value, write them the same way in the data",
                f"or name all of them in one group: {both}",
            ),
        )


def _alike(rows: Rows, column: str) -> dict[str, list[str]]:
    """The texts that training rows have of a category, by what is left without capitals."""
    found: dict[str, list[str]] = {}
    data = rows.data.columns.get(column)
    if data is not None and data.codes is not None and data.type.kind == "category":
        for at in np.unique(data.codes[data.codes >= 0]).tolist():
            text = str(data.type.levels[at])
            found.setdefault(text.casefold(), []).append(text)
    return found


def _named(condition: CellCondition) -> Iterator[tuple[str, str]]:
    """The columns and texts that the condition of a group compares."""
    match condition:
        case CellCompare():
            if isinstance(condition.value, str):
                yield condition.column, condition.value
        case CellIn():
            for value in condition.values:
                if isinstance(value, str):
                    yield condition.column, value
        case CellNot():
            yield from _named(condition.operand)
        case CellAnd() | CellOr():
            for item in condition.items:
                yield from _named(item)
        case _:
            pass


def _said_at(group: str, rows: Rows, statements: Statements) -> ast.Node | Span | None:
    """Where a group is declared, or the rule that makes it of a column's values."""
    for statement in statements.groups:
        if statement.name == group:
            return statement
    for rule in rows.problem.rules:
        calls = applications(rule.condition)
        if any(GroupArg(name=group) in call.args for call in calls):
            return rule.span
    return statements.data
