"""Line charts on logarithmic axes as standalone SVG, without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from odtdsl.presentation.pictures.colours import PALETTE

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 430.0, 300.0, 62.0, 34.0, 14.0, 44.0
STYLE = """
svg { background: #ffffff; font: 12px system-ui, sans-serif; fill: #1f2328 }
.axis { stroke: #8c959f; fill: none } .grid { stroke: #d0d7de; fill: none }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; fill: #e6edf3 } .axis { stroke: #656c76 } .grid { stroke: #2a313c }
}
"""


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


def svg(panels: Sequence[Panel], *, title: str) -> str:
    """The panels, which have lines of the same names, side by side, and what the colours mean.

    The page's colours follow the reader's preference for dark or light.
    """
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    width, height = WIDTH * len(panels), HEIGHT + 20 * math.ceil(len(names) / 2) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
        f' viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
    ]
    for i, panel in enumerate(panels):
        parts.append(f'<g transform="translate({i * WIDTH:g} 0)">')
        parts += _panel(panel, names)
        parts.append("</g>")
    for number, name in enumerate(names):
        x, y = LEFT + width / 2 * (number % 2), HEIGHT + 16 + 20 * (number // 2)
        stroke = f'stroke="{_colour(number)}" stroke-width="2"'
        parts.append(f'<path d="M{x:g} {y - 4:g}h20" {stroke}/>')
        parts.append(f'<text x="{x + 28:g}" y="{y:g}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, names: Sequence[str]) -> list[str]:
    xs = _decades([x for line in panel.lines for x, _ in line.points])
    ys = _decades([y for line in panel.lines for _, y in line.points])
    across = _scale(xs, LEFT, WIDTH - RIGHT)
    up = _scale(ys, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<text x="{LEFT:g}" y="18" font-weight="600">{escape(panel.title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 8:g}" text-anchor="middle">'
        f"{escape(panel.across)}</text>",
    ]
    for decade in range(xs[0], xs[1] + 1):
        x = across(10.0**decade)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP:g}V{HEIGHT - BOTTOM:g}"/>')
        parts.append(_label(x, HEIGHT - BOTTOM + 17, "middle", decade))
    for decade in range(ys[0], ys[1] + 1):
        y = up(10.0**decade)
        parts.append(f'<path class="grid" d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}"/>')
        parts.append(_label(LEFT - 7, y + 4, "end", decade))
    corner = f"{LEFT:g} {TOP:g}V{HEIGHT - BOTTOM:g}H{WIDTH - RIGHT:g}"
    parts.append(f'<path class="axis" d="M{corner}"/>')
    for line in panel.lines:
        parts += _line(line, _colour(names.index(line.name)), across, up)
    return parts


def _colour(number: int) -> str:
    colour: str = PALETTE[number % len(PALETTE)]
    return colour


def _line(
    line: Line, colour: str, across: Callable[[float], float], up: Callable[[float], float]
) -> list[str]:
    places = [(across(x), up(y)) for x, y in line.points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    parts = [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _scale(decades: tuple[int, int], start: float, end: float) -> Callable[[float], float]:
    low, high = decades
    return lambda value: start + (end - start) * (math.log10(value) - low) / (high - low)


def _label(x: float, y: float, anchor: str, decade: int) -> str:
    text = (
        f"{10**decade:,}".replace(",", "\u202f")
        if 0 <= decade < 4
        else (f'10<tspan dy="-5" font-size="9">{str(decade).replace("-", "−")}</tspan>')
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
