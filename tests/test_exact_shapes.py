"""What columns alone refute, and the largest objective that a search under rules is told of."""

from __future__ import annotations

import random

import pytest

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact import shapes
from odtdsl.backends.exact.ruled import assemble
from odtdsl.driver.choice import back_end
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.terms.normalize import normalize

RULES = {
    "root": "forall split: if level = 0 then feature in {c, d}",
    "ab": "forall path: a before d",
    "cb": "forall path: b before c",
    "a": "uses(a)",
    "b": "uses(b)",
}


def _core(rules: list[str], depth: int = 4) -> Core:
    rng = random.Random(1)
    frame = {name: [rng.randint(0, 50) for _ in range(300)] for name in "abcd"}
    frame["y"] = [rng.choice("pn") for _ in range(300)]  # type: ignore[misc]
    text = f"data frame target y tree depth <= {depth} minimize errors\n"
    text += "\n".join(f"rule {name}: {RULES[name]}" for name in rules)
    return normalize(odtdsl.parse(text).analyse(frame=frame).rows)


def test_orders_keep_columns_from_all_trees() -> None:
    """Whichever of c and d is first, a or b can no longer be tested."""
    answer = back_end("exact").solve(_core(list(RULES)), Limits(), None, None)
    assert answer.status == "infeasible"
    assert not answer.counters, "no search is needed"


@pytest.mark.parametrize("dropped", RULES)
def test_each_of_the_rules_is_needed(dropped: str) -> None:
    core = _core([name for name in RULES if name != dropped])
    assert not shapes.refuted(core)


def test_levels_count() -> None:
    rules = ["a", "b", "cb"]
    assert shapes.refuted(_core(rules, depth=0))
    assert shapes.refuted(_core(["a", "b"], depth=1))
    assert not shapes.refuted(_core(rules, depth=2))


def test_no_tree_has_more_than_the_largest_objective() -> None:
    core = _core(["ab", "a"], depth=2)
    most = assemble(core, 2).first(assemble(core, 2).most)
    answer = back_end("exact").solve(core, Limits(), None, None)
    assert answer.tree is not None
    assert Evaluation(core, answer.tree).stage_value(core.objective[0]) <= most == 300
