"""Expressions, literals and names as text: what `printer` puts its lines together from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.language import ast
from odtdsl.language.constructors import WORD, decimal_text

_LITERAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LONGEST = 1000

_IF, _OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _UNARY, _ATOM = range(9)
"""How tightly an expression binds, loosest first."""

_NONE: frozenset[str] = frozenset()
_NEGATION = frozenset({"not"})
_CONDITION = frozenset({"if", "not"})
_RULE = frozenset({"if", "not", "forall"})
_STAGE = frozenset({"minimize", "maximize"})


def expr_to_text(expr: ast.Expr, *, rule_head: bool = False) -> str:
    """An expression with the fewest parentheses.

    `rule_head`: it stands directly behind `rule NAME:`, where a column `forall` needs backticks.
    """
    return _text(expr, _IF, _RULE if rule_head else _CONDITION)


def measure_text(expr: ast.Expr, *, later_stage: bool = False) -> str:
    """An expression as a stage of an objective: conditions in parentheses."""
    return _text(expr, _SUM, _STAGE if later_stage else _NONE)


def _text(expr: ast.Expr, least: int, hidden: frozenset[str]) -> str:
    """`expr` where an expression of at least `least` may stand.

    `hidden` are the words that would be keywords, not names, at its first token.
    """
    own = _binding(expr)
    if own < least:
        return f"({_text(expr, _IF, _CONDITION)})"
    match expr:
        case ast.Number():
            return number_text(expr)
        case ast.Percent():
            return percent_text(expr)
        case ast.Text():
            return quote(expr.value)
        case ast.Name():
            return column_text(expr, hidden)
        case ast.Call():
            args = ", ".join(_text(arg, _IF, _CONDITION) for arg in expr.args)
            return f"{_function(expr.function, hidden)}({args})"
        case ast.Negate():
            return "-" + _text(expr.operand, _UNARY, _NONE)
        case ast.Binary():
            right = _text(expr.right, own + 1, _NONE)
            return f"{_text(expr.left, own, hidden)} {expr.op} {right}"
        case ast.Not():
            return "not " + _text(expr.operand, _NOT, _NEGATION)
        case ast.And():
            return _junction("and", expr.items, own + 1, hidden)
        case ast.Or():
            return _junction("or", expr.items, own + 1, hidden)
        case ast.If():
            condition = _text(expr.condition, _OR, _CONDITION)
            return f"if {condition} then {_text(expr.consequence, _IF, _CONDITION)}"
        case ast.Compare() | ast.Member() | ast.IsMissing() | ast.Infix():
            return _relation(expr, hidden)
        case _:
            assert_never(expr)


def _binding(expr: ast.Expr) -> int:
    match expr:
        case ast.If():
            return _IF
        case ast.Or():
            return _OR
        case ast.And():
            return _AND
        case ast.Not():
            return _NOT
        case ast.Compare() | ast.Member() | ast.IsMissing() | ast.Infix():
            return _RELATION
        case ast.Binary():
            return _SUM if expr.op in "+-" else _PRODUCT
        case ast.Negate():
            return _UNARY
        case ast.Number() | ast.Percent() | ast.Text() | ast.Name() | ast.Call():
            return _ATOM
        case _:
            assert_never(expr)


def _relation(
    expr: ast.Compare | ast.Member | ast.IsMissing | ast.Infix, hidden: frozenset[str]
) -> str:
    match expr:
        case ast.Compare():
            if len(expr.operands) != len(expr.ops) + 1 or len(expr.ops) not in (1, 2):
                raise _unwritable("a comparison needs one or two operators")
            words = [_text(expr.operands[0], _SUM, hidden)]
            for op, operand in zip(expr.ops, expr.operands[1:], strict=True):
                words += [op, _text(operand, _SUM, _NONE)]
            return " ".join(words)
        case ast.Member(item=item, within=within):
            if isinstance(within, ast.SetOf):
                members = items_text(within.items)
            else:
                members = f"[{number_text(within.low)}, {number_text(within.high)}]"
            return f"{_text(item, _SUM, hidden)} in {members}"
        case ast.IsMissing(item=item):
            return f"{_text(item, _SUM, hidden)} is missing"
        case ast.Infix():
            left = _text(expr.left, _SUM, hidden)
            return f"{left} {expr.word} {_text(expr.right, _SUM, _NONE)}"
        case _:
            assert_never(expr)


def _junction(word: str, items: tuple[ast.Expr, ...], least: int, hidden: frozenset[str]) -> str:
    if len(items) < 2:
        raise _unwritable(f"`{word}` needs at least two conditions")
    first, *rest = items
    texts = [_text(first, least, hidden), *(_text(item, least, _NEGATION) for item in rest)]
    return f" {word} ".join(texts)


def _function(word: str, hidden: frozenset[str]) -> str:
    if word in hidden or word in _CONDITION:
        raise _unwritable(f"`{word}` cannot be the name of a function")
    return word_text(word)


# ---- literals and names


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def number_text(number: ast.Number) -> str:
    """A number, or date, as it was written, else as the shortest decimal."""
    if _DATE.fullmatch(number.text):
        return number.text
    return _decimal(number.value, number.text)


def percent_text(percent: ast.Percent) -> str:
    """A percentage as it was written, else as the shortest decimal."""
    return _decimal(percent.value, percent.text) + "%"


def _decimal(value: Fraction, written: str) -> str:
    if _LITERAL.fullmatch(written) and Fraction(written) == value:
        return written
    text = decimal_text(value)
    if text is None or len(text) > _LONGEST:
        raise _unwritable(f"{str(value)[:40]} has no short decimal form; write it as a quotient")
    return text


def label_text(literal: ast.Literal) -> str:
    """A literal as in a set or as a label."""
    match literal:
        case ast.Number():
            return number_text(literal)
        case ast.Percent():
            return percent_text(literal)
        case ast.Text():
            return quote(literal.value)
        case ast.Name():
            return column_text(literal)
        case _:
            assert_never(literal)


def items_text(items: Iterable[ast.Literal]) -> str:
    """`{a, b, ...}`."""
    texts = [label_text(item) for item in items]
    if not texts:
        raise _unwritable("a set needs at least one member")
    return "{" + ", ".join(texts) + "}"


def columns_text(columns: ast.Columns) -> str:
    """`a, b, ...`, or the star."""
    if isinstance(columns, ast.Star):
        return "*"
    if not columns:
        raise _unwritable("a list of columns needs at least one column")
    return ", ".join(column_text(column) for column in columns)


def column_text(name: ast.Name, hidden: frozenset[str] = _NONE) -> str:
    """A name; in backticks where it was written so or could not stand bare."""
    return backticks(name.name) if name.quoted else name_text(name.name, hidden)


def name_text(word: str, hidden: frozenset[str] = _NONE) -> str:
    """A name of a rule, a group or a `let`; in backticks where it could not stand bare."""
    return word if WORD.fullmatch(word) and word not in hidden else backticks(word)


def backticks(word: str) -> str:
    """A name in backticks, those inside it doubled."""
    if not word or "\n" in word or "\r" in word:
        raise _unwritable(f"the name {word!r} is empty or contains a line break; rename the column")
    return "`" + word.replace("`", "``") + "`"


def coded(code: str) -> str:
    """A piece of a spec inside a message: what has backticks itself stands between two of them."""
    return f"`` {code} ``" if "`" in code else f"`{code}`"


def word_text(word: str) -> str:
    """A word that has no form in backticks, such as a scope."""
    if not WORD.fullmatch(word):
        raise _unwritable(f"{word!r} is not a plain word")
    return word


_SHORT = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"}


def quote(text: str) -> str:
    """A text in double quotes; characters that an editor could not show are escaped."""
    return '"' + "".join(_SHORT.get(char) or _escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    shown = char != "\ufeff" and unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
    return char if shown else f"\\u{{{ord(char):x}}}"


def _unwritable(reason: str) -> OdtError:
    return error("S090", f"this spec cannot be written as text: {reason}")
