"""Rules and objectives: expressions resolved to terms, with scopes, kinds and percentages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeGuard, TypeVar

from odtdsl.compiler.arguments import Arguments
from odtdsl.compiler.cell_conditions import CALCULATE
from odtdsl.compiler.context import StatementError
from odtdsl.compiler.literals import level_of, literal_constant
from odtdsl.compiler.namespace import Namespace
from odtdsl.compiler.percentages import NoWhole, Unclear, Whole, shares_of_rows, whole_of
from odtdsl.compiler.targets import TargetPart
from odtdsl.language import ast
from odtdsl.language.expressions import expr_to_text
from odtdsl.problem.ir.expr import (
    COMPARE,
    MIRRORED,
    Abs,
    AndC,
    Apply,
    Arg,
    Arith,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    FeatureArg,
    Level,
    Minus,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    TargetArg,
)
from odtdsl.problem.terms.base import Kind
from odtdsl.problem.terms.registry import BY_NAME

R = TypeVar("R")


class Resolver(Arguments):
    """Resolves the expressions of one scope."""

    # ---- conditions

    def condition(self, expr: ast.Expr) -> Condition:
        """A condition; files what is wrong with it and raises `StatementError`."""
        match expr:
            case ast.And():
                return AndC(items=self._all(expr.items))
            case ast.Or():
                return OrC(items=self._all(expr.items))
            case ast.Not():
                return NotC(operand=self.condition(expr.operand))
            case ast.If():
                premise, conclusion = self._all((expr.condition, expr.consequence))
                return OrC(items=(NotC(operand=premise), conclusion))
            case ast.Compare():
                return self._chain(expr)
            case ast.Member():
                return self._member(expr)
            case ast.Infix(word="multiple_of"):
                return self._multiple(expr)
            case ast.Infix():
                return self._pair(expr)
            case ast.Name() | ast.Call():
                return self._term_condition(expr)
            case ast.IsMissing():
                raise self.reporter.error(
                    "T201",
                    "`is missing` is about the cell of a row: use it inside a `group`",
                    expr,
                    helps=("define the group first: `group unknown = income is missing`",),
                )
            case _:
                raise self.reporter.error(
                    "T202",
                    f"`{expr_to_text(expr)}` is a number, not a condition",
                    expr,
                    helps=("compare it: `errors <= 10`",),
                )

    def _all(self, items: Sequence[ast.Expr]) -> tuple[Condition, ...]:
        return self.each(items, self.condition)

    def _term_condition(self, expr: ast.Name | ast.Call) -> Condition:
        if self._is_let(expr):
            return self._let(expr, self.condition)
        apply, kind = self.apply(expr)
        if kind is not Kind.CONDITION:
            raise self.reporter.error(
                "T202",
                f"`{expr_to_text(expr)}` is a {kind.value}, not a condition",
                expr,
                helps=(f"compare it: `{expr_to_text(expr)} <= ...`",),
            )
        return apply

    def _pair(self, expr: ast.Infix) -> Condition:
        term = self.in_scope(expr.word, expr)
        first, second = self.each((expr.left, expr.right), self.feature)
        if first.name == second.name:
            raise self.reporter.error(
                "T203",
                f"`{expr_to_text(expr)}` compares a feature with itself",
                expr,
                helps=(f"to test it at most once per path, write `tests({first.name}) <= 1`",),
            )
        return Apply(term=term.name, args=(first, second))

    # ---- membership

    def _member(self, expr: ast.Member) -> Condition:
        word = self._column_word(expr.item)
        if word is not None:
            return self._columns_in(word, expr)
        item = self.value(expr.item)
        if isinstance(expr.within, ast.Interval):
            low, high = expr.within.low, expr.within.high
            if low.value > high.value:
                raise self.reporter.error(
                    "T204",
                    "the interval is empty: its ends are swapped",
                    expr.within,
                    helps=(f"write `[{_number(high)}, {_number(low)}]`",),
                )
            return AndC(
                items=(
                    self._finished(">=", item, Const(value=low.value), expr),
                    self._finished("<=", item, Const(value=high.value), expr),
                )
            )
        members = [self.namespace.opened(literal) for literal in expr.within.items]
        literals = [one for one in members if isinstance(one, ast.Text | ast.Number)]
        if _has_texts(item, self.namespace) or any(isinstance(one, ast.Text) for one in literals):
            return self._levels(item, "=", literals, expr)
        values = self.each(members, self._constant)
        for value in values:
            self._finished("=", item, Const(value=value), expr)
        return OneOf(item=item, values=values)

    def _constant(self, literal: ast.Expr) -> Fraction:
        found = self.value(literal) if not isinstance(literal, ast.Name) else None
        if not isinstance(found, Const) or found.percent:
            raise self.reporter.error("T205", "expected a number", literal)
        return found.value

    def _column_word(self, expr: ast.Expr) -> str | None:
        """`root` or `feature`, the words that are compared with columns."""
        if isinstance(expr, ast.Name) and not expr.quoted:
            term = BY_NAME.get(expr.name)
            if term is not None and term.kind is Kind.COLUMN:
                return expr.name
        return None

    def _columns_in(self, word: str, expr: ast.Member) -> Condition:
        term = self.in_scope(word, expr)
        if isinstance(expr.within, ast.Interval):
            raise self.reporter.error(
                "T206",
                f"`{word}` must be compared with features",
                expr.within,
                helps=(f"write `{word} in {{age, sex}}`",),
            )
        args: tuple[Arg, ...] = self.each(expr.within.items, self.feature)
        return Apply(term=term.name, args=args)

    def _multiple(self, expr: ast.Infix) -> Condition:
        item = self.value(expr.left)
        step = self.value(expr.right)
        if not isinstance(step, Const) or step.value <= 0:
            raise self.reporter.error(
                "T207",
                "`multiple_of` needs a number above 0",
                expr.right,
                helps=("for example: `threshold(age) multiple_of 5`",),
            )
        self._check_levels_are_numbers(item, expr)
        return MultipleOf(item=item, step=step.value)

    # ---- comparisons

    def _chain(self, expr: ast.Compare) -> Condition:
        found = [
            self._compare(left, op, right, expr)
            for left, op, right in zip(expr.operands, expr.ops, expr.operands[1:], strict=False)
        ]
        return found[0] if len(found) == 1 else AndC(items=tuple(found))

    def _compare(
        self, left: ast.Expr, op: CompareOp, right: ast.Expr, at: ast.Compare
    ) -> Condition:
        for side, other in ((left, right), (right, left)):
            word = self._column_word(side)
            if word is not None and isinstance(other, ast.Name) and op in ("=", "!="):
                term = self.in_scope(word, side)
                one = Apply(term=term.name, args=(self.feature(other),))
                return one if op == "=" else NotC(operand=one)
            value = self.namespace.opened(other)
            if isinstance(value, ast.Text) or (isinstance(value, ast.Number) and _asks(side)):
                item = self.value(side)
                if isinstance(value, ast.Number) and not _has_texts(item, self.namespace):
                    continue
                return self._levels(item, op if other is right else MIRRORED[op], [value], at)
        for side in (left, right):
            if isinstance(side, ast.Compare | ast.And | ast.Or | ast.Not):
                raise self.reporter.error(
                    "T208",
                    "a condition is compared with a number",
                    side,
                    helps=("count conditions with `count(...)`, combine them with `and`, `or`",),
                )
        a, b = self.each((left, right), self.value)
        return self._finished(op, a, b, at)

    def _finished(self, op: CompareOp, a: Expr, b: Expr, at: ast.Node) -> Compare:
        """The comparison, with percentages of counts as shares of rows."""
        for side in (a, b):
            self._check_levels_are_numbers(side, at)
        match whole_of(a, b):
            case Whole() as whole:
                a, b = shares_of_rows(a, whole), shares_of_rows(b, whole)
            case NoWhole(term=term):
                raise self.reporter.error(
                    "T209",
                    f"a percentage of what? `{term}` is neither a share nor a count of rows",
                    at,
                    helps=("write a plain number",),
                )
            case Unclear():
                raise self.reporter.error(
                    "T210",
                    "it is unclear what this is a percentage of",
                    at,
                    helps=("write the number of rows, or compare shares only",),
                )
            case None:
                pass
        return Compare(op=op, left=a, right=b)

    def _check_levels_are_numbers(self, item: Expr, at: ast.Node) -> None:
        """Thresholds of an ordered column of texts are compared with its levels only."""
        if not isinstance(item, Apply) or item.term != "threshold":
            return
        (argument,) = item.args
        assert isinstance(argument, FeatureArg)
        levels = self.namespace.feature(argument.name).type.levels
        texts = [level for level in levels if isinstance(level, str)]
        if texts:
            raise self.reporter.error(
                "T211",
                f"the levels of `{argument.name}` are texts, not numbers",
                at,
                helps=(f'write a level in quotes, such as "{texts[0]}"',),
            )

    def _levels(
        self, item: Expr, op: CompareOp, values: Sequence[ast.Text | ast.Number], at: ast.Node
    ) -> Condition:
        """`threshold(f) <= "mid"` on an ordered column with text levels."""
        if not isinstance(item, Apply) or item.term != "threshold":
            helps = ("write numbers without quotes",)
            raise self.reporter.error(
                "T211", "a number is compared with a text", values[0], helps=helps
            )
        (argument,) = item.args
        assert isinstance(argument, FeatureArg)
        levels = self.namespace.feature(argument.name).type.levels
        if not any(isinstance(level, str) for level in levels):
            raise self.reporter.error(
                "T211",
                f"thresholds of `{argument.name}` are numbers, not texts",
                values[0],
                helps=("write numbers without quotes",),
            )
        chosen: list[str] = []
        for value in values:
            constant = literal_constant(value, self.reporter)
            rank = level_of(levels, constant, self.reporter, value)
            if rank is None or not isinstance(levels[rank], str):
                raise self.reporter.unknown(
                    "N116",
                    f"level of `{argument.name}`",
                    constant.written,
                    levels,
                    value,
                    values=True,
                )
            chosen += [str(v) for other, v in enumerate(levels) if COMPARE[op](other, rank)]
        return Level(item=item, values=tuple(dict.fromkeys(chosen)))

    # ---- numbers

    def value(self, expr: ast.Expr) -> Expr:
        """A numeric expression; files what is wrong with it and raises `StatementError`."""
        match expr:
            case ast.Number():
                return Const(value=expr.value)
            case ast.Percent():
                return Const(value=expr.value / 100, percent=True)
            case ast.Negate():
                operand = self.value(expr.operand)
                if isinstance(operand, Const):
                    return Const(value=-operand.value, percent=operand.percent)
                return Minus(operand=operand)
            case ast.Binary():
                return self._binary(expr)
            case ast.Call(function="abs"):
                (inner,) = self._arguments(expr, 1)
                return Abs(operand=self.value(inner))
            case ast.Call(function="sum"):
                items = self.each(self._arguments(expr, None), self.value)
                total = items[0]
                for item in items[1:]:
                    total = Arith(op="+", left=total, right=item)
                return total
            case ast.Call(function="count"):
                return Count(conditions=self._all(self._arguments(expr, None)))
            case ast.Name() | ast.Call():
                return self._number_term(expr)
            case ast.Text():
                raise self.reporter.error(
                    "T211",
                    "expected a number, but this is a text",
                    expr,
                    helps=("write numbers without quotes",),
                )
            case _:
                raise self._no_number(expr)

    def _no_number(self, expr: ast.Expr) -> StatementError:
        return self.reporter.error(
            "T212",
            f"expected a number, but `{expr_to_text(expr)}` is a condition",
            expr,
            helps=("count conditions with `count(...)`",),
        )

    def _binary(self, expr: ast.Binary) -> Expr:
        left, right = self.each((expr.left, expr.right), self.value)
        if expr.op == "/" and constant(right) == 0:
            raise self.reporter.error("T213", "division by 0", expr.right)
        if isinstance(left, Const) and isinstance(right, Const):
            folded = _folded(expr, left, right)
            if folded is not None:
                return folded
        return Arith(op=expr.op, left=left, right=right)

    def _arguments(self, expr: ast.Call, count: int | None) -> tuple[ast.Expr, ...]:
        wrong = not expr.args if count is None else len(expr.args) != count
        if wrong:
            wanted = "at least one argument" if count is None else f"{count} argument"
            raise self.reporter.error(
                "T214", f"`{expr.function}` takes {wanted}, not {len(expr.args)}", expr
            )
        return expr.args

    def _number_term(self, expr: ast.Name | ast.Call) -> Expr:
        if self._is_let(expr):
            return self._let(expr, self.value)
        if isinstance(expr, ast.Name) and self._is_output(expr):
            return self._output(expr)
        apply, kind = self.apply(expr)
        if kind is Kind.CONDITION:
            raise self._no_number(expr)
        return apply

    def _is_output(self, expr: ast.Name) -> bool:
        """Whether a name is that of a target; a bare term wins where it can stand."""
        if expr.name not in self.namespace.target.names:
            return False
        hidden = expr.name in self.namespace.words and self.scope in BY_NAME[expr.name].scopes
        return expr.quoted or not hidden

    def _output(self, expr: ast.Name) -> Apply:
        target = self.namespace.target
        wrong = TargetPart.of(target.kind).compared(expr, target, self.scope, self.reporter)
        if wrong is not None:
            raise wrong
        self.in_scope("output", expr, shown=expr.name)
        index = target.names.index(expr.name)
        return Apply(term="output", args=(TargetArg(name=expr.name, index=index),))

    # ---- let

    def _is_let(self, expr: ast.Expr) -> TypeGuard[ast.Name]:
        """Whether an expression is a `let` name; one that hides a term is an error elsewhere."""
        if not isinstance(expr, ast.Name) or expr.quoted:
            return False
        return expr.name in self.namespace.lets and expr.name not in self.namespace.words

    def _let(self, expr: ast.Name, resolve: Callable[[ast.Expr], R]) -> R:
        if expr.name in self.namespace.opening:
            raise self.reporter.error(
                "N117", f"`let {expr.name}` is defined in terms of itself", expr
            )
        self.namespace.opening.append(expr.name)
        try:
            return resolve(self.namespace.lets[expr.name].value)
        finally:
            self.namespace.opening.pop()


def constant(expr: Expr) -> Fraction | None:
    """The value of an expression without terms; None for others."""
    match expr:
        case Const():
            return expr.value
        case Minus() | Abs():
            inner = constant(expr.operand)
            if inner is None:
                return None
            return -inner if isinstance(expr, Minus) else abs(inner)
        case Arith():
            left, right = constant(expr.left), constant(expr.right)
            if left is None or right is None or (expr.op == "/" and right == 0):
                return None
            return CALCULATE[expr.op](left, right)
        case _:
            return None


def _folded(expr: ast.Binary, left: Const, right: Const) -> Const | None:
    """Two constants as one, where it is plain whether the result is a percentage."""
    value = CALCULATE[expr.op](left.value, right.value)
    match expr.op:
        case "+" | "-":
            return (
                Const(value=value, percent=left.percent) if left.percent == right.percent else None
            )
        case "*":
            return Const(value=value, percent=left.percent != right.percent)
        case "/":
            return Const(value=value, percent=left.percent and not right.percent)


def _number(literal: ast.Number) -> str:
    return expr_to_text(literal)


def _asks(side: ast.Expr) -> bool:
    """Whether it is `threshold(f)`."""
    return isinstance(side, ast.Call) and side.function == "threshold"


def _has_texts(item: Expr, namespace: Namespace) -> bool:
    """Whether it is `threshold(f)` of an ordered column whose levels are texts."""
    if not isinstance(item, Apply) or item.term != "threshold":
        return False
    (argument,) = item.args
    assert isinstance(argument, FeatureArg)
    return any(isinstance(level, str) for level in namespace.feature(argument.name).type.levels)
