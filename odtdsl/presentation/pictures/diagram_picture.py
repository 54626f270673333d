"""Where the boxes and lines of a drawn diagram go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from odtdsl.base.numbers import counted
from odtdsl.base.printing import printable
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Node
from odtdsl.predictors.graph import End, Graph, Joint
from odtdsl.predictors.wording import leaf_words, node_words, share_text
from odtdsl.presentation.pictures.diagram_layout import Item, Placed, place, target
from odtdsl.presentation.pictures.lettering import FONT, wrapped
from odtdsl.presentation.pictures.picture import (
    Box,
    Line,
    Notes,
    Picture,
    Piece,
    Text,
    extent,
    legend,
    with_notes,
)

GAP = 50.0
LAYER_GAP = 64.0
MIN_NODE_WIDTH = 150.0
"""The least width of a node, in px: room for what its two arcs say."""
MOST_TERMS = 6
"""A hyperplane's terms that are shown; all of them are in the tooltip."""
STUB = 26.0
"""Length of a long arc that is not drawn to its end, in px."""
MAX_STROKE = 7.0
"""Stroke of an arc that all rows take, in px."""

Place = tuple[int, Item]
"""A row of the picture, and what stands in it."""


def diagram_picture(
    diagram: Diagram, *, title: str = "", notes: Notes | None = None, long_arcs: bool = True
) -> Picture:
    """A diagram, laid out: every node is drawn once, however many arcs lead to it.

    Arcs say their answer and their share of the training rows, which is also their width;
    those of `no` are dashed. Without `long_arcs`, one that passes layers ends below its node and
    says which class it leads to.
    """
    graph = diagram.graph()
    places = _places(graph)
    texts = {
        place_: with_notes(_text(node, diagram), (notes or {}).get(node.number, ()))
        for place_, node in places.items()
    }
    placed = place(diagram, {key: text.width for key, text in texts.items()}, GAP)
    tops = _tops(placed, texts)
    boxes = {
        key: Box(
            node=places[key].number,
            is_end=isinstance(places[key], End),
            text=text,
            x=placed.centers[key] - text.width / 2,
            y=tops[key[0]],
        )
        for key, text in texts.items()
    }
    lines = tuple(
        line if long_arcs else _cut(line, diagram)
        for line in _lines(diagram, graph, placed, boxes, tops)
    )
    left, right = extent(tuple(boxes.values()), lines)
    right = max(right, *placed.centers.values())
    keys, right, height = legend(
        diagram.classes if any(text.weights for text in texts.values()) else (),
        right,
        max(box.y + box.height for box in boxes.values()),
    )
    return Picture(
        name=printable(title) or _default_title(diagram),
        boxes=tuple(sorted(boxes.values(), key=lambda box: box.node)),
        lines=lines,
        keys=keys,
        width=right - left,
        height=height,
        left=left,
    )


def _default_title(diagram: Diagram) -> str:
    targets = ", ".join(printable(name) for name in diagram.targets)
    widths = ", ".join(map(str, diagram.widths)) or "no split"
    return f"decision diagram for {targets}: widths {widths}"


def _places(graph: Graph) -> dict[Place, Joint | End]:
    found: dict[Place, Joint | End] = {}
    seen: dict[int, int] = {}
    for node in graph.nodes:
        if isinstance(node, Joint):
            position = seen.get(node.level, 0)
            seen[node.level] = position + 1
            found[node.level, Item(kind="node", index=position)] = node
        else:
            assert node.leaf.label is not None, "terminals are of classes"
            found[node.level, Item(kind="terminal", index=node.leaf.label)] = node
    return found


def _text(node: Joint | End, diagram: Diagram) -> Text:
    if isinstance(node, End):
        label, counts = leaf_words(node.leaf, diagram)
        lines = (*((text, True) for text in wrapped(label)), (counts, False))
        return Text(lines=lines, title=f"{label}: {counts}", weights=node.leaf.class_weights)
    words = node_words(node.split)
    title = f"{' '.join(words)}, {counted(node.size, 'row')}"
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
    return Text(
        lines=(*((text, True) for text in texts), (rows, False)), title=title, least=MIN_NODE_WIDTH
    )


def _tops(placed: Placed, texts: Mapping[Place, Text]) -> list[float]:
    tops = [0.0]
    for row, items in enumerate(placed.rows[:-1]):
        tallest = max((texts[row, i].height for i in items if (row, i) in texts), default=0.0)
        tops.append(tops[-1] + tallest + LAYER_GAP)
    return tops


# ---- arcs


def _lines(
    diagram: Diagram,
    graph: Graph,
    placed: Placed,
    boxes: Mapping[Place, Box],
    tops: Sequence[float],
) -> Iterator[Line]:
    for (level, item), box in boxes.items():
        if item.kind != "node":
            continue
        joint = graph.nodes[box.node]
        assert isinstance(joint, Joint)
        node: Node = diagram.layers[level][item.index]
        ends = [
            placed.centers[level + 1, target(arc, level, diagram)]
            for arc in (node.left, node.right)
        ]
        # The left end gets the left start, so that the two never cross under their node.
        sides = (-1, 1) if ends[0] <= ends[1] else (1, -1)
        for side, arc, end in zip(
            sides, (node.left, node.right), (joint.left, joint.right), strict=True
        ):
            start = (box.x + box.width / 2 + side * box.width / 4, box.y + box.height)
            yield _line(start, side, arc, (box.node, end), level, diagram, placed, tops)


def _line(
    start: tuple[float, float],
    side: int,
    arc: Arc,
    ends: tuple[int, int],
    level: int,
    diagram: Diagram,
    placed: Placed,
    tops: Sequence[float],
) -> Line:
    number, end = ends
    left = arc is _left_of(diagram, level, number)
    whole = diagram.entry.size
    return Line(
        start=number,
        end=end,
        side="yes" if left else "no",
        pieces=tuple(_pieces(start, arc, level, diagram, placed, tops)),
        label=f"{'yes' if left else 'no'} {share_text(arc.size, whole)}",
        at=(start[0] + 7 * side, start[1] + FONT + 2),
        anchor="end" if side < 0 else "start",
        width=1 + (MAX_STROKE - 1) * (arc.size / whole if whole else 0.0),
        dashed=not left,
    )


def _cut(line: Line, diagram: Diagram) -> Line:
    """A long arc as a stub that says where it leads; any other one as it is."""
    if sum(code == "C" for code, _ in line.pieces) < 2:
        return line
    node = diagram.graph().nodes[line.end]
    assert isinstance(node, End), "a long arc leads to a class"
    (x, y) = line.pieces[0][1][0]
    label = f"{line.label}: {leaf_words(node.leaf, diagram)[0]}"
    stub: tuple[Piece, ...] = (("M", ((x, y),)), ("L", ((x, y + STUB),)))
    return replace(line, pieces=stub, label=label, at=(line.at[0], y + STUB + 4))


def _left_of(diagram: Diagram, level: int, number: int) -> Arc:
    return diagram.layers[level][number - sum(diagram.widths[:level])].left


def _pieces(
    start: tuple[float, float],
    arc: Arc,
    level: int,
    diagram: Diagram,
    placed: Placed,
    tops: Sequence[float],
) -> Iterator[Piece]:
    """From row to row; past boxes where a long arc only passes."""
    x, y = start
    yield "M", (start,)
    row = level + 1
    item = target(arc, level, diagram)
    while True:
        to, bottom = placed.centers[row, item], tops[row]
        middle = (y + bottom) / 2
        yield "C", ((x, middle), (to, middle), (to, bottom))
        if item.kind != "point":
            return
        x, y = to, tops[row + 1] - LAYER_GAP
        yield "L", ((x, y),)
        row += 1
        kind = "terminal" if row == diagram.depth else "point"
        item = Item(kind=kind, index=item.index)
