"""The compiled part of the package, loaded where it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from odtdsl.base.diagnostics.model import error


def engine() -> Any:
    """The module of the searches and scans in C++.

    Raises
    ------
    OdtError
        X202: it is not built.
    """
    try:
        return import_module("odtdsl.base._engine")
    except ImportError as problem:
        raise error(
            "X202",
            "the native part of odtdsl is not built",
            helps=("run the set-up command of the README: pip install --editable .",),
        ) from problem
