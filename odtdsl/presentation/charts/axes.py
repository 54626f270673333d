"""What charts share: the document, values to pixels, and round numbers along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from odtdsl.base.theme import Theme

Colours = dict[str, str]

LIGHT: Colours = {
    "page": "#ffffff",
    "text": "#1f2328",
    "quiet": "#59636e",
    "grid": "#e4e8ec",
    "axis": "#8c959f",
    "data": "#0072b2",
    "spec": "#b84a00",
}
DARK: Colours = {
    "page": "#0d1117",
    "text": "#e6edf3",
    "quiet": "#9198a1",
    "grid": "#21262d",
    "axis": "#656c76",
    "data": "#56b4e9",
    "spec": "#e69f00",
}

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


def document(
    name: str,
    width: float,
    height: float,
    theme: Theme,
    rules: Callable[[Colours], str],
    light: Colours,
    dark: Colours,
    body: Iterable[str],
) -> str:
    """A standalone SVG document.

    Parameters
    ----------
    name
        Its accessible name.
    width, height
        Pixels.
    theme
        `auto` follows the reader's preference for dark or light pages.
    rules
        The style sheet by colours.
    light, dark
        Colours beside `LIGHT` and `DARK`.
    body
        Elements above the page.
    """
    styles = {"light": rules(LIGHT | light), "dark": rules(DARK | dark)}
    if theme == "auto":
        style = f"{styles['light']}@media (prefers-color-scheme:dark){{{styles['dark']}}}"
    else:
        style = styles[theme]
    return (
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
                f'width="{width:g}" height="{height:g}" role="img" '
                f'aria-label="{escape(name, {chr(34): "&quot;"})}">',
                f"<title>{escape(name)}</title>",
                f"<style>{style}</style>",
                '<rect class="page" width="100%" height="100%"/>',
                *body,
                "</svg>",
            ]
        )
        + "\n"
    )
