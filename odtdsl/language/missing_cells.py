"""Recognises a `missing` statement with its parts in another order or with signs between them."""

from __future__ import annotations

import re

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.language.expressions import coded
from odtdsl.language.failure import Failure
from odtdsl.language.vocabulary import MISSING_POLICIES, one_of

_BETWEEN = ("missing", "go", "goes", "to", "is", "are", "the")


def missing_cells(f: Failure) -> Diagnostic | None:
    """`missing income = left`, `missing go left`, `missing left income`: what to write is clear."""
    if f.keyword != "missing" or f.opener() is not None:
        return None
    start = f.statement[0].start
    line = f.text[start:].partition("\n")[0].partition("#")[0].rstrip()
    words = re.findall(r"`[^`]+`|\w+", line)
    said = [word for word in words if word in MISSING_POLICIES]
    columns = [word for word in words if word not in (*MISSING_POLICIES, *_BETWEEN)]
    if len(said) != 1 or not start <= f.at <= start + len(line):
        return None
    of = f"{{{', '.join(columns)}}} " if columns else ""
    return f.error(
        "S001",
        f"`missing` takes columns in braces, unless all are meant, then {one_of(MISSING_POLICIES)}",
        f"write {coded(f'missing {of}{said[0]}')}",
        span=f.span(start, start + len(line)),
    )
