"""A tree in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Sequence

from odtdsl.predictors.nodes import Branch, TreeNode
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import leaf_words, split_words
from odtdsl.presentation.pictures.picture import Notes


def to_dot(tree: Tree, *, notes: Notes | None = None) -> str:
    """The tree as a DOT digraph: branch nodes are boxes, leaves are rounded, the left edge
    says yes. Any text is safe as a name. Nodes are `n0`, `n1`, ... in the order of `nodes()`;
    `notes` are further lines of them, by these numbers."""
    lines = [
        "digraph tree {",
        '  graph [ordering="out"];',
        '  node [shape="box", fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    stack: list[tuple[TreeNode, int | None]] = [(tree.root, None)]
    number = 0
    while stack:
        node, parent = stack.pop()
        lines.append(f"  n{number} [{_attributes(node, tree, (notes or {}).get(number, ()))}];")
        if parent is not None:
            # The left child follows its parent directly in this order.
            answer = "yes" if number == parent + 1 else "no"
            lines.append(f'  n{parent} -> n{number} [label="{answer}"];')
        if isinstance(node, Branch):
            stack.append((node.right, number))
            stack.append((node.left, number))
        number += 1
    return "\n".join([*lines, "}"]) + "\n"


def quoted(*lines: str) -> str:
    """Lines of text as one DOT string. Besides quotes and backslashes, Graphviz reads HTML
    entities in labels, so `&` is spelled as one."""
    escaped = (
        line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines
    )
    return '"' + "\\n".join(escaped) + '"'


def _attributes(node: TreeNode, tree: Tree, notes: Sequence[str]) -> str:
    if isinstance(node, Branch):
        return f"label={quoted(' '.join(split_words(node)), *notes)}"
    return f'label={quoted(*leaf_words(node, tree), *notes)}, style="rounded"'
