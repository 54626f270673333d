"""The edits that an advice may mean, at a place of a text.

An advice names a text to write; where it goes, and what it takes the place of, is guessed here
from the kind of the text. Each guess is tried afterwards, so a wrong one costs only time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from odtdsl.base.diagnostics.model import shortened
from odtdsl.base.source import Span
from odtdsl.interfaces.editor.keywords import MEANINGS
from odtdsl.interfaces.editor.outline import Outline, Token
from odtdsl.language.vocabulary import STATEMENTS

_ADVICE = re.compile(
    r"\b(did you mean|write|use|add|declare|say|leave"
    r"|remove (?:it|the \w+|`\w+`))(?=\W|$)"
)
_PIECE = re.compile(r'`` (?P<ticked>.+?) ``|`(?P<plain>[^`]+)`|(?P<text>"(?:\\.|[^"\\])*")')
_OPEN = re.compile(
    r"\.\.\.|\{a, b|\((?:feature|group)\)|\b(?:NAME|TIME|EVENT|RULE|A then B|a before b)\b"
)
"""What a person has still to fill in."""
_OPTION = re.compile(r"(?:na|id|days|parts|decimal|thousands|separator|sheet)\b(?! *:)")
_NUMBER = re.compile(r'"\s*([-+]?\d+(?:\.\d+)?)\s*"')
_PERCENTAGE = re.compile(r"\d+(?:\.\d+)?%")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "==")
_HEAD = re.compile(r"forall (?:leaf|path|split):")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """An edit: the text of `span` becomes `text`; `says` is what an advice said to write."""

    title: str
    span: Span
    text: str
    says: str = ""

    def applied(self, text: str) -> str:
        """The whole text after the edit."""
        return text[: self.span.start] + self.text + text[self.span.end :]


def of_advice(outline: Outline, span: Span, advice: str) -> Iterator[Fix]:
    """The edits of a label or a help, at a place, the likeliest first."""
    word = _ADVICE.search(advice)
    if word is None:
        return
    if word[1].startswith("remove"):
        yield from _removals(outline, span, word[1], advice)
    yield from _otherwise(outline, span, advice)
    source = outline.source.text
    for text in _pieces(advice[word.start() :]):
        title = f"Write `{text}`" if "`" not in text else f"Write {text}"
        for place, written in _places(outline, span, text, advice, adds=word[1] == "add"):
            added = word[1] == "add" or place.start == place.end
            shown = title.replace("Write", "Add", 1) if added else title
            inside = re.match(r"\w\w", source[max(place.end - 1, 0) : place.end + 1])
            if inside is None and re.match(r"\w", source[place.end : place.end + 1]):
                written += " " if written[-1:].isalnum() else ""  # `not` for `!`
            yield Fix(title=shown, span=place, text=written, says=text)


def at_end(outline: Outline, advice: str) -> Iterator[Fix]:
    """The statement that a message misses, on a line of its own at the end."""
    text = outline.source.text
    line_end = _line_end(outline)
    if advice.startswith("add it, for example"):
        for piece in _pieces(advice):
            begin = "" if not text or text.endswith(("\n", "\r")) else line_end
            place = Span(start=len(text), end=len(text))
            written = begin + piece + line_end
            yield Fix(title=f"Add `{piece}`", span=place, text=written, says=piece)


# ---- what an advice says without a text


def _removals(outline: Outline, span: Span, what: str, advice: str) -> Iterator[Fix]:
    """The mark, with a comma beside it, or its whole statement."""
    text = outline.source.text
    marked = text[span.start : span.end]
    whole = statement(outline, span)
    title = f"Remove `{shortened(marked)}`"
    if "remove it from `drop`" in advice:
        for other in _statements(outline):
            if text[other.start : other.end].split()[:1] == ["drop"]:
                for token in _tokens(outline, other):
                    if token.text == marked:
                        yield from _without(outline, token.span, other, f"{title} from `drop`")
        return
    if what == "remove it":
        yield from _without(outline, span, whole, title)
        return
    shown = shortened(text[whole.start : whole.end].split("\n")[0])
    yield Fix(title=f"Remove `{shown}`", span=_line(outline, whole), text="")


def _without(outline: Outline, span: Span, whole: Span, title: str) -> Iterator[Fix]:
    """An item of a list is left out; the only one with its statement."""
    text = outline.source.text
    yield Fix(title=title, span=span, text="")
    after = re.match(r"\s*,\s*", text[span.end : whole.end])
    before = re.search(r"\s*,\s*$", text[whole.start : span.start])
    if after is not None:
        yield Fix(title=title, span=replace(span, end=span.end + after.end()), text="")
    if before is not None:
        yield Fix(title=title, span=replace(span, start=whole.start + before.start()), text="")
    yield Fix(title=title, span=_line(outline, whole), text="")


def _otherwise(outline: Outline, span: Span, advice: str) -> Iterator[Fix]:
    """The mark written otherwise: in backticks, without quotes, in a rule without `forall`."""
    text = outline.source.text
    marked = text[span.start : span.end]
    if "in backticks" in advice and "`" not in marked and marked:
        start = span.start - len(re.findall(r"[\w.]*\Z", text[: span.start])[0])
        end = span.end + len(re.findall(r"\A[\w.]*", text[span.end :])[0])
        place = Span(start=start, end=end)
        name = f"`{text[place.start : place.end]}`"
        yield Fix(title=f"Write {name}", span=place, text=name)
    if "add a backtick" in advice:
        place = Span(start=span.end, end=span.end)
        yield Fix(title="Add a backtick", span=place, text="`")
    number = _NUMBER.fullmatch(marked)
    if "without quotes" in advice and number is not None:
        yield Fix(title=f"Write `{number[1]}`", span=span, text=number[1])
    body = _body(outline, span)
    if ("in a rule without `forall`" in advice or "leave `forall` out" in advice) and body:
        head = re.compile(r"forall \w+ *:").match(text, body.start)
        if head is not None:
            rest = text[head.end() : body.end].strip()
            title = f"Remove `{head[0][:-1]}`"
            pieces = _pieces(advice)
            yield Fix(title=title, span=body, text=rest, says=next(pieces, ""))


# ---- where a text goes


def _places(
    outline: Outline, span: Span, text: str, advice: str, *, adds: bool
) -> Iterator[tuple[Span, str]]:
    """Places of a text, and what is written there."""
    marked = outline.source.text[span.start : span.end]
    whole = statement(outline, span)
    if _OPTION.match(text):
        yield from _in_data(outline, text)
    if adds:
        yield from ((place, text) for place in _ends(outline, span))
        return
    if text in _COMPARISONS and re.search(r"\w", marked):
        for token in _tokens(outline, span):
            if token.text in _COMPARISONS:
                yield token.span, text
        return
    if _PERCENTAGE.fullmatch(text):  # the sign was forgotten
        for token in _tokens(outline, span):
            if token.text == text[:-1]:
                yield token.span, text
    if text.startswith("splits "):
        for one in re.finditer(r"\bsplits \w+", outline.source.text):
            yield Span(start=one.start(), end=one.end()), text
    body = _body(outline, span)
    if body is not None and "in a rule without `forall`" in advice:
        yield body, text
    if body is not None and _HEAD.match(text):
        yield from _under_forall(outline, body, text)
    yield from _of_kind(outline, span, whole, text)
    term = re.match(r"\w+(?=\()", marked)
    if term is not None and text.isidentifier():  # the term's name alone is wrong
        yield Span(start=span.start, end=span.start + term.end()), text
    if " " not in marked or span != whole or _kind(marked) == _kind(text):
        yield _with_neighbours(outline, span, text), text
        yield span, text
        yield _of_tokens(outline, span, whole, text), text
    if text.split()[0] in MEANINGS and " " in text:
        apart = _line_end(outline) if text.split()[0] in STATEMENTS else " "
        yield Span(start=whole.end, end=whole.end), apart + text
    if body is not None and body.end > span.end and " " not in marked:
        for token in outline.tokens:  # more of what stands behind the mark
            if span.end < token.end <= body.end:
                yield Span(start=span.start, end=token.end), text
    elif body is not None:
        yield body, text


def _in_data(outline: Outline, text: str) -> Iterator[tuple[Span, str]]:
    """An option of the `data` statement: behind it, or among the values that it has already."""
    source = outline.source.text
    for one in _statements(outline):
        if source[one.start : one.end].split()[:1] != ["data"]:
            continue
        values = re.fullmatch(r"(\w+) \{(.*)\}", text)
        has = None if values is None else re.search(rf"\b{values[1]}\s*\{{", source[one.start :])
        if values is not None and has is not None:
            place = one.start + has.end()
            yield Span(start=place, end=place), f"{values[2]}, "
        kept = source[one.start : one.end]
        for option in re.findall(r'(\w+) "', text):
            kept = re.sub(rf',?\s*\b{option}\s+"[^"]*"', "", kept)
        yield one, f"{kept}, {text}"


def _under_forall(outline: Outline, body: Span, text: str) -> Iterator[tuple[Span, str]]:
    """The condition of a rule under another `forall`, as it stands or as the text says it."""
    source = outline.source.text
    said = _HEAD.match(text)
    assert said is not None
    has = _HEAD.match(source, body.start)
    start = body.start if has is None else has.end()
    kept = source[start : body.end].strip()
    yield body, f"{said[0]} {kept}"
    yield body, text


def _of_kind(outline: Outline, span: Span, whole: Span, text: str) -> Iterator[tuple[Span, str]]:
    """In place of the statement around the mark, or of the one elsewhere, of the same kind."""
    if text.split()[0] not in MEANINGS or " " not in text:
        return
    source = outline.source.text
    kind = _kind(text)
    subject = text.split()[1].rstrip(":") if kind in ("candidates", "feature", "cost") else None
    for one in (whole, *(other for other in _statements(outline) if other != whole)):
        has = source[one.start : one.end]
        words = re.split(r"[\s:]+", has)
        if _kind(has) == kind and (one == whole or subject is None or subject in words[1:2]):
            if one == whole and span != whole:
                yield _with_neighbours(outline, span, text), text
            yield one, text


def _of_tokens(outline: Outline, span: Span, whole: Span, text: str) -> Span:
    """The mark and the tokens around it that the text has as well: `age is not missing`."""
    words = set(re.findall(r"\w+|[^\w\s]", text))
    start, end = span.start, span.end
    tokens = list(_tokens(outline, whole))
    for token in reversed([one for one in tokens if one.end <= span.start]):
        if token.text not in words:
            break
        start = token.start
    for token in (one for one in tokens if one.start >= span.end):
        if token.text not in words:
            break
        end = token.end
    return Span(start=start, end=end)


def _ends(outline: Outline, span: Span) -> Iterator[Span]:
    """Where something may be missing: at the end of the statement, at the mark, behind a token."""
    whole = statement(outline, span)
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


# ---- pieces of the source


def _pieces(advice: str) -> Iterator[str]:
    """What a message shows as text to write, without what is to be filled in."""
    for match in _PIECE.finditer(advice):
        text = match["ticked"] or match["plain"] or match["text"]
        named = advice[: match.start()].endswith(("without ", "leave ", "from ", "remove "))
        if text.strip() and not named and not _OPEN.search(text):
            yield text


def _kind(text: str) -> str:
    """What a statement is about, by its first word: no edit is to replace one by another."""
    word = (text.split() or [""])[0]
    if word in ("minimize", "maximize"):
        return "objective"
    return "skeleton" if word in ("tree", "diagram") else word


def _line_end(outline: Outline) -> str:
    return "\r\n" if "\r\n" in outline.source.text else "\n"


def _line(outline: Outline, whole: Span) -> Span:
    """A statement with the line end behind it, if nothing else stands on its line."""
    source = outline.source.text
    begins = whole.start == 0 or source[whole.start - 1] in "\r\n"
    behind = re.match(r"[ \t]*(\r\n|\n|\r)", source[whole.end :])
    return replace(whole, end=whole.end + behind.end()) if begins and behind else whole


def _statements(outline: Outline) -> Iterator[Span]:
    """The statements, and the pieces that cannot be read, without blanks behind them."""
    statements, broken = outline.readable
    for whole in (*(one.span for one in statements), *broken):
        text = outline.source.text[whole.start : whole.end]
        yield Span(start=whole.start, end=whole.start + len(text.rstrip()))


def statement(outline: Outline, span: Span) -> Span:
    """The statement, or the piece that cannot be read, around a place."""
    around = (one for one in _statements(outline) if one.start <= span.start < one.end)
    return next(around, span)


def _body(outline: Outline, span: Span) -> Span | None:
    """The condition of the rule around a place, with its `forall`."""
    whole = statement(outline, span)
    head = re.match(r"rule\s+(?:\w+|`[^`]*`)\s*:\s*", outline.source.text[whole.start : whole.end])
    return None if head is None else replace(whole, start=whole.start + head.end())


def _tokens(outline: Outline, span: Span) -> Iterator[Token]:
    for token in outline.tokens:
        if span.start <= token.start and token.end <= span.end and token.kind != "comment":
            yield token
