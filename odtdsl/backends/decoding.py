"""Between raw answers and predictors: trees and diagrams alike."""

from __future__ import annotations

from odtdsl.backends import decode
from odtdsl.backends.decode import NoCandidate
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawModel
from odtdsl.problem.ir.rows import Rows


def simplified(core: Core, raw: RawModel) -> RawModel:
    """A raw model without splits that say nothing."""
    if isinstance(raw, RawDiagram):
        from odtdsl.backends.decode_diagram import simplify_diagram

        return simplify_diagram(core, raw)
    return decode.simplify(core, raw)


def to_predictor(core: Core, rows: Rows, raw: RawModel) -> Predictor:
    """The predictor of a raw model; the training rows are counted in its nodes."""
    if isinstance(raw, RawDiagram):
        from odtdsl.backends.decode_diagram import to_diagram

        return to_diagram(core, rows, raw)
    return decode.to_tree(core, rows, raw)


def from_predictor(core: Core, rows: Rows, model: Predictor) -> RawModel | NoCandidate:
    """The raw model that predicts alike; `NoCandidate` where a split is none of the core."""
    if isinstance(model, Diagram):
        from odtdsl.backends.decode_diagram import from_diagram

        return from_diagram(core, rows, model)
    assert isinstance(model, Tree), "a model is a tree or a diagram"
    return decode.from_tree(core, rows, model)
