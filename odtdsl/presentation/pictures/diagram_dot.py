"""A diagram in the DOT language of Graphviz."""

from __future__ import annotations

from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc
from odtdsl.predictors.wording import node_words, share_text, terminal_words
from odtdsl.presentation.pictures.dot import quoted
from odtdsl.presentation.pictures.picture import Notes


def diagram_to_dot(diagram: Diagram, *, notes: Notes | None = None) -> str:
    """The diagram as a DOT digraph: nodes are boxes, one rank for each layer; terminals are
    rounded; edges say the answer and its share of the training rows, `no` is dashed."""
    lines = [
        "digraph diagram {",
        '  graph [ordering="out"];',
        '  node [shape="box", fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    total, number = diagram.entry.size, 0
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            more = (notes or {}).get(number, ())
            number += 1
            lines.append(f"  n{level}_{position} [label={quoted(*node_words(node.split), *more)}];")
        same = " ".join(f"n{level}_{position};" for position in range(len(layer)))
        lines.append(f'  {{ rank="same"; {same} }}')
    for label in diagram.reached:
        words = quoted(*terminal_words(diagram.terminals[label], label, diagram))
        lines.append(f'  c{label} [label={words}, style="rounded"];')
    lines.append('  { rank="sink"; ' + " ".join(f"c{label};" for label in diagram.reached) + " }")
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            for answer, arc in (("yes", node.left), ("no", node.right)):
                style = "" if answer == "yes" else ', style="dashed"'
                words = quoted(f"{answer} {share_text(arc.size, total)}")
                lines.append(
                    f"  n{level}_{position} -> {_name(arc, level)} [label={words}{style}];"
                )
    return "\n".join([*lines, "}"]) + "\n"


def _name(arc: Arc, level: int) -> str:
    return f"c{arc.label}" if arc.node is None else f"n{level + 1}_{arc.node}"
