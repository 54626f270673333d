"""Formulas that solvers of other projects read, and their answers read back as trees."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.result import Result

RUNS = {
    "minisat": ("cnf",),
    "cadical": ("cnf",),
    "clasp": ("cnf", "wcnf", "opb"),
}


STUDY = (("mouse", "X", 4, 8), ("monk1", "target", 5, 8), ("iris", "target", 4, 8))
"""Sets of the DT_depth / DT_size study: target, least depth and, at it, least leaves."""


def solved_by(name: str, path: Path) -> Path:
    """The file with the answer of a solver."""
    answer = path.with_suffix(".answer")
    if name == "minisat":
        command = [name, "-verb=0", str(path), str(answer)]
        subprocess.run(command, check=False, capture_output=True, timeout=120)
    else:
        done = subprocess.run(
            [name, str(path)], check=False, capture_output=True, text=True, timeout=120
        )
        answer.write_text(done.stdout)
    return answer


@pytest.mark.parametrize(("name", "to"), [(n, to) for n, tos in RUNS.items() for to in tos])
def test_solvers_of_debian_find_trees_of_the_same_size(name: str, to: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not on PATH (Debian: apt-get install {name})")
    spec = odtdsl.parse(
        'data sklearn "iris" target target tree depth <= 3 candidates * at quantiles 6'
        " minimize errors then leaves rule robust: forall leaf: size >= 4"
    )
    expected = spec.solve(using="exact")
    assert isinstance(expected.objective, tuple)
    bound = [value for value in expected.objective if value is not None] if to == "cnf" else []
    path = tmp_path / f"iris.{to}"
    spec.compile(path, bound=bound)
    result = spec.decode(solved_by(name, path), to=to, bound=bound)  # type: ignore[arg-type]
    assert agreed(result, expected)
    if to == "cnf":
        spec.compile(path, bound=bound[0] - 1)
        with pytest.raises(OdtError) as caught:
            spec.decode(solved_by(name, path), to=to, bound=bound[0] - 1)  # type: ignore[arg-type]
        assert caught.value.diagnostics[0].code == "U210"


@pytest.mark.parametrize("name", RUNS)
def test_solvers_of_debian_find_the_least_trees_of_the_study(name: str, tmp_path: Path) -> None:
    """No error at the least depth with the least leaves, and nothing with one leaf less."""
    folder = os.environ.get("ODTDSL_DATA")
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not on PATH (Debian: apt-get install {name})")
    if folder is None:
        pytest.skip("ODTDSL_DATA does not name the folder of public data")
    for table, target, depth, leaves in STUDY:
        file = Path(folder) / "sat" / f"{table}.csv"
        spec = odtdsl.parse(
            f'data "{file}" target `{target}`: class feature *: number'
            " tree minimize depth then leaves rule exact: errors <= 0"
        )
        path = tmp_path / f"{table}.cnf"
        spec.compile(path, bound=[depth, leaves])
        result = spec.decode(solved_by(name, path), bound=[depth, leaves])
        assert agreed(result, spec.solve(using="exact"))
        spec.compile(path, bound=[depth, leaves - 1])
        with pytest.raises(OdtError) as caught:
            spec.decode(solved_by(name, path), bound=[depth, leaves - 1])
        assert caught.value.diagnostics[0].code == "U210"


def agreed(result: Result, expected: Result) -> bool:
    assert result.audit is not None
    assert result.tree is not None
    assert expected.tree is not None
    return (
        result.audit.holds
        and result.objective == expected.objective
        and result.tree.n_leaves == expected.tree.n_leaves
    )
