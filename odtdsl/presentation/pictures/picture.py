"""A drawn model as a value: boxes and arcs with their places, before any format.

Trees and diagrams are laid out each in their own way (`tree_picture`, `diagram_picture`); SVG
and matplotlib draw the same picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.wording import label_text
from odtdsl.presentation.pictures.lettering import MOST_LINES, WRAP, text_width, wrapped

LINE = 17.0
PADDING = 10.0
BAR = 8.0
COURSE = 40.0
"""The height of a drawn curve."""
MARGIN = 16.0
"""Around the whole picture, in px."""
LEGEND_GAP = 22.0
NARROWEST_LEGEND = 320.0

Notes = Mapping[int, Sequence[str]]
"""Lines that a picture adds to nodes, by their numbers (see `graph`)."""

Point = tuple[float, float]
Piece = tuple[Literal["M", "L", "C"], tuple[Point, ...]]
"""A piece of a line: to a point without drawing, straight, or as a Bezier curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The words of a box: `lines` of `(text, is it strong)`, and in full in `title`."""

    lines: tuple[tuple[str, bool], ...]
    title: str
    weights: tuple[float, ...] = ()
    """Training weight by class, drawn as a bar; empty for none."""
    course: tuple[Point, ...] = ()
    """A curve that falls in steps: shares of the width and of the height, from the left; empty
    for none."""
    least: float = 64.0
    """The least width of its box."""

    @property
    def width(self) -> float:
        """The width in pixels, with the padding."""
        widest = max(text_width(text) * (1.06 if bold else 0.92) for text, bold in self.lines)
        return max(self.least, widest + 2 * PADDING)

    @property
    def height(self) -> float:
        """The height in pixels, with the padding and the bar of classes or the curve."""
        strip = BAR + 6 if sum(self.weights) > 0 else COURSE + 6 if self.course else 0.0
        return len(self.lines) * LINE + 2 * PADDING - 4 + strip


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node in its place: `x`, `y` are its left upper corner, in px."""

    node: int
    is_end: bool
    text: Text
    x: float
    y: float

    @property
    def width(self) -> float:
        """The width in pixels."""
        return self.text.width

    @property
    def height(self) -> float:
        """The height in pixels."""
        return self.text.height

    @property
    def bar_top(self) -> float:
        """The vertical position of the bar of classes."""
        return self.y + self.height - PADDING - BAR + 2

    def course_path(self) -> Iterator[Point]:
        """The corners of the curve, in its place below the words."""
        left, width = self.x + PADDING, self.width - 2 * PADDING
        bottom = self.y + self.height - PADDING + 2
        high = 1.0
        for along, up in self.text.course:
            yield left + width * along, bottom - COURSE * high
            yield left + width * along, bottom - COURSE * up
            high = up
        yield left + width, bottom - COURSE * high


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An arc in its place, with what it says beside it."""

    start: int
    end: int
    side: Literal["yes", "no"]
    pieces: tuple[Piece, ...]
    label: str
    at: Point
    """Where the words stand, on their baseline."""
    anchor: Literal["start", "end"]
    width: float = 1.25
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The colour of a class in the legend; `at` is the left upper corner of its square."""

    index: int
    label: str
    at: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole picture, from `left` to `left + width` and from 0 to `height`; without margin."""

    name: str
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    keys: tuple[Key, ...]
    width: float
    height: float
    left: float = 0.0
    captions: tuple[tuple[str, Point], ...] = ()
    """Lines of text below it all, each from where its baseline starts."""


def captioned(picture: Picture, said: Sequence[str]) -> Picture:
    """The picture with further lines of text below it, wrapped."""
    if not said:
        return picture
    room, top = max(picture.width, NARROWEST_LEGEND), picture.height + LEGEND_GAP
    lines = [line for one in said for line in wrapped(printable(one), room, 2 * MOST_LINES)]
    return replace(
        picture,
        width=room,
        height=top + LINE * (len(lines) - 1),
        captions=tuple((line, (picture.left, top + LINE * at)) for at, line in enumerate(lines)),
    )


def with_notes(text: Text, notes: Sequence[str]) -> Text:
    """The text with further lines below it, in the box and in the tooltip."""
    if not notes:
        return text
    shown = [printable(note) for note in notes]
    quiet = ((line, False) for note in shown for line in wrapped(note, WRAP, 2))
    return replace(text, lines=(*text.lines, *quiet), title="\n".join([text.title, *shown]))


def lines_of(strong: str, quiet: str, most: int = MOST_LINES) -> tuple[tuple[str, bool], ...]:
    """Two texts as the lines of a box, the first one strong."""
    return (
        *((line, True) for line in wrapped(strong, WRAP, most)),
        *((line, False) for line in wrapped(quiet, WRAP, most)),
    )


def extent(boxes: Sequence[Box], lines: Sequence[Line]) -> tuple[float, float]:
    """The least and the largest x of boxes and of the words at lines."""
    starts, ends = [box.x for box in boxes], [box.x + box.width for box in boxes]
    for line in lines:
        wide = text_width(line.label) * 0.92
        starts.append(line.at[0] - (wide if line.anchor == "end" else 0))
        ends.append(line.at[0] + (wide if line.anchor == "start" else 0))
    return min(starts), max(ends)


def legend(
    classes: Sequence[Value], width: float, height: float
) -> tuple[tuple[Key, ...], float, float]:
    """The classes' colours below a picture; the width and the height with them."""
    room, top = max(width, NARROWEST_LEGEND), height + LEGEND_GAP
    keys, x, row, widest = [], 0.0, 0, 0.0
    for index, label in enumerate(classes):
        label = wrapped(label_text(label), most=1)[0]
        wide = 18 + text_width(label) * 0.92 + 14
        if x and x + wide > room:
            x, row = 0.0, row + 1
        keys.append(Key(index=index, label=label, at=(x, top + row * LINE)))
        x += wide
        widest = max(widest, x)
    if not keys:
        return (), width, height
    return tuple(keys), max(width, widest), top + (row + 1) * LINE
