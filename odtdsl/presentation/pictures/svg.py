"""A tree or a diagram as an SVG picture, drawn without external programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from odtdsl.base.theme import Theme
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.missing_values import missing_sides
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.pictures.colours import DARK, LIGHT, class_colour
from odtdsl.presentation.pictures.lettering import FONT, attr, px
from odtdsl.presentation.pictures.picture import (
    BAR,
    COURSE,
    LINE,
    MARGIN,
    PADDING,
    Box,
    Key,
    Line,
    Notes,
    Picture,
    captioned,
)


def to_svg(
    model: Predictor,
    *,
    title: str = "",
    theme: Theme = "auto",
    notes: Notes | None = None,
    below: Sequence[str] = (),
    long_arcs: bool = True,
) -> str:
    """The model as an SVG document.

    Parameters
    ----------
    model
        The tree or the diagram.
    title
        The picture's accessible name; the default says the target and the sizes.
    theme
        `auto` follows the reader's preference for dark or light pages.
    notes
        Further lines of nodes, by their numbers (see `predictors.graph`); by default, where no
        rows are known, the side of missing cells at every split.
    below
        Lines below the picture, such as the outputs that rules admit.
    long_arcs
        Whether arcs of a diagram that pass layers are drawn, not only begun and told.

    Returns
    -------
    str
        A standalone SVG 1.1 document without scripts or references to anything outside it.
        Names are escaped, long ones wrapped and cut, with the whole text as tooltip.
    """
    picture = captioned(picture_of(model, title=title, notes=notes, long_arcs=long_arcs), below)
    return drawn(picture, style(theme))


def picture_of(
    model: Predictor, *, title: str = "", notes: Notes | None = None, long_arcs: bool = True
) -> Picture:
    """The model, laid out."""
    notes = missing_sides(model) if notes is None else notes
    if isinstance(model, Tree):
        from odtdsl.presentation.pictures.tree_picture import tree_picture

        return tree_picture(model, title=title, notes=notes)
    from odtdsl.presentation.pictures.diagram_picture import diagram_picture

    assert isinstance(model, Diagram), "a model is a tree or a diagram"
    return diagram_picture(model, title=title, notes=notes, long_arcs=long_arcs)


def drawn(picture: Picture, css: str | None) -> str:
    """A picture as SVG, with a style sheet of its own or with that of the page around it.

    Groups name their node in `data-node`, arcs their ends in `data-from` and `data-to`. No
    attribute is named `style`: pages can forbid those.
    """
    width, height = (px(size + 2 * MARGIN) for size in (picture.width, picture.height))
    shift = px(MARGIN - picture.left)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="odt" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{attr(picture.name)}">',
        f"<title>{escape(picture.name, quote=False)}</title>",
        *([] if css is None else [f"<style>{css}</style>"]),
        '<rect class="page" width="100%" height="100%"/>',
        f'<g transform="translate({shift} {px(MARGIN)})">',
        *map(_path, picture.lines),
        *map(_box, picture.boxes),
        *map(_says, picture.lines),
        *map(_key, picture.keys),
        *(
            f'<text class="quiet" x="{px(x)}" y="{px(y)}">{escape(text, quote=False)}</text>'
            for text, (x, y) in picture.captions
        ),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _ends(line: Line) -> str:
    return f'data-from="{line.start}" data-to="{line.end}" data-side="{line.side}"'


def _path(line: Line) -> str:
    where = "".join(
        code + " ".join(f"{px(x)} {px(y)}" for x, y in points) for code, points in line.pieces
    )
    dashes = ' stroke-dasharray="7 4"' if line.dashed else ""
    wide = f"{line.width:.2f}".rstrip("0").rstrip(".")
    return f'<path class="edge" {_ends(line)} d="{where}" stroke-width="{wide}"{dashes}/>'


def _says(line: Line) -> str:
    return (
        f'<text class="quiet says" {_ends(line)} x="{px(line.at[0])}" y="{px(line.at[1])}" '
        f'text-anchor="{line.anchor}">{escape(line.label, quote=False)}</text>'
    )


def _box(box: Box) -> str:
    kind, round_ = ("leaf", 8) if box.is_end else ("box", 3)
    middle = px(box.x + box.width / 2)
    parts = [
        f'<g data-node="{box.node}"><title>{escape(box.text.title, quote=False)}</title>',
        f'<rect class="{kind}" x="{px(box.x)}" y="{px(box.y)}" '
        f'width="{px(box.width)}" height="{px(box.height)}" rx="{round_}"/>',
    ]
    for at, (text, bold) in enumerate(box.text.lines):
        parts.append(
            f'<text class="{"strong" if bold else "quiet"}" x="{middle}" '
            f'y="{px(box.y + first_baseline() + at * LINE)}" '
            f'text-anchor="middle">{escape(text, quote=False)}</text>'
        )
    return "".join([*parts, *_bar(box), *_course(box), "</g>"])


def first_baseline() -> float:
    """From the top of a box to the baseline of its first line, in px."""
    return PADDING - 2 + LINE * 0.72


def _bar(box: Box) -> Iterator[str]:
    """Class shares from left to right in the order of the classes."""
    left, width = box.x + PADDING, box.width - 2 * PADDING
    for index, start, part in shares(box.text.weights):
        yield (
            f'<rect x="{px(left + width * start)}" y="{px(box.bar_top)}" '
            f'width="{px(width * part)}" height="{px(BAR)}" fill="{class_colour(index)}"/>'
        )
    if sum(box.text.weights) > 0:
        yield (
            f'<rect class="frame" x="{px(left)}" y="{px(box.bar_top)}" width="{px(width)}" '
            f'height="{px(BAR)}"/>'
        )


def _course(box: Box) -> Iterator[str]:
    """The curve, on its axes."""
    if not box.text.course:
        return
    corners = list(box.course_path())
    (left, top), (right, _) = corners[0], corners[-1]
    bottom = top + COURSE
    yield f'<path class="frame" d="M{px(left)} {px(top)}V{px(bottom)}H{px(right)}"/>'
    steps = "L".join(f"{px(x)} {px(y)}" for x, y in corners)
    yield f'<path d="M{steps}" fill="none" stroke="{class_colour(0)}" stroke-width="1.5"/>'


def shares(weights: tuple[float, ...]) -> Iterator[tuple[int, float, float]]:
    """Of each class with weight: its index, where its share begins, and the share."""
    total, start = math.fsum(weights), 0.0
    for index, weight in enumerate(weights):
        if weight > 0:
            yield index, start, weight / total
            start += weight / total


def _key(key: Key) -> str:
    x, y = key.at
    return (
        f'<g class="key"><rect fill="{class_colour(key.index)}" x="{px(x)}" y="{px(y)}" '
        f'width="11" height="11"/><text class="quiet" x="{px(x + 17)}" '
        f'y="{px(y + 10)}">{escape(key.label, quote=False)}</text></g>'
    )


def style(theme: Theme) -> str:
    """The style sheet of pictures; it affects nothing else on their page.

    The dark one is for screens: paper is white.
    """
    if theme == "auto":
        dark = _rules(DARK)
        return f"{_rules(LIGHT)}@media screen and (prefers-color-scheme:dark){{{dark}}}"
    return _rules(DARK if theme == "dark" else LIGHT)


def _rules(colours: dict[str, str]) -> str:
    return (
        f".odt text{{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;"
        f"font-size:{FONT:g}px;fill:{colours['text']}}}"
        f".odt .strong{{font-weight:600}}"
        f".odt .quiet{{font-size:{FONT - 1:g}px;fill:{colours['quiet']}}}"
        f".odt .says{{stroke:{colours['page']};stroke-width:3px;paint-order:stroke}}"
        f".odt .page{{fill:{colours['page']}}}"
        f".odt .box{{fill:{colours['box']};stroke:{colours['line']}}}"
        f".odt .leaf{{fill:{colours['leaf']};stroke:{colours['line']}}}"
        f".odt .frame,.odt .key rect{{stroke:{colours['line']};stroke-width:.75}}"
        f".odt .frame{{fill:none}}"
        f".odt .edge{{fill:none;stroke:{colours['line']}}}"
    )
