"""Smart constructors: trees built in Python in the one form that the parser gives as well.

Only what they return is sure to print and parse back equal: a minus belongs to its literal, a
name that is no plain word is quoted, `and` and `or` of one item are that item.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from odtdsl.base.diagnostics.model import error
from odtdsl.language import ast

WORD = re.compile(r"[^\W\d][\w\u0300-\u036f]*")
"""A plain word, as NAME in the grammar."""

HIDING = frozenset({"if", "not", "forall", "minimize", "maximize"})
"""The words that hide a name somewhere; in backticks they are names everywhere."""


def name(word: str) -> ast.Name:
    """A column, group or term; quoted where the word could not stand bare everywhere."""
    return ast.Name(name=word, quoted=not _is_plain(word))


def _is_plain(word: str) -> bool:
    """Whether a word is a name in every place without backticks."""
    return WORD.fullmatch(word) is not None and word not in HIDING


def number(value: int | float | Decimal | Fraction) -> ast.Number | ast.Binary:
    """A number: a literal, or a quotient of two where it has no finite decimal form.

    A float is read as the decimal that Python prints for it, so 0.1 is one tenth.
    """
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise error("S090", f"{value} cannot be written in a spec", helps=("use a finite number",))
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    if decimal_text(exact) is not None:
        return ast.Number(value=exact)
    top, bottom = ast.Number(value=Fraction(exact.numerator)), exact.denominator
    return ast.Binary(op="/", left=top, right=ast.Number(value=Fraction(bottom)))


def decimal_text(value: Fraction) -> str | None:
    """The shortest plain decimal equal to `value`; None if it has none."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return None
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def negate(operand: ast.Expr) -> ast.Expr:
    """`-operand`, folded into a literal."""
    if isinstance(operand, ast.Number | ast.Percent):
        text = operand.text
        flipped = text[1:] if text.startswith("-") else "-" + text if text else ""
        return replace(operand, value=-operand.value, text=flipped)
    return ast.Negate(operand=operand)


def conjunction(items: Iterable[ast.Expr]) -> ast.Expr:
    """`a and b and ...`; conjunctions among the items are taken in flat."""
    flat: list[ast.Expr] = []
    for item in items:
        flat.extend(item.items if isinstance(item, ast.And) else (item,))
    return _junction(flat, "and") or ast.And(items=tuple(flat))


def disjunction(items: Iterable[ast.Expr]) -> ast.Expr:
    """`a or b or ...`; disjunctions among the items are taken in flat."""
    flat: list[ast.Expr] = []
    for item in items:
        flat.extend(item.items if isinstance(item, ast.Or) else (item,))
    return _junction(flat, "or") or ast.Or(items=tuple(flat))


def _junction(items: list[ast.Expr], word: str) -> ast.Expr | None:
    if not items:
        raise error("S090", f"`{word}` without conditions cannot be written in a spec")
    return items[0] if len(items) == 1 else None
