"""Placeholder of this commit: one plain message; the helpful ones follow."""

from __future__ import annotations

from odtdsl.diagnostics.model import Diagnostic, Label
from odtdsl.source import Source, Span
from odtdsl.syntax.grammar import lark_parser


def diagnose(source: Source) -> list[Diagnostic]:
    from lark.exceptions import UnexpectedInput

    try:
        lark_parser().parse(source.text)
    except UnexpectedInput as err:
        start = max(0, getattr(err, "pos_in_stream", 0) or 0)
        span = Span(start=start, end=start + 1)
        return [
            Diagnostic(
                code="S001", message="unexpected text", labels=(Label(span=span),), source=source
            )
        ]
    return []
