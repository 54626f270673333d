"""What is easily forgotten in clauses: trees without splits."""

from __future__ import annotations

import pytest

import odtdsl

TABLE = {"a": [0, 1, 2, 3], "y": ["p", "p", "n", "p"]}
HEAD = "data frame target y tree depth <= 2 minimize errors\n"


@pytest.mark.parametrize(
    "rule",
    [
        "rule r: forall split: level >= 2",
        "rule r: forall split: threshold(a) > 7",
        "rule r: forall split: feature != a",
        "rule r: leaves <= 1",
        "rule r: depth <= 0",
        "rule r: forall path: not uses(a)",
    ],
)
def test_a_single_leaf_where_no_split_may_stand(rule: str) -> None:
    result = odtdsl.parse(HEAD + rule).solve(using="sat", frame=TABLE)
    assert (result.status, result.objective) == ("optimal", 1)


def test_a_single_leaf_where_there_is_nothing_to_test() -> None:
    table = {"a": [1, 1, 1, 1], "y": TABLE["y"]}
    result = odtdsl.parse(HEAD).solve(using="sat", frame=table)
    assert (result.status, result.objective) == ("optimal", 1)
    exactly = HEAD.replace("depth <= 2 minimize errors", "minimize depth rule r: errors <= 0")
    assert odtdsl.parse(exactly).solve(using="sat", frame=table).status == "infeasible"
