"""Text to syntax tree."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.source import Source, Span
from odtdsl.language import ast
from odtdsl.language.depth import MAX_DEPTH, deepest, too_deep
from odtdsl.language.files import read_source
from odtdsl.language.grammar import lark_parser
from odtdsl.language.transformer import Builder

__all__ = ["parse", "read_source"]

TRIVIA = re.compile(r'"(?:\\.|[^"\\\r\n])*"|`(?:[^`\r\n]|``)+`|#[^\r\n]*|[(\[{]|[)\]}]')
"""Texts, backticked names, comments and brackets: what has to be seen before parsing."""


@lru_cache(maxsize=64)  # a model that is fitted to other rows says the same again
def parse(source: Source) -> ast.Spec:
    """The syntax tree of a spec, which nothing can change.

    Parameters
    ----------
    source
        A spec; nothing in it, or only comments, gives a spec without statements.

    Raises
    ------
    OdtError
        With a diagnostic for every statement that cannot be read.
    """
    from lark.exceptions import UnexpectedInput

    comments, nested = _scan(source)
    if nested is not None:
        raise OdtError([nested])
    try:
        tree = lark_parser().parse(source.text)
    except UnexpectedInput:
        from odtdsl.language.recovery import diagnose

        raise OdtError(diagnose(source)) from None
    written: list[Any] = tree.children
    deep = [_deep(source, child.meta) for child in written if deepest(child) > MAX_DEPTH]
    if deep:
        raise OdtError(deep)
    builder = Builder(source)
    statements = builder.statements(tree)
    if builder.diagnostics:
        raise OdtError(builder.diagnostics)
    whole = Span(start=0, end=len(source.text))
    return ast.Spec(span=whole, statements=statements, comments=comments)


def _scan(source: Source) -> tuple[tuple[ast.Comment, ...], Diagnostic | None]:
    """The comments, and a complaint where brackets nest too deep for any reading."""
    text, comments, depth = source.text, [], 0
    for match in TRIVIA.finditer(text):
        first, start = match[0][0], match.start()
        if first == "#":
            before = text[max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1 : start]
            span = Span(start=start, end=match.end())
            own_line = not before.strip(" \t\f\u00a0\ufeff")
            comments.append(ast.Comment(span=span, text=match[0].rstrip(), own_line=own_line))
        elif first in "([{":
            depth += 1
            if depth > MAX_DEPTH:
                return (), too_deep(source, Span(start=start, end=start + 1))
        elif first in ")]}":
            depth = max(0, depth - 1)
    return tuple(comments), None


def _deep(source: Source, meta: Any) -> Diagnostic:
    return too_deep(source, Span(start=meta.start_pos, end=meta.start_pos + 1))
