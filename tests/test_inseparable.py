"""Rows that no test can tell apart: the least errors, against the optimum of trees of any depth."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from scale import scaled

import odtdsl
from odtdsl.compiler.inseparable import Inseparable, inseparable
from odtdsl.interfaces.cli.main import app
from odtdsl.problem.terms.normalize import normalize

WAYS = (
    "",
    "candidates x at {1.5}",
    "candidates x at bins 2",
    "candidates x at quantiles 2",
    "feature x: category",
    "feature x: ordered {2, 0, 1}",
)


def found(spec: str, rows: dict[str, Any]) -> Inseparable | None:
    analysis = odtdsl.parse(spec).analyse(frame=rows)
    return inseparable(normalize(analysis.rows), analysis.rows)


def drawn(draw: random.Random) -> dict[str, Any]:
    n = draw.randrange(3, 7)
    return {
        "x": [draw.choice([0, 1, 2, 2, None]) for _ in range(n)],
        "c": [draw.choice("pq") for _ in range(n)],
        "w": [draw.choice([0, 1, 1, 2.5]) for _ in range(n - 1)] + [1],
        "y": [draw.choice("ab") for _ in range(n)],
        "n": [draw.choice([0, 1, 4]) for _ in range(n)],
    }


@pytest.mark.parametrize("seed", range(scaled(150)))
def test_the_least_errors_are_those_of_the_best_tree_of_any_depth(seed: int) -> None:
    """Of at most six rows five splits on a path are all that can be of use.

    Where each split learns its side of missing cells, no model has less, but some cannot have it.
    """
    draw = random.Random(seed)
    rows, way = drawn(draw), draw.choice(WAYS)
    missing = draw.choice(["left", "right", "branch"])
    spec = f"data frame weight w missing {missing} {way} tree depth <= 5 "
    rows["x"][0] = 0
    classes = spec + "drop n target y minimize errors"
    least = found(classes, rows)
    errors = Fraction(0) if least is None else least.errors
    optimum = odtdsl.solve(classes, frame=rows).objective
    assert isinstance(errors, Fraction)
    assert isinstance(optimum, Fraction)
    assert errors <= optimum
    assert missing == "branch" or errors == optimum
    numbers = spec + "drop y target n: number minimize mse"
    best = odtdsl.solve(numbers, frame=rows).objective
    told = found(numbers, rows)
    wanted = 0.0 if told is None else told.mse
    assert isinstance(best, Fraction)
    assert wanted is not None
    assert wanted <= float(best) + 1e-9
    assert missing == "branch" or float(best) == pytest.approx(wanted, abs=1e-9)


def test_what_is_not_told() -> None:
    rows = {"x": [1, 1, 2], "z": [1, 1, 3], "y": ["a", "b", "b"], "n": [1, 2, 2]}
    assert found("data frame drop n target y tree depth <= 1 minimize errors", rows) == Inseparable(
        rows=2, errors=Fraction(1)
    )
    slanted = "data frame drop n target y tree depth <= 1, splits hyperplane minimize errors"
    assert found(slanted, rows) is None
    mae = "data frame drop y target n: number tree depth <= 1 minimize mae"
    assert found(mae, rows) == Inseparable(rows=2)
    reward = "data frame drop y target choice {z, n} by reward tree depth <= 1 maximize reward"
    assert found(reward, rows) is None


def test_check_tells_them_and_that_no_tree_can_satisfy_the_rules(tmp_path: Path) -> None:
    rows = {"x": [1, 1, 1, 2], "z": [1, 1, 1, 3], "y": ["a", "b", "b", "b"]}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    spec = tmp_path / "s.odt"
    said = 'data "rows.csv" target y tree depth <= 1 minimize errors '

    def check(text: str, *words: str) -> str:
        spec.write_text(text)
        ran = CliRunner().invoke(app, ["check", str(spec), *words])
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    assert check(said).splitlines() == [
        f"{spec}: 4 training rows, 2 features, 0 rules: no mistakes found",
        "3 rows look to every test like a row of another class: no model has fewer errors than 1",
    ]
    told = json.loads(check(said, "--json"))
    assert told["inseparable"] == {"rows": 3, "errors": 1, "mse": None}
    plan = CliRunner().invoke(app, ["plan", str(spec)])
    assert plan.stdout.splitlines()[-1] == check(said).splitlines()[-1]
    plan = CliRunner().invoke(app, ["plan", str(spec), "--json"])
    assert json.loads(plan.stdout)["inseparable"] == told["inseparable"]
    for rules in ("rule a: uses(x) rule b: not uses(x)", "rule a: forall path: cost <= -1"):
        assert "but no tree can satisfy the rules" in check(said + rules)
        assert "no mistakes found" not in check(said + rules)
    single = said + "rule a: forall split: level >= 5"
    assert "no mistakes found" in check(single), "a tree without splits can"
    assert odtdsl.solve(spec).status == "optimal"
