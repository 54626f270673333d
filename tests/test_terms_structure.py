"""A term is one file and one line of the registry."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from odtdsl.problem.terms import registry
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.registry import BY_NAME, TERMS

FOLDER = Path(registry.__file__).parent
SHARED = {
    "__init__",
    "base",
    "catalogue",
    "comparisons",
    "formulas",
    "linear",
    "monotone",
    "normalize",
    "objective",
    "over_groups",
    "pair",
    "registry",
    "regression",
    "share_of",
    "shares",
    "splits_filter",
}
"""Files of `terms` that are no terms."""


def test_every_term_is_one_file_and_one_line_of_the_registry() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - SHARED
    assert files == {Path(inspect.getfile(type(term))).stem for term in TERMS}
    assert files == set(BY_NAME)
    assert len(TERMS) == len(BY_NAME)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_says_what_it_means_and_becomes(term: Term) -> None:
    text = inspect.getdoc(type(term)) or ""
    headings = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    assert text.startswith("Meaning: ")
    assert "Core forms" in headings
    assert term.scopes
    assert term.signatures
    assert all(len(signature.params) > 0 for signature in term.signatures if signature.repeat)
