"""From text to model and back: the trees that a spec's MILP admits are those its audit passes.

Per term, random specs with a condition that holds the term; one live model per spec, the
tree's columns fixed by bounds. `ODTDSL_SCALE=40` gives 200 specs a term.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from milp_trees import LoadedProgram, best, reduced_trees
from random_specs import Case, case, read, rule
from sat_trees import without_start
from scale import SCALE, scaled
from sentences import TERMS as DRAWN

from odtdsl.auditor.audit import audit
from odtdsl.backends.decode import to_tree
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler import Analysis
from odtdsl.driver.choice import choose
from odtdsl.driver.pipeline import solve
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import applications
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.terms.normalize import normalize

pytestmark = pytest.mark.usefixtures("few_starts")

EACH = scaled(5)
TREES = 20
TERMS = {
    scope: tuple(term for term in terms if term != "expected_cost")
    for scope, terms in DRAWN.items()
}
"""All but what `LONGER` has."""


LONGER = {
    "expected_cost": (
        "expected_cost {op} {number}",
        "expected_cost + errors {op} 2 * {number}",
        "abs(expected_cost - {number}) {op} 0.5",
        "leaves - 2 * expected_cost {op} {number}",
        'gap(rate("y"), g, h) + expected_cost {op} {number}',
        "not (expected_cost {op} {number} and uses(a))",
    ),
    "gap": (
        'gap(rate("y"), g, h, k) {op} {share}',
        "gap(accuracy, g, h, k, l) {op} {share}",
        "gap(error_rate, o) {op} {share} or leaves = 2",
    ),
    "ratio": (
        'ratio(rate("y"), g, h, k) {op} {share}',
        'ratio(rate("n"), g, h, k, l) {op} {share}',
        "not (ratio(accuracy, g, k, l) {op} {share} or depth = 0)",
        "ratio(accuracy, g, h, k) {op} {share} and gap(accuracy, g, h) {op} {share}",
    ),
}
"""Conditions of a kind that `random_specs` does not draw: the text of rules by term."""

GROUPS = "\ngroup k = row in {1, 3, 4}\ngroup l = row in {0, 2}"


def longer(rng: random.Random, term: str) -> str:
    text = rng.choice(LONGER[term]).format(
        op=rng.choice(("<=", ">=", "<", ">", "=", "!=")),
        number=rng.choice(("0", "0.25", "1", "1.5", "2.75", "4.5")),
        share=rng.choice(("0", "20%", "0.5", "0.8", "1")),
    )
    return f"rule r: {text}{GROUPS}"


def specs(term: str, scope: str, count: int, most_classes: int = 3, *, long: bool = False):
    """Random specs with the term in a rule of the scope, that milp can express."""
    found = seed = 0
    while found < count:
        seed += 1
        assert found or seed < 5000, f"`random_specs` draws no `{term}`"
        rng = random.Random(f"{'long ' if long else ''}{term} {scope} {seed}")
        here = shallow(case(rng))
        text = longer(rng, term) if long else rule(rng, here, "r", scope)[0]
        if term not in text or len(here.classes) > most_classes:
            continue
        try:
            analysis = read(here, text)
            core = normalize(analysis.rows)
        except OdtError:  # a share of no row, or a form that is refused
            continue
        (resolved,) = analysis.problem.rules
        if any(call.term == term for call in applications(resolved.condition)) and (
            choose(core, "milp").name is not None
        ):
            found += 1
            yield rng, f"{here.head}\n{text}\n{here.frame}", analysis, core


def shallow(here: Case) -> Case:
    return replace(here, head=here.head.replace("tree depth <= 3", "tree depth <= 2"))


def passes(analysis: Analysis, core: Core, tree: RawTree) -> bool:
    """The audit's verdict on the tree, its thresholds placed by the rules where they admit one."""
    free = replace(core, filters=())
    placed = free if Evaluation(core, tree).bad_splits else core
    return audit(to_tree(placed, analysis.rows, tree), analysis.rows).holds


@pytest.mark.parametrize(
    ("scope", "term"), [(scope, term) for scope, terms in TERMS.items() for term in terms]
)
def test_the_model_admits_what_the_audit_passes(scope: str, term: str) -> None:
    admits_what_the_audit_passes(specs(term, scope, EACH))


@pytest.mark.parametrize("term", LONGER)
def test_costs_and_many_groups_admit_what_the_audit_passes(term: str) -> None:
    admits_what_the_audit_passes(specs(term, "model", EACH, long=True))


def admits_what_the_audit_passes(found) -> None:
    for rng, shown, analysis, core in found:
        live = LoadedProgram(core)
        trees = reduced_trees(replace(core, filters=(), clauses=()))
        for tree in rng.sample(trees, min(TREES, len(trees))):
            assert live.admits(tree) == passes(analysis, core, tree), f"{shown}\n{tree}"


@pytest.mark.parametrize("scope", TERMS)
def test_the_answer_is_the_best_of_all_trees(scope: str) -> None:
    every = 1 if SCALE >= 1 else 3  # `test_every_term` has a line for each term
    for index, term in enumerate(TERMS[scope][::every]):
        for _, shown, analysis, core in specs(term, scope, max(1, EACH // 5), most_classes=2):
            must_be_best(analysis, core, shown, seed=index)


@pytest.mark.parametrize("term", LONGER)
def test_the_answer_under_costs_and_many_groups_is_the_best(term: str) -> None:
    for _, shown, analysis, core in specs(term, "model", EACH // 2, most_classes=2, long=True):
        must_be_best(analysis, core, shown)


def must_be_best(analysis: Analysis, core: Core, shown: str, seed: int = 0) -> None:
    with without_start():
        result = solve(analysis, backend="milp", seed=seed)
    expected = best(core)
    if expected is None:
        assert result.status == "infeasible", shown
    else:
        assert result.status == "optimal", shown
        assert result.objective == expected[0], shown


def test_a_feature_named_twice_counts_once() -> None:
    """Found by a long run: the negation of `root in {c, c}` in `or` forbade c at the root."""
    rng = random.Random(0)
    here = shallow(case(rng))
    once, twice = (
        normalize(read(here, f"rule r: not root in {{{names}}} or errors <= 1").rows)
        for names in ("c", "c, c")
    )
    trees = reduced_trees(replace(once, clauses=()))
    first, second = LoadedProgram(once), LoadedProgram(twice)
    for tree in rng.sample(trees, 40):
        assert first.admits(tree) == second.admits(tree)
