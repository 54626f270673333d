"""The colours of pictures, on light and on dark pages."""

from __future__ import annotations

# Okabe and Ito's colours, told apart with every common colour blindness; the order keeps
# neighbours apart in lightness too. Text never stands on them, and the thin outline of the
# bars keeps the light ones visible on white, the dark ones on black.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#999999",
)

LIGHT = {
    "page": "#ffffff",
    "text": "#1f2328",
    "quiet": "#59636e",
    "line": "#8c959f",
    "box": "#f6f8fa",
    "leaf": "#ffffff",
}
DARK = {
    "page": "#0d1117",
    "text": "#e6edf3",
    "quiet": "#9198a1",
    "line": "#656c76",
    "box": "#21262d",
    "leaf": "#0d1117",
}


def class_colour(index: int) -> str:
    """The colour of a class; beyond the palette, its colours again, darker or lighter."""
    colour = PALETTE[index % len(PALETTE)]
    turn = index // len(PALETTE)
    if not turn:
        return colour
    goal, weight = (0 if turn % 2 else 255), 0.35 + 0.1 * min(turn // 2, 3)
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(c + (goal - c) * weight):02x}" for c in channels)
