"""Where the boxes of a drawn diagram go: layers from the top, terminals in the last row.

A long arc passes the layers between through one point in each, shared by all arcs to its
class, so that it runs beside the boxes and not behind them. Rows are ordered by the middle
of what they hang on, then moved as near to it as their widths allow (after Sugiyama, Tagawa
and Toda, Methods for Visual Understanding of Hierarchical System Structures, 1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc

SWEEPS = 8
POINT = 14.0
"""The room that a passing arc takes, in px."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What stands in a row: a node (`kind` node, its position), the terminal of a class, or
    the point where arcs to a class pass (`kind` point, the class)."""

    kind: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A piece of an arc between an item of a row and one of the next row."""

    start: Item
    end: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Rows of items, and the middle of each item."""

    rows: tuple[tuple[Item, ...], ...]
    centers: Mapping[tuple[int, Item], float]
    lines: tuple[tuple[Line, ...], ...]
    """From each row to the next."""


def target(arc: Arc, level: int, diagram: Diagram) -> Item:
    """The item of the next row that an arc of a layer leads to."""
    if arc.node is not None:
        return Item(kind="node", index=arc.node)
    assert arc.label is not None, "check_diagram: an arc leads somewhere"
    last = level + 1 == diagram.depth
    return Item(kind="terminal" if last else "point", index=arc.label)


def place(diagram: Diagram, widths: Mapping[tuple[int, Item], float], gap: float) -> Placed:
    """Lay a diagram out.

    Parameters
    ----------
    diagram
        The diagram.
    widths
        Width of the box of each node (row, item) and of each terminal (in the last row).
    gap
        The least space between two items of a row.
    """
    lines = _lines(diagram)
    rows = _rows(diagram, lines)

    def width(row: int, item: Item) -> float:
        return widths.get((row, item), POINT)

    neighbours: dict[tuple[int, Item], list[tuple[int, Item]]] = {}
    for row, pieces in enumerate(lines):
        for line in pieces:
            neighbours.setdefault((row, line.start), []).append((row + 1, line.end))
            neighbours.setdefault((row + 1, line.end), []).append((row, line.start))
    centers: dict[tuple[int, Item], float] = {}
    for row, items in enumerate(rows):
        _spread(row, items, [0.0] * len(items), width, gap, centers)
    for sweep in range(SWEEPS):
        for row in range(len(rows)) if sweep % 2 == 0 else reversed(range(len(rows))):
            wishes = {
                item: _middle(centers, neighbours.get((row, item), []), row, down=sweep % 2 == 0)
                for item in rows[row]
            }
            wanted = {
                item: centers[row, item] if wish is None else wish for item, wish in wishes.items()
            }
            if sweep < SWEEPS - 2:
                rows[row].sort(key=lambda item: wanted[item])
            _spread(row, rows[row], [wanted[i] for i in rows[row]], width, gap, centers)
    start = min(x - width(row, item) / 2 for (row, item), x in centers.items())
    return Placed(
        rows=tuple(map(tuple, rows)),
        lines=tuple(map(tuple, lines)),
        centers={key: x - start for key, x in centers.items()},
    )


def _lines(diagram: Diagram) -> list[list[Line]]:
    found: list[list[Line]] = [[] for _ in diagram.layers]
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            start = Item(kind="node", index=position)
            for arc in (node.left, node.right):
                found[level].append(Line(start=start, end=target(arc, level, diagram)))
        if level + 1 < diagram.depth:
            passing = dict.fromkeys(x.end.index for x in found[level] if x.end.kind == "point")
            last = level + 2 == diagram.depth
            for label in passing:
                end = Item(kind="terminal" if last else "point", index=label)
                found[level + 1].append(Line(start=Item(kind="point", index=label), end=end))
    return found


def _rows(diagram: Diagram, lines: list[list[Line]]) -> list[list[Item]]:
    rows = [[Item(kind="node", index=i) for i in range(len(layer))] for layer in diagram.layers]
    for row, pieces in enumerate(lines[:-1]):
        points = dict.fromkeys(x.end for x in pieces if x.end.kind == "point")
        rows[row + 1] += list(points)
    rows.append([Item(kind="terminal", index=label) for label in diagram.reached])
    return rows


def _middle(
    centers: Mapping[tuple[int, Item], float],
    others: list[tuple[int, Item]],
    row: int,
    *,
    down: bool,
) -> float | None:
    """The mean x of what hangs on an item above (below); of both where one side is empty."""
    near = [centers[key] for key in others if (key[0] < row) == down]
    return sum(near) / len(near) if near else None


def _spread(
    row: int,
    items: Sequence[Item],
    wanted: Sequence[float],
    width: object,
    gap: float,
    centers: dict[tuple[int, Item], float],
) -> None:
    """Place a row's items in their order as near to their wishes as widths allow.

    Least squares under a least distance: shifted by these distances, it is an isotonic
    regression, done by pooling adjacent violators.
    """
    assert callable(width)
    offsets = [0.0]
    for a, b in pairwise(items):
        offsets.append(offsets[-1] + width(row, a) / 2 + gap + width(row, b) / 2)
    pools: list[tuple[float, int]] = []
    for wish, offset in zip(wanted, offsets, strict=False):
        total, count = wish - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, many = pools.pop()
            total, count = total + before, count + many
        pools.append((total, count))
    at = 0
    for total, count in pools:
        for _ in range(count):
            centers[row, items[at]] = total / count + offsets[at]
            at += 1
