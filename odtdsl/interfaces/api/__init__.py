"""The Python face of the language: parse or build a `Model`, then solve, compile or audit it.

Wherever a function takes a model, the text of a spec or a path to one does as well: a
`pathlib.Path`, or a string that ends in `.odt` and holds no line break.
"""

from __future__ import annotations

from odtdsl.interfaces.api.auditing import audit, check_proof
from odtdsl.interfaces.api.explaining import curve, explain
from odtdsl.interfaces.api.formulas import compile, decode
from odtdsl.interfaces.api.inputs import FilePath, Inputs, Setting
from odtdsl.interfaces.api.model import Model, load, parse
from odtdsl.interfaces.api.reading import ModelLike, load_model, load_tree
from odtdsl.interfaces.api.solving import alternatives, check, compare, plan, solve

__all__ = [
    "FilePath",
    "Inputs",
    "Model",
    "ModelLike",
    "Setting",
    "alternatives",
    "audit",
    "check",
    "check_proof",
    "compare",
    "compile",
    "curve",
    "decode",
    "explain",
    "load",
    "load_model",
    "load_tree",
    "parse",
    "plan",
    "solve",
]
