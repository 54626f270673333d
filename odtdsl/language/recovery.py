"""Finds every broken statement of a text that did not parse.

The text is cut before each line that starts like a statement; each piece is parsed alone, so that
an error in one leaves the others readable. A piece that fails alone but parses together with the
next was cut in the wrong place (a column named `rule` at the start of a line) and is no error.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.source import Source, Span
from odtdsl.language import ast
from odtdsl.language.depth import MAX_DEPTH, deepest, too_deep
from odtdsl.language.failure import Failure, Piece
from odtdsl.language.grammar import lark_parser
from odtdsl.language.transformer import Builder
from odtdsl.language.vocabulary import OTHER_STATEMENTS, STATEMENTS

if TYPE_CHECKING:
    from lark import Tree

MAX_ERRORS = 100
"""Errors that are reported at most."""

_MERGES = 3

_LINE_START = re.compile(
    r"^[ \t\ufeff]*([^\W\d]\w*)"
    r"(?!\s*(?:[,)\]}<>!+/%=.-]|(?:and|or|before|requires|in|is|multiple_of|then)\b))",
    re.MULTILINE,
)
_NAMED = re.compile(r"^[ \t\ufeff]*((?:rule|group|let)\b)", re.MULTILINE)
_GOES_ON = re.compile(r"(?:[,(\[{=<>+*/:-]|\b(?:and|or|not|then|if|in|before|requires))\s*\Z")


def diagnose(source: Source) -> list[Diagnostic]:
    """The errors of a text that does not parse, in order; one for each broken statement."""
    from odtdsl.language.mistakes import explain

    found: list[Diagnostic] = []
    cuts = _cuts(source.text)
    index = 0
    while index < len(cuts) - 1 and len(found) < MAX_ERRORS:
        start, end = cuts[index], cuts[index + 1]
        index += 1
        outcome = _attempt(source, start, end)
        if isinstance(outcome, Failure):
            for ahead in range(index + 1, min(index + 1 + _MERGES, len(cuts))):
                merged = _attempt(source, start, cuts[ahead])
                if not isinstance(merged, Failure):
                    outcome, index = merged, ahead
                    break
        if isinstance(outcome, Failure):
            found.append(explain(outcome))
        elif deepest(outcome) > MAX_DEPTH:
            found.append(too_deep(source, Span(start=start, end=start + 1)))
        else:
            builder = Builder(source, start)
            builder.statements(outcome)
            found.extend(builder.diagnostics)
    return found


def readable(source: Source) -> tuple[tuple[ast.Statement, ...], tuple[Span, ...]]:
    """The statements of a text that can be read, and the pieces that cannot."""
    statements: list[ast.Statement] = []
    broken: list[Span] = []
    cuts = _cuts(source.text)
    for start, end in pairwise(cuts):
        outcome = _attempt(source, start, end)
        if isinstance(outcome, Failure) or deepest(outcome) > MAX_DEPTH:
            broken.append(Span(start=start, end=end))
            continue
        builder = Builder(source, start)
        found = builder.statements(outcome)
        if builder.diagnostics:  # read, but with a word or number that means nothing
            broken.append(Span(start=start, end=end))
        else:
            statements.extend(found)
    return tuple(statements), tuple(broken)


def before(source: Source, offset: int) -> Failure | None:
    """What could stand at an offset, given what stands before; None where that is no spec.

    Only the text before the offset is looked at, from the last statement that begins a line.
    """
    head = source.text[:offset]
    start = _cuts(head)[-2]
    outcome = _attempt(Source(name=source.name, text=head), start, offset, stop=True)
    return outcome if isinstance(outcome, Failure) and outcome.ended else None


def _cuts(text: str) -> list[int]:
    """Where pieces begin, and the end of the text."""
    starts = {match.start(1) for match in _NAMED.finditer(text)}
    for match in _LINE_START.finditer(text):
        word = match[1]
        if word in STATEMENTS or (
            _like_statement(word)
            and not _GOES_ON.search(text, max(0, match.start() - 80), match.start())
        ):
            starts.add(match.start(1))
    return [0, *sorted(starts - {0}), len(text)]


@cache
def _like_statement(word: str) -> bool:
    return word in OTHER_STATEMENTS or (len(word) > 3 and closest(word, STATEMENTS) is not None)


def _attempt(source: Source, start: int, end: int, *, stop: bool = False) -> Tree[Any] | Failure:
    """The parse tree of a piece, or how it fails; `stop`: as if the end could not be taken."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    text = source.text[start:end]
    state = lark_parser().parse_interactive(text)
    pieces: list[Piece] = []
    try:
        for token in state.iter_parse():
            pieces.append(
                Piece(
                    kind=token.type,
                    text=str(token),
                    start=token.start_pos or 0,
                    end=token.end_pos or 0,
                )
            )
        if stop:
            return _failure(source, start, text, None, pieces, state)
        tree: Tree[Any] = state.feed_eof()  # type: ignore[no-untyped-call]
    except (UnexpectedCharacters, UnexpectedToken) as err:
        at: int | None = err.pos_in_stream
        if isinstance(err, UnexpectedToken) and err.token.type == "$END":
            at = None
        elif pieces and pieces[-1].start == at:
            pieces.pop()  # the token that failed was seen before it was fed
        return _failure(source, start, text, at, pieces, state)
    return tree


def _failure(
    source: Source, offset: int, text: str, at: int | None, pieces: list[Piece], state: Any
) -> Failure:
    following: frozenset[str] = frozenset()
    accepted = frozenset(state.accepts())
    if "COMMA" in accepted:
        from lark import Token

        state.feed_token(Token("COMMA", ","))  # not of a copy, which would go as deep as the text
        following = frozenset(state.accepts())
    where = (pieces[-1].end if pieces else 0) if at is None else at
    return Failure(
        source=source,
        offset=offset,
        text=text,
        at=where,
        ended=at is None,
        pieces=tuple(pieces),
        expected=accepted,
        after_comma=following,
    )
