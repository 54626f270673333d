"""Where and how a piece of text fails to parse: what the recognisers of mistakes look at."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.source import Source, Span
from odtdsl.language.vocabulary import STATEMENTS

_FOUND = re.compile(
    r"[^\W\d][\w\u0300-\u036f]*|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    r'|"(?:\\.|[^"\\\r\n])*"|`(?:[^`\r\n]|``)+`|[<>=!]=|.',
    re.DOTALL,
)
_OPENING = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A token that was read: its terminal and its place in the failing text."""

    kind: str
    text: str
    start: int
    end: int


NOTHING = Piece(kind="", text="", start=0, end=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A text that fails at `at`, counted from its own beginning.

    Attributes
    ----------
    offset
        Where `text` begins in the source.
    ended
        Whether it fails because nothing more comes.
    pieces
        The tokens read before.
    expected, after_comma
        Terminals that could stand at `at`, and those that could after a comma there.
    """

    source: Source
    offset: int
    text: str
    at: int
    ended: bool
    pieces: tuple[Piece, ...]
    expected: frozenset[str]
    after_comma: frozenset[str]

    @property
    def found(self) -> str:
        """The word, literal or character that could not be taken; empty at the end."""
        match = None if self.ended else _FOUND.match(self.text, self.at)
        return match[0] if match else ""

    @property
    def is_word(self) -> bool:
        """Whether the text that was found is a word."""
        return self.found[:1].isalpha() or self.found[:1] == "_"

    @property
    def last(self) -> Piece:
        """The last token that was read before the failure."""
        return self.pieces[-1] if self.pieces else NOTHING

    def back(self, steps: int) -> Piece:
        """The token `steps` before the last."""
        return self.pieces[-1 - steps] if len(self.pieces) > steps else NOTHING

    @property
    def rest(self) -> str:
        """What follows the found word."""
        return self.text[self.at + len(self.found) :]

    @property
    def same_line(self) -> bool:
        """Whether the last token and the found word stand on one line."""
        return bool(self.pieces) and "\n" not in self.text[self.last.end : self.at]

    @property
    def statement(self) -> tuple[Piece, ...]:
        """The tokens of the statement that fails, its keyword first."""
        start = 0
        for index, piece in enumerate(self.pieces):
            if piece.kind.lower() in STATEMENTS and self._starts_statement(index):
                start = index
        return self.pieces[start:]

    def _starts_statement(self, index: int) -> bool:
        """`is missing` and a later `then minimize` hold such words inside a statement."""
        before = self.pieces[index - 1].kind if index else ""
        return before not in ("IS", "THEN")

    @property
    def keyword(self) -> str:
        """The keyword of the statement that fails; empty before the first."""
        return self.statement[0].text if self.statement else ""

    @property
    def at_statement(self) -> bool:
        """Whether a statement could begin here."""
        return "RULE" in self.expected

    def opener(self) -> Piece | None:
        """The innermost bracket that is open where the text fails."""
        stack: list[Piece] = []
        for piece in self.pieces:
            if piece.text in ("(", "[", "{"):
                stack.append(piece)
            elif piece.text in _OPENING and stack:
                stack.pop()
        return stack[-1] if stack else None

    def span(self, start: int, end: int) -> Span:
        """A range of the failing text as a span of the source."""
        return Span(start=self.offset + start, end=self.offset + end)

    def here(self) -> Span:
        """The found word."""
        return self.span(self.at, self.at + len(self.found))

    def error(
        self,
        code: str,
        message: str,
        label: str = "",
        *,
        span: Span | None = None,
        also: Iterable[Label] = (),
        helps: Iterable[str] = (),
    ) -> Diagnostic:
        """A diagnostic at the found word, or at `span`."""
        first = Label(span=span or self.here(), text=label)
        return Diagnostic(
            code=code,
            message=message,
            labels=(first, *also),
            helps=tuple(helps),
            source=self.source,
        )
