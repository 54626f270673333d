"""Sets of thresholds: finite unions of intervals and points on the float64 line."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtdsl.datasets.decimals import Short, shortest
from odtdsl.datasets.table import FloatArray

Cut = tuple[float, int]
"""A place on the line: just before a value (0) or just after it (1)."""


def nearest_float(value: Fraction) -> float:
    """The float64 nearest to a number, infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


LOWEST: Cut = (-math.inf, 0)
HIGHEST: Cut = (math.inf, 1)


@dataclass(frozen=True, slots=True)
class RealSet:
    """A union of disjoint pieces in increasing order, each from one cut to a later one.

    A closed interval [a, b] runs from (a, 0) to (b, 1), an open one from (a, 1) to
    (b, 0), a point a from (a, 0) to (a, 1). Complement, union and intersection are exact.
    """

    pieces: tuple[tuple[Cut, Cut], ...]

    @staticmethod
    def points(values: Iterable[float]) -> RealSet:
        """The set of finitely many numbers."""
        return RealSet(tuple(((x, 0), (x, 1)) for x in sorted(set(values))))

    @staticmethod
    def between(low: float, high: float) -> RealSet:
        """The closed interval; empty where low > high."""
        return RealSet((((low, 0), (high, 1)),)) if low <= high else EMPTY

    @staticmethod
    def below(value: float, *, closed: bool) -> RealSet:
        """All numbers below `value`; with `closed`, `value` too."""
        return RealSet(((LOWEST, (value, 1 if closed else 0)),))

    @staticmethod
    def above(value: float, *, closed: bool) -> RealSet:
        """All numbers above `value`; with `closed`, `value` too."""
        return RealSet((((value, 0 if closed else 1), HIGHEST),))

    def listed(self) -> FloatArray | None:
        """The numbers of the set, rising, float64 (n,); None where it has an interval."""
        if any(low[0] != high[0] for low, high in self.pieces):
            return None
        return np.array([low for (low, _), _ in self.pieces], dtype=np.float64)

    def complement(self) -> RealSet:
        """All numbers that are not in the set, infinite ones included."""
        edges: list[Cut] = [LOWEST]
        for low, high in self.pieces:
            edges += (low, high)
        edges.append(HIGHEST)
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return RealSet(tuple((low, high) for low, high in pairs if low < high))

    def __and__(self, other: RealSet) -> RealSet:
        found: list[tuple[Cut, Cut]] = []
        i = j = 0
        while i < len(self.pieces) and j < len(other.pieces):
            (a, b), (c, d) = self.pieces[i], other.pieces[j]
            if max(a, c) < min(b, d):
                found.append((max(a, c), min(b, d)))
            if b < d:
                i += 1
            else:
                j += 1
        return RealSet(tuple(found))

    def __or__(self, other: RealSet) -> RealSet:
        return (self.complement() & other.complement()).complement()

    def __contains__(self, value: float) -> bool:
        return any(low <= (value, 0) and (value, 1) <= high for low, high in self.pieces)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def whole(self) -> RealSet:
        """The whole numbers of the set, each piece from its first to its last."""
        found = []
        for (low, after), (high, to) in self.pieces:
            first = (
                low if math.isinf(low) else float(math.floor(low) + 1 if after else math.ceil(low))
            )
            last = (
                high if math.isinf(high) else float(math.floor(high) if to else math.ceil(high) - 1)
            )
            if first <= last:
                found.append(((first, 0), (last, 1)))
        return RealSet(tuple(found))

    def nearest(self, low: float, high: float, wish: float) -> float | None:
        """The float in the set and in [low, high) that is nearest to `wish`, ties downwards.

        Where the nearest end is open, the middle of that piece. None where there is none.
        """
        window: tuple[Cut, Cut] = ((low, 0), (high, 0))
        best: float | None = None
        start = max(0, bisect_left(self.pieces, ((low, 0), (low, 0))) - 1)
        for a, b in self.pieces[start:]:
            if a >= window[1]:
                break
            t = _nearest_in(max(a, window[0]), min(b, window[1]), wish)
            if t is not None and (best is None or abs(t - wish) < abs(best - wish)):
                best = t
        return best

    def shortest(self, low: float, high: float, wish: float) -> float | None:
        """The shortest decimal in the set and in [low, high), of these the nearest to `wish`.

        Ties downwards. None where there is none.
        """
        window: tuple[Cut, Cut] = ((low, 0), (high, 0))
        best: Short | None = None
        start = max(0, bisect_left(self.pieces, ((low, 0), (low, 0))) - 1)
        for a, b in self.pieces[start:]:
            if a >= window[1]:
                break
            (first, after), (last, to) = max(a, window[0]), min(b, window[1])
            t = shortest(
                math.nextafter(first, math.inf) if after else first,
                math.nextafter(last, math.inf) if to else last,
                wish,
            )
            if t is not None and (
                best is None or (t[0], abs(t[1] - wish)) < (best[0], abs(best[1] - wish))
            ):
                best = t
        return None if best is None else best[1]


def _nearest_in(low: Cut, high: Cut, wish: float) -> float | None:
    if low >= high:
        return None
    if low <= (wish, 0) and (wish, 1) <= high:
        return wish
    if (wish, 0) < low and low[1] == 0:
        return low[0]
    if (wish, 1) > high and high[1] == 1:
        return high[0]
    middle = low[0] / 2 + high[0] / 2
    if low <= (middle, 0) and (middle, 1) <= high:
        return middle
    # Neighbouring floats leave no room between open ends; a closed far end may still do.
    for end, inside in ((low[0], low[1] == 0), (high[0], high[1] == 1)):
        if inside:
            return end
    return None


EMPTY = RealSet(())
FULL = RealSet(((LOWEST, HIGHEST),))
