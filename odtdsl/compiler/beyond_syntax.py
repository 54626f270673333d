"""What is wrong with the statements that can be read, where others cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.source import Source, Span
from odtdsl.compiler.analysis import analyse
from odtdsl.language import ast
from odtdsl.language.fragments import without_places
from odtdsl.language.parser import parse
from odtdsl.language.recovery import readable

_STAND_INS = {(ast.Tree, ast.Diagram): "tree depth <= 3", (ast.Objective,): "minimize leaves"}
"""What stands for a statement that cannot be read, so that the others can be looked at."""

_SILENT = frozenset({"rule", "minimize", "maximize", "solve", "tree", "diagram"})
"""Statements that others do not rest on."""


def beyond_syntax(
    source: Source, syntax: Sequence[Diagnostic], **inputs: Any
) -> tuple[Diagnostic, ...]:
    """The errors of syntax, and those of names and types in the statements that can be read.

    Whatever a statement that cannot be read may have said counts as said: an error about a name
    that such a statement holds is not told, and nothing is told without data or target.

    Parameters
    ----------
    source, syntax
        A text that does not parse, and why.
    **inputs
        As `analyse` takes them.
    """
    statements, broken = readable(source)
    kinds = {type(one) for one in statements}
    if not broken or not {ast.Data, ast.Target} <= kinds:
        return tuple(syntax)
    pieces = [source.text[span.start : span.end] for span in broken]
    words = {word for piece in pieces for word in _said(piece)}
    more: list[ast.Statement] = []
    for missing, text in _STAND_INS.items():
        if not kinds & set(missing):
            more += without_places(parse(Source(name="<stand-in>", text=text))).statements
    spec = ast.Spec(statements=(*statements, *more))
    try:
        analyse(spec, source=source, **inputs)
    except OdtError as failure:
        found = [one for one in failure.diagnostics if _is_told(one, words, broken)]
        return tuple(sorted((*syntax, *found), key=_place))
    return tuple(syntax)


def _said(piece: str) -> frozenset[str]:
    """The words of a statement that others may rest on; with `missing` and `loss`, their name."""
    words = re.findall(r"[^\W\d]\w*", re.sub(r"#.*", "", piece))
    if not words:
        return frozenset()
    return frozenset(words[1:2] if words[0] in _SILENT else words)


def _is_told(one: Diagnostic, words: frozenset[str] | set[str], broken: Sequence[Span]) -> bool:
    if one.severity != "error" or ("missing" in words and one.code == "D201"):
        return False
    if any(span.start <= label.span.start < span.end for span in broken for label in one.labels):
        return False
    return not words & set(re.findall(r"`([^`]+)`", one.message))


def _place(one: Diagnostic) -> int:
    return min((label.span.start for label in one.labels), default=0)
