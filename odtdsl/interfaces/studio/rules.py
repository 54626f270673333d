"""The rules of a spec as a list to switch on and off, as edits of its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from odtdsl.base.diagnostics.model import error
from odtdsl.base.source import Source, Span
from odtdsl.interfaces.editor.outline import Outline
from odtdsl.language import ast
from odtdsl.language.expressions import expr_to_text

OFF = "#off "
"""What stands before each line of a rule that is switched off: a comment for all else."""

_OFF = re.compile(r"(?m)^#off rule\b[^\n]*(?:\n#off (?!rule\b)[^\n]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A rule of a text and its place; `on` is false for one that stands in comments.

    `bounds` says whether it compares a measure with something, so that it may have a curve.
    """

    name: str
    text: str
    on: bool
    span: Span
    bounds: bool


def listed(text: str) -> list[Switch]:
    """The rules of a text, in order."""
    found = [
        Switch(
            name=one.name,
            text=_shown(one.node),
            on=True,
            span=one.whole,
            bounds=_bounds(one.node),
        )
        for one in Outline(Source(name="spec", text=text)).definitions
        if one.kind == "rule" and isinstance(one.node, ast.Rule)
    ]
    for match in _OFF.finditer(text):
        inner = Outline(Source(name="spec", text=match[0].replace(OFF, "")))
        for one in inner.definitions:
            if isinstance(one.node, ast.Rule):
                span = Span(start=match.start(), end=match.end())
                told, bounds = _shown(one.node), _bounds(one.node)
                found.append(Switch(name=one.name, text=told, on=False, span=span, bounds=bounds))
    return sorted(found, key=lambda one: one.span.start)


def limits(text: str) -> list[str]:
    """What the skeleton bounds and a curve can be drawn of."""
    found = Outline(Source(name="spec", text=text)).statement(ast.Tree)
    bounds = () if found is None else found.bounds
    return [one.measure for one in bounds if one.measure in ("depth", "leaves")]


def switched(text: str, start: int) -> str:
    """The text with the rule that begins at an offset switched on, or off.

    Raises
    ------
    OdtError
        U382: no rule begins there.
    """
    one = next((one for one in listed(text) if one.span.start == start), None)
    if one is None:
        raise error("U382", "no rule begins there any more")
    if not one.on:
        piece = text[one.span.start : one.span.end].replace(OFF, "")
        return text[: one.span.start] + piece + text[one.span.end :]
    end = one.span.start + len(text[one.span.start : one.span.end].rstrip())
    lines = text[one.span.start : end].split("\n")
    begin = "" if one.span.start == 0 or text[one.span.start - 1] == "\n" else "\n"
    rest = text[end:]
    # What else stands on the last line would become part of the comment.
    after = "" if rest.lstrip(" \t")[:1] in ("", "\n", "#") else "\n"
    return text[: one.span.start] + begin + "\n".join(OFF + line for line in lines) + after + rest


def bounded(text: str, name: str, bound: str) -> str:
    """The text with another bound in a rule that compares a measure with a number.

    Parameters
    ----------
    text, name
        The spec; the rule, or `tree depth` and `tree leaves` of the skeleton.
    bound
        A number, or a percentage such as `12.5%`.

    Raises
    ------
    OdtError
        U382: there is no such rule, or its bound is no number.
    """
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?%?", bound) is None:
        raise error("U382", f"`{bound[:40]}` is no bound")
    outline = Outline(Source(name="spec", text=text))
    tree = outline.statement(ast.Tree)
    for limit in () if tree is None else tree.bounds:
        if name == f"tree {limit.measure}" and bound.isdecimal():
            return text[: limit.value.span.start] + bound + text[limit.value.span.end :]
    for one in outline.definitions:
        if one.kind != "rule" or one.name != name or not isinstance(one.node, ast.Rule):
            continue
        condition = one.node.condition
        if not isinstance(condition, ast.Compare) or len(condition.operands) != 2:
            break
        last = condition.operands[1]
        return text[: last.span.start] + bound + text[last.span.end :]
    raise error("U382", f"the bound of `{name}` cannot be set here: write it in the spec")


def number_text(value: object, percent: bool) -> str:
    """A value of a curve as it is written in a spec."""
    exact = Fraction(str(value)) * (100 if percent else 1)
    text = f"{float(exact):.12g}" if exact.denominator != 1 else str(exact.numerator)
    return text + "%" * percent


def _shown(rule: ast.Rule) -> str:
    scope = "" if rule.scope is None else f"forall {rule.scope}: "
    return scope + expr_to_text(rule.condition)


def _bounds(rule: ast.Rule) -> bool:
    return isinstance(rule.condition, ast.Compare) and len(rule.condition.operands) == 2


__all__ = ["Switch", "bounded", "limits", "listed", "number_text", "switched"]
