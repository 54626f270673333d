"""Conditions on the test of a split, as sets of thresholds by level and column."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.problem.ir.expr import (
    COMPARE,
    MIRRORED,
    AndC,
    Apply,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    FeatureArg,
    Level,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    applications,
)
from odtdsl.problem.ir.forms import Origin, SplitFilter
from odtdsl.problem.ir.intervals import EMPTY, FULL, RealSet, nearest_float
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH, DiagramSkeleton, RuleDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Unsupported
from odtdsl.problem.terms.registry import BY_NAME

MOST_MULTIPLES = 100_000


def split_filters(rule: RuleDecl, rows: Rows, origin: Origin) -> tuple[SplitFilter, ...]:
    """A rule on feature, threshold and level of splits, one filter per column and set of levels."""
    calls = applications(rule.condition)
    only = threshold_feature(calls)
    levels = _levels(calls, rows)
    named = {
        argument.index
        for call in calls
        for argument in call.args
        if isinstance(argument, FeatureArg)
    }
    found: list[SplitFilter] = []
    alike: dict[tuple[str, tuple[Value, ...]], dict[RealSet, list[int]]] = {}
    for index, feature in enumerate(rows.problem.features):
        if only is not None and feature.name != only:
            continue
        kind = (feature.type.kind, feature.type.levels)
        by_set = {} if index in named else alike.setdefault(kind, {})
        if not by_set:
            for level in levels:
                allowed = _Split(rows=rows, column=index, level=level).allowed(rule.condition)
                by_set.setdefault(allowed, []).append(level)
        for allowed, at in by_set.items():
            if allowed != FULL:
                everywhere = len(at) == len(levels)
                found.append(
                    SplitFilter(
                        column=index,
                        levels=None if everywhere else tuple(at),
                        allowed=allowed,
                        origin=origin,
                    )
                )
    return tuple(found)


def _levels(calls: Iterable[Apply], rows: Rows) -> range:
    if not any(call.term == "level" for call in calls):
        return range(1)
    skeleton = rows.problem.skeleton
    if isinstance(skeleton, DiagramSkeleton):
        return range(len(skeleton.widths))
    return range(MAX_SEARCH_DEPTH if skeleton.depth is None else max(1, skeleton.depth))


def threshold_feature(calls: Iterable[Apply]) -> str | None:
    """The feature of the `threshold(f)` among a condition's terms; None without one."""
    for call in calls:
        if BY_NAME[call.term].kind is Kind.THRESHOLD:
            (argument,) = call.args
            assert isinstance(argument, FeatureArg)
            return argument.name
    return None


class _Split:
    """One level and column: which thresholds there make a condition true."""

    def __init__(self, *, rows: Rows, column: int, level: int) -> None:
        self.rows, self.column, self.level = rows, column, level

    @property
    def type(self) -> ColumnType:
        return self.rows.problem.features[self.column].type

    def allowed(self, condition: Condition) -> RealSet:
        match condition:
            case AndC():
                found = FULL
                for item in condition.items:
                    found = found & self.allowed(item)
                return found
            case OrC():
                found = EMPTY
                for item in condition.items:
                    found = found | self.allowed(item)
                return found
            case NotC():
                return self.allowed(condition.operand).complement()
            case Apply(term="feature"):
                wanted = {arg.index for arg in condition.args if isinstance(arg, FeatureArg)}
                return FULL if self.column in wanted else EMPTY
            case Compare():
                return self._compare(condition)
            case OneOf():
                found = EMPTY
                for value in condition.values:
                    equal = Compare(op="=", left=condition.item, right=Const(value=value))
                    found = found | self._compare(equal)
                return found
            case MultipleOf():
                return self._multiples(condition)
            case Level():
                levels = self.type.levels
                return RealSet.points(r for r, v in enumerate(levels) if v in condition.values)
            case _:
                raise Unsupported(
                    "a condition on a split must be about its feature, threshold or level",
                    code="R203",
                )

    def _compare(self, condition: Compare) -> RealSet:
        item, op, value = condition.left, condition.op, _constant(condition.right)
        if value is None:
            item, op, value = (
                condition.right,
                MIRRORED[condition.op],
                _constant(condition.left),
            )
        if value is not None and isinstance(item, Count):
            return self._counted(item, op, value)
        if value is None or not isinstance(item, Apply):
            raise Unsupported(
                "levels and thresholds can be compared only with constants", code="R203"
            )
        if item.term == "level":
            return FULL if COMPARE[op](Fraction(self.level), value) else EMPTY
        if self.type.kind == "ordered":
            return RealSet.points(
                rank
                for rank, level in enumerate(self.type.levels)
                if not isinstance(level, str) and COMPARE[op](Fraction(level), value)
            )
        return _half_line(op, nearest_float(value))

    def _counted(self, count: Count, op: CompareOp, value: Fraction) -> RealSet:
        """Which thresholds make as many of the conditions true as wanted."""
        exactly = [FULL]  # by how many of the conditions so far hold
        for condition in count.conditions:
            true = self.allowed(condition)
            false = true.complement()
            exactly = [
                (kept & false) | (one_less & true)
                for kept, one_less in zip([*exactly, EMPTY], [EMPTY, *exactly], strict=True)
            ]
        found = EMPTY
        for many, thresholds in enumerate(exactly):
            if COMPARE[op](Fraction(many), value):
                found = found | thresholds
        return found

    def _multiples(self, condition: MultipleOf) -> RealSet:
        item, step = condition.item, condition.step
        if isinstance(item, Apply) and item.term == "level":
            return FULL if is_multiple(Fraction(self.level), step, float_like=False) else EMPTY
        if self.type.kind == "ordered":
            return RealSet.points(
                rank
                for rank, level in enumerate(self.type.levels)
                if not isinstance(level, str)
                and is_multiple(Fraction(level), step, float_like=False)
            )
        numbers = self.rows.data.columns[self.type.name].numbers
        assert numbers is not None, "only number and ordered columns have thresholds"
        present = numbers[numbers == numbers]
        if not len(present):
            return EMPTY
        first = floor(Fraction(float(present.min())) / step)
        last = ceil(Fraction(float(present.max())) / step)
        if last - first > MOST_MULTIPLES:
            raise Unsupported(
                (
                    f"the values of `{self.type.name}` span more than {MOST_MULTIPLES} "
                    f"multiples of {nearest_float(step):g}"
                ),
                code="R203",
            )
        return RealSet.points(nearest_float(k * step) for k in range(first, last + 1))


def _constant(expr: Expr) -> Fraction | None:
    return expr.value if isinstance(expr, Const) else None


def _half_line(op: CompareOp, value: float) -> RealSet:
    match op:
        case "<=" | "<":
            return RealSet.below(value, closed=op == "<=")
        case ">=" | ">":
            return RealSet.above(value, closed=op == ">=")
        case "=":
            return RealSet.points([value])
        case "!=":
            return RealSet.points([value]).complement()
        case _:
            assert_never(op)


def is_multiple(value: Fraction, step: Fraction, *, float_like: bool) -> bool:
    """Whether a value is a multiple; a float is one iff it is the nearest float of one."""
    if float_like:
        return nearest_float(round(value / step) * step) == nearest_float(value)
    return (value / step).denominator == 1
