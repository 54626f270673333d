"""Conditions on the cells of a row: what groups are made of."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from odtdsl.analysis.desk import Desk, Stop
from odtdsl.data.dataset import ColumnType
from odtdsl.data.typing import level_index
from odtdsl.ir.expr import (
    CellAnd,
    CellCompare,
    CellCondition,
    CellIn,
    CellMissing,
    CellNot,
    CellOr,
    CompareOp,
    RowIn,
)  # fmt: skip
from odtdsl.syntax import ast

FLIPPED: dict[CompareOp, CompareOp] = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}


class Cells:
    """Resolves row conditions against typed columns.

    Attributes
    ----------
    types
        Type of every column of the table.
    rows
        Index of a training row by the text of its name (its position, or its id).
    constants
        Values of `let` names.
    """

    def __init__(
        self, types: Mapping[str, ColumnType], rows: Mapping[str, int],
        constants: Mapping[str, ast.Expr], desk: Desk,
    ) -> None:  # fmt: skip
        self.types, self.rows, self.constants, self.desk = types, rows, constants, desk

    def condition(self, expr: ast.Expr) -> CellCondition:
        match expr:
            case ast.And():
                return CellAnd(items=tuple(self.condition(item) for item in expr.items))
            case ast.Or():
                return CellOr(items=tuple(self.condition(item) for item in expr.items))
            case ast.Not():
                return CellNot(operand=self.condition(expr.operand))
            case ast.If():
                refused = CellNot(operand=self.condition(expr.condition))
                return CellOr(items=(refused, self.condition(expr.consequence)))
            case ast.IsMissing():
                return CellMissing(column=self.column(expr.item))
            case ast.Member():
                return self._member(expr)
            case ast.Compare():
                return self._compare(expr)
            case _:
                raise self.desk.error(
                    "T115", "a group is a condition on the cells of a row", expr,
                    helps=('for example: sex = "female" and age in [20, 65]',),
                )  # fmt: skip

    def column(self, expr: ast.Expr) -> str:
        if not isinstance(expr, ast.Name):
            raise self.desk.error("T115", "a column's name should stand here", expr)
        if expr.name not in self.types:
            raise self.desk.unknown("N103", "column", expr.name, list(self.types), expr)
        return expr.name

    def _member(self, expr: ast.Member) -> CellCondition:
        if isinstance(expr.item, ast.Name) and expr.item.name == "row" and not expr.item.quoted:
            return RowIn(rows=self._rows(expr))
        name = self.column(expr.item)
        if isinstance(expr.within, ast.Interval):
            low, high = expr.within.low, expr.within.high
            return CellAnd(
                items=(self._cell(name, ">=", low, low), self._cell(name, "<=", high, high))
            )
        values = tuple(self._value(name, item) for item in expr.within.items)
        return CellIn(column=name, values=values)

    def _rows(self, expr: ast.Member) -> tuple[int, ...]:
        if isinstance(expr.within, ast.Interval):
            raise self.desk.error("T115", "rows are listed: `row in {3, 17}`", expr.within)
        return tuple(self.row(item) for item in expr.within.items)

    def row(self, literal: ast.Expr) -> int:
        """The index of the training row that a literal names."""
        match literal:
            case ast.Number():
                key = str(literal.value)
            case ast.Text():
                key = literal.value
            case _:
                raise self.desk.error(
                    "T116", "a row is named by its number, counted from 0, or its id", literal
                )
        if key not in self.rows:
            raise self.desk.error(
                "N115", f"no training row is called `{key}`", literal,
                notes=(f"there are {len(self.rows)} training rows",),
                helps=("rows are counted from 0 in the file as read; test rows do not count",),
            )  # fmt: skip
        return self.rows[key]

    def _compare(self, expr: ast.Compare) -> CellCondition:
        items: list[CellCondition] = []
        for left, op, right in zip(expr.operands, expr.ops, expr.operands[1:], strict=False):
            if isinstance(left, ast.Name) and self._is_column(left):
                items.append(self._cell(left.name, op, right, expr))
            elif isinstance(right, ast.Name) and self._is_column(right):
                items.append(self._cell(right.name, FLIPPED.get(op, op), left, expr))
            else:
                side = left if isinstance(left, ast.Name) else right
                self.column(side)
        return items[0] if len(items) == 1 else CellAnd(items=tuple(items))

    def _is_column(self, name: ast.Name) -> bool:
        return name.name in self.types and (name.quoted or name.name not in self.constants)

    def _cell(self, name: str, op: CompareOp, value: ast.Expr, at: ast.Node) -> CellCondition:
        kind = self.types[name].kind
        if kind in ("category", "binary") and op not in ("=", "!="):
            raise self.desk.error(
                "T117", f"`{name}` is of type {kind}: its values have no order", at,
                helps=(f"use `=`, `!=` or `in`, or declare `feature {name}: ordered {{...}}`",),
            )  # fmt: skip
        return CellCompare(column=name, op=op, value=self._value(name, value))

    def _value(self, name: str, expr: ast.Expr) -> Fraction | str:
        value = self._constant(expr, name)
        column = self.types[name]
        if column.kind == "number":
            if isinstance(value, str):
                raise self.desk.error(
                    "T119", f"`{name}` is a number, but is compared with a text", expr,
                    helps=("write the number without quotes",),
                )  # fmt: skip
            return value
        index = level_index(column.levels, value)
        if index is None:
            raise self.desk.unknown(
                "N116", f"value of `{name}`", str(value), [str(v) for v in column.levels], expr
            )
        level = column.levels[index]
        return level if isinstance(level, str) else Fraction(str(level))

    def _constant(self, expr: ast.Expr, column: str) -> Fraction | str:
        match expr:
            case ast.Number():
                return expr.value
            case ast.Percent():
                return expr.value / 100
            case ast.Text():
                return expr.value
            case ast.Name() if expr.name in self.constants:
                return self._constant(self.constants[expr.name], column)
            case ast.Name():
                raise self.desk.error(
                    "T102", f"`{expr.name}` is a bare word where a value should stand", expr,
                    helps=(f'write values in quotes: "{expr.name}"',),
                )  # fmt: skip
            case _:
                raise self.desk.error("T120", f"`{column}` is compared with constants only", expr)


def flatten(condition: CellCondition) -> tuple[str, ...]:
    """The columns that a condition reads, but for `is missing`, in order of appearance."""
    match condition:
        case CellCompare() | CellIn():
            return (condition.column,)
        case CellMissing() | RowIn():
            return ()
        case CellNot():
            return flatten(condition.operand)
        case CellAnd() | CellOr():
            return tuple(c for item in condition.items for c in flatten(item))
        case _:
            assert_never(condition)


__all__ = ["Cells", "Stop", "flatten"]
