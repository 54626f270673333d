"""Recognises characters and spellings of other languages: quotes, operators, numbers.

The first recognisers that `mistakes` asks; see there.
"""

from __future__ import annotations

import re
import unicodedata

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.language.failure import Failure
from odtdsl.language.vocabulary import OPERATORS

_QUOTES = "'\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_SINGLE = re.compile(f'[{_QUOTES}]([^{_QUOTES}\r\n]*)([{_QUOTES}"]?)')


def single_quotes(f: Failure) -> Diagnostic | None:
    """Quotes other than the double one around a text."""
    match = _SINGLE.match(f.text, f.at)
    if f.ended or match is None:
        return None
    span = f.span(match.start(), match.end())
    return f.error("S006", 'a text needs double quotes, `"`', f'write `"{match[1]}"`', span=span)


def unclosed_text(f: Failure) -> Diagnostic | None:
    """A quote or backtick without its partner."""
    line = f.text[f.text.rfind("\n", 0, f.at) + 1 :].split("\n")[0]
    if f.last.kind == "STRING" and f.same_line and line.replace('\\"', "").count('"') % 2:
        span = f.span(f.last.start, f.last.end)
        return f.error(
            "S005", "a closing quote is missing on this line", "is this one text?", span=span
        )
    if f.found not in ('"', "`"):
        return None
    line_end = re.compile(r"[\r\n]|\Z").search(f.text, f.at)
    span = f.span(f.at, line_end.start() if line_end else f.at + 1)
    if f.found == '"':
        return f.error("S005", "this text has no closing quote", 'add `"` at its end', span=span)
    if f.text.startswith("``", f.at):
        return f.error("S026", "there is no name between these backticks", span=span)
    return f.error(
        "S026", "this name has no closing backtick", "add a backtick at its end", span=span
    )


def operator(f: Failure) -> Diagnostic | None:
    """An operator of another language."""
    if f.ended:
        return None
    for start in (f.at - 1, f.at - 2, f.at):
        touches = start == f.at or (f.pieces and f.last.end == f.at and f.last.start == start)
        if start < 0 or not touches:
            continue
        for size in (3, 2, 1):
            written = f.text[start : start + size]
            if written in OPERATORS and start + size > f.at:
                return _other_operator(f, written, start)
    if f.text.startswith("->", f.last.start) and f.last.text == "-" and f.last.end == f.at:
        span = f.span(f.last.start, f.at + 1)
        return f.error(
            "S010",
            "`->` is not an operator",
            span=span,
            helps=("write an implication as `if A then B`",),
        )
    if f.text.startswith(("//", "/*"), f.at):
        return f.error("S010", "comments begin with `#`", span=f.span(f.at, f.at + 2))
    if f.found == "^" or (f.found == "*" and f.last.text == "*" and f.last.end == f.at):
        return f.error("S010", "powers are not allowed", "measures are linear")
    return None


def _other_operator(f: Failure, written: str, start: int) -> Diagnostic:
    right = OPERATORS[written]
    helps = ["write an implication as `if A then B`"] if written == "=>" else []
    return f.error(
        "S010",
        f"`{written}` is not an operator",
        f"write `{right}`",
        span=f.span(start, start + len(written)),
        helps=helps,
    )


def lone_percent(f: Failure) -> Diagnostic | None:
    """A percent sign without a number."""
    if f.found != "%":
        return None
    if f.last.kind == "NUMBER":
        return f.error("S001", "a percentage is not allowed here", "write a plain number")
    return f.error(
        "S009",
        "`%` must directly follow a number",
        "no number before it",
        helps=("write for example `5%`, which is 5/100",),
    )


def number_form(f: Failure) -> Diagnostic | None:
    """A number in another notation."""
    touching = bool(f.pieces) and f.last.end == f.at
    digits = f.found[:1].isdigit()
    if f.found == ".":
        return _point(f)
    if digits and touching and f.last.text == "," and f.back(1).kind == "NUMBER":
        if f.back(1).end != f.last.start:
            return None
        span = f.span(f.back(1).start, f.at + len(f.found))
        right = f"{f.back(1).text}.{f.found}"
        return f.error("S017", "the decimal separator is a point", f"write `{right}`", span=span)
    if f.last.kind != "NUMBER" or f.ended:
        return None
    span = f.span(f.last.start, f.at + len(f.found))
    if digits and f.same_line and "NUMBER" not in f.after_comma:
        return f.error("S017", "two numbers in a row", "a number contains no blanks", span=span)
    if touching and f.found.startswith("_"):
        right = f.last.text + f.found.replace("_", "")
        return f.error("S017", "a number cannot contain `_`", f"write `{right}`", span=span)
    if touching and f.is_word and {"STAR", "PLUS"} <= f.expected:
        return f.error(
            "S001",
            "an operator is missing between a number and a name",
            f"write `{f.last.text} * {f.found}`",
            span=span,
            helps=("if a column name begins with a digit, write it in backticks",),
        )
    return None


def _point(f: Failure) -> Diagnostic:
    after = re.compile(r"[0-9]*").match(f.text, f.at + 1)
    digits = after[0] if after else ""
    end = f.at + 1 + len(digits)
    day = re.fullmatch(r"(\d{1,2})\.(\d{1,2})", f.last.text)
    if day is not None and f.last.end == f.at and len(digits) == 4:
        span = f.span(f.last.start, end)
        right = f"{digits}-{int(day[2]):02}-{int(day[1]):02}"
        return f.error("S017", "a date begins with the year", f"write `{right}`", span=span)
    if f.last.kind == "NUMBER" and f.last.end == f.at and not digits:
        span = f.span(f.last.start, end)
        return f.error(
            "S017",
            "digits are missing after the decimal point",
            f"write `{f.last.text}`",
            span=span,
        )
    if digits and f.last.end != f.at:
        span = f.span(f.at, end)
        return f.error("S017", "a number must begin with a digit", f"write `0.{digits}`", span=span)
    if f.keyword == "data" and f.back(1).text in ("data", "test") and f.last.end == f.at:
        name = re.compile(r"[^\s,;\"]*").match(f.text, f.last.start)
        file = name[0] if name else f.last.text
        span = f.span(f.last.start, f.last.start + len(file))
        return f.error("S029", "the name of a file needs quotes", f'write `"{file}"`', span=span)
    return f.error(
        "S004",
        "unexpected `.`",
        helps=("if a column name contains a point, write it in backticks",),
    )


def stray_character(f: Failure) -> Diagnostic | None:
    """A character that no token begins with."""
    char = f.found
    if len(char) != 1 or char.isalnum() or char in "_,:=()[]{}<>+-*/%\"`'!":
        return None
    if char == ";":
        return f.error("S004", "unexpected `;`", "remove it: statements need no terminator")
    name = unicodedata.name(char, "")
    called = f"`{char}`" if char.isascii() else f"`{char}` (U+{ord(char):04X} {name})".rstrip()
    helps = () if char.isascii() else ("write a column with such a name in backticks",)
    return f.error("S004", f"unexpected {called}", helps=helps)
