"""Recognises the solver that a text asks for in other words than ours."""

from __future__ import annotations

import re

from odtdsl.base.back_ends import setting_of
from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.language.failure import Failure

_ASKED = re.compile(r"(?:\bsolve[^\S\n]+)?\busing\b[^,\n#]*")
"""`using milp solver "scip"`, `using milp("scip")`, `using "scip"`: a word of it is the solver."""


def named_solver(f: Failure) -> Diagnostic | None:
    """A solver behind `using` that is not set as `milp(mip = scip)`, or no `solve` before it."""
    start = f.text.rfind("\n", 0, f.at) + 1
    line = f.text[start:].partition("\n")[0]
    asked = _ASKED.search(line)
    if asked is None or not asked.start() <= f.at - start <= asked.end():
        return None
    words = re.findall(r"\w+", asked[0])
    ways = [way for word in words if (way := setting_of(word.lower())) is not None]
    if ways and _plain(ways[-1]).rstrip(")") not in _plain(asked[0]):
        said = f.span(start + asked.start(), start + len(line[: asked.end()].rstrip()))
        return f.error(
            "S001",
            "a solver is set in brackets after its back end",
            f"write `solve using {ways[-1]}`",
            span=said,
        )
    if f.found == "using" and f.at_statement:
        return f.error(
            "S002", "no statement starts with `using`", f"write `solve {asked[0].strip()}`"
        )
    return None


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text)
