"""A diagram as an SVG picture, drawn without external programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from odtdsl.predictors.diagram import Arc, AxisTest, Diagram, Node
from odtdsl.predictors.diagram_layout import Item, Placed, place, target
from odtdsl.predictors.svg import (
    BAR,
    FONT,
    LINE,
    MARGIN,
    PADDING,
    Theme,
    attr,
    bar,
    px,
    style,
    text_width,
    wrapped,
)  # fmt: skip
from odtdsl.predictors.wording import (
    as_leaf,
    node_words,
    printable,
    share_text,
    terminal_words,
)  # fmt: skip

GAP = 50.0
LAYER_GAP = 64.0
LEAST = 150.0
"""The least width of a node, in px: room for what its two arcs say."""
MOST_TERMS = 6
"""A hyperplane's terms that are shown; all of them are in the tooltip."""
WIDEST = 7.0
"""Stroke of an arc that all rows take, in px."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """Lines of `(text, is it strong)`, the full words in `title`, and the size in px."""

    lines: tuple[tuple[str, bool], ...]
    title: str
    width: float
    height: float


def diagram_to_svg(diagram: Diagram, *, title: str = "", theme: Theme = "auto") -> str:
    """The diagram as an SVG document.

    Every node stands once, however many arcs lead to it. Arcs say their answer and their
    share of the training rows, which is also their width; those of `no` are dashed.

    Parameters
    ----------
    diagram
        The diagram.
    title
        The picture's accessible name; the default says the target and the sizes.
    theme
        `auto` follows the reader's preference for dark or light pages.

    Returns
    -------
    str
        A standalone SVG 1.1 document without scripts or references to anything outside it.
    """
    boxes = _boxes(diagram)
    placed = place(diagram, {key: box.width for key, box in boxes.items()}, GAP)
    tops = _tops(placed, boxes)
    width = max(
        x + (boxes[key].width / 2 if key in boxes else 0.0) for key, x in placed.centers.items()
    )
    last = len(placed.rows) - 1
    height = tops[last] + max(boxes[last, item].height for item in placed.rows[last])
    full = (width + 2 * MARGIN, height + 2 * MARGIN)
    name = printable(title) or _default_title(diagram)
    arcs = list(_arcs(diagram, placed, boxes, tops))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {px(full[0])} {px(full[1])}" '
        f'width="{px(full[0])}" height="{px(full[1])}" role="img" aria-label="{attr(name)}">',
        f"<title>{escape(name)}</title>",
        f"<style>{style(theme)}.arc{{fill:none;opacity:.55}}.no{{stroke-dasharray:7 4}}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        f'<g transform="translate({px(MARGIN)} {px(MARGIN)})">',
        *(line for line, _ in arcs),
        *(
            _drawn(boxes[row, item], placed.centers[row, item], tops[row], item, diagram)
            for row, items in enumerate(placed.rows)
            for item in items
            if (row, item) in boxes
        ),
        *(words for _, words in arcs if words),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _default_title(diagram: Diagram) -> str:
    targets = ", ".join(printable(name) for name in diagram.targets)
    widths = ", ".join(map(str, diagram.widths)) or "no split"
    return f"decision diagram for {targets}: widths {widths}"


# ---- boxes


def _boxes(diagram: Diagram) -> dict[tuple[int, Item], _Box]:
    found: dict[tuple[int, Item], _Box] = {}
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            found[level, Item(kind="node", index=position)] = _node_box(node)
    for label in diagram.reached:
        words = terminal_words(diagram.terminals[label], label, diagram)
        lines = (*((text, True) for text in wrapped(words[0])), (words[1], False))
        box = _box(lines, ": ".join(words), 64.0)
        weighs = sum(diagram.terminals[label].class_weights) > 0
        found[diagram.depth, Item(kind="terminal", index=label)] = _Box(
            lines=box.lines, title=box.title, width=box.width,
            height=box.height + (BAR + 6 if weighs else 0.0),
        )  # fmt: skip
    return found


def _node_box(node: Node) -> _Box:
    words = node_words(node.split)
    title = f"{' '.join(words)}, {node.size} rows"
    if isinstance(node.split, AxisTest):
        answer = "yes" if node.split.missing == "left" else "no"
        title += f"; missing: {answer}"
        texts = wrapped(words[0], 230.0)
    else:
        terms, bound = words[:-1], words[-1]
        kept = terms if len(terms) <= MOST_TERMS else terms[: MOST_TERMS - 1]
        more = (f"… {len(terms) - len(kept)} more",) if len(kept) < len(terms) else ()
        texts = (*(wrapped(text, 230.0, 1)[0] for text in kept), *more, bound)
    rows = f"{node.size} row" + "s" * (node.size != 1)
    return _box((*((text, True) for text in texts), (rows, False)), title, LEAST)


def _box(lines: tuple[tuple[str, bool], ...], title: str, least: float) -> _Box:
    widest = max(text_width(text) * (1.06 if strong else 0.92) for text, strong in lines)
    return _Box(
        lines=lines, title=title, width=max(least, widest + 2 * PADDING),
        height=len(lines) * LINE + 2 * PADDING - 4,
    )  # fmt: skip


def _tops(placed: Placed, boxes: dict[tuple[int, Item], _Box]) -> list[float]:
    tops = [0.0]
    for row, items in enumerate(placed.rows[:-1]):
        tallest = max((boxes[row, i].height for i in items if (row, i) in boxes), default=0.0)
        tops.append(tops[-1] + tallest + LAYER_GAP)
    return tops


def _drawn(box: _Box, x: float, top: float, item: Item, diagram: Diagram) -> str:
    terminal = item.kind == "terminal"
    left = x - box.width / 2
    parts = [
        f"<g><title>{escape(box.title)}</title>",
        f'<rect class="{"leaf" if terminal else "box"}" x="{px(left)}" y="{px(top)}" '
        f'width="{px(box.width)}" height="{px(box.height)}" rx="{8 if terminal else 3}"/>',
    ]
    baseline = top + PADDING - 2 + LINE * 0.72
    for text, strong in box.lines:
        kind = "strong" if strong else "quiet"
        parts.append(
            f'<text class="{kind}" x="{px(x)}" y="{px(baseline)}" '
            f'text-anchor="middle">{escape(text)}</text>'
        )
        baseline += LINE
    if terminal:
        leaf = as_leaf(diagram.terminals[item.index], item.index)
        bottom = top + box.height - PADDING - BAR + 2
        parts += bar(leaf, left + PADDING, bottom, box.width - 2 * PADDING)
    return "".join([*parts, "</g>"])


# ---- arcs


def _arcs(
    diagram: Diagram, placed: Placed, boxes: dict[tuple[int, Item], _Box], tops: list[float]
) -> Iterator[tuple[str, str]]:
    """Each arc as a path, and what it says beside its start."""
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            item = Item(kind="node", index=position)
            box, x = boxes[level, item], placed.centers[level, item]
            ends = [_end(arc, level, diagram, placed) for arc in (node.left, node.right)]
            outer = box.width / 4
            # The left end gets the left start, so that the two never cross under their node.
            sides = (-1, 1) if ends[0] <= ends[1] else (1, -1)
            for side, answer, arc in zip(sides, ("yes", "no"), (node.left, node.right),
                                         strict=True):  # fmt: skip
                start = (x + side * outer, tops[level] + box.height)
                yield (
                    _path(start, arc, level, diagram, placed, tops, answer),
                    _says(start, side, f"{answer} {share_text(arc.size, diagram.entry.size)}"),
                )


def _end(arc: Arc, level: int, diagram: Diagram, placed: Placed) -> float:
    return placed.centers[level + 1, target(arc, level, diagram)]


def _path(
    start: tuple[float, float], arc: Arc, level: int, diagram: Diagram, placed: Placed,
    tops: list[float], answer: str,
) -> str:  # fmt: skip
    x, y = start
    bends = [f"M{px(x)} {px(y)}"]
    row = level + 1
    item = target(arc, level, diagram)
    while True:
        to, bottom = placed.centers[row, item], tops[row]
        middle = (y + bottom) / 2
        bends.append(f"C{px(x)} {px(middle)} {px(to)} {px(middle)} {px(to)} {px(bottom)}")
        if item.kind != "point":
            break
        x, y = to, tops[row + 1] - LAYER_GAP
        bends.append(f"V{px(y)}")
        row += 1
        kind = "terminal" if row == diagram.depth else "point"
        item = Item(kind=kind, index=item.index)
    share = arc.size / diagram.entry.size if diagram.entry.size else 0.0
    kind = "edge arc no" if answer == "no" else "edge arc"
    wide = px(1 + (WIDEST - 1) * share)
    return f'<path class="{kind}" style="stroke-width:{wide}" d="{"".join(bends)}"/>'


def _says(start: tuple[float, float], side: int, text: str) -> str:
    anchor = "end" if side < 0 else "start"
    return (
        f'<text class="quiet" x="{px(start[0] + 7 * side)}" y="{px(start[1] + FONT + 2)}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )
