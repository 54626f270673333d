"""What is said before any search of rules that cannot hold, against all trees.

Whenever the analysis says that no tree satisfies some rules, or that no split stands under one,
brute force over all trees (`tiny_tables`, nothing of the package) agrees, with these rules alone.
Diagrams and hyperplanes are in `test_foreseen_diagrams`.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import test_choice
from meanings import RuleChecker
from number_worlds import KINDS as NUMBERS
from number_worlds import LOSSES, NumberCase, number_case
from scale import SCALE, scaled
from survival_worlds import KINDS as SURVIVAL
from survival_worlds import survival_case
from test_every_term import KINDS, MIXED, Case, case
from tiny_tables import Model

import odtdsl
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.compiler.bounds import Frame, ModelFacts, plainly_refuted
from odtdsl.compiler.rule_warnings import RuleWithForms, closed_by_thresholds, find
from odtdsl.language.parser import parse
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Linear, Origin, SignedAtom
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import EmptyDenominator, Unsupported
from odtdsl.problem.terms.formulas import TooManyCases
from odtdsl.problem.terms.normalize import normalize, rule_forms

pytestmark = pytest.mark.usefixtures("few_starts")


AnyCase = Case | NumberCase | test_choice.Case


def analysed(case_: AnyCase) -> Rows | None:
    source = Source(name="random", text=case_.text)
    frame = case_.frame if isinstance(case_, NumberCase) else case_.tiny.frame
    try:
        return analyse(parse(source), source=source, frame=frame).rows
    except OdtError:
        return None


def kept_of(case_: AnyCase) -> list[Model]:
    return case_.kept() if isinstance(case_, Case) else case_.kept


def parts(rows: Rows) -> tuple[Frame, list[RuleWithForms]]:
    from odtdsl.problem.ir.families import build_families

    said = []
    for rule in rows.problem.rules:
        try:
            said.append(RuleWithForms(rule=rule, forms=rule_forms(rule, rows)))
        except (Unsupported, EmptyDenominator, TooManyCases, OdtError):
            continue
    frame = Frame(
        skeleton=rows.problem.skeleton,
        n_rows=rows.n_rows,
        n_columns=len(rows.problem.features),
        families=build_families(rows.problem, rows.data),
    )
    return frame, said


def claims(case_: AnyCase) -> Counter[str]:
    """All that is said of a case, each held against all trees."""
    rows = analysed(case_)
    if rows is None:
        return Counter()
    frame, said = parts(rows)
    seen = Counter[str]()
    written = {f"r{i}": rule for i, rule in enumerate(case_.rules)}
    for found in find(frame, said):
        names = [rule.name for rule in found.rules]
        kept = list(
            filter(RuleChecker(case_.tiny, [written[n] for n in names]).admits, case_.models)
        )
        if found.what in ("split", "budget"):
            assert all(not model.splits for model in kept), f"{names}\n{case_}"
        else:
            assert not kept, f"{names} are said to have no tree\n{case_}"
        seen[f"{found.what} {len(names)}"] += 1
    for column, rules in closed_by_thresholds(said, frame):
        checker = RuleChecker(case_.tiny, [written[rule.name] for rule in rules])
        for model in filter(checker.admits, case_.models):
            assert all(s.test.column != column for s in model.splits), f"{column}\n{case_}"
        seen["thresholds"] += 1
    kept = kept_of(case_)
    if not kept:
        seen["infeasible"] += 1
        seen["foreseen"] += any(
            found.what not in ("split", "budget") for found in find(frame, said)
        )
    if plainly_refuted(normalize(rows)):
        assert not kept, f"the core is said to have no tree\n{case_}"
        seen["refuted"] += 1
    seen["cases"] += 1
    return seen


@pytest.mark.parametrize("block", range(scaled(8)))
def test_no_claim_is_false(block: int) -> None:
    seen = Counter[str]()
    for seed in range(60 * block, 60 * block + 60):
        seen += claims(case(MIXED, f"foreseen {seed}"))
    assert seen["foreseen"] >= seen["infeasible"] // 8, seen


@pytest.mark.parametrize("name", [f"{scope} {term}" for scope, term in KINDS])
def test_no_claim_about_a_term_is_false(name: str) -> None:
    for seed in range(scaled(6)):
        claims(case(name, f"foreseen {seed}"))


def elsewhere(target: str, seed: int) -> AnyCase:
    """A random case of a target other than classes."""
    word = f"foreseen {seed}"
    if target == "choices":
        return test_choice.case(word, rng_of(word).choice(test_choice.KINDS))
    if target == "survival":
        return survival_case(*rng_of(word).choice(SURVIVAL), word)
    return number_case(
        *rng_of(word).choice(NUMBERS), LOSSES[seed % len(LOSSES)], 1 + seed // 3 % 2, word
    )


def rng_of(word: str) -> random.Random:
    return random.Random(word)


@pytest.mark.parametrize("target", ["numbers", "survival", "choices"])
def test_no_claim_about_another_target_is_false(target: str) -> None:
    seen = Counter[str]()
    for seed in range(scaled(500)):
        seen += claims(elsewhere(target, seed))
    assert seen["refuted"] > 20 * SCALE, seen


@pytest.mark.parametrize("target", ["classes", "numbers", "survival", "choices"])
def test_bounds_of_a_room_hold_for_every_tree(target: str) -> None:
    """Leaves, depth, features and rows that nothing parts, under all rules of a case."""
    tight = Counter[str]()
    for seed in range(scaled(250)):
        one = case(MIXED, f"room {seed}") if target == "classes" else elsewhere(target, seed)
        rows = analysed(one)
        if rows is None:
            continue
        frame, said = parts(rows)
        if len(said) < len(one.rules):
            continue
        clauses = [clause for each in said for clause in each.forms.clauses]
        facts = ModelFacts(frame, clauses, [f for each in said for f in each.forms.filters])
        kept = kept_of(one)
        for model in kept:
            assert len(model.leaves) <= facts.leaves, str(one)
            assert model.depth <= facts.depth, str(one)
            assert not any(facts.closed[s.test.column] for s in model.splits), str(one)
            for leaf in model.leaves:
                inside = {int(facts.blocks[r]) for r in one.tiny.rows(leaf.rows)}
                outside = {
                    int(facts.blocks[r]) for r in one.tiny.rows(one.tiny.everyone & ~leaf.rows)
                }
                assert not inside & outside, str(one)
        if kept:
            tight["leaves"] += max(len(m.leaves) for m in kept) == facts.leaves
            tight["twins"] += int(facts.blocks.max()) + 1 < one.tiny.n
            tight["closed"] += bool(np.any(facts.closed))
        ended = _drawn(facts)
        facts._draw()
        assert _drawn(facts) == ended, f"another round would have found more: {one}"
    assert min(tight[word] for word in ("leaves", "twins", "closed")) >= 20 * SCALE, tight


def _drawn(facts: ModelFacts) -> tuple[object, ...]:
    return facts.leaves, facts.depth, facts.closed.tolist(), facts.blocks.tolist()


FRAME = {
    "a": [1, 2, 3, 4, 5, 6],
    "b": ["x", "y"] * 3,
    "g": ["w", "w", "w", "m", "m", "m"],
    "c": ["u", "u", "v", "v", "v", "v"],
    "n": [0.1, 0.2, None, None, 0.3, 0.3],
    "y": ["p", "n", "p", "n", "p", "n"],
}
HEAD = 'data frame target y positive "p" drop g missing branch tree depth <= 2 minimize errors\n'
NO_AB = "drop a, b, n "

TOLD = {
    "cost a = 5, b = 7, c = 9, n = 9 rule cheap: forall path: cost <= 4": (
        "R109",
        "excludes every split",
        "only the cheapest feature, `a`, misses the bound by 1",
    ),
    "cost * = 5 rule ask: uses(a) or uses(b) rule cheap: forall path: cost <= 4": (
        "R108",
        "rules `ask` and `cheap` together",
    ),
    "rule s: leaves >= 9": ("R107", "no tree has more than 4"),
    "rule s: leaves >= 4 rule t: leaves <= 3": ("R108", "its bound is missed by at least 1"),
    "rule s: leaves >= 3 rule t: depth <= 1": ("R108", "rules `s` and `t` together"),
    "rule s: depth >= 3": ("R107", "no tree is deeper than 2"),
    "rule s: forall path: length >= 3": (
        "R107",
        "no path can satisfy rule `s`",
        "missed by at least 1",
    ),
    "rule s: forall leaf: size >= 60% rule t: splits >= 1": ("R108", "rules `s` and `t` together"),
    "rule s: forall leaf: size >= 60% rule t: forall leaf: size <= 3": (
        "R108",
        "`t` cannot: its bound is missed by at least 3",
    ),
    'rule s: rate("p") >= 90% rule t: rate("p") <= 10%': (
        "R108",
        "the bounds of `s` and `t` exclude each other",
    ),
    "rule s: uses(a) rule t: not uses(a)": ("R108", "rules `s` and `t` together"),
    "rule s: uses(a) rule t: forall split: feature in {b}": (
        "R108",
        "when the others hold, `s` cannot",
    ),
    "rule s: same_leaf(0, 1) rule d: different_leaf(0, 1)": (
        "R108",
        "when the others hold, `d` cannot",
    ),
    NO_AB + "rule d: different_leaf(0, 1)": ("R107", "no tree can satisfy rule `d`"),
    NO_AB + "rule s: accuracy >= 90%": (
        "R107",
        "no tree has more than 0.5",
        "the tests cannot separate 6 rows",
        "rows 0 and 1",
    ),
    NO_AB + "rule s: errors <= 2": ("R107", "no tree has less than 3"),
    NO_AB + 'group w = g == "w" rule s: accuracy(w) >= 90%': (
        "R107",
        "missed by at least 0.233333",
        "no tree has more than 0.666667",
    ),
    NO_AB + "weight a rule s: accuracy >= 60%": ("R107", "no tree has more than 0.571429"),
    "drop b, c, n candidates a at {3.5} rule s: errors <= 1": ("R107", "no tree has less than 2"),
    "drop b, c, n candidates a at bins 2 rule s: errors <= 1": ("R107", "no tree has less than 2"),
    "drop a, b, c rule s: errors <= 0": ("R107", "no tree has less than 2", "rows 2 and 3"),
    "drop b, c, n rule s: errors <= 1 rule t: forall split: threshold(a) in [3, 3.5]": (
        "R108",
        "rules `s` and `t` together",
    ),
    "rule s: forall split: threshold(a) <= 2.5 rule t: forall split: threshold(a) >= 4": (
        "R110",
        "rules `s` and `t` leave no possible split on `a`",
    ),
    "candidates a at {2.5} rule s: forall split: threshold(a) >= 4": (
        "R110",
        "rule `s` and its candidates leave no possible split on `a`",
    ),
    "rule s: forall path: a requires b rule t: forall path: b requires a rule u: uses(a)": (
        "R108",
        "rules `s` and `t` and `u` together",
    ),
}


def told(rules: str) -> tuple[Diagnostic, ...]:
    return odtdsl.check(HEAD + rules, frame=FRAME)


@pytest.mark.parametrize("rules", TOLD)
def test_it_is_told_with_its_reason(rules: str) -> None:
    code, *said = TOLD[rules]
    found = [d for d in told(rules) if d.code == code]
    assert len(found) == 1, [d.message for d in told(rules)]
    text = "\n".join((found[0].message, *found[0].notes, *found[0].helps))
    assert all(part in text for part in said), text
    assert found[0].labels
    assert found[0].severity == "warning"


@pytest.mark.parametrize("rules", [rules for rules in TOLD if TOLD[rules][0] in ("R107", "R108")])
def test_a_solver_proves_the_same(rules: str) -> None:
    assert odtdsl.solve(HEAD + rules, frame=FRAME, using="milp").status == "infeasible"


def test_a_search_that_a_limit_ends_says_no_less_than_the_warning() -> None:
    """No tree of two leaves has 30 rows of 40 in each; the limit is over before any search."""
    frame = {"a": list(range(40)), "y": ["no", "yes"] * 20}
    rules = "rule s: forall leaf: size >= 30 rule t: leaves >= 2"
    text = f"data frame target y tree depth <= 3 minimize errors {rules}"
    assert "R108" in [d.code for d in odtdsl.check(text, frame=frame)]
    assert odtdsl.solve(text, frame=frame, within=1e-9).status == "infeasible"
    alone = odtdsl.solve(text, frame=frame, using="cpsat", within=1e-9)
    assert alone.status == "unknown"


def test_the_best_accuracy_is_reached_where_depth_allows() -> None:
    """What is called the best is the best: a tree has it."""
    text = HEAD + NO_AB
    (said,) = odtdsl.check(text + "rule s: accuracy >= 51%", frame=FRAME)
    assert "no tree has more than 0.5" in said.notes
    result = odtdsl.solve(text, frame=FRAME)
    assert result.objective == Fraction(3)
    assert not odtdsl.check(text + "rule s: accuracy >= 50%", frame=FRAME)


def test_several_conflicts_are_told_at_once() -> None:
    found = told(
        "rule s: uses(a) rule t: not uses(a) rule u: leaves >= 4 rule v: leaves <= 3"
        " rule w: accuracy >= 120%"
    )
    assert sorted(d.code for d in found) == ["R107", "R108", "R108"]


def test_bounds_whose_sum_has_too_many_digits_are_no_mistake() -> None:
    """Each is exact alone; only the look for contradictions would add them (R301)."""
    rows = odtdsl.parse(HEAD).analyse(frame=FRAME).rows
    frame = parts(rows)[0]
    heavy = np.full((rows.n_rows, 2), 2**40, dtype=np.int64)
    clauses = [
        Clause(
            scope=Scope.MODEL,
            origin=Origin(rule=f"r{denominator}"),
            literals=(
                SignedAtom(
                    atom=Linear(
                        measure=Additive(output=heavy, denominator=denominator),
                        at_most=2**62,
                    )
                ),
            ),
        )
        for denominator in (2**20 + 7, 2**20 + 9)
    ]
    assert ModelFacts(frame, clauses).refute() is None


@pytest.mark.parametrize("alike", [False, True], ids=["every row apart", "some rows alike"])
@pytest.mark.parametrize("seed", range(scaled(50)))
def test_least_values_are_those_of_blocks_one_by_one(alike: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.permutation(8) // (2 if alike else 1)
    frame = {"a": cells.tolist(), "y": ["p", "n"] * 4}
    rows = odtdsl.parse("data frame target y tree depth <= 3 minimize errors").analyse(frame=frame)
    facts = ModelFacts(parts(rows.rows)[0])
    measure = Additive(
        constant=int(rng.integers(-5, 5)),
        rows=rng.integers(-9, 9, 8) if rng.random() < 0.5 else None,
        output=rng.integers(-9, 9, (8, 2)),
        leaves=1,
    )
    assert measure.output is not None
    by_cell: dict[int, list[int]] = {}
    for row, cell in enumerate(cells.tolist()):
        mine = 0 if measure.rows is None else int(measure.rows[row])
        found = by_cell.setdefault(cell, [0, 0])
        for label in range(2):
            found[label] += mine + int(measure.output[row, label])
    blocks = list(by_cell.values())
    assert facts.least_of_model(measure) == measure.constant + 1 + sum(map(min, blocks))
    least = [
        min(sum(min(block[label], 0) for block in blocks) or 10**9, min(b[label] for b in blocks))
        for label in range(2)
    ]
    assert facts.least_of_rows(measure, Scope.LEAF) == measure.constant + min(least)


def test_it_is_quick_on_many_rows() -> None:
    """No search: tens of thousands of rows with rules of every kind take seconds at most."""
    rng = np.random.default_rng(1)
    frame: dict[str, list[Any]] = {f"x{i}": rng.normal(size=20000).tolist() for i in range(20)}
    frame["g"] = rng.choice(["u", "v", "w"], size=20000).tolist()
    frame["y"] = rng.choice(["p", "n"], size=20000).tolist()
    text = (
        'data frame target y positive "p" drop g tree depth <= 4 minimize errors'
        ' rule a: gap(rate("p"), g) <= 5% rule b: accuracy >= 70% rule c: forall leaf: size >= 1%'
        " rule d: forall split: threshold(x1) in [0, 1] rule e: forall path: length <= 3"
    )
    began = time.monotonic()
    assert not odtdsl.check(text, frame=frame)
    assert time.monotonic() - began < 60
