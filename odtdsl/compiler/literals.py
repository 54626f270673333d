"""Literals of a spec as levels of a column: a text stands for itself, a number for a level."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.datasets.cells import reading
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.levels import as_number, level_text, number_indices, text_index
from odtdsl.language import ast
from odtdsl.problem.ir.intervals import nearest_float

SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """What a literal stands for, or arithmetic of some; `written`: the text of a number."""

    value: Fraction | str
    written: str

    @classmethod
    def number(cls, value: Fraction, written: str = "") -> Constant:
        """A number, and how it is written."""
        return cls(value=value, written=written or decimal(value))

    @classmethod
    def text(cls, value: str) -> Constant:
        """A text."""
        return cls(value=value, written=value)


def decimal(value: Fraction) -> str:
    """A number as a person writes it."""
    return str(value) if value.denominator == 1 else repr(nearest_float(value))


def literal_constant(literal: ast.Literal, reporter: Reporter) -> Constant:
    """The constant of a label or level; files and raises `StatementError` for what can be none."""
    match literal:
        case ast.Number():
            return Constant.number(literal.value, literal.text)
        case ast.Text():
            return Constant.text(literal.value)
        case ast.Percent():
            raise reporter.error(
                "T101",
                "a percentage is not a label",
                literal,
                helps=("write the value exactly as in the data",),
            )
        case ast.Name():
            raise reporter.error(
                "T102",
                f"expected a value, but `{literal.name}` is a bare word",
                literal,
                helps=(f'write values in quotes: "{literal.name}"',),
            )


def level_of(
    levels: Sequence[Value],
    constant: Constant,
    reporter: Reporter,
    at: ast.Node,
    *,
    by_value: bool = False,
) -> int | None:
    """The index of the level that a constant denotes; None if it denotes none.

    It is the level of the same text; for a number, or where the levels are numbers of a frame
    (`by_value`), else the one level that reads as it. Where several do, raises `StatementError`.
    """
    exact = text_index(levels, constant.written)
    if exact is not None:
        return exact
    number = constant.value
    if isinstance(number, str):
        read = reading(number) if by_value else None
        if read is None:
            return None
        number = Fraction(read)
    same = number_indices(levels, number)
    if len(same) > 1:
        raise _unclear(constant.written, [level_text(levels[i]) for i in same], reporter, at)
    return same[0] if same else None


def _unclear(
    written: str, texts: Sequence[str], reporter: Reporter, at: ast.Node
) -> StatementError:
    """Report that a number may mean several texts."""
    listed = ", ".join(f'"{text}"' for text in texts[:SHOWN])
    more = ", ..." if len(texts) > SHOWN else ""
    return reporter.error(
        "N123",
        f"`{written}` is ambiguous: {listed}{more} all read as this number",
        at,
        notes=("the values of a category are distinguished by how they are written",),
        helps=(f'write the value in quotes, such as "{texts[0]}"',),
    )


def named_row(
    rows: Mapping[str, int], constant: Constant, reporter: Reporter, at: ast.Node
) -> str | None:
    """The name among `rows` that a constant denotes; None if it denotes none."""
    if constant.written in rows or isinstance(constant.value, str):
        return constant.written if constant.written in rows else None
    number = as_number(constant.value)
    same = [name for name in rows if reading(name) == number]
    if len(same) > 1:
        raise _unclear(constant.written, same, reporter, at)
    return same[0] if same else None


def plain_value(constant: Constant) -> Value:
    """A number as int or float, a text as it is."""
    value = constant.value
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else nearest_float(value)
    return value


def is_quoted(literals: Collection[ast.Literal]) -> bool:
    """Whether a value among them stands in quotes."""
    return any(isinstance(literal, ast.Text) for literal in literals)
