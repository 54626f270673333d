"""A term is one file, which the registry finds."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import get_type_hints

import pytest
from random_specs import SHARES

import odtdsl
from docs import proofs
from odtdsl.auditor.notes import COUNTS
from odtdsl.base.source import Source
from odtdsl.language.parser import parse
from odtdsl.problem.terms import library
from odtdsl.problem.terms.base import Kind, Quotient, Smallest, Term
from odtdsl.problem.terms.registry import BY_NAME, TERMS
from odtdsl.problem.terms.synonyms import our_way


def test_every_term_is_one_file_of_the_library() -> None:
    files = {path.stem for path in Path(*library.__path__).glob("*.py")} - {"__init__"}
    own = [term for term in TERMS if type(term).__module__.startswith("odtdsl.tasks.")]
    shared = [term for term in TERMS if term not in own]
    assert files == {Path(inspect.getfile(type(term))).stem for term in shared}
    assert files == {term.name for term in shared}
    assert {Path(inspect.getfile(type(term))).stem for term in own} <= {"terms"}
    assert len(TERMS) == len(BY_NAME)


def test_the_auditor_knows_what_counts_rows() -> None:
    """It stands on no term, so it has a list of its own."""
    assert sorted(COUNTS) == sorted(term.name for term in TERMS if term.kind is Kind.ROW_COUNT)


def test_every_term_has_a_place_of_its_own_in_the_reference() -> None:
    assert len({term.place for term in TERMS}) == len(TERMS)


def test_every_term_has_a_rule_in_the_table_of_who_proves_it() -> None:
    for term in TERMS:
        for scope in term.scopes:
            assert term.name in proofs.RULES[scope.value], (
                f"docs/reference/support.md would leave out `{term.name}`: write a rule with it,"
                f" for the scope {scope.value}, in docs/proofs.py; run `python -m docs.generate`"
            )


def test_no_two_terms_are_called_the_same_by_others() -> None:
    words = [word for term in TERMS for word in (*term.also, *(idea for idea, _ in term.expresses))]
    names = [re.sub(r"[\W_]", "", word).casefold() for word in [*words, *BY_NAME]]
    twice = [name for name, many in Counter(names).items() if many > 1]
    assert not twice, f"of two terms, or a term's own name: {twice}"


def test_examples_of_what_others_say_are_written_with_the_term() -> None:
    for term in TERMS:
        for _, example in term.expresses:
            compared = "=" in example or example.startswith("not ")
            condition = example if compared else f"{example} >= 0"
            whole = example.startswith("group ")
            parse(Source(name="example", text=example if whole else f"rule r: {condition}"))
            assert re.search(rf"\b{term.name}\b", example)


@pytest.mark.parametrize(
    ("idea", "predicted"),
    [
        ("false negatives", "yes"),
        ("false_negatives", "yes"),
        ("FN", "yes"),
        ("False-Positives", "no"),
    ],
)
def test_what_is_said_by_a_group_of_a_class_counts_its_errors(idea: str, predicted: str) -> None:
    """The example as it is told, with a bound that one answer of a single leaf keeps."""
    says = our_way(idea)
    assert says is not None
    example = says.split("`")[1].replace("<= 5", "<= 2")
    frame = {"x": [1, 1, 1, 1, 2, 2], "y": ["yes", "no", "yes", "no", "yes", "no"]}
    spec = "data frame target y tree depth <= 0 minimize errors"
    found = odtdsl.solve(f"{spec} {example}", frame=frame)
    assert found.tree is not None
    assert found.tree.predict({"x": [1]}).tolist() == [predicted]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_quotient_says_that_it_is_one(term: Term) -> None:
    becomes = get_type_hints(term.translate)["return"]
    assert term.is_quotient == (becomes in (Quotient, Smallest))


@pytest.mark.parametrize("share", SHARES)
def test_gaps_are_of_every_additive_share(share: str) -> None:
    frame = {"x": [1, 2, 3, 4], "g": ["u", "v", "u", "v"], "y": ["p", "p", "n", "n"]}
    of = share if not BY_NAME[share].signatures[0].params else f'{share}("p")'
    spec = f"data frame target y drop g tree depth <= 1 rule r: gap({of}, g) <= 1"
    assert odtdsl.parse(f"{spec} minimize errors").solve(frame=frame).status == "optimal"


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_says_what_it_means_and_becomes(term: Term) -> None:
    text = inspect.getdoc(type(term)) or ""
    headings = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    assert "Also known as" not in headings, "write it as `also`, where messages find it too"
    assert text.startswith("Meaning: ")
    assert "Core forms" in headings
    assert term.scopes
    assert term.signatures
    assert all(len(signature.params) > 0 for signature in term.signatures if signature.repeat)
