"""A tree as an SVG picture, drawn without external programs."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

from odtdsl.predictors.layout import node_centers
from odtdsl.predictors.tree import Branch, InBin, Leaf, Tree, TreeNode
from odtdsl.predictors.wording import (
    label_text,
    leaf_words,
    printable,
    rounded,
    split_words,
)

Theme = Literal["auto", "light", "dark"]

FONT = 13.0
LINE = 17.0
PADDING = 10.0
BAR = 8.0
GAP = 18.0
LEVEL_GAP = 44.0
MARGIN = 16.0
WRAP = 190.0
"""Widest line of text in a box, in px; longer names are wrapped, then cut."""
MOST_LINES = 3

# Okabe and Ito's colours, told apart with every common colour blindness; the order keeps
# neighbours apart in lightness too. Text never stands on them, and the thin outline of the
# bars keeps the light ones visible on white, the dark ones on black.
PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999",
)  # fmt: skip

_LIGHT = {
    "page": "#ffffff", "text": "#1f2328", "quiet": "#59636e", "line": "#8c959f",
    "box": "#f6f8fa", "leaf": "#ffffff",
}  # fmt: skip
_DARK = {
    "page": "#0d1117", "text": "#e6edf3", "quiet": "#9198a1", "line": "#656c76",
    "box": "#21262d", "leaf": "#0d1117",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """One node's text: `lines` of `(text, is it strong)`, the full words in `title`."""

    node: TreeNode
    lines: tuple[tuple[str, bool], ...]
    title: str
    depth: int
    width: float
    height: float


def to_svg(tree: Tree, *, title: str = "", theme: Theme = "auto") -> str:
    """The tree as an SVG document.

    Parameters
    ----------
    tree
        The tree.
    title
        The picture's accessible name; the default says the target and the sizes.
    theme
        `auto` follows the reader's preference for dark or light pages.

    Returns
    -------
    str
        A standalone SVG 1.1 document without scripts or references to anything outside it.
        Names are escaped, long ones wrapped and cut, with the whole text as tooltip.
    """
    boxes = _boxes(tree)
    xs = node_centers(tree.root, [box.width for box in boxes], GAP)
    tops = _level_tops(boxes)
    width = max(x + box.width / 2 for x, box in zip(xs, boxes, strict=True))
    height = max(tops[box.depth] + box.height for box in boxes)
    legend, legend_width, legend_height = _legend(tree, max(width, 320.0), height + LEVEL_GAP / 2)
    full = (max(width, legend_width) + 2 * MARGIN, height + legend_height + 2 * MARGIN)
    name = printable(title) or _default_title(tree)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {px(full[0])} {px(full[1])}" '
        f'width="{px(full[0])}" height="{px(full[1])}" role="img" aria-label="{attr(name)}">',
        f"<title>{escape(name)}</title>",
        f"<style>{style(theme)}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        f'<g transform="translate({px(MARGIN)} {px(MARGIN)})">',
        *_edges(boxes, xs, tops),
        *(_box(box, x, tops[box.depth], tree) for box, x in zip(boxes, xs, strict=True)),
        *legend,
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def text_width(text: str, size: float = FONT) -> float:
    """An estimate, on the large side, of a text's width in px in a sans-serif font."""
    return size * sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if character in "iljI.,:;'|!() []/\\ftr-`":
        return 0.4
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "mwMW@%…":
        return 0.98
    if character.isupper() or character in "<>=+~&#_":
        return 0.84 if character in "<>=+~" else 0.74
    return 0.64


def wrapped(text: str, width: float = WRAP, most: int = MOST_LINES) -> tuple[str, ...]:
    """The text in at most `most` lines of `width` px, broken after blanks, `_`, `-`, `/` or
    `.` where possible; an ellipsis where it is cut."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < most:
        if text_width(rest) <= width:
            lines.append(rest)
            return tuple(lines)
        count = _fitting(rest, width)
        if len(lines) == most - 1:
            lines.append(rest[: max(1, _fitting(rest, width - text_width("…")))].rstrip() + "…")
            break
        breaks = [i + 1 for i in range(count // 3, count) if rest[i] in " _-/.,"]
        count = breaks[-1] if breaks else count
        lines.append(rest[:count].rstrip(" "))
        rest = rest[count:].lstrip(" ")
    return tuple(lines) or ("",)


def _fitting(text: str, width: float) -> int:
    """How many characters fit, at least one; combining marks stay with their letter."""
    used = 0.0
    for i, character in enumerate(text):
        used += text_width(character)
        if used > width:
            return max(1, i)
    return len(text)


def _boxes(tree: Tree) -> list[_Box]:
    boxes: list[_Box] = []
    stack: list[tuple[TreeNode, int]] = [(tree.root, 0)]
    while stack:
        node, depth = stack.pop()
        boxes.append(_box_of(node, depth, tree))
        if isinstance(node, Branch):
            stack.append((node.right, depth + 1))
            stack.append((node.left, depth + 1))
    return boxes


def _box_of(node: TreeNode, depth: int, tree: Tree) -> _Box:
    strong: tuple[str, ...]
    quiet: tuple[str, ...] = ()
    if isinstance(node, Branch):
        first, second = split_words(node)
        # A number that is broken in two reads as two: only texts are wrapped.
        textual = not isinstance(node.test, InBin) and isinstance(node.test.value, str)
        strong = (*wrapped(first), *(wrapped(second) if textual else (second,)))
        if text_width(f"{first} {second}") <= WRAP:
            strong = (f"{first} {second}",)
        answer = "yes" if node.missing == "left" else "no"
        title = f"{first} {second}, {node.size} rows; missing: {answer}"
    else:
        first, second = leaf_words(node, tree)
        strong, quiet = wrapped(first), wrapped(second)
        title = "\n".join([f"{first}: {second}", *_shares(node, tree)])
    lines = tuple([(text, True) for text in strong] + [(text, False) for text in quiet])
    widest = max(text_width(text) * (1.06 if bold else 0.92) for text, bold in lines)
    strip = BAR + 6 if isinstance(node, Leaf) and sum(node.class_weights) > 0 else 0.0
    return _Box(
        node=node,
        lines=lines,
        title=title,
        depth=depth,
        width=max(64.0, widest + 2 * PADDING),
        height=len(lines) * LINE + 2 * PADDING - 4 + strip,
    )


def _shares(leaf: Leaf, tree: Tree) -> list[str]:
    return [
        f"{label_text(label)}: {rounded(weight)}"
        for label, weight in zip(tree.classes, leaf.class_weights, strict=False)
        if weight
    ]


def _level_tops(boxes: Sequence[_Box]) -> list[float]:
    heights = [0.0] * (1 + max(box.depth for box in boxes))
    for box in boxes:
        heights[box.depth] = max(heights[box.depth], box.height)
    tops = [0.0]
    for height in heights[:-1]:
        tops.append(tops[-1] + height + LEVEL_GAP)
    return tops


def _edges(boxes: Sequence[_Box], xs: Sequence[float], tops: Sequence[float]) -> list[str]:
    lines: list[str] = []
    done: list[int] = []
    # Backwards each branch comes after its children: the left one is on top.
    for i in reversed(range(len(boxes))):
        if isinstance(boxes[i].node, Branch):
            left, right = done.pop(), done.pop()
            top = tops[boxes[i].depth] + boxes[i].height
            lines += _fork(xs[i], top, xs[left], xs[right], tops[boxes[left].depth])
        done.append(i)
    return lines


def _fork(x: float, top: float, left: float, right: float, bottom: float) -> list[str]:
    """The lines from a branch to its children; each answer stands outside of its line's end,
    where no other line passes."""
    bend = bottom - LEVEL_GAP / 2
    return [
        f'<path class="edge" d="M{px(x)} {px(top)}V{px(bend)}M{px(left)} {px(bottom)}'
        f'V{px(bend)}H{px(right)}V{px(bottom)}"/>',
        f'<text class="quiet" x="{px(left - 5)}" y="{px(bend + 15)}" text-anchor="end">yes</text>',
        f'<text class="quiet" x="{px(right + 5)}" y="{px(bend + 15)}">no</text>',
    ]


def _box(box: _Box, x: float, top: float, tree: Tree) -> str:
    leaf = isinstance(box.node, Leaf)
    left = x - box.width / 2
    parts = [
        f"<g><title>{escape(box.title)}</title>",
        f'<rect class="{"leaf" if leaf else "box"}" x="{px(left)}" y="{px(top)}" '
        f'width="{px(box.width)}" height="{px(box.height)}" rx="{8 if leaf else 3}"/>',
    ]
    baseline = top + PADDING - 2 + LINE * 0.72
    for text, bold in box.lines:
        kind = "strong" if bold else "quiet"
        parts.append(
            f'<text class="{kind}" x="{px(x)}" y="{px(baseline)}" '
            f'text-anchor="middle">{escape(text)}</text>'
        )
        baseline += LINE
    if isinstance(box.node, Leaf):
        bottom = top + box.height - PADDING - BAR + 2
        parts += bar(box.node, left + PADDING, bottom, box.width - 2 * PADDING)
    return "".join([*parts, "</g>"])


def bar(leaf: Leaf, left: float, top: float, width: float) -> list[str]:
    """Class shares from left to right in the order of the classes."""
    total = math.fsum(leaf.class_weights)
    if total <= 0:
        return []
    parts, x = [], left
    for i, weight in enumerate(leaf.class_weights):
        if weight > 0:
            part = width * weight / total
            parts.append(
                f'<rect x="{px(x)}" y="{px(top)}" width="{px(part)}" height="{px(BAR)}" '
                f'fill="{class_colour(i)}"/>'
            )
            x += part
    frame = (
        f'<rect class="frame" x="{px(left)}" y="{px(top)}" width="{px(width)}" height="{px(BAR)}"/>'
    )
    return [*parts, frame]


def class_colour(index: int) -> str:
    """The colour of a class; beyond the palette, its colours again, darker or lighter."""
    colour = PALETTE[index % len(PALETTE)]
    turn = index // len(PALETTE)
    if not turn:
        return colour
    goal, weight = (0 if turn % 2 else 255), 0.35 + 0.1 * min(turn // 2, 3)
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(c + (goal - c) * weight):02x}" for c in channels)


def _legend(tree: Tree, room: float, top: float) -> tuple[list[str], float, float]:
    """The classes' colours below the tree; its parts, its width and its height."""
    if not tree.classes or not any(leaf.class_weights for leaf in tree.leaves):
        return [], 0.0, 0.0
    parts, x, row, widest = [], 0.0, 0, 0.0
    for i, label in enumerate(tree.classes):
        text = wrapped(label_text(label), most=1)[0]
        width = 18 + text_width(text) * 0.92 + 14
        if x and x + width > room:
            x, row = 0.0, row + 1
        y = top + row * LINE
        parts.append(
            f'<rect class="frame" style="fill:{class_colour(i)}" x="{px(x)}" y="{px(y)}" '
            f'width="11" height="11"/><text class="quiet" x="{px(x + 17)}" '
            f'y="{px(y + 10)}">{escape(text)}</text>'
        )
        x += width
        widest = max(widest, x)
    return parts, widest, LEVEL_GAP / 2 + (row + 1) * LINE


def style(theme: Theme) -> str:
    """The style sheet of a picture."""
    if theme == "auto":
        return f"{_rules(_LIGHT)}@media (prefers-color-scheme:dark){{{_rules(_DARK)}}}"
    return _rules(_DARK if theme == "dark" else _LIGHT)


def _rules(colours: dict[str, str]) -> str:
    return (
        f"text{{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;"
        f"font-size:{FONT:g}px;fill:{colours['text']}}}"
        f".strong{{font-weight:600}}"
        f".quiet{{font-size:{FONT - 1:g}px;fill:{colours['quiet']}}}"
        f".page{{fill:{colours['page']}}}"
        f".box{{fill:{colours['box']};stroke:{colours['line']}}}"
        f".leaf{{fill:{colours['leaf']};stroke:{colours['line']}}}"
        f".frame{{fill:none;stroke:{colours['line']};stroke-width:.75}}"
        f".edge{{fill:none;stroke:{colours['line']};stroke-width:1.25}}"
    )


def _default_title(tree: Tree) -> str:
    targets = ", ".join(printable(target) for target in tree.targets)
    return f"decision tree for {targets}: depth {tree.depth}, {tree.n_leaves} leaves"


def attr(text: str) -> str:
    """Text inside of an attribute."""
    return escape(text, {'"': "&quot;"})


def px(value: float) -> str:
    """Tenths of a pixel, without a trailing zero."""
    return f"{value:.1f}".removesuffix(".0")
