"""What callers pass as a model: a spec to solve, or a tree or diagram that was saved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.api.builder import SpecBuilder
from odtdsl.interfaces.api.inputs import FilePath
from odtdsl.words import values

if TYPE_CHECKING:
    from odtdsl.driver.result import Result
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.predictors.tree import Tree

ModelLike = SpecBuilder | str | os.PathLike[str]


def load_tree(path: FilePath) -> Tree:
    """A saved tree, from its JSON file or from that of a whole result.

    Raises
    ------
    OdtError
        F201 to F210: it cannot be read, or is no saved tree.
    """
    from odtdsl.predictors.tree import Tree

    found = load_model(path)
    if not isinstance(found, Tree):
        raise error(
            "F204",
            f"{os.fspath(path)} is a saved diagram, but a tree is needed",
            helps=(
                "`odt predict` and `odt audit` take diagrams; in Python `load_model` reads them",
            ),
        )
    return found


def load_model(path: FilePath) -> Predictor:
    """A saved tree or diagram, from its JSON file or from that of a whole result.

    Raises
    ------
    OdtError
        F201 to F210: it cannot be read, or is neither.
    """
    from odtdsl.predictors.saving import load_saved

    return load_saved(path)[0]


def spec_of(model: ModelLike) -> SpecBuilder:
    """The spec of a model, a path, a file name ending in `.odt`, or the text of a spec."""
    if isinstance(model, SpecBuilder):
        return model
    if isinstance(model, os.PathLike):
        return SpecBuilder.from_file(model)
    if isinstance(model, str):
        is_path = model.endswith(".odt") and "\n" not in model and "\r" not in model
        return SpecBuilder.from_file(model) if is_path else SpecBuilder.from_text(model)
    raise values.wrong("a model", model, "pass a Model, the text of a spec, or a path")


def model_of(tree: Predictor | Result | FilePath) -> Predictor:
    """The tree or diagram of a result or a saved file; trees and diagrams as they are."""
    from odtdsl.driver.result import Result
    from odtdsl.predictors.predictor import Predictor

    if isinstance(tree, Result) and tree.model is not None:
        return tree.model
    if isinstance(tree, Predictor):
        return tree
    if isinstance(tree, str | os.PathLike):
        return load_model(tree)
    raise values.wrong("a tree", tree, "pass a tree, a result that has one, or a path")


__all__ = ["ModelLike", "load_model", "load_tree", "model_of", "spec_of"]
