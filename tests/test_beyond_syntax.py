"""An error of syntax does not hide those of names and types in the other statements."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from odtdsl.interfaces.cli.main import app

GOOD = ["target ill", "tree depth <= 2", "minimize errors"]


def told(tmp_path: Path, *lines: str) -> list[str]:
    """The codes of what `odt check` says of a spec, in order of place."""
    (tmp_path / "rows.csv").write_text("age,sex,ill\n20,m,no\n30,f,yes\n40,,yes\n50,f,no\n")
    spec = tmp_path / "spec.odt"
    spec.write_text("\n".join(['data "rows.csv"', "missing branch", *lines]) + "\n")
    found = CliRunner().invoke(app, ["check", str(spec)]).stderr
    return [part.partition("]")[0] for part in found.split("error[")[1:]]


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ([*GOOD, "rule a: errors <<= 3", "rule b: forall leaf: sise >= 5"], ["S001", "N201"]),
        ([*GOOD, "rule b: forall leaf: sise >= 5", "rule a: errors <<= 3"], ["N201", "S001"]),
        (["target ill", "tree depht <= 2", "minimize errors", "rule b: cost <= 5"], ["S", "T220"]),
        (
            ["target ill", "tree depth <= 2", "minimize errors thn leaves", "drop agee"],
            ["S", "N103"],
        ),
        # statements that can be parsed, but hold a word or number that means nothing
        (
            [*GOOD, "rule a: forall leafs: size >= 5", "rule b: forall leaf: sise >= 5"],
            ["S013", "N201"],
        ),
        ([*GOOD, "rule a: forall leafs: size >= 5", "rule b: leaves >="], ["S013", "S003"]),
        (["target ill: binary", *GOOD[1:], "rule b: leaves >="], ["S", "S003"]),
        (["target ill {age, sex} by reward", *GOOD[1:], "group a = age >"], ["S", "S003"]),
        # what a broken statement may have said counts as said
        ([*GOOD, "group old = age >> 30", "rule a: errors(old) <= 3"], ["S"]),
        ([*GOOD, "let bound == 3", "rule a: errors <= bound"], ["S"]),
        ([*GOOD, "rule a: errors <<= 3"], ["S001"]),
        (
            ["target ill ill", "tree depth <= 2", "minimize errors", "rule a: errors <<= 3"],
            ["S", "S"],
        ),
        (["tree depth <= 2", "minimize errors", "rule a: errors <<= 3", "drop agee"], ["S001"]),
    ],
)
def test_what_can_be_read_is_checked_too(
    tmp_path: Path, lines: list[str], codes: list[str]
) -> None:
    found = told(tmp_path, *lines)
    assert len(found) == len(codes), found
    assert all(a.startswith(b) for a, b in zip(found, codes, strict=True)), found


def test_missing_cells_of_several_columns_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,c,y\n1,,,no\n,2,u,yes\n3,4,v,no\n")
    spec = tmp_path / "spec.odt"
    spec.write_text('data "rows.csv" target y tree depth <= 1 minimize errors')
    done = CliRunner().invoke(app, ["check", str(spec)])
    assert done.stderr.count("error[D201]") == 1
    assert "3 columns have missing cells in the 3 training rows" in done.stderr
    assert "missing are `a` in 1, `b` in 1, `c` in 1" in done.stderr
    assert "write `missing {a, b, c} branch`" in done.stderr
