"""Colours for specs in documents: a Pygments lexer, found by its entry point under `odt`.

Keywords are read off the grammar and terms off the language's words, so that none is forgotten.
A keyword is coloured wherever it stands: only the parser could tell a column of its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from odtdsl.base.tasks import types_of_targets
from odtdsl.language.grammar import grammar_text
from odtdsl.language.vocabulary import STATEMENTS

WORD = r"[^\W\d][\w\u0300-\u036f]*"
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
QUOTED = r"`(?:[^`\r\n]|``)+`"
OPERATORS = frozenset(
    ["and", "or", "not", "in", "is", "before", "requires", "multiple_of", "if", "then", "forall"]
)
TYPES = frozenset(["category", "binary", *types_of_targets()])


@cache
def grammar_keywords() -> dict[str, tuple[str, ...]]:
    """The words of each keyword terminal, read from the text of the grammar."""
    found = re.finditer(r"^([A-Z_]+)\.2: /\(?([\w|]+)\)?\\b/$", grammar_text(), re.MULTILINE)
    return {match[1]: tuple(match[2].split("|")) for match in found}


@cache
def units() -> frozenset[str]:
    """Words that are keywords only behind a number."""
    return frozenset(
        word for name in ("TIME_UNIT", "MEMORY_UNIT") for word in grammar_keywords()[name]
    )


@cache
def keywords() -> frozenset[str]:
    """All other keywords."""
    return frozenset(w for words in grammar_keywords().values() for w in words) - units()


def kind(word: str) -> Any:
    """The Pygments token of a word."""
    from odtdsl.words.terms import TERM_WORDS

    if word in STATEMENTS:
        return Keyword.Declaration
    if word in OPERATORS:
        return Operator.Word
    if word in keywords():
        return Keyword.Type if word in TYPES else Keyword
    return Name.Builtin if word in TERM_WORDS or word in ("abs", "sum", "count") else Name


def _word(_lexer: Any, match: re.Match[str], _context: Any = None) -> Iterator[Any]:
    yield match.start(), kind(match[0]), match[0]


class OdtLexer(RegexLexer):  # type: ignore[misc]
    """Specs of odtdsl."""

    name = "odtdsl"
    aliases: ClassVar[list[str]] = ["odt", "odtdsl"]
    filenames: ClassVar[list[str]] = ["*.odt"]
    flags = re.MULTILINE | re.UNICODE
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"[\s\ufeff\u00a0]+", Whitespace),
            (r"#[^\r\n]*", Comment.Single),
            (r'"(?:\\.|[^"\\\r\n])*"', String.Double),
            (QUOTED, Name.Variable),
            (
                rf"(rule|group|let)(\s+)({WORD}|{QUOTED})(?=\s*[:=])",
                bygroups(Keyword.Declaration, Whitespace, Name.Function),
            ),
            (
                rf"({NUMBER})(\s*)(s|min|h|MB|GB)\b",
                bygroups(Number, Whitespace, Keyword.Constant),
            ),
            (rf"{NUMBER}%?", Number),
            (WORD, _word),
            (r"[<>=!]=|[<>=+*/%-]", Operator),
            (r"[(){}\[\],:]", Punctuation),
        ]
    }
