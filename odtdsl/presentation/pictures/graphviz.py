"""Trees and diagrams alike in the DOT language of Graphviz."""

from __future__ import annotations

from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.missing_values import missing_sides
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.pictures import dot
from odtdsl.presentation.pictures.diagram_dot import diagram_to_dot
from odtdsl.presentation.pictures.picture import Notes


def to_dot(model: Predictor, *, notes: Notes | None = None) -> str:
    """The model in the DOT language of Graphviz, with further lines of nodes as in `to_svg`."""
    notes = missing_sides(model) if notes is None else notes
    if isinstance(model, Tree):
        return dot.to_dot(model, notes=notes)
    assert isinstance(model, Diagram), "a model is a tree or a diagram"
    return diagram_to_dot(model, notes=notes)
