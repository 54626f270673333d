"""The process that checks specs for the language server, which may stop it at any time.

Reads one JSON object a line: `{"text": ..., "name": ..., "base": ...}`; answers with one a line:
`{"diagnostics": [...], "facts": ..., "unread": ...}`, or `{"failed": ...}` for a mistake of ours.
With `"touching": [start, end]`, `{"fixes": [[diagnostic, title, start, end, text], ...]}`.
A line `{"ready": ...}` comes first.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.source import Source, Span
from odtdsl.interfaces.editor.tables import Tables

if TYPE_CHECKING:
    from odtdsl.interfaces.editor.outline import Outline


def answer(request: dict[str, Any], tables: Tables) -> dict[str, Any]:
    """What is wrong with the text of a request, and the facts about its data."""
    from odtdsl.interfaces.editor.checking import checked
    from odtdsl.interfaces.editor.outline import Outline

    outline = Outline(Source(name=request["name"], text=request["text"]))
    base = Path(request["base"])
    if request.get("touching") is not None:
        return {"fixes": _fixes(outline, _span(request["touching"]), base, tables)}
    found = checked(outline, base, tables)
    return {
        "diagnostics": [pack(one) for one in found.diagnostics],
        "facts": None if found.facts is None else found.facts.to_json(),
        "unread": found.unread,
    }


def _fixes(outline: Outline, touching: Span, base: Path, tables: Tables) -> list[Any]:
    from odtdsl.interfaces.editor.checking import checked
    from odtdsl.interfaces.editor.fixes import offered

    found = offered(outline, touching, lambda text: checked(text, base, tables).diagnostics)
    return [[pack(one), fix.title, fix.span.start, fix.span.end, fix.text] for one, fix in found]


def _span(pair: list[int]) -> Span:
    return Span(start=pair[0], end=pair[1])


def pack(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic without its source, as plain data."""
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "severity": diagnostic.severity,
        "labels": [[one.span.start, one.span.end, one.text] for one in diagnostic.labels],
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
    }


def unpack(value: dict[str, Any], source: Source) -> Diagnostic:
    """The diagnostic that `pack` made plain."""
    return Diagnostic(
        code=value["code"],
        message=value["message"],
        severity=value["severity"],
        source=source,
        labels=tuple(
            Label(span=Span(start=start, end=end), text=text)
            for start, end, text in value["labels"]
        ),
        notes=tuple(value["notes"]),
        helps=tuple(value["helps"]),
    )


def main() -> None:
    """Answer requests until the input ends."""
    incoming, outgoing = sys.stdin.buffer, _own_output()
    from odtdsl.interfaces.editor import checking

    tables = Tables()
    told: dict[str, Any] = {"ready": checking.__name__}  # imported, before time is measured
    while True:
        outgoing.write(json.dumps(told).encode() + b"\n")
        outgoing.flush()
        line = incoming.readline()
        if not line:
            return
        try:
            told = answer(json.loads(line), tables)
        except Exception as failure:  # one bad text must not end the session
            told = {"failed": f"{type(failure).__name__}: {failure}"}


def _own_output() -> BinaryIO:
    """Standard output for answers only: what else is printed goes to standard error."""
    kept = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return kept


if __name__ == "__main__":
    main()
