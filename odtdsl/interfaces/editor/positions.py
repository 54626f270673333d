"""Places in a text as editors count them: lines, and code units within a line."""

from __future__ import annotations

from typing import Literal

from odtdsl.base.source import Source, Span

Encoding = Literal["utf-8", "utf-16", "utf-32"]
Place = tuple[int, int]
"""Line and column, both from 0."""


def width(text: str, encoding: Encoding) -> int:
    """The length of a text in the units of an encoding; half a surrogate pair counts as one."""
    match encoding:
        case "utf-32":
            return len(text)
        case "utf-16":
            return len(text) + sum(char > "\uffff" for char in text)
        case "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))


def place(source: Source, offset: int, encoding: Encoding = "utf-16") -> Place:
    """The place of a character; beyond the text its end."""
    line, column = source.position(max(0, min(offset, len(source.text))))
    start = _offset_of_line(source, line - 1)
    return line - 1, width(source.text[start : start + column - 1], encoding)


def offset(source: Source, at: Place, encoding: Encoding = "utf-16") -> int:
    """The character at a place: the end of the line where the place lies beyond it, the end of
    the text where there is no such line, the whole character where it lies inside one."""
    line, units = at
    start = _offset_of_line(source, line)
    if line < 0 or line >= source.n_lines:
        return 0 if line < 0 else len(source.text)
    text = source.line(line + 1)
    if encoding == "utf-32" or text.isascii():
        return start + max(0, min(units, len(text)))
    count = 0
    for index, char in enumerate(text):
        count += width(char, encoding)
        if count > units:
            return start + index
    return start + len(text)


def _offset_of_line(source: Source, line: int) -> int:
    """Where a line begins, counted from 0."""
    return source.start(min(max(line, 0), source.n_lines - 1))


def clipped(source: Source, span: Span) -> Span:
    """The span within the text, at least a character long where there is one."""
    start = max(0, min(span.start, len(source.text)))
    end = max(start, min(span.end, len(source.text)))
    return Span(start=start, end=end)
