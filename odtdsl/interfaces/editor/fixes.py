"""Quick fixes: what a message says to write instead, as edits.

Messages are for people, so an edit is only a guess at what one means. It is offered if a check of
the changed text shows that its mistake is gone and nothing it wrote is wrong.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from odtdsl.base.diagnostics.model import Diagnostic, shortened
from odtdsl.base.source import Source, Span
from odtdsl.interfaces.editor.keywords import MEANINGS
from odtdsl.interfaces.editor.outline import Outline

MOST_TRIED = 16
"""Edits of one message that are tried."""

SECONDS = 2.0
"""How long edits are tried for one request."""

_ADVICE = re.compile(r"\b(did you mean|write|use|add|declare|remove it)\b")
_PIECE = re.compile(r'`` (?P<ticked>.+?) ``|`(?P<plain>[^`]+)`|(?P<text>"(?:\\.|[^"\\])*")')
_OPEN = re.compile(r"\.\.\.|\{a, b|\b(?:NAME|TIME|EVENT|RULE|A then B)\b")
"""What a person has still to fill in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """An edit: the text of `span` becomes `text`."""

    title: str
    span: Span
    text: str

    def applied(self, text: str) -> str:
        """The whole text after the edit."""
        return text[: self.span.start] + self.text + text[self.span.end :]


def offered(
    outline: Outline, touching: Span, check: Callable[[Outline], tuple[Diagnostic, ...]]
) -> list[tuple[Diagnostic, Fix]]:
    """The edits that mend the mistakes at a place; of those with one title, the first.

    Parameters
    ----------
    outline
        The text.
    touching
        The place: mistakes whose mark it touches are looked at.
    check
        What is wrong with a text; it is called for each edit, for at most about `SECONDS`.
    """
    ends = time.monotonic() + SECONDS
    before = check(outline)
    found: dict[tuple[int, str], tuple[Diagnostic, Fix]] = {}
    for number, one in enumerate(before):
        place = next((label.span for label in one.labels if label.span.start >= 0), None)
        if place is not None and (place.end < touching.start or touching.end < place.start):
            continue
        for fix in candidates(outline, one):
            if (number, fix.title) in found:
                continue
            if time.monotonic() > ends:
                return list(found.values())
            changed = Source(name=outline.source.name, text=fix.applied(outline.source.text))
            if keeps(fix, one, before, check(Outline(changed))):
                found[number, fix.title] = one, fix
    return list(found.values())


def candidates(outline: Outline, one: Diagnostic) -> tuple[Fix, ...]:
    """Edits that a message may mean, the likeliest first, each once."""
    found: dict[Fix, None] = {}
    labels = [label for label in one.labels if label.span.start >= 0]
    for label in labels:
        found |= dict.fromkeys(islice(_of_advice(outline, label.span, label.text), MOST_TRIED))
    for text in one.helps if labels else ():
        found |= dict.fromkeys(_of_advice(outline, labels[0].span, text))
    found |= dict.fromkeys(_at_end(outline, one))
    return tuple(found)[:MOST_TRIED]


def keeps(
    fix: Fix, one: Diagnostic, before: Iterable[Diagnostic], after: Iterable[Diagnostic]
) -> bool:
    """Whether an edit mends its mistake and makes no other, by the checks before and after it.

    Mistakes that its own hid may appear elsewhere; in what it wrote, or of syntax, none may.
    """
    before = tuple(before)
    known = Counter((other.code, other.message) for other in before)
    after = tuple(after)
    if any(other.code.startswith("S") for other in after):  # of names, when all can be read
        after = tuple(other for other in after if other.code.startswith("S") or other in before)
    now = Counter((other.code, other.message) for other in after)
    if now[one.code, one.message] >= known[one.code, one.message]:
        return False
    start, end = fix.span.start, fix.span.start + len(fix.text)
    for other in after:
        if other.severity != "error" or now[key := (other.code, other.message)] <= known[key]:
            continue
        places = [label.span for label in other.labels[:1]]
        if other.code.startswith("S") or any(p.start <= end and start <= p.end for p in places):
            return False
    return True


def _of_advice(outline: Outline, span: Span, advice: str) -> Iterator[Fix]:
    """The edits of a label or a help, at a place."""
    word = _ADVICE.search(advice)
    if word is None:
        return
    marked = outline.source.text[span.start : span.end]
    if word[1] == "remove it":
        yield Fix(title=f"Remove `{shortened(marked)}`", span=span, text="")
        return
    if "in backticks" in advice and "`" not in marked and marked:
        name = f"`{marked}`"
        yield Fix(title=f"Write {name}", span=span, text=name)
    for text in _pieces(advice[word.end() :]):
        title = f"Write `{text}`" if "`" not in text else f"Write {text}"
        if word[1] == "add":
            for place in _ends(outline, span):
                yield Fix(title=f"Add `{text}`", span=place, text=text)
            continue
        term = re.match(r"\w+(?=\()", marked)
        if term is not None and text.isidentifier():  # the term's name alone is wrong
            span = Span(start=span.start, end=span.start + term.end())
        whole = _statement(outline, span)
        if " " not in marked or span != whole or _kind(marked) == _kind(text):
            yield Fix(title=title, span=_with_neighbours(outline, span, text), text=text)
            yield Fix(title=title, span=span, text=text)
        if text.split()[0] in MEANINGS and " " in text:
            line_end = "\r\n" if "\r\n" in outline.source.text else "\n"
            if _kind(outline.source.text[whole.start : whole.end]) == _kind(text):
                yield Fix(title=title, span=whole, text=text)
            behind = Span(start=whole.end, end=whole.end)
            yield Fix(title=f"Add `{text}`", span=behind, text=line_end + text)


def _kind(statement: str) -> str:
    """What a statement is about, by its first word: no edit is to replace one by another."""
    word = (statement.split() or [""])[0]
    return "skeleton" if word in ("tree", "diagram") else word


def _ends(outline: Outline, span: Span) -> Iterator[Span]:
    """Where something may be missing: at the end of the statement, at the mark, behind a token."""
    whole = _statement(outline, span)
    yield Span(start=whole.end, end=whole.end)
    yield Span(start=span.end, end=span.end)
    for token in outline.tokens:
        if span.end < token.end < whole.end:
            yield Span(start=token.end, end=token.end)


def _with_neighbours(outline: Outline, span: Span, text: str) -> Span:
    """The mark and what stands around it already of a text: `2 min` of `2 minutes`."""
    source = outline.source.text
    before = next(
        (k for k in range(len(text), 0, -1) if source[: span.start].endswith(text[:k])), 0
    )
    left = len(text) - before
    after = next((k for k in range(left, 0, -1) if source.startswith(text[-k:], span.end)), 0)
    return Span(start=span.start - before, end=span.end + after)


def _at_end(outline: Outline, one: Diagnostic) -> Iterator[Fix]:
    """The statement that a message misses, on a line of its own at the end."""
    text = outline.source.text
    line_end = "\r\n" if "\r\n" in text else "\n"
    for advice in one.helps:
        if advice.startswith("add it, for example"):
            for piece in _pieces(advice):
                begin = "" if not text or text.endswith(("\n", "\r")) else line_end
                place = Span(start=len(text), end=len(text))
                yield Fix(title=f"Add `{piece}`", span=place, text=begin + piece + line_end)


def _pieces(advice: str) -> Iterator[str]:
    """What a message shows as text to write, without what is to be filled in."""
    for match in _PIECE.finditer(advice):
        text = match["ticked"] or match["plain"] or match["text"]
        if text.strip() and not _OPEN.search(text):
            yield text


def _statement(outline: Outline, span: Span) -> Span:
    """The statement, or the piece that cannot be read, around a place."""
    statements, broken = outline.readable
    for whole in (*(one.span for one in statements), *broken):
        if whole.start <= span.start < whole.end:
            text = outline.source.text[whole.start : whole.end]
            return Span(start=whole.start, end=whole.start + len(text.rstrip()))
    return span
