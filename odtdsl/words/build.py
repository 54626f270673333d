"""Syntax trees of the words: their arguments as nodes, and what they are together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from odtdsl.language import ast
from odtdsl.words import values
from odtdsl.words.expr import Condition, Measure
from odtdsl.words.values import Label, Numeric

# ---- arguments; what is left out is None


def feature(name: str) -> ast.Expr:
    """A feature by its name, as a syntax node."""
    return values.name(name, "a feature")


def target(name: str) -> ast.Expr:
    """A target by its name, as a syntax node."""
    return values.name(name, "a target")


def group(name: str | None) -> ast.Expr | None:
    """A group by its name, as a syntax node; `None` for all rows."""
    return None if name is None else values.name(name, "a group")


def by(name: str) -> ast.Expr:
    """A column or group that forms groups, as a syntax node."""
    return values.name(name, "a column or group")


def label(value: Label) -> ast.Expr:
    """A class, as a syntax node."""
    return values.label(value, "a class")


def row(value: Label) -> ast.Expr:
    """A row by its position or id, as a syntax node."""
    return values.label(value, "a row")


def measure(given: Measure | Numeric) -> ast.Expr:
    """A measure or number, as a syntax node."""
    (node,) = measures((given,))
    return node


def measures(given: Iterable[Measure | Numeric]) -> tuple[ast.Expr, ...]:
    """The nodes of measures and numbers.

    Raises
    ------
    OdtError
        U401: it is neither.
    """
    found: list[ast.Expr] = []
    for one in given:
        node = one.node if isinstance(one, Measure) else values.number(one)
        if node is None:
            raise values.wrong("a measure", one, "give one such as errors, or a number")
        found.append(node)
    return tuple(found)


def conditions(given: Iterable[Condition]) -> tuple[ast.Expr, ...]:
    """The nodes of conditions.

    Raises
    ------
    OdtError
        U401: something else.
    """
    found: list[ast.Expr] = []
    for one in given:
        if not isinstance(one, Condition):
            raise values.wrong("a condition", one, 'give one such as uses("age") or leaves <= 3')
        found.append(one.node)
    return tuple(found)


# ---- words with their arguments


def _call(word: str, given: Iterable[ast.Expr | None]) -> ast.Call:
    return ast.Call(function=word, args=tuple(node for node in given if node is not None))


def measure_of(word: str, *given: ast.Expr | None) -> Measure:
    """A measure, called with arguments."""
    return Measure(node=_call(word, given))


def condition_of(word: str, *given: ast.Expr | None) -> Condition:
    """A condition, called with arguments."""
    return Condition(node=_call(word, given))


def infix_of(word: Literal["before", "requires"], left: ast.Expr, right: ast.Expr) -> Condition:
    """A condition whose word stands between its arguments."""
    return Condition(node=ast.Infix(word=word, left=left, right=right))
