"""Exact numbers as JSON has them, and counts as words have them."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

UNBOUNDED = 10**299
"""Losses without bound, as `poisson` where 0 is predicted for more, are larger in audits."""


def counted(count: int, one: str, many: str = "") -> str:
    """`1 rule`, `2 rules`; `many` where it is not `one` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def only(values: tuple[Any, ...]) -> Any:
    """The only value, or all of several; None where all are."""
    if len(values) == 1:
        return values[0]
    return None if all(value is None for value in values) else values


def as_number(value: Any) -> Any:
    """Fractions as JSON numbers: whole ones as int, others as float; beyond those None."""
    if isinstance(value, tuple):
        return [as_number(item) for item in value]
    if isinstance(value, Fraction):
        with suppress(OverflowError):
            return int(value) if value.denominator == 1 else float(value)
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def as_value(value: Fraction | None) -> Any:
    """What was measured, as `as_number`; None where it is without bound."""
    return None if value is None or abs(value) >= UNBOUNDED else as_number(value)
