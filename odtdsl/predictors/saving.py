"""Trees and diagrams alike, saved and loaded."""

from __future__ import annotations

import os
from typing import Any

from odtdsl.base.files import as_path, write_text
from odtdsl.predictors import diagram_json, json
from odtdsl.predictors.predictor import Predictor

_FORMATS: dict[str, Any] = {"tree": json, "diagram": diagram_json}


def to_json(model: Predictor) -> dict[str, Any]:
    """The model as an object; see `predictors.json` and `predictors.diagram_json`."""
    found: dict[str, Any] = _FORMATS[model.kind].to_json(model)
    return found


def dumps(model: Predictor) -> str:
    """The model as JSON text that ends with a newline."""
    text: str = _FORMATS[model.kind].dumps(model)
    return text


def save(model: Predictor, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, whole or not at all; F301 where it cannot be written."""
    write_text(as_path(path), dumps(model))


def load(path: str | os.PathLike[str]) -> Predictor:
    """Read a model from a file that `save` wrote; F201 to F210 as `json.load`."""
    name = os.fspath(path)
    return from_json(json.parsed(json.read_bytes(path), name), name=name)


def load_saved(path: str | os.PathLike[str]) -> tuple[Predictor, object]:
    """The model of a saved model or a saved result, and all that the file says as JSON.

    F201 to F210 as `load`.
    """
    name = os.fspath(as_path(path))
    said = value = json.parsed(json.read_bytes(path), name)
    if isinstance(value, dict) and "format" not in value and isinstance(value.get("model"), dict):
        value = value["model"]
    return from_json(value, name=name), said


def from_json(value: object, *, name: str = "the model") -> Predictor:
    """The model of an object that `to_json` made; F204 to F210 as `json.from_json`."""
    if isinstance(value, dict) and value.get("format") == diagram_json.FORMAT:
        return diagram_json.from_json(value, name=name)
    return json.from_json(value, name=name)
