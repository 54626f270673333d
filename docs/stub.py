"""The types of the engine's names, `odtdsl/base/_engine.pyi`, read off the engine by nanobind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parents[1] / "odtdsl" / "base" / "_engine.pyi"
NOTE = "# Written from solvers/bindings by `python -m docs.generate`; do not edit.\n\n"
ARRAY = re.compile(r"Annotated\[NDArray(\[numpy\.\w+\])?, dict\([^()]*(\([^()]*\)[^()]*)*\)\]")
RANKS = "NDArray[numpy.uint16] | NDArray[numpy.uint32]"
"""The only arrays that come in either of two kinds."""


def text() -> str:
    """The stub as it should be, by the engine that is installed.

    Raises
    ------
    ImportError
        nanobind is not installed: it comes with the extra `test`.
    """
    from nanobind.stubgen import StubGen

    from odtdsl.base import _engine

    made = StubGen(_engine)
    made.put(_engine)
    found = ARRAY.sub(lambda array: f"NDArray{array[1]}" if array[1] else RANKS, made.get())
    found = found.replace("import Annotated, ", "import ")
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", PLACE.name, "-"]
    return subprocess.run(
        command, input=NOTE + found, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout
