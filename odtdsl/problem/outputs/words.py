"""Feasible sets of outputs in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from odtdsl.problem.ir.intervals import nearest_float
from odtdsl.problem.outputs.union import Apart, Interval, Number, Piece, Range


def piece_words(piece: Piece, steps: Sequence[Fraction | None], names: Sequence[str]) -> str:
    """One piece, its parts set off by semicolons."""
    return "; ".join(_parts(piece, steps, names)) or "any output"


def _parts(piece: Piece, steps: Sequence[Fraction | None], names: Sequence[str]) -> Iterator[str]:
    for name, bound in zip(names, piece.bounds, strict=True):
        if bound != (None, None):
            yield _between(name, *bound)
    for target, low, high in piece.gaps:
        yield f"{names[target]} not between {_short(low)} and {_short(high)}"
    for one in piece.ranges:
        yield _between(_sum(one, names), one.low, one.high)
    for count in piece.counts:
        yield _counted(count, piece.bounds, names)
    for choice in piece.choices:
        yield f"one of {len(choice)} alternatives"
    grid = {step for step in steps if step is not None}
    if len(grid) == 1 and None not in steps:
        yield f"multiples of {_short(grid.pop())}"
        return
    for name, step in zip(names, steps, strict=True):
        if step is not None:
            yield f"{name} a multiple of {_short(step)}"


def _counted(count: Apart, bounds: Sequence[Interval], names: Sequence[str]) -> str:
    each = (_outside(names[t], low, high, bounds[t]) for t, low, high in count.inside)
    return f"at most {count.most} of ({', '.join(each)})"


def _outside(name: str, low: Number, high: Number, bound: Interval) -> str:
    """What leaves an interval, as far as the bounds let it."""
    below = low is not None and (bound[0] is None or bound[0] < low)
    above = high is not None and (bound[1] is None or bound[1] > high)
    said = [f"{name} < {_short(low)}"] if below and low is not None else []
    said += [f"{name} > {_short(high)}"] if above and high is not None else []
    return " or ".join(said) or f"{name} elsewhere"


def _between(what: str, low: Number, high: Number) -> str:
    if low is not None and low == high:
        return f"{what} = {_short(low)}"
    left = "" if low is None else f"{_short(low)} <= "
    right = "" if high is None else f" <= {_short(high)}"
    return f"{left}{what}{right}" if left or right else f"{what} free"


def _sum(one: Range, names: Sequence[str]) -> str:
    text = ""
    for target, factor in one.factors:
        sign = " - " if factor < 0 else " + "
        size = abs(factor)
        times = "" if size == 1 else f"{_short(size)} * "
        text += (sign if text else ("-" if factor < 0 else "")) + times + names[target]
    return text


def _short(value: Fraction) -> str:
    return f"{nearest_float(value):g}"
