"""The trees that are as good as the best one, or nearly so, against all trees of tiny tables.

`ODTDSL_SCALE=10` takes ten times the problems.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from functions import frame, labels, points
from scale import SCALE, scaled
from test_every_term import MIXED, NAMES, ONE_DIRECTION, PLAIN, PLAIN_PATHS, Case, case, core_of
from tiny_tables import Model, TooMany

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.alternatives import Alternatives, alternatives
from odtdsl.driver.collected import Alternative
from odtdsl.driver.near import parse_near
from odtdsl.problem.ir.forms import Monotone

MOST_TREES = 4000
OPEN_ENDS = re.compile(r"threshold\(\w+\) (<|>|!=) |(not|if|count).*threshold")
"""Rules whose nearest threshold lies within a float of a number: brute force has no such ones."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A function that some trees compute: the labels, and the best of these trees."""

    labels: tuple[int, ...]
    values: tuple[Fraction, ...]
    leaves: int
    depth: int


def within(one: Case, near: Fraction | None) -> list[Model]:
    """The trees that satisfy the rules with no worse values, or a first one within `near`."""
    kept = one.kept()
    best = one.optimum
    if best is None:
        return []

    def values(model: Model) -> tuple[Fraction, ...]:
        return tuple(goal.value(model) for goal in one.stages)

    if near is None:
        return [model for model in kept if values(model) == best]
    sign = one.stages[0].sign
    return [model for model in kept if sign * (values(model)[0] - best[0]) <= near]


def _asks_order(one: Case) -> bool:
    """Whether a rule on directions can fail: one that holds for every tree moves no cell."""
    clauses = core_of(one).clauses
    return any(
        isinstance(literal.atom, Monotone) for clause in clauses for literal in clause.literals
    )


def functions(one: Case, models: list[Model]) -> list[Expected]:
    """All functions, the best first, each with its best tree."""
    at = points(one.tiny, models)
    stay = _asks_order(one)
    found: dict[tuple[int, ...], tuple[Any, ...]] = {}
    for model in models:
        own = labels(one.tiny, model, at, sides_stay=stay)
        signed = tuple(goal.sign * goal.value(model) for goal in one.stages)
        rank = (signed, len(model.leaves), model.depth)
        found[own] = min(found.get(own, rank), rank)
    made = [
        Expected(
            labels=own,
            leaves=leaves,
            depth=depth,
            values=tuple(g.sign * v for g, v in zip(one.stages, signed, strict=True)),
        )
        for own, (signed, leaves, depth) in found.items()  # type: ignore[misc]
    ]
    sign = [goal.sign for goal in one.stages]
    return sorted(made, key=lambda e: tuple(s * v for s, v in zip(sign, e.values, strict=True)))


def listed(one: Case, near: Fraction | None, most: int) -> Alternatives | None:
    """What the package lists; None where `exact` cannot express the problem."""
    analysis = one.spec.analyse(frame=one.tiny.frame)
    told: list[Alternative] = []
    try:
        found = alternatives(
            analysis,
            near=None if near is None else parse_near(str(float(near))),
            most=most,
            tell=told.append,
        )
        assert [a.tree for a in told] == [a.tree for a in found.trees[: len(told)]], str(one)
        return found
    except OdtError as problem:
        codes = {diagnostic.code for diagnostic in problem.diagnostics}
        if codes <= {"B102", "B103"}:
            return None
        raise


def agrees(name: str, seed: object) -> str:
    """Whether a random problem's list is that of brute force."""
    one = case(name, f"list {seed}")
    rng = random.Random(f"{name} {seed}")
    if OPEN_ENDS.search(one.text):
        return "passed over"
    try:  # where missing cells alone go left, several tests part the rows alike
        one = replace(one, models=one.tiny.models(MOST_TREES, both_sides=True))
    except TooMany:
        return "passed over"
    near = rng.choice([None, None, Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2)])
    models = within(one, near)
    expected = functions(one, models)
    most = rng.choice([10_000, 10_000, rng.randint(1, 5)])
    found = listed(one, near, most)
    if found is None:
        return "refused"
    said = f"near {near}, most {most}\n{one}"
    assert found.status == ("optimal" if models else "infeasible"), said
    assert found.complete == (len(expected) <= most), said
    assert len(found.trees) == min(most, len(expected)), f"{len(expected)} expected\n{said}"
    assert [tree.objective for tree in found.trees] == [e.values for e in expected[:most]], said
    assert all(tree.audit.holds for tree in found.trees)
    by_labels = {e.labels: e for e in expected}
    at = points(one.tiny, models)
    for tree in found.trees:
        names = [str(label) for label in tree.tree.predict(frame(one.tiny, at)).tolist()]
        own = tuple(one.tiny.classes.index(label) for label in names)
        assert own in by_labels, f"{own} is no function of a tree that is good\n{said}"
        wanted = by_labels.pop(own)
        assert tree.objective == wanted.values, said
        if found.complete:
            size = (tree.tree.n_leaves, tree.tree.depth)
            assert size == (wanted.leaves, wanted.depth), f"{own}: {size}\n{wanted}\n{said}"
    return "alike" if len(expected) > 1 else "one" if expected else "infeasible"


@pytest.mark.parametrize("name", [PLAIN, PLAIN_PATHS, MIXED, ONE_DIRECTION])
def test_the_list_is_that_of_brute_force(name: str) -> None:
    found = [agrees(name, seed) for seed in range(scaled(20, least=10))]
    assert found.count("alike") >= 4 * SCALE, found


@pytest.mark.parametrize("seed", [253, 304])
def test_thresholds_and_sides_as_the_reference_has_them(seed: int) -> None:
    """A rule on directions that never fails moves no cell; of parted thresholds the lower one."""
    assert agrees(ONE_DIRECTION, seed) == "alike"


@pytest.mark.parametrize("name", NAMES)
def test_the_list_under_a_rule_of_each_term(name: str) -> None:
    found = [agrees(name, seed) for seed in range(scaled(2))]
    assert set(found) <= {"alike", "one", "infeasible", "refused", "passed over"}
