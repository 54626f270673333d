"""Line charts on logarithmic axes, several side by side, as the package draws its charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from odtdsl.presentation.charts.chart import Axis, Plot, document, label, line, mark
from odtdsl.presentation.pictures.colours import PALETTE

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 430.0, 300.0, 62.0, 34.0, 14.0, 44.0
COLOURS = "".join(
    f"path.c{i}{{fill:none;stroke:{colour};stroke-width:2}}circle.c{i}{{fill:{colour}}}"
    for i, colour in enumerate(PALETTE)
)
EXPONENTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A named line through points (x, y), all positive."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart: its title, what the horizontal axis counts, its lines."""

    title: str
    across: str
    lines: tuple[Line, ...]


class _Decades(Axis):
    """A logarithmic axis from one power of ten to another."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.start, self.end = math.floor(math.log10(min(values))), start, end
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)

    def __call__(self, value: float) -> float:
        return super().__call__(math.log10(value))

    def ticks(self) -> Iterator[tuple[float, str]]:
        for power in range(int(self.low), int(self.high) + 1):
            few = f"{10**power:,}".replace(",", "\u202f") if 0 <= power < 4 else ""
            yield self(10.0**power), few or f"10{str(power).translate(EXPONENTS)}"


def svg(panels: Sequence[Panel], *, title: str) -> str:
    """The panels, which have lines of the same names, side by side, and what the colours mean.

    The page's colours follow the reader's preference for dark or light.
    """
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    width, height = WIDTH * len(panels), HEIGHT + 20 * math.ceil(len(names) / 2) + 20
    parts = [f"<style>{COLOURS}</style>"]
    for i, panel in enumerate(panels):
        parts += _panel(panel, names, i * WIDTH)
    for number, name in enumerate(names):
        x, y = LEFT + width / 2 * (number % 2), HEIGHT + 16 + 20 * (number // 2)
        parts.append(line(_colour(number), ("M", x, y - 4), ("H", x + 20)))
        parts.append(label(x + 28, y, name))
    return document(title, width, height, "auto", parts)


def _panel(panel: Panel, names: Sequence[str], left: float) -> Iterator[str]:
    points = [point for line in panel.lines for point in line.points]
    x = _Decades([x for x, _ in points], left + LEFT, left + WIDTH - RIGHT)
    y = _Decades([y for _, y in points], HEIGHT - BOTTOM, TOP)
    plot = Plot(x, TOP, HEIGHT - BOTTOM, y)
    yield label(plot.left, 18, panel.title, "chosen")
    yield label((plot.left + plot.right) / 2, HEIGHT - 8, panel.across, at="middle")
    yield from plot.frame()
    for one in panel.lines:
        colour = _colour(names.index(one.name))
        (first, *rest) = places = [(x(a), y(b)) for a, b in one.points]
        yield line(colour, ("M", *first), *(("L", *place) for place in rest))
        yield from (mark(colour, *place, 3) for place in places)


def _colour(number: int) -> str:
    return f"c{number % len(PALETTE)}"
