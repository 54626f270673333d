"""Write the TextMate grammar of this folder from `odt.lark` and the terms of the language.

Usage: python grammar/vscode/generate.py [--check]

A test fails where the file is not what this would write.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from odtdsl.interfaces.editor.lexer import NUMBER, OPERATORS, QUOTED, TYPES, grammar_keywords, units
from odtdsl.interfaces.editor.lexer import keywords as all_keywords
from odtdsl.language.vocabulary import STATEMENTS
from odtdsl.words import TERM_WORDS

PLACE = Path(__file__).resolve().parent / "syntaxes" / "odt.tmLanguage.json"
WORD = r"[\p{L}_][\p{L}\p{N}_\x{300}-\x{36f}]*"
"""A word as VS Code's regular expressions (Oniguruma) write it."""


def grammar() -> dict[str, Any]:
    """The TextMate grammar."""
    statements = set(STATEMENTS)
    options = all_keywords() - statements - OPERATORS - TYPES
    return {
        "information_for_contributors": ["Written by generate.py from ../odt.lark: do not edit."],
        "name": "odtdsl",
        "scopeName": "source.odt",
        "fileTypes": ["odt"],
        "patterns": [
            {"name": "comment.line.number-sign.odt", "match": "#.*$"},
            {
                "name": "string.quoted.double.odt",
                "begin": '"',
                "end": '"|$',
                "patterns": [{"name": "constant.character.escape.odt", "match": r"\\."}],
            },
            {"name": "variable.other.quoted.odt", "match": QUOTED},
            {
                "match": rf"\b(rule|group|let)\s+({WORD}|{QUOTED})(?=\s*[:=])",
                "captures": {
                    "1": {"name": "keyword.declaration.odt"},
                    "2": {"name": "entity.name.function.odt"},
                },
            },
            {
                "match": rf"({NUMBER})\s*({'|'.join(sorted(units()))})\b",
                "captures": {
                    "1": {"name": "constant.numeric.odt"},
                    "2": {"name": "keyword.other.unit.odt"},
                },
            },
            _words("keyword.operator.word.odt", OPERATORS),
            _words("keyword.declaration.odt", statements),
            _words("storage.type.odt", TYPES),
            _words("keyword.other.odt", options),
            _words("support.function.odt", {*TERM_WORDS, "abs", "sum", "count"} - all_keywords()),
            {"name": "constant.numeric.odt", "match": rf"\b{NUMBER}%?"},
            {"name": "keyword.operator.odt", "match": "[<>=!]=|[<>=+*/%-]"},
        ],
    }


def _words(name: str, words: Iterable[str]) -> dict[str, str]:
    return {"name": name, "match": rf"\b({'|'.join(sorted(words))})\b"}


def text() -> str:
    """The file as it should be."""
    assert grammar_keywords(), "the grammar has keywords"
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or with `--check` say whether it is up to date."""
    stale = not PLACE.exists() or PLACE.read_text(encoding="utf-8") != text()
    if stale and "--check" not in sys.argv:
        PLACE.write_text(text(), encoding="utf-8")
    print(f"{PLACE.name}: {'stale' if stale else 'up to date'}")
    return int("--check" in sys.argv and stale)


if __name__ == "__main__":
    sys.exit(main())
