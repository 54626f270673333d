"""What the console says of counts and of rules at their bounds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from odtdsl.auditor.results import AuditLine
from odtdsl.presentation.console import encoding_text, slack_text


def test_one_of_a_kind_is_told_in_the_singular() -> None:
    size = (("rows", 5), ("features", 1), ("cuts", 1), ("binaries", 1), ("depth", 2))
    assert encoding_text(size) == "5 rows, 1 feature, 1 cut, 1 binary, depth 2"


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
