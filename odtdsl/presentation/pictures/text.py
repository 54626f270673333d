"""A tree as indented text."""

from __future__ import annotations

from odtdsl.predictors.missing_values import MissingShown, missing_text
from odtdsl.predictors.nodes import Branch, TreeNode
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import leaf_words, split_words

_LINES = {False: ("├─ ", "└─ ", "│  ", "   "), True: ("|- ", "`- ", "|  ", "   ")}


ANSWERS = ("yes", "no")
"""Classes that would read like the answer to the split above: `yes: no`."""


def to_text(tree: Tree, *, missing: MissingShown = False, ascii_only: bool = False) -> str:
    """The tree, a line for each node, each line ended by a newline.

    Parameters
    ----------
    tree
        The tree.
    missing
        Whether to say at each split which answer a missing value takes; or of which features.
    ascii_only
        Draw the lines with `|`, `-` and a backtick, for terminals without box characters;
        names are left as they are.

    Examples
    --------
    ::

        petal width (cm) <= 0.8
        ├─ yes: setosa  (50 rows, 0 errors)
        └─ no: petal width (cm) <= 1.75
           ├─ yes: versicolor  (54 rows, 5 errors)
           └─ no: virginica  (46 rows, 1 error)
    """
    fork, last, bar, blank = _LINES[ascii_only]
    lines: list[str] = []
    stack: list[tuple[TreeNode, str, str]] = [(tree.root, "", "")]
    while stack:
        node, head, indent = stack.pop()
        lines.append(head + _node_text(node, tree, missing))
        if isinstance(node, Branch):
            stack.append((node.right, f"{indent}{last}no: ", indent + blank))
            stack.append((node.left, f"{indent}{fork}yes: ", indent + bar))
    return "".join(f"{line}\n" for line in lines)


def _node_text(node: TreeNode, tree: Tree, missing: MissingShown) -> str:
    if isinstance(node, Branch):
        words = " ".join(split_words(node))
        return words + missing_text(node.feature, node.missing, missing)
    label, counts = leaf_words(node, tree)
    says = "predicts " if any(str(one).lower() in ANSWERS for one in tree.classes) else ""
    return f"{says}{label}  ({counts})"
