"""The table of which back end proves which rule: no term is missing, and no cell says nothing."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import odtdsl
from docs import generate, proofs
from odtdsl.problem.terms.registry import BY_NAME


def test_every_term_stands_in_every_scope_that_it_has() -> None:
    known = {(scope.value, name) for name, term in BY_NAME.items() for scope in term.scopes}
    assert {(scope, term) for scope, terms in proofs.RULES.items() for term in terms} == known


@pytest.mark.parametrize("shape", proofs.SHAPES)
def test_a_cell_names_a_back_end_or_a_reason(shape: str) -> None:
    for target, (scope, terms) in product(proofs.TARGETS, proofs.RULES.items()):
        for term in terms:
            rule = proofs.written(scope, term, target)
            found = proofs.cell(target, shape, rule)
            assert found.proving or found.reason or found.of_another_target, (target, rule)


def test_the_page_is_fresh() -> None:
    """Here, where the cells of its table are known."""
    page = next(path for path in generate.FILES if path.name == "support.md")
    shown = page.read_text(encoding="utf-8")
    assert shown == generate.FILES[page](), "run `python -m docs.generate`"


@pytest.mark.parametrize("target", proofs.TARGETS)
def test_what_is_said_to_prove_proves(target: str) -> None:
    """On trees of axis-parallel splits, with the first back end of each cell."""
    shape, proven = "Trees of axis-parallel splits", 0
    for scope, terms in proofs.RULES.items():
        for term in terms:
            rule = proofs.written(scope, term, target)
            for name in proofs.cell(target, shape, rule).proving[:1]:
                text = proofs.spec_of(target, shape, rule)
                result = odtdsl.solve(text, using=name, frame=proofs.FRAME)
                assert result.status in ("optimal", "infeasible"), text
                proven += 1
    assert proven > 15


@pytest.mark.parametrize("target", ["a number", "several numbers"])
def test_every_loss_is_proven_under_the_same_rules(target: str) -> None:
    shape = "Trees of axis-parallel splits"
    for scope, terms in proofs.RULES.items():
        for term in terms:
            rule = proofs.written(scope, term, target)
            found = [proofs.cell(target, shape, rule, loss) for loss in ("mse", "mae", "poisson")]
            assert len(set(found)) == 1, rule
