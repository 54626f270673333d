"""Quick fixes: what a message says to write instead, as edits.

Messages are for people, so an edit is only a guess at what one means. It is offered if a check of
the changed text shows that its mistake is gone and nothing it wrote is wrong.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.base.source import Source, Span
from odtdsl.interfaces.editor.edits import Fix, at_end, of_advice
from odtdsl.interfaces.editor.outline import Outline

MOST_TRIED = 32
"""Edits of one message that are tried."""

SECONDS = 2.0
"""How long edits are tried for one request."""


def offered(
    outline: Outline, touching: Span, check: Callable[[Outline], tuple[Diagnostic, ...]]
) -> list[tuple[Diagnostic, Fix]]:
    """The edits that mend the mistakes at a place; of those that write one text, the first.

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
            if (key := (number, fix.says or fix.title)) in found:
                continue
            if time.monotonic() > ends:
                return list(found.values())
            changed = Source(name=outline.source.name, text=fix.applied(outline.source.text))
            if keeps(fix, one, before, check(Outline(changed))):
                found[key] = one, fix
    return list(found.values())


def candidates(outline: Outline, one: Diagnostic) -> tuple[Fix, ...]:
    """Edits that a message may mean, the likeliest first, each once."""
    found: dict[Fix, None] = {}
    labels = [label for label in one.labels if label.span.start >= 0]
    for label in labels:
        found |= dict.fromkeys(islice(of_advice(outline, label.span, label.text), MOST_TRIED))
    for text in (*one.helps, one.message.rpartition("; ")[2]) if labels else ():
        found |= dict.fromkeys(islice(of_advice(outline, labels[0].span, text), MOST_TRIED))
    for text in one.helps:
        found |= dict.fromkeys(at_end(outline, text))
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
        if one.code == "D101" and not other.code.startswith("S"):
            continue  # no name was looked at while there was no file
        places = [label.span for label in other.labels[:1]]
        if other.code.startswith("S") or any(p.start <= end and start <= p.end for p in places):
            return False
    return True
