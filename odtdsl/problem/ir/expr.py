"""Typed expressions: names resolved to terms, columns, labels, groups and rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from enum import StrEnum
from fractions import Fraction
from typing import Literal, assert_never

from odtdsl.base.frozen import dataclass


class Scope(StrEnum):
    """What a rule ranges over. A diagram's paths are its active root-to-terminal paths."""

    MODEL = "model"
    PATH = "path"
    LEAF = "leaf"
    SPLIT = "split"


# ---- arguments of terms


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureArg:
    """A feature column; `index` counts the features of the problem."""

    name: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetArg:
    """A target column; `index` counts the targets of the problem."""

    name: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelArg:
    """A class label; `index` counts the classes of the problem."""

    text: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupArg:
    """A named group, or one that a column's value makes (`race = "caucasian"`)."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowArg:
    """A training row; `index` counts the rows of the training data."""

    text: str
    index: int


Arg = FeatureArg | TargetArg | LabelArg | GroupArg | RowArg


# ---- expressions with a number as value


@dataclass(frozen=True, slots=True, kw_only=True)
class Const:
    """An exact number. `percent` remembers how it was written, for messages."""

    value: Fraction
    percent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShare:
    """A share of the training rows (of a group's): a percentage compared with a row count."""

    share: Fraction
    group: GroupArg | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """A term with its arguments: a number or a condition, as the term says.

    `of` is the measure inside `gap` and `ratio`; the groups follow in `args`.
    """

    term: str
    args: tuple[Arg, ...] = ()
    of: Apply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arith:
    """A sum, difference, product or quotient of two numbers."""

    op: Literal["+", "-", "*", "/"]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Minus:
    """A number with the opposite sign."""

    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Abs:
    """The absolute value of a number."""

    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many of the conditions hold."""

    conditions: tuple[Condition, ...]


Expr = Const | RowShare | Apply | Arith | Minus | Abs | Count


# ---- conditions

CompareOp = Literal["<=", ">=", "<", ">", "=", "!="]

COMPARE: dict[CompareOp, Callable[[Fraction | float, Fraction | float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}
COMPLEMENT: dict[CompareOp, CompareOp] = {
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "<": ">=",
    "=": "!=",
    "!=": "=",
}
"""What holds where the comparison does not."""
MIRRORED: dict[CompareOp, CompareOp] = {
    "<=": ">=",
    ">=": "<=",
    "<": ">",
    ">": "<",
    "=": "=",
    "!=": "!=",
}
"""The comparison with its sides swapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """A comparison of two numbers."""

    op: CompareOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """`x in {a, b}`."""

    item: Expr
    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """`threshold(f) in {"low"}` on an ordered column with text levels."""

    item: Apply
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleOf:
    """Whether a number is a whole multiple of `step`, which is positive."""

    item: Expr
    step: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class NotC:
    """The negation of a condition."""

    operand: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class AndC:
    """The conjunction of conditions; true without any."""

    items: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrC:
    """Also `if C then D`, as `not C or D`."""

    items: tuple[Condition, ...]


Condition = Compare | OneOf | Level | MultipleOf | NotC | AndC | OrC | Apply


def parts(condition: Condition) -> Iterator[Condition]:
    """What `and`, `or` and `not` make a condition of, from left to right."""
    match condition:
        case NotC():
            yield from parts(condition.operand)
        case AndC() | OrC():
            for item in condition.items:
                yield from parts(item)
        case _:
            yield condition


def applications(node: Condition | Expr) -> list[Apply]:
    """All terms applied in an expression, from left to right, with those inside `gap`."""
    match node:
        case Apply():
            return [node] if node.of is None else [node, node.of]
        case Const() | RowShare():
            return []
        case Minus() | Abs() | NotC():
            return applications(node.operand)
        case Arith() | Compare():
            return applications(node.left) + applications(node.right)
        case OneOf() | MultipleOf() | Level():
            return applications(node.item)
        case Count():
            return [found for item in node.conditions for found in applications(item)]
        case AndC() | OrC():
            return [found for item in node.items for found in applications(item)]
        case _:
            assert_never(node)


# ---- conditions on the cells of a row (groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCompare:
    """A cell against a constant; false where the cell is missing.

    Numbers are compared as float64 with the literal's nearest float64; ordered columns
    by the rank of their levels.
    """

    column: str
    op: CompareOp
    value: Fraction | str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellIn:
    """Whether a cell is one of the values; false where it is missing."""

    column: str
    values: tuple[Fraction | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMissing:
    """Whether a cell is missing."""

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIn:
    """Rows by their index in the training data."""

    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellNot:
    """The negation of a condition on cells."""

    operand: CellCondition


@dataclass(frozen=True, slots=True, kw_only=True)
class CellAnd:
    """The conjunction of conditions on cells."""

    items: tuple[CellCondition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOr:
    """The disjunction of conditions on cells."""

    items: tuple[CellCondition, ...]


CellCondition = CellCompare | CellIn | CellMissing | RowIn | CellNot | CellAnd | CellOr
