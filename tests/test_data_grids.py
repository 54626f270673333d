"""Thresholds of columns with a declared step lie on its grid, and part training rows as before."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scale import SCALE, scaled

import odtdsl
from odtdsl.predictors.nodes import Branch, Threshold

STEPS = (Fraction(5), Fraction(1, 4), Fraction(2), Fraction(30), Fraction(3, 2))


def thresholds(tree: Any) -> list[float]:
    tests = [node.test for node in tree.nodes() if isinstance(node, Branch)]
    return [test.value for test in tests if isinstance(test, Threshold)]  # type: ignore[misc]


def solved(frame: dict[str, Any], type_: str, rest: str) -> Any:
    text = f"data frame target y positive 1 feature x: {type_} minimize errors then leaves {rest}"
    return odtdsl.solve(text, frame=frame)


@pytest.mark.parametrize(
    ("values", "step", "threshold"),
    [
        ((10, 25), "5", 15),
        ((10, 15), "5", 10),
        ((0.25, 1.75), "0.25", 1),
        ((-30, 90), "30", 30),
        ((7, 12), "1", 10),
        ((1.5, 4.5), "1.5", 3),
    ],
)
def test_examples(values: tuple[float, float], step: str, threshold: float) -> None:
    low, high = values
    found = solved({"x": [low, high], "y": [0, 1]}, f"number step {step}", "tree depth <= 1")
    assert thresholds(found.tree) == [threshold]


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [("", 4), ("in [3, 4]", 4), ("multiple_of 0.5", 3), ("!= 3.5", 3), ("in {3, 4}", 3)],
)
@pytest.mark.parametrize("type_", ["number", "number step 1", "number step 0.1"])
def test_of_two_as_near_the_even_one_comes_out_or_the_lower_of_pieces(
    type_: str, rule: str, threshold: float
) -> None:
    said = f"rule t: forall split: threshold(x) {rule}" if rule else ""
    found = solved({"x": [2, 5], "y": [0, 1]}, type_, f"tree depth <= 1 {said}")
    assert thresholds(found.tree) == [threshold]


def test_a_rule_may_leave_the_grid() -> None:
    frame = {"x": [10, 25], "y": [0, 1]}
    for rule, threshold in (("[16, 19]", 18), ("[16, 20]", 20), ("[5, 30]", 15), ("{12, 23}", 12)):
        rest = f"tree depth <= 1 rule t: forall split: threshold(x) in {rule}"
        found = thresholds(solved(frame, "number step 5", rest).tree)
        assert found == [threshold], rule


def test_rows_go_where_they_went_without_the_step() -> None:
    off = on = 0
    for seed in range(scaled(60)):
        rng = random.Random(f"grids {seed}")
        step, n = rng.choice(STEPS), rng.randint(4, 12)
        x = [float(rng.randint(-9, 9) * step) for _ in range(n)]
        y = [0, 1, *(int((k > 0) ^ (rng.random() < 0.3)) for k in x[2:])]
        span = sorted(rng.sample(range(-40, 60), 2))
        rule = rng.choice(
            [
                "",
                "",
                f"rule t: forall split: threshold(x) in [{span[0]}, {span[1]}]",
                "rule i: increasing(x)",
                "missing branch",
            ]
        )
        if rule == "missing branch":
            x[0] = float("nan")
        backend = rng.choice(["exact", "exact", "sat", "greedy", "milp"])
        if backend in ("milp", "sat") and "increasing" in rule:
            backend = "exact"
        rest = f"tree depth <= 2 {rule} solve using {backend}"
        plain = solved({"x": x, "y": y}, "number", rest)
        grid = solved({"x": x, "y": y}, f"number step {float(step):g}", rest)
        assert grid.objective == plain.objective, seed
        assert grid.audit.holds
        cells = {"x": np.array(x)}
        assert (grid.tree.apply(cells) == plain.tree.apply(cells)).all(), seed
        for t in thresholds(grid.tree):
            multiple = (Fraction(t) / step).denominator == 1
            assert multiple or "threshold" in rule, (seed, t)
            on += multiple
        off += any((Fraction(t) / step).denominator != 1 for t in thresholds(plain.tree))
    assert on >= 30 * SCALE
    assert off >= 10 * SCALE
