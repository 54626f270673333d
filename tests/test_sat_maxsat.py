"""Sums made least by RC2, against brute force and the linear search."""

from __future__ import annotations

from collections import Counter

import pytest
from sat_trees import without_start
from scale import SCALE, scaled
from test_every_term import MIXED, PLAIN, PLAIN_PATHS, case, solved

import odtdsl
from odtdsl.backends.base import Limits, Progress
from odtdsl.backends.sat.backend import Sat
from odtdsl.problem.terms.normalize import normalize


@pytest.mark.parametrize("name", [MIXED, PLAIN, PLAIN_PATHS])
def test_the_optimum(name: str) -> None:
    found = Counter[str]()
    with without_start():
        for seed in range(scaled(40 if name == MIXED else 15, least=16)):
            found[solved(case(name, f"rc2 {seed}"), "sat", solver="rc2")] += 1
    assert found["optimal"] >= 8 * SCALE


ROWS = {
    "a": [i * 7 % 40 for i in range(40)],
    "b": [i * 11 % 40 for i in range(40)],
    "y": [i * i % 3 for i in range(40)],
}
SPEC = "data frame target y: class tree depth <= 3 minimize errors then leaves"


def test_a_limit_leaves_the_first_tree_and_a_bound() -> None:
    """Stopped at its first tree, RC2 has no proof; what it has shown by then is true."""
    core = normalize(odtdsl.parse(SPEC).analyse(frame=ROWS).rows)
    seen: list[Progress] = []
    answer = Sat("rc2").solve(core, Limits(interrupted=lambda: bool(seen)), None, seen.append)
    best = odtdsl.solve(SPEC, frame=ROWS, using="exact").stages[0].value
    first = answer.stages[0]
    assert answer.status == "feasible"
    assert answer.interrupted
    assert not first.proven
    assert best is not None
    assert first.value is not None
    assert (first.bound or 0) <= best <= first.value
