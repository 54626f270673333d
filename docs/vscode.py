"""The TextMate grammar of `grammar/vscode`, from `odt.lark` and the terms of the language."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from odtdsl.interfaces.editor.lexer import NUMBER, OPERATORS, QUOTED, TYPES, grammar_keywords, units
from odtdsl.interfaces.editor.lexer import keywords as all_keywords
from odtdsl.language.vocabulary import STATEMENTS
from odtdsl.problem.terms.registry import TERMS

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "grammar" / "vscode" / "syntaxes" / "odt.tmLanguage.json"
WORD = r"[\p{L}_][\p{L}\p{N}_\x{300}-\x{36f}]*"
"""A word as VS Code's regular expressions (Oniguruma) write it."""


def grammar() -> dict[str, Any]:
    """The TextMate grammar."""
    statements = set(STATEMENTS)
    terms = {term.name for term in TERMS if term.form == "call"}
    options = all_keywords() - statements - OPERATORS - TYPES
    return {
        "information_for_contributors": [
            "Written by `python -m docs.generate` from ../odt.lark: do not edit."
        ],
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
            _words("support.function.odt", {*terms, "abs", "sum", "count"} - all_keywords()),
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
