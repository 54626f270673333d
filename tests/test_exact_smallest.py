"""Least depth, then least leaves, without error: the DT_depth and DT_size problems from a spec."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

import odtdsl

PUBLISHED = {
    "car": (8, 143),
    "mouse": (4, 15),
    "monk1": (5, 15),
    "monk2": (6, 67),
    "iris": (4, 15),
    "wine": (3, 15),
}
SPEC = """
data "{path}"
target {target}: class
feature *: number
tree
minimize depth then nodes
rule perfect: errors = 0
"""


@pytest.mark.parametrize("name", PUBLISHED)
def test_depth_and_nodes_are_those_of_the_study(name: str) -> None:
    folder = os.environ.get("ODTDSL_DATA")
    if not folder:
        pytest.skip("ODTDSL_DATA does not name the folder of public data")
    path = Path(folder) / "sat" / f"{name}.csv"
    target = path.open().readline().strip().split(",")[-1]
    result = odtdsl.parse(SPEC.format(path=path, target=target)).solve()
    assert result.status == "optimal"
    assert tuple(stage.value for stage in result.stages) == PUBLISHED[name]


def test_a_tree_deeper_than_is_searched_is_neither_impossible_nor_proven(tmp_path: Path) -> None:
    """One row a feature: each split parts one row from the others, and 45 are needed.

    The search stops at depth 30; the tree that it starts from was grown as deep as it must be.
    """
    n = 45
    with (tmp_path / "deep.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([f"x{i}" for i in range(n)] + ["y"])
        writer.writerows([int(i == j) for j in range(n)] + [1] for i in range(n))
        writer.writerow([0] * n + [0])
    spec = SPEC.format(path=tmp_path / "deep.csv", target="y")
    result = odtdsl.parse(spec).solve(within="0.5 s")
    assert result.status == "feasible"
    assert result.tree is not None
    assert result.tree.depth == n
