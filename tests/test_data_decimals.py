"""The shortest decimal of a range of floats, against all decimals in it, one by one."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scale import scaled

from odtdsl.base import _engine
from odtdsl.datasets.candidates import midpoint, short_cut
from odtdsl.datasets.decimals import shortest

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def enumerated(low: float, high: float, digits: int) -> list[tuple[int, float]]:
    """All whole numbers that, divided by 10^digits, read as floats of [low, high); and those."""
    first = math.floor(Fraction(low) * Fraction(10) ** digits) - 1
    last = math.ceil(Fraction(high) * Fraction(10) ** digits) + 1
    assert last - first < 100_000, "too many to look at"
    read = ((whole, float(f"{whole}e{-digits}")) for whole in range(first, last + 1))
    return [(whole, value) for whole, value in read if low <= value < high]


def by_enumeration(low: float, high: float, wish: float, first: int) -> float:
    """Digits are added until some decimal lies in the range; of those the nearest to the wish."""
    for digits in range(first, 1100):
        inside = enumerated(low, high, digits)
        if not inside:
            continue
        aim = min(max(wish, low), math.nextafter(high, -math.inf))
        # In the decimals' own numbers, where no two are the same float; the even one of two.
        far = [abs(Fraction(w) / Fraction(10) ** digits - Fraction(aim)) for w, _ in inside]
        nearest = [one for one, away in zip(inside, far, strict=True) if away == min(far)]
        return min(nearest, key=lambda one: one[0] % 2)[1]
    raise AssertionError("every float is a decimal")


def gaps(rng: random.Random) -> tuple[float, float]:
    """Two neighbouring values as columns have them: on a grid, measured, tiny, or a hair apart."""
    kind = rng.randrange(5)
    if kind == 0:
        low = float(rng.randrange(-50, 500))
        return low, low + rng.randrange(1, 40)
    if kind == 1:
        digits = rng.randrange(1, 5)
        low = rng.randrange(-9999, 99999)
        return low / 10**digits, (low + rng.randrange(1, 30)) / 10**digits
    if kind == 2:
        low = rng.uniform(-1, 1) * 10 ** rng.randrange(-25, 3)
        return low, low + abs(low) * rng.choice([1e-12, 1e-6, 0.01, 0.4])
    low = rng.uniform(-100, 100)
    if kind == 3:
        high = low
        for _ in range(rng.randrange(1, 5)):
            high = math.nextafter(high, math.inf)
        return low, high
    return low, low + rng.expovariate(1)


def test_the_shortest_decimal_of_random_gaps_is_that_of_enumeration() -> None:
    rng = random.Random(0)
    for _ in range(scaled(3000)):
        low, high = gaps(rng)
        if not low < high:
            continue
        wish = midpoint(low, high)
        assert short_cut(low, high) == by_enumeration(low, high, wish, 0), (low, high)
        other = rng.uniform(low - 1, high + 1)
        found = shortest(low, high, other)
        assert found is not None
        assert found[1] == by_enumeration(low, high, other, 0), (low, high, other)


@given(FINITE, FINITE, FINITE)
@example(1e15, 9e15, 5e15)
@example(9.4e17, 1.1e18, 9.6e17)
@example(-5e-324, 5e-324, 0.0)
@settings(max_examples=scaled(2000), deadline=None)
def test_it_is_inside_and_the_same_in_the_engine(a: float, b: float, wish: float) -> None:
    low, high = min(a, b), max(a, b)
    found = shortest(low, high, wish)
    assert _engine.shortest(low, high, wish) == (None if found is None else found[1])
    if found is None:
        assert a == b
        return
    assert low <= found[1] < high
    assert float(repr(found[1])) == found[1]
    assert math.copysign(1, found[1]) > 0 or found[1] < 0


@given(FINITE, st.integers(1, 40), st.floats(0, 1))
@settings(max_examples=scaled(2000), deadline=None)
def test_ranges_of_neighbouring_floats_are_the_same_in_the_engine(
    low: float, many: int, where: float
) -> None:
    high = low
    for _ in range(many):
        high = math.nextafter(high, math.inf)
    if not math.isfinite(high) or low == high:
        return
    wish = low + where * (high - low)
    found = shortest(low, high, wish)
    assert found is not None
    assert low <= found[1] < high
    assert _engine.shortest(low, high, wish) == found[1]


def test_large_numbers_end_in_zeros() -> None:
    assert short_cut(1e17, 9e17) == 5e17
    assert short_cut(1.23456789e200, 1.3e200) == 1.27e200
    assert short_cut(9.4e17, 1.1e18) == 1e18
    assert short_cut(999_999_999_999_999.0, 1e15) == 999_999_999_999_999.0


@pytest.mark.parametrize(
    ("low", "high", "short"),
    [
        (152.0, 154.33333333333348, 153.0),
        (153.0, 154.0, 153.0),
        (150.0, 160.0, 155.0),
        (0.0, 1.0, 0.0),
        (1.0, 2.0, 1.0),
        (0.1, 0.2, 0.1),
        (17.3, 45.9, 32.0),
        (2.5, 2.75, 2.6),
        (-0.25, 0.25, 0.0),
        (0.1 + 0.2, 0.4, 0.35),
        (0.3, 0.1 + 0.2, 0.3),
    ],
)
def test_the_examples_of_the_manual(low: float, high: float, short: float) -> None:
    assert short_cut(low, high) == short


def test_a_lower_gap_in_a_gap_has_no_higher_threshold() -> None:
    """What the search under rules on directions relies on: see `steady` in
    `backends/exact/feature_space.py`."""
    rng = random.Random(1)
    for _ in range(scaled(5000)):
        scale = 10.0 ** rng.randrange(-3, 19)
        points = sorted(round(rng.uniform(-1, 1) * scale, rng.randrange(4)) for _ in range(3))
        low, inner, high = points
        if low < inner < high:
            assert short_cut(low, inner) <= short_cut(low, high) <= short_cut(inner, high)
