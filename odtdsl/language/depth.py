"""How deep expressions nest: bounded, as what reads and walks them recurses."""

from __future__ import annotations

from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.source import Source, Span

MAX_DEPTH = 150
"""Deepest nesting of an expression, so that walks over the tree stay within Python's stack."""


def deepest(tree: Any) -> int:
    """How deep the syntax tree of lark's tree will be: a sum of n terms is n deep."""
    if tree.meta.empty or tree.meta.end_pos - tree.meta.start_pos < MAX_DEPTH:
        return 0  # each level takes a character at least
    found, stack = 0, [(tree, 1)]
    while stack:
        inner, level = stack.pop()
        found = max(found, level)
        step = len(inner.children) // 2 if inner.data in ("sum", "product") else 1
        stack.extend((child, level + step) for child in inner.children if hasattr(child, "data"))
    return found


def too_deep(source: Source, span: Span) -> Diagnostic:
    """The message on a statement whose expression nests too deeply for recursion."""
    return Diagnostic(
        code="S027",
        message=f"an expression is nested more than {MAX_DEPTH} levels deep",
        labels=(Label(span=span, text="in this statement"),),
        helps=("give parts of it a name with `let`, or write a long sum as `sum(a, b, ...)`",),
        source=source,
    )
