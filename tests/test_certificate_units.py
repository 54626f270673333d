"""What a certificate shows is told in the units of the audit, not in those of the checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odtdsl
from odtdsl.insight.proofs import certificate
from odtdsl.insight.proofs.commands import verify

DRAW = np.random.default_rng(1)
ROWS = {"x": DRAW.integers(0, 9, 40), "z": DRAW.integers(0, 5, 40)}
CLASSES: dict[str, Any] = ROWS | {
    "y": np.where(DRAW.random(40) < 0.2, "a", np.where(ROWS["x"] > 4, "a", "b")),
    "w": DRAW.integers(1, 4, 40) / 10,
}
NUMBERS: dict[str, Any] = ROWS | {"y": (ROWS["x"] * 1.5 + DRAW.random(40)).round(2)}


@pytest.mark.parametrize(
    ("goal", "rows"),
    [
        ("minimize errors", CLASSES),
        ("minimize error_rate + 0.01 * leaves", CLASSES),
        ("maximize accuracy then minimize leaves", CLASSES),
        ("minimize leaves then errors rule few: errors <= 9", CLASSES),
        ("minimize error_rate rule fair: balanced_accuracy >= 60%", CLASSES),
        ("weight w minimize errors", CLASSES),
        ("minimize mse", NUMBERS),
        ("minimize mse + 0.1 * leaves", NUMBERS),
    ],
)
def test_bounds_are_told_in_the_units_of_the_audit(
    goal: str, rows: dict[str, Any], tmp_path: Path
) -> None:
    model = odtdsl.parse("data frame target y tree depth <= 2 " + goal)
    result = odtdsl.solve(model, frame=rows, proof=tmp_path / "p.cert")
    assert result.status == "optimal"
    stages = [(one.text.split(" ", 1)[1], one.value) for one in result.stages]
    claim = certificate.verify(model.analyse(frame=rows), tmp_path / "p.cert").claims[-1]
    head, _, told = claim.partition(" than ")
    assert head == "of depth at most 2, no tree is better"
    for (name, value), said in zip(stages, told.split(", then "), strict=True):
        assert said.startswith(name + " ")
        assert float(said.removeprefix(name + " ")) == pytest.approx(float(value or 0), rel=1e-6)


def test_a_list_is_told_in_the_units_of_the_audit(tmp_path: Path) -> None:
    model = odtdsl.parse("data frame target y tree depth <= 1 minimize error_rate + 0.01 * leaves")
    model.frame = CLASSES
    found = odtdsl.alternatives(model, near="0.1").certify(tmp_path / "p.cert")
    assert found.certificate is not None
    (line, *_) = [one.statement for one in verify(model.analyse(), tmp_path / "p.cert")]
    said = float(line.rpartition(" ")[2])
    best, *_, worst = sorted(float(one.objective[0]) for one in found.trees)
    assert best < worst <= said <= best + 0.1
