"""Source texts and spans: places in a spec."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range `[start, end)` of character offsets in a source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(start=min(self.start, other.start), end=max(self.end, other.end))


NOWHERE = Span(start=-1, end=-1)
"""The span of something that no text said, as in a model built in Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A named text. `name` is what messages call it: a path, or `<text>`."""

    name: str
    text: str
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0, *(end.end() for end in _LINE_END.finditer(self.text))]
        object.__setattr__(self, "_starts", tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1, columns in characters."""
        line = bisect_right(self._starts, max(0, offset)) - 1
        return line + 1, max(0, offset) - self._starts[line] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line end."""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    @property
    def n_lines(self) -> int:
        """The number of lines: one more than line ends."""
        return len(self._starts)

    def start(self, line: int) -> int:
        """The offset at which a line begins, counted from 0."""
        return self._starts[line]
