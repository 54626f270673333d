"""`sat` on diagrams: optima against enumeration, and skeletons without errors on real sets.

That its clauses admit what enumeration does is in `test_cpsat`, which has the same clauses.
Long runs: see `diagram_models`.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from diagram_models import plain, same_optimum, same_price, same_set
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.sat.backend import Sat
from odtdsl.base.diagnostics.model import OdtError

pytestmark = pytest.mark.usefixtures("few_starts")

XOR = {"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "y": ["even", "odd", "odd", "even"] * 5}


def test_clauses_admit_what_enumeration_does() -> None:
    seen = sum((same_set(f"sat sets {i}", cpsat=False) for i in range(scaled(18))), Counter())
    assert seen["sets"] > 7 * SCALE
    assert seen["diagrams"] > 300 * SCALE


def test_answers_are_the_best_of_the_enumeration() -> None:
    seen = sum(
        (same_optimum(f"optimum {i}", "sat") for i in range(scaled(44, least=15))), Counter()
    )
    assert seen["optimal"] > 5 * SCALE
    assert seen["infeasible"] > SCALE


def test_answers_without_rules_are_the_best_by_partitions() -> None:
    assert sum((same_price(f"price {i}", "sat") for i in range(scaled(6))), Counter())[
        "priced"
    ] == scaled(6)


REAL = [
    ("monk1", "1, 2, 2, 1, 1", "infeasible"),
    pytest.param("wine", "1, 2, 3", "infeasible", marks=pytest.mark.nightly),
    ("wine", "1, 2, 4", "optimal"),
]


@pytest.mark.parametrize(("name", "widths", "status"), REAL)
def test_skeletons_without_errors_on_real_sets(name: str, widths: str, status: str) -> None:
    folder = os.environ.get("ODTDSL_DATA")
    if not folder:
        pytest.skip("ODTDSL_DATA does not name the folder of public data")
    path = Path(folder) / "sat" / f"{name}.csv"
    target = path.open(encoding="utf-8-sig").readline().strip().split(",")[-1]
    text = (
        f'data "{path}"\ntarget {target}: class\nfeature *: number\ndiagram widths {widths}\n'
        "minimize errors\nrule exact: errors <= 0"
    )
    result = odtdsl.solve(text, using="sat")
    assert result.status == status
    if result.audit is not None:
        assert result.audit.errors == 0


def test_parity_without_errors_and_fewest_splits() -> None:
    text = (
        "data frame target y diagram widths 1, 2, 2 minimize splits then depth"
        " rule exact: errors <= 0"
    )
    result = odtdsl.solve(text, frame=XOR, using="sat")
    assert (result.status, [stage.value for stage in result.stages]) == ("optimal", [3, 2])
    assert dict(result.counters)["rows"] <= 4, "kinds of rows"


def test_rows_alike_of_two_classes_are_told_at_once() -> None:
    table = {"a": [0, 0, 1], "y": ["p", "n", "p"]}
    text = "data frame target y diagram widths 1, 2 minimize splits rule exact: errors <= 0"
    assert odtdsl.solve(text, frame=table, using="sat").status == "infeasible"


@pytest.mark.parametrize("engine", [Sat("rc2"), Sat(encoding="paper")])
def test_what_is_of_trees_only_is_refused(engine: Sat) -> None:
    core, _ = plain("refused")
    with pytest.raises(OdtError) as caught:
        engine.solve(core, Limits())
    assert caught.value.diagnostics[0].code == "B102"


def test_formulas_and_proofs_are_of_trees(tmp_path: Path) -> None:
    analysis = odtdsl.parse("data frame target y diagram widths 1, 2 minimize errors")
    with pytest.raises(OdtError) as caught:
        analysis.compile(tmp_path / "x.cnf", frame=XOR)
    assert caught.value.diagnostics[0].code == "B102"
