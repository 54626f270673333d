"""A chart in SVG: axes with round numbers, marks by their values, one style for all charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from odtdsl.base.theme import Theme
from odtdsl.presentation.pictures.lettering import FONT, attr, px, wrapped

LIGHT = {
    "page": "#ffffff",
    "text": "#1f2328",
    "quiet": "#59636e",
    "grid": "#e4e8ec",
    "axis": "#8c959f",
    "data": "#0072b2",
    "spec": "#b84a00",
    "none": "#f1f3f5",
    "near": "#eaf3fa",
}
DARK = {
    "page": "#0d1117",
    "text": "#e6edf3",
    "quiet": "#9198a1",
    "grid": "#21262d",
    "axis": "#656c76",
    "data": "#56b4e9",
    "spec": "#e69f00",
    "none": "#161b22",
    "near": "#12263a",
}

PAD = 0.05
"""Of an axis, the room beyond the outermost points."""


class Axis:
    """Maps values to pixels, and gives the numbers along an axis.

    Attributes
    ----------
    low, high
        The values at its ends.
    start, end
        Pixels of its ends.
    """

    def __init__(
        self,
        values: Sequence[float],
        start: float,
        end: float,
        *,
        unit: str = "",
        whole: bool = True,
    ) -> None:
        low, high = min(values), max(values)
        if low == high:
            low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
        room = PAD * (high - low)
        self.low, self.high, self.start, self.end = low - room, high + room, start, end
        self.unit = unit
        self.whole = whole and unit != "%" and all(value == int(value) for value in values)

    def __call__(self, value: float) -> float:
        """The place of a value on the axis, in pixels."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Round numbers: their positions and texts."""
        factor, percent = (100, "%") if self.unit == "%" else (1, "")
        low, high = self.low * factor, self.high * factor
        rough = (high - low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))
        step = max(step, 1.0) if self.whole else step
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        for at in range(math.ceil(low / step), math.floor(high / step) + 1):
            yield self(at * step / factor), f"{at * step:.{digits}f}{percent}"


def label(x: float, y: float, text: str, kind: str = "", *, at: str = "", title: str = "") -> str:
    """A text; `at` is `middle` or `end` where it does not start at `x`."""
    kind = f' class="{kind}"' if kind else ""
    at = f' text-anchor="{at}"' if at else ""
    return (
        f'<text{kind} x="{px(x)}" y="{px(y)}"{at}>{escape(text, quote=False)}{_title(title)}</text>'
    )


def line(kind: str, *steps: tuple[str, float] | tuple[str, float, float]) -> str:
    """A path of straight lines: `("M", x, y)`, then `("H", x)`, `("V", y)` or `("L", x, y)`."""
    d = "".join(name + " ".join(map(px, ends)) for name, *ends in steps)
    return f'<path class="{kind}" d="{d}"/>'


def mark(kind: str, x: float, y: float, radius: float, title: str = "") -> str:
    """A circle, with what it says where a pointer rests on it."""
    circle = f'<circle class="{kind}" cx="{px(x)}" cy="{px(y)}" r="{radius:g}"'
    return f"{circle}>{_title(title)}</circle>" if title else circle + "/>"


def _title(title: str) -> str:
    return f"<title>{escape(title, quote=False)}</title>" if title else ""


def fitting(text: str, width: float) -> str:
    """A text on one line, cut where it is wider."""
    return wrapped(text, width, 1)[0]


class Plot:
    """The plotting area: an axis across, and perhaps one upwards."""

    def __init__(self, x: Axis, top: float, bottom: float, y: Axis | None = None) -> None:
        self.x, self.y, self.top, self.bottom = x, y, top, bottom
        self.left, self.right = min(x.start, x.end), max(x.start, x.end)

    def frame(self) -> Iterator[str]:
        """The axes, with a line and a number at each tick."""
        for x, text in self.x.ticks():
            yield line("grid", ("M", x, self.top), ("V", self.bottom))
            yield label(x, self.bottom + 18, text, "quiet", at="middle")
        for y, text in () if self.y is None else self.y.ticks():
            yield line("grid", ("M", self.left, y), ("H", self.right))
            yield label(self.left - 8, y + 4, text, "quiet", at="end")
        yield line("axis", ("M", self.left, self.top), ("V", self.bottom), ("H", self.right))

    def shade(self, kind: str, start: float, end: float, title: str) -> str:
        """The ground between two places across."""
        left, width = min(start, end), abs(end - start)
        return (
            f'<rect class="{kind}" x="{px(left)}" y="{px(self.top)}" width="{px(width)}" '
            f'height="{px(self.bottom - self.top)}">{_title(title)}</rect>'
        )


def chart(name: str, width: float, height: float, body: Iterable[str], *, head: str = "") -> str:
    """An SVG element; `head` are further attributes."""
    size = f'viewBox="0 0 {px(width)} {px(height)}" width="{px(width)}" height="{px(height)}"'
    opening = f'<svg {head}{size} role="img" aria-label="{attr(name)}">'
    return "\n".join([opening, f"<title>{escape(name, quote=False)}</title>", *body, "</svg>"])


def document(name: str, width: float, height: float, theme: Theme, body: Iterable[str]) -> str:
    """A standalone SVG document.

    Parameters
    ----------
    name
        Its accessible name.
    width, height
        Pixels.
    theme
        `auto` follows the reader's preference for dark or light pages.
    body
        Elements above the page.
    """
    style = _rules(DARK if theme == "dark" else LIGHT)
    if theme == "auto":
        style += f"@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"
    page = (f"<style>{style}</style>", '<rect class="page" width="100%" height="100%"/>')
    head = 'xmlns="http://www.w3.org/2000/svg" '
    return chart(name, width, height, (*page, *body), head=head) + "\n"


def _rules(colours: dict[str, str]) -> str:
    return (
        "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;"
        "font-size:%(font)s;fill:%(text)s}.quiet{font-size:%(small)s;fill:%(quiet)s}"
        ".chosen{font-weight:600}.told{font-size:%(small)s;fill:%(spec)s;font-weight:600}"
        ".mark{fill:%(spec)s;font-weight:600;stroke:%(page)s;stroke-width:3px;paint-order:stroke}"
        ".page{fill:%(page)s}.none{fill:%(none)s}.near{fill:%(near)s}"
        ".grid{fill:none;stroke:%(grid)s}.axis{fill:none;stroke:%(axis)s}"
        ".line{fill:none;stroke:%(data)s;stroke-width:1.75}.point{fill:%(data)s}"
        ".open{fill:%(page)s;stroke:%(data)s;stroke-width:1.5}"
        ".spec{fill:none;stroke:%(spec)s;stroke-dasharray:5 4}"
        ".ring{fill:none;stroke:%(spec)s;stroke-width:2}"
    ) % (colours | {"font": f"{FONT:g}px", "small": f"{FONT - 1:g}px"})
