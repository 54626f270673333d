"""Conditions on the cells of a row: what groups are made of."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property

from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.literals import Constant, level_of, literal_constant, named_row
from odtdsl.datasets.dataset import ColumnType
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.expr import (
    MIRRORED,
    CellAnd,
    CellCompare,
    CellCondition,
    CellIn,
    CellMissing,
    CellNot,
    CellOr,
    CompareOp,
    RowIn,
)

CALCULATE: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class Cells:
    """Resolves row conditions against typed columns.

    Attributes
    ----------
    types
        Type of every column of the table.
    rows
        Index of a training row by the text of its name (its position, or its id); -1 where
        several rows have it.
    constants
        Values of `let` names.
    id_column
        The column whose values name the rows; None where their positions do.
    """

    def __init__(
        self,
        types: Mapping[str, ColumnType],
        rows: Callable[[], Mapping[str, int]],
        constants: Mapping[str, ast.Expr],
        reporter: Reporter,
        *,
        id_column: str | None = None,
    ) -> None:
        self.types, self._names, self.constants, self.reporter = types, rows, constants, reporter
        self.id_column = id_column

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """See the class; made only where a rule names a row, since rows may be millions."""
        return self._names()

    def condition(self, expr: ast.Expr) -> CellCondition:
        """A condition on the cells of a row; files what is wrong and raises `StatementError`."""
        match expr:
            case ast.And():
                return CellAnd(items=self._all(expr.items))
            case ast.Or():
                return CellOr(items=self._all(expr.items))
            case ast.Not():
                return CellNot(operand=self.condition(expr.operand))
            case ast.If():
                premise, conclusion = self._all((expr.condition, expr.consequence))
                return CellOr(items=(CellNot(operand=premise), conclusion))
            case ast.IsMissing():
                return CellMissing(column=self.column(expr.item))
            case ast.Member():
                return self._member(expr)
            case ast.Compare():
                return self._compare(expr)
            case ast.Name(name=name) if name in self.types:
                raise self.reporter.error(
                    "T115",
                    f"column `{name}` alone is not a condition",
                    expr,
                    helps=(f"compare it with a value: {coded(f'{name_text(name)} = 1')}",),
                )
            case ast.Name(name=name):
                raise self.reporter.error(
                    "T115",
                    f"`{name}` is not a condition on the cells of a row",
                    expr,
                    helps=("if it is another group, write the condition of that group here",),
                )
            case _:
                raise self.reporter.error(
                    "T115",
                    "a group must be a condition on the cells of a row",
                    expr,
                    helps=('for example: sex = "female" and age in [20, 65]',),
                )

    def _all(self, items: Iterable[ast.Expr]) -> tuple[CellCondition, ...]:
        """Resolve each, so that all mistakes are reported at once."""
        found: list[CellCondition] = []
        failed = False
        for item in items:
            try:
                found.append(self.condition(item))
            except StatementError:
                failed = True
        if failed:
            raise StatementError
        return tuple(found)

    def column(self, expr: ast.Expr) -> str:
        """The name of the column that an expression refers to, else an error."""
        if not isinstance(expr, ast.Name):
            raise self.reporter.error("T115", "expected the name of a column", expr)
        if expr.name not in self.types:
            raise self.reporter.unknown("N103", "column", expr.name, list(self.types), expr)
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
            raise self.reporter.error(
                "T115",
                "rows must be listed, not given as an interval",
                expr.within,
                helps=("write `row in {3, 17}`",),
            )
        return tuple(self.row(item) for item in expr.within.items)

    def row(self, literal: ast.Expr) -> int:
        """The index of the training row that a literal names."""
        match literal:
            case ast.Number() | ast.Text():
                constant = literal_constant(literal, self.reporter)
            case _:
                raise self.reporter.error(
                    "T116", "name a row by its number, counted from 0, or by its id", literal
                )
        key = named_row(self.rows, constant, self.reporter, literal)
        if key is None:
            raise self.reporter.error(
                "N115",
                f"no training row has the name `{constant.written}`",
                literal,
                notes=(f"there are {len(self.rows)} training rows; test rows do not count",),
                helps=(self._how_rows_are_called(),),
            )
        index = self.rows[key]
        if index < 0:
            raise self.reporter.error(
                "D210",
                f"several training rows have the name `{key}`",
                literal,
                helps=("use a column with distinct values as names: `id name`",),
            )
        return index

    def _how_rows_are_called(self) -> str:
        if self.id_column is None:
            return "rows are numbered from 0 in the order of the file"
        example = next(iter(self.rows), "")
        return f'the column `{self.id_column}` names the rows, such as "{example}"'

    def _compare(self, expr: ast.Compare) -> CellCondition:
        items: list[CellCondition] = []
        for left, op, right in zip(expr.operands, expr.ops, expr.operands[1:], strict=False):
            if isinstance(left, ast.Name) and self._is_column(left):
                items.append(self._cell(left.name, op, right, expr))
            elif isinstance(right, ast.Name) and self._is_column(right):
                items.append(self._cell(right.name, MIRRORED[op], left, expr))
            else:
                raise self._no_column(left, right, expr)
        return items[0] if len(items) == 1 else CellAnd(items=tuple(items))

    def _no_column(self, left: ast.Expr, right: ast.Expr, at: ast.Node) -> StatementError:
        for side in (left, right):
            if isinstance(side, ast.Name) and side.name == "row" and not side.quoted:
                return self.reporter.error(
                    "T115", "rows must be listed", at, helps=("write `row in {3, 17}`",)
                )
        for side in (left, right):
            if isinstance(side, ast.Name) and side.name not in self.constants:
                return self.reporter.unknown("N103", "column", side.name, list(self.types), side)
        return self.reporter.error(
            "T115",
            "one side of this comparison must be a column",
            at,
            helps=('for example: sex = "female" and age in [20, 65]',),
        )

    def _is_column(self, name: ast.Name) -> bool:
        return name.name in self.types and (name.quoted or name.name not in self.constants)

    def _cell(self, name: str, op: CompareOp, value: ast.Expr, at: ast.Node) -> CellCondition:
        kind = self.types[name].kind
        if kind in ("category", "binary") and op not in ("=", "!="):
            raise self.reporter.error(
                "T117",
                f"`{name}` has type {kind}: its values have no order",
                at,
                helps=(
                    f"to compare dates, add {coded(f'days {{{name_text(name)}}}')} to the data"
                    " statement"
                    if _is_date(value)
                    else "use `=`, `!=` or `in`, or declare"
                    f" {coded(f'feature {name_text(name)}: ordered {{...}}')}",
                ),
            )
        return CellCompare(column=name, op=op, value=self._value(name, value))

    def _value(self, name: str, expr: ast.Expr) -> Fraction | str:
        constant = self._constant(expr, name)
        column = self.types[name]
        if column.kind == "number":
            if isinstance(constant.value, str):
                raise self.reporter.error(
                    "T119",
                    f"`{name}` is a number, but is compared with a text",
                    expr,
                    helps=("write the number without quotes",),
                )
            return constant.value
        index = level_of(column.levels, constant, self.reporter, expr, by_value=column.by_value)
        if index is None:
            raise self.reporter.unknown(
                "N116",
                f"value of `{name}`",
                constant.written,
                column.levels,
                expr,
                values=True,
            )
        level = column.levels[index]
        return level if isinstance(level, str) else Fraction(str(level))

    def _constant(self, expr: ast.Expr, column: str, opening: tuple[str, ...] = ()) -> Constant:
        """The constant that a literal, a `let` or arithmetic of them stands for."""
        match expr:
            case ast.Number() | ast.Text():
                return literal_constant(expr, self.reporter)
            case ast.Percent():
                return Constant.number(expr.value / 100)
            case ast.Negate():
                return Constant.number(-self._numeric(expr.operand, column, opening))
            case ast.Binary():
                left = self._numeric(expr.left, column, opening)
                right = self._numeric(expr.right, column, opening)
                if expr.op == "/" and right == 0:
                    raise self.reporter.error("T213", "division by 0", expr.right)
                return Constant.number(CALCULATE[expr.op](left, right))
            case ast.Name() if expr.name in self.constants and not expr.quoted:
                if expr.name in opening:
                    raise self.reporter.error(
                        "N117", f"`let {expr.name}` is defined in terms of itself", expr
                    )
                value = self.constants[expr.name]
                return self._constant(value, column, (*opening, expr.name))
            case ast.Name() if expr.name in self.types:
                raise self.reporter.error(
                    "T120",
                    f"`{column}` is compared with another column, `{expr.name}`",
                    expr,
                    helps=("in groups, columns can be compared only with constants",),
                )
            case ast.Name():
                raise self.reporter.error(
                    "T102",
                    f"expected a value, but `{expr.name}` is a bare word",
                    expr,
                    helps=(f'write values in quotes: "{expr.name}"',),
                )
            case _:
                raise self.reporter.error(
                    "T120", f"`{column}` can be compared only with constants", expr
                )

    def _numeric(self, expr: ast.Expr, column: str, opening: tuple[str, ...]) -> Fraction:
        value = self._constant(expr, column, opening).value
        if isinstance(value, str):
            raise self.reporter.error("T211", "expected a number, but this is a text", expr)
        return value


def _is_date(value: ast.Expr) -> bool:
    """Whether a date is written, with quotes or without."""
    from odtdsl.datasets.dates import date_of  # few specs have dates

    match value:
        case ast.Number():
            return date_of(value.text) is not None
        case ast.Text():
            return date_of(value.value) is not None
        case _:
            return False
