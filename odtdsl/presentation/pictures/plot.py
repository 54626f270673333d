"""A tree or a diagram drawn by matplotlib (the extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odtdsl.base.diagnostics.model import error
from odtdsl.predictors.predictor import Predictor
from odtdsl.presentation.pictures.colours import LIGHT, class_colour
from odtdsl.presentation.pictures.lettering import FONT
from odtdsl.presentation.pictures.picture import (
    BAR,
    LINE,
    MARGIN,
    PADDING,
    Box,
    Key,
    Line,
    Notes,
    Picture,
)
from odtdsl.presentation.pictures.svg import first_baseline, picture_of, shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PX_PER_INCH = 96.0
POINTS_PER_INCH = 72.0


def plot(model: Predictor, ax: Axes | None = None, *, notes: Notes | None = None) -> Axes:
    """Draw a model; see `Tree.plot`.

    Raises
    ------
    OdtError
        U360: matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise error(
            "U360",
            "plots need matplotlib, which is not installed",
            helps=('install it: `pip install "odtdsl[plot]"`', "SVG needs nothing: `to_svg`"),
        ) from None
    picture = picture_of(model, notes=notes)
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    if ax is None:
        figure = plt.figure(figsize=(width / PX_PER_INCH, height / PX_PER_INCH))
        ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set_xlim(picture.left - MARGIN, picture.left + picture.width + MARGIN)
    ax.set_ylim(picture.height + MARGIN, -MARGIN)  # downwards, as pictures count
    ax.set_aspect("equal")
    _Drawing(ax, _scale(ax, width, height)).draw(picture)
    return ax


def _scale(ax: Axes, width: float, height: float) -> float:
    """Points of one px of the picture, so that text fits its box at any size of the axes."""
    room = ax.get_window_extent()
    dots = min(room.width / width, room.height / height)
    return float(dots * POINTS_PER_INCH / ax.figure.dpi)


class _Drawing:
    """The parts of a picture as artists of an axes; `scale` is in points per px."""

    def __init__(self, ax: Axes, scale: float) -> None:
        self.ax, self.scale = ax, scale

    def draw(self, picture: Picture) -> None:
        for line in picture.lines:
            self._line(line)
        for box in picture.boxes:
            self._box(box)
        for line in picture.lines:
            anchor = "right" if line.anchor == "end" else "left"
            self._text(line.label, line.at, anchor, strong=False, clear=True)
        for key in picture.keys:
            self._key(key)

    def _line(self, line: Line) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        codes: list[Any] = []
        points: list[tuple[float, float]] = []
        kinds = {"M": Path.MOVETO, "L": Path.LINETO, "C": Path.CURVE4}
        for code, some in line.pieces:
            points += some
            codes += [kinds[code]] * len(some)
        self.ax.add_patch(
            PathPatch(
                Path(points, codes),
                fill=False,
                edgecolor=LIGHT["line"],
                linewidth=line.width * self.scale,
                linestyle=(0, (4, 2.5)) if line.dashed else "-",
                zorder=1,
            )
        )

    def _box(self, box: Box) -> None:
        from matplotlib.patches import FancyBboxPatch

        self.ax.add_patch(
            FancyBboxPatch(
                (box.x, box.y),
                box.width,
                box.height,
                boxstyle=f"round,pad=0,rounding_size={8 if box.is_end else 3}",
                facecolor=LIGHT["leaf" if box.is_end else "box"],
                edgecolor=LIGHT["line"],
                linewidth=self.scale,
                zorder=2,
            )
        )
        for at, (text, bold) in enumerate(box.text.lines):
            below = box.y + first_baseline() + at * LINE
            self._text(text, (box.x + box.width / 2, below), "center", strong=bold)
        left, width = box.x + PADDING, box.width - 2 * PADDING
        if box.text.course:
            along, up = zip(*box.course_path(), strict=True)
            self.ax.plot(along, up, color=class_colour(0), linewidth=1.5, zorder=4)
        for index, start, part in shares(box.text.weights):
            place = (left + width * start, box.bar_top)
            self._square(place, width * part, BAR, class_colour(index), edge=False)
        if sum(box.text.weights) > 0:
            self._square((left, box.bar_top), width, BAR, "none")

    def _key(self, key: Key) -> None:
        self._square(key.at, 11, 11, class_colour(key.index))
        self._text(key.label, (key.at[0] + 17, key.at[1] + 10), "left", strong=False)

    def _square(
        self,
        place: tuple[float, float],
        width: float,
        height: float,
        colour: str,
        *,
        edge: bool = True,
    ) -> None:
        from matplotlib.patches import Rectangle

        self.ax.add_patch(
            Rectangle(
                place,
                width,
                height,
                facecolor=colour,
                edgecolor=LIGHT["line"] if edge else "none",
                linewidth=0.75 * self.scale if edge else 0,
                zorder=3,
            )
        )

    def _text(
        self, text: str, at: tuple[float, float], anchor: str, *, strong: bool, clear: bool = False
    ) -> None:
        """Words; `clear` ones stand off from the lines behind them."""
        from matplotlib.patheffects import withStroke

        around = [withStroke(linewidth=3 * self.scale, foreground=LIGHT["page"])]
        self.ax.text(
            *at,
            text,
            ha=anchor,
            va="baseline",
            zorder=4,
            parse_math=False,
            path_effects=around if clear else None,
            fontsize=(FONT if strong else FONT - 1) * self.scale,
            fontweight="bold" if strong else "normal",
            color=LIGHT["text" if strong else "quiet"],
        )
