"""Unions of polyhedra in exact numbers: what rules on leaf outputs are compiled to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | None
"""An end of an interval; None where it has none."""

Interval = tuple[Number, Number]
FREE: Interval = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`low <= sum of factor * output <= high`; the first factor is 1."""

    factors: tuple[tuple[int, Fraction], ...]
    low: Number
    high: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """At most `most` of these targets lie outside their interval (target, low, high)."""

    most: int
    inside: tuple[tuple[int, Number, Number], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A polyhedron, less what is left for branch and bound.

    Attributes
    ----------
    bounds
        One interval per target.
    gaps
        (target, from, to): the target lies in no such open interval.
    ranges
        Of two or more targets each.
    counts
        Of which each is a union itself.
    choices
        Of each, one alternative holds: all its ranges.
    """

    bounds: tuple[Interval, ...]
    gaps: tuple[tuple[int, Fraction, Fraction], ...] = ()
    ranges: tuple[Range, ...] = ()
    counts: tuple[Apart, ...] = ()
    choices: tuple[tuple[tuple[Range, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputUnion:
    """A union of pieces, its outputs on a grid where `steps` has a step for the target."""

    steps: tuple[Fraction | None, ...]
    pieces: tuple[Piece, ...]


def meet(a: Interval, b: Interval) -> Interval:
    """What lies in both."""
    lows = [x for x in (a[0], b[0]) if x is not None]
    highs = [x for x in (a[1], b[1]) if x is not None]
    return (max(lows) if lows else None, min(highs) if highs else None)


def is_empty(a: Interval) -> bool:
    """Whether the interval holds no number; None is an open end."""
    return a[0] is not None and a[1] is not None and a[0] > a[1]


def within(a: Interval, b: Interval) -> bool:
    """Whether a lies in b."""
    above = b[0] is None or (a[0] is not None and a[0] >= b[0])
    below = b[1] is None or (a[1] is not None and a[1] <= b[1])
    return above and below


def apart(a: Interval, b: Interval) -> bool:
    """Whether two intervals have no number in common."""
    return is_empty(meet(a, b))


def on_grid(a: Interval, step: Fraction | None) -> Interval:
    """The ends moved inwards to multiples of a step."""
    if step is None:
        return a
    low = None if a[0] is None else -(-a[0] // step) * step
    high = None if a[1] is None else a[1] // step * step
    return low, high


def joined(intervals: list[Interval]) -> list[Interval]:
    """The union of intervals as disjoint ones, rising."""
    found: list[Interval] = []
    ordered = sorted(
        (one for one in intervals if not is_empty(one)),
        key=lambda one: (one[0] is not None, one[0] if one[0] is not None else Fraction(0)),
    )
    for low, high in ordered:
        last = found[-1] if found else None
        if last is None or (last[1] is not None and low is not None and low > last[1]):
            found.append((low, high))
        elif last[1] is not None and (high is None or high > last[1]):
            found[-1] = (last[0], high)
    return found
