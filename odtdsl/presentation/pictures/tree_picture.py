"""Where the boxes and lines of a drawn tree go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.base.numbers import counted
from odtdsl.base.printing import printable
from odtdsl.predictors.diagram_nodes import AxisTest
from odtdsl.predictors.graph import End, Joint
from odtdsl.predictors.nodes import InBin
from odtdsl.predictors.survival import Curve, event_steps, survival
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import label_text, leaf_words, rounded, test_words
from odtdsl.presentation.pictures.layout import node_centers
from odtdsl.presentation.pictures.lettering import WRAP, text_width, wrapped
from odtdsl.presentation.pictures.picture import (
    Box,
    Line,
    Notes,
    Picture,
    Point,
    Text,
    legend,
    lines_of,
    with_notes,
)

GAP = 18.0
LEVEL_GAP = 44.0
MOST_OUTPUTS = 6
"""Lines of outputs in a leaf; all of them are in the tooltip."""


def tree_picture(tree: Tree, *, title: str = "", notes: Notes | None = None) -> Picture:
    """A tree, laid out."""
    nodes = tree.graph().nodes
    last = max((leaf.curve[-1][0] for leaf in tree.leaves if leaf.curve), default=0.0)
    texts = [
        with_notes(_text(node, tree, last), (notes or {}).get(node.number, ())) for node in nodes
    ]
    xs = node_centers(tree.root, [text.width for text in texts], GAP)
    tops = _level_tops(nodes, texts)
    boxes = tuple(
        Box(
            node=node.number,
            is_end=isinstance(node, End),
            text=text,
            x=x - text.width / 2,
            y=tops[node.level],
        )
        for node, text, x in zip(nodes, texts, xs, strict=True)
    )
    lines = tuple(line for node in nodes if isinstance(node, Joint) for line in _fork(node, boxes))
    counted = any(leaf.class_weights for leaf in tree.leaves)
    keys, width, height = legend(
        tree.classes if counted else (),
        max(box.x + box.width for box in boxes),
        max(box.y + box.height for box in boxes),
    )
    return Picture(
        name=printable(title) or _default_title(tree),
        boxes=boxes,
        lines=lines,
        keys=keys,
        width=width,
        height=height,
    )


def _text(node: Joint | End, tree: Tree, last: float) -> Text:
    """The words of a node; `last` is the time at which curves end."""
    if isinstance(node, End):
        first, second = leaf_words(node.leaf, tree)
        title = "\n".join([f"{first}: {second}", *_shares(node, tree)])
        lines = lines_of(first, second)
        if len(node.leaf.output or ()) > 1:
            lines = (*((line, True) for line in _outputs(node, tree)), (second, False))
        course = _course(node.leaf.curve, last)
        return Text(lines=lines, title=title, weights=node.leaf.class_weights, course=course)
    split = node.split
    assert isinstance(split, AxisTest), "trees have axis splits"
    first, second = test_words(split.feature, split.test)
    # A number that is broken in two reads as two: only texts are wrapped.
    textual = not isinstance(split.test, InBin) and isinstance(split.test.value, str)
    strong = (*wrapped(first), *(wrapped(second) if textual else (second,)))
    if text_width(f"{first} {second}") <= WRAP:
        strong = (f"{first} {second}",)
    answer = "yes" if split.missing == "left" else "no"
    return Text(
        lines=tuple((line, True) for line in strong),
        title=f"{first} {second}, {counted(node.size, 'row')}; missing: {answer}",
    )


def _course(curve: Curve, last: float) -> tuple[Point, ...]:
    """The share that survives, at each time of an event."""
    at = np.array([time for time, _, _ in event_steps(curve)])
    if not curve or not last:
        return ()
    left = survival(curve, at)
    return ((0.0, 1.0), *zip((at / last).tolist(), left.tolist(), strict=True))


def _outputs(end: End, tree: Tree) -> list[str]:
    """Each output on a line of its own, where no number is broken in two."""
    named = list(zip(tree.targets, end.leaf.output or (), strict=True))
    kept = named if len(named) <= MOST_OUTPUTS else named[: MOST_OUTPUTS - 1]
    lines = []
    for name, value in kept:
        label = f" = {rounded(value)}"
        lines.append(wrapped(printable(name), WRAP - text_width(label), 1)[0] + label)
    return lines + ([f"… {len(named) - len(kept)} more"] if len(kept) < len(named) else [])


def _shares(end: End, tree: Tree) -> list[str]:
    return [
        f"{label_text(label)}: {rounded(weight)}"
        for label, weight in zip(tree.classes, end.leaf.class_weights, strict=False)
        if weight
    ]


def _level_tops(nodes: Sequence[Joint | End], texts: Sequence[Text]) -> list[float]:
    heights = [0.0] * (1 + max(node.level for node in nodes))
    for node, text in zip(nodes, texts, strict=True):
        heights[node.level] = max(heights[node.level], text.height)
    tops = [0.0]
    for height in heights[:-1]:
        tops.append(tops[-1] + height + LEVEL_GAP)
    return tops


def _fork(node: Joint, boxes: Sequence[Box]) -> tuple[Line, Line]:
    """The lines from a branch to its children; each answer stands outside of its line's end,
    where no other line passes."""
    here, left, right = (boxes[number] for number in (node.number, node.left, node.right))
    bend = left.y - LEVEL_GAP / 2
    start = (_middle(here), here.y + here.height)

    def line(child: Box, side: int) -> Line:
        x = _middle(child)
        down = ((start[0], bend), (x, bend), (x, child.y))
        return Line(
            start=node.number,
            end=child.node,
            side="yes" if side < 0 else "no",
            pieces=(("M", (start,)), *(("L", (point,)) for point in down)),
            label="yes" if side < 0 else "no",
            at=(x + 5 * side, bend + 15),
            anchor="end" if side < 0 else "start",
        )

    return line(left, -1), line(right, 1)


def _middle(box: Box) -> float:
    return box.x + box.width / 2


def _default_title(tree: Tree) -> str:
    targets = ", ".join(printable(target) for target in tree.targets)
    leaves = counted(tree.n_leaves, "leaf", "leaves")
    return f"decision tree for {targets}: depth {tree.depth}, {leaves}"
