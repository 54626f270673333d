"""The shortest decimal in a range of floats: what a threshold comes out as.

Short means few digits after the point, so that a column of whole numbers is split at whole
numbers. Numbers are compared as floats, and a decimal stands for the float nearest to it:
printed and read again it is the same float. `solvers/include/odt/places.hpp` does the same.
"""

from __future__ import annotations

import math

LARGE = 1e15
"""From here on whole numbers have zeros at their end instead of all their digits."""

Short = tuple[int, float]
"""Digits after the point (below 0: zeros before it), and the float."""


def shortest(low: float, high: float, wish: float) -> Short | None:
    """The shortest decimal among the floats of `[low, high)`, of these the nearest to `wish`.

    Digits are added until a decimal lies in the range: `wish` (or the end of the range next to
    it) rounded to so many digits, halves to even, or else the next one on its other side.

    Parameters
    ----------
    low, high
        Finite floats.
    wish
        A finite float, inside the range or not.

    Returns
    -------
    Short or None
        None where the range is empty.
    """
    if not low < high:
        return None
    near = min(max(wish, low), math.nextafter(high, -math.inf))
    numerator, denominator = near.as_integer_ratio()
    digits = 0 if abs(near) < LARGE else 1 - len(str(abs(int(near))))
    while True:
        whole = _rounded(numerator, denominator, digits)
        found = _decimal(whole, digits)
        if not low <= found < high:
            found = _decimal(whole - 1 if found >= high else whole + 1, digits)
        if low <= found < high:
            return digits, found + 0.0
        digits += 1


def _rounded(numerator: int, denominator: int, digits: int) -> int:
    """The fraction times 10^digits, as the nearest whole number, halves to even."""
    top: int = numerator * 10 ** max(digits, 0)
    bottom: int = denominator * 10 ** max(-digits, 0)
    whole, rest = divmod(top, bottom)
    up = 2 * rest > bottom or (2 * rest == bottom and whole % 2 == 1)
    return whole + 1 if up else whole


def _decimal(whole: int, digits: int) -> float:
    """The float nearest to whole / 10^digits, infinite beyond the largest."""
    return float(f"{whole}e{-digits}")
