"""Specs and saved models from text and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import error
from odtdsl.base.source import Source
from odtdsl.interfaces.api.inputs import FilePath
from odtdsl.interfaces.api.model import Model
from odtdsl.words import values

if TYPE_CHECKING:
    from odtdsl.driver.result import Result
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.predictors.tree import Tree

ModelLike = Model | str | os.PathLike[str]


def parse(text: str, *, name: str = "<text>", base: FilePath | None = None) -> Model:
    """The model of a text in the language.

    Parameters
    ----------
    text
        Statements; none gives an empty model.
    name
        What messages call the text.
    base
        The folder that paths in it are relative to; default the current one.

    Raises
    ------
    OdtError
        With a diagnostic for every statement that cannot be read.

    Examples
    --------
    >>> parse("drop id tree depth <= 3") == Model().drop("id").tree(depth=3)
    True
    """
    from odtdsl.language.parser import parse as parse_spec

    source = Source(name=name, text=text)
    return Model(parse_spec(source), source=source, base=base)


def load(path: FilePath) -> Model:
    """The model of a spec file; paths in it are relative to its folder.

    Raises
    ------
    OdtError
        F001 to F007: the file cannot be read; else as `parse`.
    """
    from odtdsl.language.files import read_source
    from odtdsl.language.parser import parse as parse_spec

    source = read_source(path)
    return Model(parse_spec(source), source=source, base=Path(path).parent)


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
        raise error("F204", f"{os.fspath(path)} is a saved diagram, but a tree is needed")
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


def as_model(model: ModelLike) -> Model:
    """A model from a model, a path, a file name ending in `.odt`, or the text of a spec."""
    if isinstance(model, Model):
        return model
    if isinstance(model, os.PathLike):
        return load(model)
    if isinstance(model, str):
        is_path = model.endswith(".odt") and "\n" not in model and "\r" not in model
        return load(model) if is_path else parse(model)
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


__all__ = ["ModelLike", "as_model", "load", "load_model", "load_tree", "model_of", "parse"]
