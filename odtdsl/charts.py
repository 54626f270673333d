"""What charts share: values to pixels, and round numbers along an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

PAD = 0.05
"""Of an axis, the room beyond the outermost points."""


class Axis:
    """Values to pixels, and the numbers that stand at an axis."""

    def __init__(self, values: Sequence[float], start: float, end: float, unit: str) -> None:
        low, high = min(values), max(values)
        if low == high:
            low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
        room = PAD * (high - low)
        self.low, self.high, self.start, self.end = low - room, high + room, start, end
        self.factor = 100 if unit == "%" else 1
        self.whole = unit != "%" and all(value == int(value) for value in values)
        self.unit = unit

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Round numbers, with their texts."""
        low, high = self.low * self.factor, self.high * self.factor
        rough = (high - low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
        step = max(step, 1.0) if self.whole else step
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        percent = "%" if self.unit == "%" else ""
        for at in range(math.ceil(low / step), math.floor(high / step) + 1):
            yield at * step / self.factor, f"{at * step:.{digits}f}{percent}"
