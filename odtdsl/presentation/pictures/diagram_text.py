"""A diagram as text: every node once, with what leads to it and where it leads."""

from __future__ import annotations

from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Node
from odtdsl.predictors.missing_values import MissingShown, missing_text
from odtdsl.predictors.wording import label_text, node_words, share_text, terminal_words
from odtdsl.presentation.pictures.text import ANSWERS


def numbers(diagram: Diagram) -> tuple[tuple[int, ...], ...]:
    """The number of each node by layer: 1 at the root, then from left to right."""
    found: list[tuple[int, ...]] = []
    following = 1
    for layer in diagram.layers:
        found.append(tuple(range(following, following + len(layer))))
        following += len(layer)
    return tuple(found)


def diagram_to_text(
    diagram: Diagram, *, missing: MissingShown = False, ascii_only: bool = False
) -> str:
    """The diagram as lines, each ended by a newline.

    Parameters
    ----------
    diagram
        The diagram.
    missing
        Whether to say at each test of one feature which answer a missing value takes; or of
        which features.
    ascii_only
        Draw the lines with `|`, `-` and a backtick.

    Examples
    --------
    ::

        1: petal length (cm) <= 2.45  (150 rows)
        ├─ yes: setosa  (50 rows, 33%)
        └─ no: 2  (100 rows, 67%)
        2: petal width (cm) <= 1.75  (100 rows, from 1)
        ├─ yes: versicolor  (54 rows, 36%)
        └─ no: virginica  (46 rows, 31%)
        setosa: 50 rows, 0 errors
        versicolor: 54 rows, 5 errors
        virginica: 46 rows, 1 error
    """
    fork, last = ("|- ", "`- ") if ascii_only else ("├─ ", "└─ ")
    names = numbers(diagram)
    says = _says(diagram, names)
    lines: list[str] = []
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            lines.append(
                f"{names[level][position]}: {_condition(node, missing)}"
                f"  ({_rows(node.size)}{_parents(diagram, level, position, names)})"
            )
            for head, answer, arc in ((fork, "yes", node.left), (last, "no", node.right)):
                lines.append(f"{head}{answer}: {_arc(arc, level, diagram, names, says)}")
    for label in diagram.reached:
        lines.append(says + ": ".join(terminal_words(diagram.terminals[label], label, diagram)))
    return "".join(f"{line}\n" for line in lines)


def _says(diagram: Diagram, names: tuple[tuple[int, ...], ...]) -> str:
    """What stands before a class where one reads as an answer or as the number of a node."""
    taken = {*ANSWERS, *(str(name) for layer in names for name in layer)}
    return "predicts " if any(label_text(one).lower() in taken for one in diagram.classes) else ""


def _condition(node: Node, missing: MissingShown) -> str:
    words = " ".join(node_words(node.split))
    if isinstance(node.split, AxisTest):
        return words + missing_text(node.split.feature, node.split.missing, missing)
    return words


def _parents(
    diagram: Diagram, level: int, position: int, names: tuple[tuple[int, ...], ...]
) -> str:
    if level == 0:
        return ""
    above = [
        str(names[level - 1][at])
        for at, node in enumerate(diagram.layers[level - 1])
        if position in (node.left.node, node.right.node)
    ]
    return f", from {' and '.join(above)}"


def _arc(
    arc: Arc, level: int, diagram: Diagram, names: tuple[tuple[int, ...], ...], says: str
) -> str:
    if arc.node is not None:
        where = str(names[level + 1][arc.node])
    else:
        assert arc.label is not None, "check_diagram: an arc leads somewhere"
        where = says + label_text(diagram.classes[arc.label])
    return f"{where}  ({_rows(arc.size)}, {share_text(arc.size, diagram.entry.size)})"


def _rows(size: int) -> str:
    return f"{size} row" + "s" * (size != 1)
