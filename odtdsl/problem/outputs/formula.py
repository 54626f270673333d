"""Conditions on outputs as formulas of parts, negations pushed down to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from odtdsl.problem.ir.expr import (
    COMPLEMENT,
    MIRRORED,
    AndC,
    Compare,
    CompareOp,
    Condition,
    Count,
    NotC,
    OneOf,
    OrC,
)
from odtdsl.problem.ir.outputs import Form, counted, difference, linear
from odtdsl.problem.outputs.union import FREE, Interval, joined, on_grid

Key = tuple[tuple[int, Fraction], ...]
"""Factors by target; the first is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The sum of factors times outputs lies in one of some disjoint intervals, rising."""

    key: Key
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class All:
    """All items hold; true without any."""

    items: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Any:
    """Some item holds; false without any."""

    items: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """At least so many of the items hold."""

    least: int
    items: tuple[Formula, ...]


Formula = Part | All | Any | AtLeast
TRUE = All()
FALSE = Any()


def formula(condition: Condition, *, positive: bool = True) -> Formula:
    """A condition, or its negation, with its comparisons closed."""
    match condition:
        case NotC():
            return formula(condition.operand, positive=not positive)
        case AndC() | OrC():
            items = [formula(item, positive=positive) for item in condition.items]
            return conjunction(items) if isinstance(condition, AndC) == positive else either(items)
        case OneOf():
            form = linear(condition.item)
            return either([_part(form, "=", value) for value in condition.values])
        case Compare():
            op = condition.op if positive else COMPLEMENT[condition.op]
            count = counted(condition)
            if count is None:
                return _part(difference(condition), op)
            if not isinstance(condition.left, Count):
                op = MIRRORED[op]
            return _count(count[0], op, count[2])
        case _:
            raise AssertionError("analysis admits comparisons of outputs only")


def conjunction(items: Sequence[Formula]) -> Formula:
    """The conjunction, flattened and without repeated items."""
    flat: list[Formula] = []
    for item in items:
        if item == FALSE:
            return FALSE
        flat += item.items if isinstance(item, All) else [item]
    return flat[0] if len(flat) == 1 else All(items=tuple(dict.fromkeys(flat)))


def either(items: Sequence[Formula]) -> Formula:
    """A disjunction; parts of one form are joined, and of two alternatives the wider stays."""
    flat: list[Formula] = []
    for item in items:
        if item == TRUE:
            return TRUE
        flat += item.items if isinstance(item, Any) else [item]
    by_key: dict[Key, list[Interval]] = {}
    others: list[Formula] = []
    for item in flat:
        if isinstance(item, Part):
            by_key.setdefault(item.key, []).extend(item.intervals)
        elif item not in others:
            others.append(item)
    for key, intervals in by_key.items():
        union = tuple(joined(intervals))
        if union == (FREE,):
            return TRUE
        others.append(Part(key=key, intervals=union))
    kept = [a for a in others if not any(a is not b and _implies(a, b) for b in others)]
    return kept[0] if len(kept) == 1 else Any(items=tuple(kept))


def _implies(a: Formula, b: Formula) -> bool:
    """Whether a conjunction plainly contains what b asks."""
    wanted = b.items if isinstance(b, All) else (b,)
    given = a.items if isinstance(a, All) else (a,)
    return a != b and all(item in given for item in wanted)


def _part(form: Form, op: CompareOp, value: Fraction = Fraction(0)) -> Formula:
    """form (op) value, closed."""
    constant, parts = form
    if not parts:
        apart = constant - value
        holds = {
            "<=": apart <= 0,
            "<": apart <= 0,
            ">=": apart >= 0,
            ">": apart >= 0,
            "=": apart == 0,
            "!=": apart != 0,
        }[op]
        return TRUE if holds else FALSE
    if op == "!=":
        return TRUE  # its closure is everything
    lead = parts[0][1]
    key = tuple((index, factor / lead) for index, factor in parts)
    bound = (value - constant) / lead
    turned = op if lead > 0 else MIRRORED[op]
    interval = {"<": (None, bound), ">": (bound, None), "=": (bound, bound)}[turned[0]]
    return Part(key=key, intervals=(interval,))


def _count(count: Count, op: CompareOp, bound: Fraction) -> Formula:
    """So many conditions hold: those in doubt count as it helps."""
    n = len(count.conditions)
    parts: list[Formula] = []
    if op in ("<=", "<", "="):
        most = -(-bound // 1) - 1 if op == "<" else bound // 1
        negated = [formula(item, positive=False) for item in count.conditions]
        parts.append(at_least(n - int(most), negated))
    if op in (">=", ">", "="):
        least = bound // 1 + 1 if op == ">" else -(-bound // 1)
        parts.append(at_least(int(least), [formula(item) for item in count.conditions]))
    if op == "=" and bound.denominator != 1:
        return FALSE
    return conjunction(parts)


def at_least(least: int, items: list[Formula]) -> Formula:
    """So many of the items, those that are plain aside."""
    least -= sum(item == TRUE for item in items)
    rest = [item for item in items if item not in (TRUE, FALSE)]
    if least <= 0:
        return TRUE
    if least > len(rest):
        return FALSE
    if least == len(rest):
        return conjunction(rest)
    return either(rest) if least == 1 else AtLeast(least=least, items=tuple(rest))


def snapped(intervals: Sequence[Interval], step: Fraction | None) -> tuple[Interval, ...]:
    """Intervals of one target on its grid."""
    return tuple(joined([on_grid(one, step) for one in intervals]))
