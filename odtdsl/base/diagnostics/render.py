"""Diagnostics as text for people and as plain data for programs."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.frozen import dataclass
from odtdsl.base.source import Source

TAB = 4
_COLORS = {"error": "1;31", "warning": "1;33", "help": "1;36", "frame": "1;34", "bold": "1"}


def render_text(diagnostic: Diagnostic, *, color: bool = False, width: int = 100) -> str:
    """A diagnostic with its source excerpt, notes and helps.

    Parameters
    ----------
    diagnostic
        What to show. Labels without a place in a source are left out.
    color
        Whether to paint it with ANSI escapes.
    width
        Columns to stay within: notes and helps are wrapped, long source lines cut.

    Returns
    -------
    str
        Lines without a line end after the last.
    """
    paint = _Paint(on=color)
    severity = diagnostic.severity
    head = paint(severity, f"{severity}[{diagnostic.code}]")
    rows = [head + paint("bold", f": {_clean(diagnostic.message)}")]
    source = diagnostic.source
    labels = [label for label in diagnostic.labels if label.span.start >= 0]
    margin = 1
    if source is not None and labels:
        marks = [mark for i, label in enumerate(labels) for mark in _marks(source, label, i == 0)]
        margin = len(str(max(mark.line for mark in marks)))
        line, column = source.position(_start(source, labels[0]))
        arrow = paint("frame", " " * margin + "-->")
        rows.append(f"{arrow} {_clean(source.name)}:{line}:{column}")
        rows.extend(_excerpt(source, marks, margin, paint, severity, width))
        if diagnostic.notes or diagnostic.helps:
            rows.append(paint("frame", " " * margin + " |"))
    elif source is not None:
        rows.append(paint("frame", " " * margin + "-->") + f" {_clean(source.name)}")
    for kind, lines in (("note", diagnostic.notes), ("help", diagnostic.helps)):
        for text in lines:
            rows.extend(_remark(kind, text, margin, paint, width))
    return "\n".join(row.rstrip() for row in rows)


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as plain data: strings, numbers, lists and dicts only.

    Lines and columns count from 1, columns in characters; the end is exclusive.
    """
    source = diagnostic.source
    places = []
    for label in diagnostic.labels:
        if source is None or label.span.start < 0:
            continue
        line, column = source.position(label.span.start)
        end_line, end_column = source.position(label.span.end)
        places.append(
            {
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "text": label.text,
            }
        )
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": None if source is None else source.name,
        "labels": places,
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paint:
    on: bool

    def __call__(self, kind: str, text: str) -> str:
        return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if self.on and text else text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """The part of a label that lies in one line; `start` and `end` count characters from 0."""

    line: int
    start: int
    end: int
    text: str
    primary: bool


def _start(source: Source, label: Label) -> int:
    return min(label.span.start, len(source.text))


def _marks(source: Source, label: Label, primary: bool) -> Iterator[_Mark]:
    """One mark, or two for a span of several lines: its first line and its last."""
    first, start = source.position(_start(source, label))
    last, end = source.position(max(_start(source, label), min(label.span.end, len(source.text))))
    if last > first and end == 1:  # the span ends with a line end
        last, end = last - 1, len(source.line(last - 1)) + 1
    text = _clean(label.text)
    if first == last:
        yield _Mark(line=first, start=start - 1, end=end - 1, text=text, primary=primary)
        return
    stop = len(source.line(first))
    yield _Mark(line=first, start=start - 1, end=stop, text="", primary=primary)
    yield _Mark(
        line=last, start=_indent(source.line(last)), end=end - 1, text=text, primary=primary
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _excerpt(
    source: Source, marks: list[_Mark], margin: int, paint: _Paint, severity: str, width: int
) -> Iterator[str]:
    yield paint("frame", " " * margin + " |")
    previous = None
    for line in sorted({mark.line for mark in marks}):
        if previous is not None and line == previous + 2:
            yield _numbered(previous + 1, source.line(previous + 1), margin, paint, width)
        elif previous is not None and line > previous + 2:
            yield paint("frame", "...")
        previous = line
        here = [mark for mark in marks if mark.line == line]
        yield from _marked_line(source.line(line), here, margin, paint, severity, width)


def _numbered(number: int, line: str, margin: int, paint: _Paint, width: int) -> str:
    cells = [cell for cell, _ in _cells(line)]
    room = max(20, width - margin - 3)
    return paint("frame", f"{number:>{margin}} |") + " " + "".join(cells)[:room]


def _marked_line(
    line: str, marks: list[_Mark], margin: int, paint: _Paint, severity: str, width: int
) -> Iterator[str]:
    line, marks = _cut(line, marks, max(20, width - margin - 3))
    cells = _cells(line)
    shown = "".join(cell for cell, _ in cells)
    yield paint("frame", f"{marks[0].line:>{margin}} |") + " " + shown
    columns = [0]
    for _, wide in cells:
        columns.append(columns[-1] + wide)

    def at(index: int) -> int:
        return columns[min(index, len(cells))]

    placed = sorted(
        ((at(m.start), max(at(m.end), at(m.start) + 1), m) for m in marks),
        key=lambda place: (place[0], place[1], place[2].primary),
    )
    bar = paint("frame", " " * margin + " |") + " "
    for row, kind in _underlines(placed, severity):
        yield bar + paint(kind, row)


def _underlines(placed: list[tuple[int, int, _Mark]], severity: str) -> Iterator[tuple[str, str]]:
    """The row of underlines, then the texts that do not fit behind it, right to left."""
    row = [" "] * max(end for _, end, _ in placed)
    for start, end, mark in sorted(placed, key=lambda place: place[2].primary):
        row[start:end] = ("^" if mark.primary else "-") * (end - start)
    kind = severity if any(mark.primary for _, _, mark in placed) else "frame"
    waiting = [(start, mark) for start, _, mark in placed if mark.text]
    text = "".join(row)
    if waiting and placed[-1][2] is waiting[-1][1] and placed[-1][1] == len(row):
        text += " " + waiting.pop()[1].text
    yield text, kind
    if waiting:
        yield _stems([start for start, _ in waiting]), kind
    while waiting:
        start, mark = waiting.pop()
        left = [other for other, _ in waiting if other < start]
        yield _stems(left).ljust(start) + mark.text, severity if mark.primary else "frame"


def _stems(starts: Iterable[int]) -> str:
    row = ""
    for start in starts:
        row = row.ljust(start) + ("|" if len(row) <= start else "")
    return row


def _cut(line: str, marks: list[_Mark], room: int) -> tuple[str, list[_Mark]]:
    """Keeps of a long line the part around its first mark."""
    if sum(wide for _, wide in _cells(line[: room + 1])) <= room and len(line) <= room:
        return line, marks
    focus = min(marks, key=lambda mark: (not mark.primary, mark.start)).start
    keep = max(10, room // 2 - 2)  # characters; wide ones take two columns
    first = max(0, min(focus - keep // 3, len(line) - keep))
    part = line[first : first + keep]
    before, after = ("…" if first else ""), ("…" if first + keep < len(line) else "")
    shift = first - len(before)

    def moved(index: int) -> int:
        return min(max(index - shift, 0), len(before) + len(part) + len(after))

    cut = [
        _Mark(
            line=mark.line,
            start=moved(mark.start),
            end=moved(mark.end),
            text=mark.text,
            primary=mark.primary,
        )
        for mark in marks
    ]
    return before + part + after, cut


def _cells(line: str) -> list[tuple[str, int]]:
    """What is shown for each character, and how many columns that takes."""
    cells, column = [], 0
    for char in line:
        if char == "\t":
            shown, wide = " " * (TAB - column % TAB), TAB - column % TAB
        elif unicodedata.category(char) in ("Mn", "Me", "Cf"):
            shown, wide = ("", 0) if unicodedata.category(char) == "Cf" else (char, 0)
        elif not char.isprintable() and char != "\u00a0":
            shown, wide = "\ufffd", 1
        else:
            shown, wide = char, 2 if unicodedata.east_asian_width(char) in "WF" else 1
        cells.append((shown, wide))
        column += wide
    return cells


def _remark(kind: str, text: str, margin: int, paint: _Paint, width: int) -> Iterator[str]:
    lead = " " * margin + " = "
    first, *rest = textwrap.wrap(
        f"{kind}: {_clean(text)}",
        max(30, width - len(lead)),
        subsequent_indent=" " * (len(kind) + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield paint("frame", lead) + paint("help" if kind == "help" else "bold", kind) + first[4:]
    for row in rest:
        yield " " * len(lead) + row


def _clean(text: str) -> str:
    """Without characters that could move the cursor or fake a line of the message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
