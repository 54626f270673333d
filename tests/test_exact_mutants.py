"""The tests of `test_every_term` see every small mistake in what `exact` hands to its engine.

Each mutant of `exact_mutants`, `direction_mutants` and `plain_mutants` is killed by a spec:
another optimum, an answer that its audit refuses, or another status. `ODTDSL_SCALE=2` and
more try each on each term it concerns.

Mutants that no test can kill, because the engine reads the same twice or only as a licence to
prune: `closed` turned off (pruning less); a leaf more than allowed (a clause bounds them, or the
depth does); a cut allowed everywhere that every level refuses.
"""

from __future__ import annotations

import random
from functools import cache

import direction_mutants as d
import exact_mutants as m
import plain_mutants as p
import pytest
from larger import random_larger
from mutating import Mutant, mutated, plainly, under_rules
from scale import SCALE
from sentences import MONOTONE
from test_every_term import (
    MIXED,
    NAMES,
    ONE_DIRECTION,
    PLAIN,
    PLAIN_PATHS,
    Case,
    case,
    solved,
    solved_larger,
)

import odtdsl
from odtdsl.base.diagnostics.model import OdtError

FACTS = ("model depth", "model uses", "model root", "model same_leaf", "model different_leaf")
MEASURED = tuple(
    name
    for name in NAMES
    if name.startswith("model ") and name not in FACTS
    if name.removeprefix("model ") not in MONOTONE
)
PATHS = tuple(f"path {t}" for t in ("uses", "tests", "before", "requires", "cost", "length"))
LEAVES = ("leaf size", "leaf purity", "leaf majority")
COSTS = ("model expected_cost", "path cost")
DIRECTIONS = (ONE_DIRECTION,)
LEVELS = ("split level", "split threshold")

MUTANTS: dict[str, tuple[Mutant, tuple[str, ...]]] = {
    # measures: row values, prices, path costs, and how labels are told apart
    "a row value more": (m.shifted("value", 1), (MIXED,)),
    "a row value less": (m.shifted("value", -1), (MIXED,)),
    "a leaf's price more": (m.shifted("leaf", 1), (MIXED,)),
    "a leaf's price less": (m.shifted("leaf", -1), (MIXED,)),
    "a split's price more": (m.shifted("split", 1), (MIXED,)),
    "a split's price less": (m.shifted("split", -1), (MIXED,)),
    "a path's price more": (m.path_delta(1), COSTS),
    "a path's price less": (m.path_delta(-1), COSTS),
    "path costs of no row": (under_rules(m.no_path_weight), COSTS),
    "path costs of other rows": (under_rules(m.other_path_weight), COSTS),
    "a sum dropped": (under_rules(m.sum_dropped), (MIXED,)),
    "sums of labels exchanged": (under_rules(m.sums_of_two_labels_swapped), (MIXED,)),
    # rules of the model
    "a measure's bound looser": (m.component_bound(1), MEASURED),
    "a measure's bound tighter": (m.component_bound(-1), MEASURED),
    "another measure": (under_rules(m.other_component), (MIXED,)),
    "a fact turned": (under_rules(m.fact_turned), FACTS),
    "another fact": (under_rules(m.other_fact), FACTS),
    "a clause dropped": (under_rules(m.clause_dropped), (*MEASURED, *FACTS)),
    "a literal dropped": (m.literal_dropped("clauses"), (MIXED,)),
    "a split says too much": (m.split_fact(set_=True), FACTS[:3]),
    "a split says too little": (m.split_fact(set_=False), FACTS[:3]),
    "a pair dropped": (under_rules(m.pair_dropped), FACTS[3:]),
    "another pair": (under_rules(m.other_pair), FACTS[3:]),
    # rules on leaves and splits
    "a leaf's bound looser": (m.row_bound("leaf_clauses", 1), LEAVES),
    "a leaf's bound tighter": (m.row_bound("leaf_clauses", -1), LEAVES),
    "a leaf's literal dropped": (m.literal_dropped("leaf_clauses"), LEAVES),
    "a leaf's rule dropped": (m.open_rule_dropped("leaf_rules"), LEAVES),
    "a leaf's sum dropped": (m.sum_of_rows_dropped("leaf_clauses"), LEAVES),
    "a leaf's sums of other labels": (under_rules(m.wrong_label), LEAVES),
    "a leaf's sum of one label": (under_rules(m.first_label_only), LEAVES),
    "a split's bound looser": (m.row_bound("split_clauses", 1), ("split size",)),
    "a split's bound tighter": (m.row_bound("split_clauses", -1), ("split size",)),
    "a split's literal dropped": (m.literal_dropped("split_clauses"), ("split size",)),
    "a split's rule dropped": (m.open_rule_dropped("split_rules"), ("split size",)),
    "a split's sum dropped": (m.sum_of_rows_dropped("split_clauses"), ("split size",)),
    # directions
    "a direction turned": (d.direction(turned=True), DIRECTIONS),
    "a direction forgotten": (d.direction(turned=False), DIRECTIONS),
    "a direction of another column": (under_rules(d.direction_of_another_column), DIRECTIONS),
    "values that no row has": (d.column_kind(1), DIRECTIONS),
    "missing cells, or none": (d.column_kind(2), DIRECTIONS),
    "another side of missing cells": (under_rules(d.side_of_missing), DIRECTIONS),
    "another value goes left": (under_rules(d.value_that_goes_left), DIRECTIONS),
    "thresholds anywhere": (under_rules(d.thresholds_anywhere), DIRECTIONS),
    "a cell moved": (under_rules(d.cell_moved), DIRECTIONS),
    # paths
    "a step less": (m.transition(tight=True), PATHS),
    "a step more": (m.transition(tight=False), PATHS),
    "a step forgotten": (under_rules(m.forgotten), PATHS),
    "a step astray": (under_rules(m.astray), PATHS),
    "a leaf later": (m.need(1), PATHS),
    "a leaf earlier": (m.need(-1), PATHS),
    # objective
    "a factor more": (m.coefficient(1), (MIXED,)),
    "a factor less": (m.coefficient(-1), (MIXED,)),
    "a term dropped": (under_rules(m.term_dropped), (MIXED,)),
    "a part of a largest dropped": (under_rules(m.part_of_a_largest_dropped), (MIXED,)),
    # splits
    "another column": (under_rules(m.other_column), (MIXED,)),
    "missing cells low": (m.missing_flag("missing_low"), (MIXED,)),
    "missing cells high": (m.missing_flag("missing_high"), (MIXED,)),
    "a cut less": (under_rules(m.cut("all", tight=True)), ("split threshold", "split feature")),
    "a cut more": (under_rules(m.cut("all", tight=False)), ("split threshold", "split feature")),
    "a cut less on a level": (under_rules(m.cut("level", tight=True)), LEVELS),
    "a cut more on a level": (under_rules(m.cut("level", tight=False)), LEVELS),
    "a level's cuts forgotten": (under_rules(m.level_dropped), LEVELS),
    "a leaf less": (under_rules(m.most_leaves(-1)), (MIXED,)),
    # the search without rules
    "plain: a cut less": (plainly(m.cut("all", tight=True)), (PLAIN,)),
    "plain: a row beyond a cut": (plainly(m.row_moved), (PLAIN, "split threshold")),
    "plain: a leaf less": (plainly(m.most_leaves(-1)), (PLAIN,)),
    "plain: a leaf more": (plainly(m.most_leaves(1)), (PLAIN,)),
    "plain: a weight more": (p.option("weights", 1), (PLAIN,)),
    "plain: a weight less": (p.option("weights", -1), (PLAIN,)),
    "plain: a cost more": (p.option("costs", 1), (PLAIN,)),
    "plain: a cost less": (p.option("costs", -1), (PLAIN,)),
    "plain: a price more": (p.option("leaf_price", 1), (PLAIN,)),
    "plain: a price less": (p.option("leaf_price", -1), (PLAIN,)),
    "plain: a demand looser": (p.option("upper_bound", 10**6), (PLAIN,)),
    "plain: a leaf's rows more": (p.option("min_leaf_rows", 1), (PLAIN,)),
    "plain: a leaf's rows fewer": (p.option("min_leaf_rows", -1), (PLAIN,)),
    "plain: a step less": (p.plain_step(tight=True), (PLAIN_PATHS,)),
    "plain: a step more": (p.plain_step(tight=False), (PLAIN_PATHS,)),
    "plain: a step forgotten": (plainly(p.plainly_forgotten), (PLAIN_PATHS,)),
    "plain: a must-use column dropped": (plainly(p.must_dropped), (PLAIN_PATHS,)),
    "plain: another must-use column": (plainly(p.other_must), (PLAIN_PATHS,)),
    "plain: a test of another column": (plainly(p.plainly_other_column), (PLAIN_PATHS,)),
    "plain: a row of another class": (plainly(p.class_turned), (PLAIN,)),
}

TRIES = 600
FIRST = {
    "a path's price more": 110,
    "a leaf's price less": 25,
    "a split's price more": 55,
    "a split's price less": 90,
    "path costs of no row": 20,
    "another fact": 20,
    "a cell moved": 15,
    "a path's price less": 95,
    "a split's bound looser": 30,
    "a split's bound tighter": 100,
    "values that no row has": 315,
    "missing cells, or none": 930,
    "another side of missing cells": 840,
    "another value goes left": 45,
    "thresholds anywhere": 115,
    "a step more": 55,
    "a part of a largest dropped": 105,
    "a cut more": 40,
    "a cut less on a level": 60,
    "a cut more on a level": 90,
    "a level's cuts forgotten": 100,
    "plain: a leaf more": 115,
    "plain: a weight more": 95,
    "plain: a weight less": 110,
    "plain: a cost more": 245,
    "plain: a price more": 110,
    "plain: a price less": 275,
    "plain: a demand looser": 40,
    "plain: a leaf's rows more": 35,
    "plain: a leaf's rows fewer": 100,
    "plain: a step less": 35,
    "plain: a step more": 35,
    "plain: a step forgotten": 165,
}
"""Mutants that change the answer of few specs: the seeds start near such a one."""


@cache
def known(name: str, seed: int) -> Case:
    """A case, whose best answer is found once for all mutants."""
    return case(name, f"mutant {seed}")


def survives(mutant: Mutant, name: str, seed: int) -> bool:
    with mutated(mutant, seed) as hits:
        try:
            solved(known(name, seed), "exact")
        except (AssertionError, OdtError, ValueError, RuntimeError):
            assert any(hits), "the search itself is wrong here"
            return False
    return True


PAIRS = [
    (label, name)
    for label, (_, names) in MUTANTS.items()
    for name in (names if SCALE > 1 else (" or ".join(names),))
]


@pytest.mark.parametrize(("label", "name"), PAIRS)
def test_a_mutant_is_killed(label: str, name: str) -> None:
    names = name.split(" or ")
    mutant, first = MUTANTS[label][0], FIRST.get(label, 0)
    seeds = range(first, first + TRIES)
    if not all(survives(mutant, names[seed % len(names)], seed) for seed in seeds):
        return
    pytest.fail(f"no spec of {TRIES} tells the mutant from the lowering")


@pytest.mark.parametrize("first", [291])
def test_a_licence_to_prune_too_much_is_killed(first: int) -> None:
    """`closed` says that fewer rows never lose more; only larger tables show where it is wrong."""
    for seed in range(first, first + 1000):
        one = random_larger(random.Random(f"paths {seed}"), paths_only=True)
        with mutated(m.closed(True), seed) as hits:
            try:
                solved_larger(one)
            except (AssertionError, OdtError):
                assert any(hits)
                return
    pytest.fail("no spec tells the mutant from the lowering")


def test_paths_that_are_not_closed_are_not_for_the_plain_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its bounds rest on states that allow all that the states behind them do."""
    monkeypatch.setattr("odtdsl.backends.exact.paths.closed", lambda *_, **__: True)
    for seed in range(200):
        try:
            solved(known("path requires", seed), "exact")
        except (AssertionError, OdtError):
            return
    pytest.fail("no spec tells the mutant from the lowering")


def test_a_tighter_demand_is_killed() -> None:
    """It matters only where the best tree without error has the largest value of all."""
    text = "data frame\ntarget y\ntree depth <= 2\nminimize leaves\nrule all: errors <= 0"
    frame = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": list("nyyn")}
    assert odtdsl.solve(text, frame=frame, using="exact").objective == 4
    # The search finds no tree, and the start contradicts it.
    with (
        mutated(p.option("upper_bound", -1), 0) as hits,
        pytest.raises(OdtError, match="X101"),
    ):
        odtdsl.solve(text, frame=frame, using="exact")
    assert hits == [True]
