"""The grammar is free of conflicts, and few words hide a name."""

from __future__ import annotations

import pytest

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.language import constructors
from odtdsl.language.grammar import OPTIONS, grammar_text, keywords
from odtdsl.language.parser import parse

PLACES = {
    "target": "target {}, {}",
    "feature": "feature {}, {}: number",
    "drop": "drop {}, {}",
    "weight": "weight {}",
    "id": "data frame, id {}",
    "missing": "missing {{{}, {}}} drop",
    "candidates": "candidates {}, {} at midpoints",
    "cost": "cost {} = 1, {{{}, {}}} shared = 2",
    "positive": "target y positive {}",
    "set": "rule r: x in {{{}, {}}}",
    "loss": "loss predict {} when {} = 1",
    "head of a rule": "rule r: {} <= 3",
    "head of a scoped condition": "rule r: forall path: {} before x",
    "after and": "rule r: x and {} <= 3",
    "after or": "rule r: x or {} <= 3",
    "after not": "rule r: not {} <= 3",
    "after if": "rule r: if {} <= 3 then x",
    "after then": "rule r: if x then {} <= 3",
    "in parentheses": "rule r: ({} <= 3)",
    "argument": "rule r: uses({}) and tests(x, {})",
    "group": "group g = {} = 3",
    "let": "let v = {} + 1",
    "right of an operator": "rule r: x + {} * {} <= -{}",
    "right of a relation": "rule r: x before {}",
    "objective": "minimize {}",
    "later stage": "minimize x then {}",
    "later stage with direction": "minimize x then minimize {}",
}
"""Every place where a column, or a term of the name, may stand."""

HIDDEN = {
    "head of a rule": {"forall", "if", "not"},
    "head of a scoped condition": {"if", "not"},
    "after and": {"not"},
    "after or": {"not"},
    "after not": {"not"},
    "after if": {"if", "not"},
    "after then": {"if", "not"},
    "in parentheses": {"if", "not"},
    "argument": {"if", "not"},
    "group": {"if", "not"},
    "let": {"if", "not"},
    "later stage": {"maximize", "minimize"},
}
"""All that is hidden anywhere."""


def _words() -> list[str]:
    return sorted({word for words in keywords().values() for word in words.split()})


def _reads_as_name(place: str, word: str) -> bool:
    """Whether a word in a place gives the tree of an innocent name, but for that word."""
    text = PLACES[place]
    innocent = repr(parse(Source(name="t", text=text.format(*["zzz"] * 3))))
    try:
        spec = parse(Source(name="t", text=text.format(*[word] * 3)))
    except OdtError:
        return False
    return repr(spec) == innocent.replace("zzz", word)


@pytest.mark.parametrize("place", PLACES)
def test_exactly_these_words_hide_a_name(place: str) -> None:
    hiding = {word for word in _words() if not _reads_as_name(place, word)}
    assert hiding == HIDDEN.get(place, set())


@pytest.mark.parametrize("place", PLACES)
def test_backticks_make_a_name_of_every_word(place: str) -> None:
    for word in _words():
        parse(Source(name="t", text=PLACES[place].format(*[f"`{word}`"] * 3)))


def test_the_constructors_quote_all_that_hides() -> None:
    assert set().union(*HIDDEN.values()) == constructors.HIDING


def test_a_keyword_is_called_by_its_word() -> None:
    named = {kind for kind, words in keywords().items() if words != kind.lower()}
    assert named == {"NUMBER_TYPE", "TIME_UNIT", "MEMORY_UNIT"}
    assert len(_words()) == len(keywords()) + 3


def test_the_grammar_has_no_conflict() -> None:
    pytest.importorskip("interegular")
    from lark import Lark

    strict = Lark(grammar_text(), **OPTIONS, strict=True)
    assert strict.parse("tree depth <= 3\nrule r: a before b").data == "start"
