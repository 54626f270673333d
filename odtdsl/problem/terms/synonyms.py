"""Words of others for our terms, for messages on unknown words and for `odt rules`."""

from __future__ import annotations

import re

from odtdsl.problem.terms.registry import TERMS


def _key(word: str) -> str:
    """The word without what spellings differ in: case, spaces, hyphens, underscores."""
    return re.sub(r"[\W_]+", "", word.casefold())


_TERMS = {_key(name): term.name for term in TERMS for name in term.also}
_EXAMPLES = {_key(idea): example for term in TERMS for idea, example in term.expresses}


def our_name(word: str) -> str | None:
    """The name here of a term that others call so; None where it is no name of theirs."""
    return _TERMS.get(_key(word))


def our_way(word: str) -> str | None:
    """How a word of others is said here, as a help of a message; None where nobody knows it."""
    key = _key(word)
    if key in _TERMS:
        return f"its name is `{_TERMS[key]}`"
    if key in _EXAMPLES:
        return f"write, for example, `{_EXAMPLES[key]}`"
    return None


def is_part(word: str, text: str) -> bool:
    """Whether a text is the word, or has it among its words; spellings may differ."""
    key, words = _key(word), _plain(word)
    return bool(key) and (key == _key(text) or f" {words} " in f" {_plain(text)} ")


def _plain(text: str) -> str:
    """The text in lower case, a single space between its words."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()
