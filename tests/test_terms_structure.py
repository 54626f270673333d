"""A term is one file, which the registry finds."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from odtdsl.problem.terms import library
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.registry import BY_NAME, TERMS


def test_every_term_is_one_file_of_the_library() -> None:
    files = {path.stem for path in Path(*library.__path__).glob("*.py")} - {"__init__"}
    assert files == {Path(inspect.getfile(type(term))).stem for term in TERMS}
    assert files == set(BY_NAME)
    assert len(TERMS) == len(BY_NAME)


def test_every_term_has_a_place_of_its_own_in_the_reference() -> None:
    assert len({term.place for term in TERMS}) == len(TERMS)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_says_what_it_means_and_becomes(term: Term) -> None:
    text = inspect.getdoc(type(term)) or ""
    headings = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    assert text.startswith("Meaning: ")
    assert "Core forms" in headings
    assert term.scopes
    assert term.signatures
    assert all(len(signature.params) > 0 for signature in term.signatures if signature.repeat)
