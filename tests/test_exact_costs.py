"""Costs of tests on `exact`: columns with one test only need no memory of the path."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scale import scaled

from odtdsl.backends.exact import paths as automata
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.interfaces.api import parse, solve
from odtdsl.problem.terms.normalize import normalize


def drawn(seed: int) -> tuple[str, dict[str, list[Any]]]:
    """A few rows of columns of two and of three values, with costs, shared ones, and a budget."""
    rng = random.Random(seed)
    rows = rng.randint(6, 10)
    frame: dict[str, list[Any]] = {
        name: [rng.randint(0, most) for _ in range(rows)]
        for name, most in (("a", 1), ("b", 1), ("c", 1), ("d", 2))
    }
    frame["y"] = [rng.choice("np") for _ in range(rows)]
    shared = rng.choice(["", "cost {a, d} shared = 2", "cost {b, c} shared = 1.5"])
    budget = rng.choice(["", f"rule r: forall path: cost <= {rng.randint(1, 6)}"])
    price = rng.choice([0.01, 0.03, 0.1])
    text = (
        f"data frame target y: class cost a = {rng.randint(0, 2)}, b = 1, c = 2, d = 1 {shared}"
        f" tree depth <= 3 minimize error_rate + {price} * expected_cost {budget}"
    )
    return text, frame


def value(text: str, frame: dict[str, list[Any]], using: str) -> Any:
    result = solve(text, frame=frame, using=using)
    assert result.status in ("optimal", "infeasible")
    return result.objective


def differences(seeds: range) -> int:
    return sum(value(*drawn(seed), "exact") != value(*drawn(seed), "milp") for seed in seeds)


def test_the_optimum_is_that_of_milp() -> None:
    assert differences(range(scaled(60))) == 0


def test_an_optimum_that_highs_lost_without_presolve() -> None:
    """HiGHS 1.11 to 1.14 call .217 optimal: `docs/explanation/milp.md`."""
    text, frame = drawn(81)
    assert value(text, frame, "exact") == value(text, frame, "milp") == Fraction(181, 1000)


def test_a_column_of_two_tests_must_be_remembered() -> None:
    """The comparison sees what goes wrong where every column is taken for one of one test.

    So may the driver: a wrong cost can contradict a bound of the same search (X101).
    """

    def differs(seed: int) -> bool:
        try:
            return bool(value(*drawn(seed), "exact") != value(*drawn(seed), "milp"))
        except OdtError as problem:
            if [one.code for one in problem.diagnostics] != ["X101"]:
                raise
            return False

    with patch.object(automata, "tests_of", lambda _: Counter()):
        assert any(differs(seed) for seed in range(scaled(60)))


def states(columns: int, most: int) -> int:
    rng = np.random.default_rng(1)
    frame: dict[str, Any] = {
        f"x{f}": list(rng.integers(0, most + 1, size=60)) for f in range(columns)
    }
    frame["y"] = list(rng.choice(["n", "p"], size=60))
    model = parse(
        "data frame target y: class cost * = 1 tree depth <= 4"
        " minimize error_rate + 0.01 * expected_cost"
    )
    core = normalize(model.analyse(frame=frame).rows)
    return len(automata.paths(core, 4).need)


def test_columns_of_one_test_make_no_states() -> None:
    assert states(90, 1) == 1
    assert states(8, 3) > 100


@pytest.mark.parametrize("columns", [40, 90])
def test_auto_takes_exact_for_costs_of_many_columns(columns: int) -> None:
    rng = np.random.default_rng(2)
    frame: dict[str, Any] = {f"x{f}": list(rng.integers(0, 2, size=80)) for f in range(columns)}
    frame["y"] = list(rng.choice(["n", "p"], size=80))
    text = (
        "data frame target y: class cost * = 1 tree depth <= 2"
        " minimize error_rate + 0.01 * expected_cost"
    )
    result = solve(text, frame=frame)
    assert (result.status, result.backend) == ("optimal", "exact")
