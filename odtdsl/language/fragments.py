"""Texts of the language inside calls and options: one statement, or the value in one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from odtdsl.base.diagnostics.model import error
from odtdsl.base.frozen import field_names
from odtdsl.base.source import NOWHERE, Source, Span
from odtdsl.language import ast
from odtdsl.language.parser import parse

S = TypeVar("S", bound=ast.Statement)
N = TypeVar("N", bound=ast.Node)


def written(text: str, what: str, kind: type[S], head: str) -> S:
    """The one statement that `head` and a text make, without places in it.

    Raises
    ------
    OdtError
        With what the parser says of it. U402: the text says more than one statement.
    """
    source = Source(name=f"<{what}>", text=head + text)
    found = parse(source).statements
    if len(found) != 1 or not isinstance(found[0], kind):
        extra = found[1].span if len(found) > 1 else Span(start=0, end=len(source.text))
        raise error(
            "U402",
            f"the text contains more than {what}",
            span=extra,
            source=source,
            helps=("to add whole statements, call `add(text)`",),
        )
    return without_places(found[0])


def without_places(node: N) -> N:
    """A node whose spans, and those of all nodes in it, point nowhere."""
    changes: dict[str, Any] = {}
    for name in field_names(type(node)):
        value = getattr(node, name)
        if isinstance(value, Span):
            changes[name] = NOWHERE
        elif isinstance(value, ast.Node):
            changes[name] = without_places(value)
        elif isinstance(value, tuple):
            changes[name] = tuple(
                without_places(one) if isinstance(one, ast.Node) else one for one in value
            )
    return replace(node, **changes)


def words_of(node: ast.Node) -> frozenset[str]:
    """The names in an expression or statement: of columns, numbers of `let`, terms and groups."""
    found = {node.name} if isinstance(node, ast.Name) else set()
    found |= {node.function} if isinstance(node, ast.Call) else set()
    for name in field_names(type(node)):
        value = getattr(node, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, ast.Node):
                found |= words_of(one)
    return frozenset(found)
