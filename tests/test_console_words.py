"""What the console says of counts and of rules at their bounds."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

import odtdsl
from odtdsl.auditor.results import AuditLine
from odtdsl.presentation.console import encoding_text, slack_text

ONE = {"a": [0, 1, 1], "y": ["p", "p", "q"]}


def test_one_of_a_kind_is_told_in_the_singular() -> None:
    size = (("rows", 5), ("features", 1), ("cuts", 1), ("binaries", 1), ("depth", 2))
    assert encoding_text(size) == "5 rows, 1 feature, 1 cut, 1 binary, depth 2"


def test_one_row_event_and_leaf_are_singular_wherever_they_are_counted() -> None:
    survival = odtdsl.solve(
        "data frame target survival t event e tree depth <= 1 minimize survival_loss",
        frame={"a": [0, 1, 1], "t": [1, 2, 3], "e": [1, 1, 0]},
    )
    one = odtdsl.solve(
        "data frame target y tree depth <= 1 minimize errors",
        frame={"a": [0, 1, 1], "y": ["p", "q", "q"]},
    )
    leaf = odtdsl.solve("data frame target y tree depth <= 0 minimize errors", frame=ONE)
    texts = []
    for result in (survival, one, leaf):
        assert result.tree is not None
        texts += [str(result.tree), str(result), result.tree.to_svg()]
    told = "\n".join(texts)
    assert all(re.search(rf"\b1 {word}\b", told) for word in ("row", "event", "leaf", "error"))
    assert not re.search(r"(?<![\d.,])1 (rows|events|leaves|errors)\b", told)


@pytest.mark.parametrize(
    ("slack", "holds", "said"),
    [
        (Fraction(-3.55e-15), True, "0"),
        (Fraction(3.55e-15), True, "0"),
        (Fraction(-1, 10**12), False, "-1e-12"),
        (Fraction(1, 1000), True, "0.001"),
        (None, True, "-"),
    ],
)
def test_what_floats_are_off_by_is_no_slack(slack: Fraction | None, holds: bool, said: str) -> None:
    line = AuditLine(
        rule="r", text="output >= 12", holds=holds, instances=1, bound=Fraction(12), slack=slack
    )
    assert slack_text(line) == said
