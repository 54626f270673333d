"""`compare`: the same problem on several back ends, and what happens where proofs disagree."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.base.back_ends import entry_of, names
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver import comparison, pipeline
from odtdsl.driver.comparison import contradictions
from odtdsl.driver.result import Result, Stage
from odtdsl.interfaces.cli.main import app

ROWS = {
    "a": [1, 2, 3, 4, 5, 6, 7, 8],
    "b": ["x", "y"] * 4,
    "y": ["n", "n", "p", "p", "n", "p", "p", "p"],
}
SPEC = 'data frame target y positive "p" tree depth <= 2 minimize errors then leaves'
HARD = 'rule link: same_leaf(0, 7) and recall("p") >= 90%'


@pytest.fixture
def spec(tmp_path: Path):
    def write(text: str) -> str:
        lines = [
            ",".join(ROWS),
            *(",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)),
        ]
        (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        path = tmp_path / "spec.odt"
        path.write_text(text.replace("data frame", 'data "rows.csv"'), encoding="utf-8")
        return str(path)

    return write


def test_all_that_can_run_and_agree() -> None:
    found = odtdsl.compare(SPEC, frame=ROWS)
    listed = [entry.name for entry in found.entries]
    assert [name for name in listed if " (" not in name] == [
        name for name in names() if entry_of(name).ends
    ]
    for some in (
        ["milp", "milp (subtrees)", "milp (cptree)", "milp (odd)"],
        ["sat", "sat (paper)"],
    ):
        assert [name for name in listed if name.split(" ")[0] == some[0]] == some
    assert found.status == "optimal"
    values = {r.objective for r in found.ran if r.status == "optimal"}
    assert len(values) == 1
    assert odtdsl.parse(SPEC).compare(frame=ROWS, backends=["milp"]).ran[0].objective in values


def test_what_cannot_run_is_left_out_with_the_reason() -> None:
    found = odtdsl.compare(f"{SPEC} rule m: increasing(a)", frame=ROWS)
    reasons = {entry.name: entry.reason for entry in found.entries}
    assert "Monotone" in reasons["milp (cptree)"]
    assert not reasons["milp"]
    assert found.status == "optimal"


def test_an_unknown_back_end_is_an_error() -> None:
    with pytest.raises(OdtError, match="B101"):
        odtdsl.compare(SPEC, frame=ROWS, backends=["milp", "abacus"])


def test_the_table_and_the_json(spec) -> None:
    path = spec(f"{SPEC}\n{HARD}")
    shown = CliRunner().invoke(app, ["compare", path])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0].split("  ")[0] == "back end"
    assert any(line.startswith("milp ") and "optimal" in line for line in lines)
    answer = json.loads(CliRunner().invoke(app, ["compare", path, "--json"]).stdout)
    runs = {run["backend"]: run for run in answer["runs"]}
    assert answer["status"] == runs["milp"]["status"] == "optimal"
    assert runs["milp"]["size"]["rows"] > 0


def test_infeasible_everywhere_exits_with_three(spec) -> None:
    path = spec(f"{SPEC}\nrule a: same_leaf(0, 1)\nrule b: different_leaf(0, 1)")
    result = CliRunner().invoke(app, ["compare", path, "--json", "--on", "milp"])
    assert result.exit_code == 3, result.output


# ---- disagreement

MINIMIZE = ((1, False),)


def answer(status: str, value: int | None, bound: int | None) -> Result:
    model = odtdsl.solve("data frame target y tree depth <= 1 minimize errors", frame=ROWS)
    as_fraction = [None if x is None else Fraction(x) for x in (value, bound)]
    stage = Stage(
        text="minimize errors",
        value=as_fraction[0],
        bound=as_fraction[1],
        gap=None,
        proven=value is not None and value == bound,
    )
    return replace(
        model,
        status=status,  # type: ignore[arg-type]
        stages=(stage,),
        model=model.model if value is not None else None,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "wrong"),
    [
        (("optimal", 3, 3), ("optimal", 3, 3), False),
        (("optimal", 4, 4), ("optimal", 3, 3), True),
        (("optimal", 4, 4), ("feasible", 3, 1), True),
        (("feasible", 5, 4), ("feasible", 3, 1), True),
        (("feasible", 5, 2), ("optimal", 3, 3), False),
        (("infeasible", None, None), ("feasible", 9, None), True),
        (("infeasible", None, None), ("unknown", None, 4), False),
        (("optimal", 3, 3), ("feasible", 4, None), False),
    ],
)
def test_a_proof_that_a_model_refutes(mine, theirs, wrong) -> None:
    found = list(contradictions(answer(*mine), answer(*theirs), MINIMIZE))
    assert bool(found) == wrong


def test_a_later_stage_counts_only_where_the_earlier_ones_agree() -> None:
    def two(first: int, second: int, bound: int) -> Result:
        one = answer("optimal", first, first)
        later = answer("optimal", second, bound)
        return replace(one, stages=(*one.stages, *later.stages))

    kinds = (*MINIMIZE, *MINIMIZE)
    assert list(contradictions(two(2, 5, 5), two(2, 4, 4), kinds))
    assert not list(contradictions(two(2, 5, 5), two(3, 4, 4), kinds))
    maximize = ((1, False), (-1, False))
    assert list(contradictions(two(2, 4, 4), two(2, 5, 5), maximize))
    assert not list(contradictions(two(2, 5, 5), two(2, 4, 4), maximize))


def test_a_disagreement_is_an_internal_error(monkeypatch: pytest.MonkeyPatch, spec) -> None:
    def lying(analysis, *, backend, **options):
        result = pipeline.solve(analysis, backend=backend, **options)
        if backend != "milp":
            return result
        worse = replace(result.stages[0], value=Fraction(5), bound=Fraction(5))
        return replace(result, stages=(worse, *result.stages[1:]))

    monkeypatch.setattr(comparison, "solve", lying)
    with pytest.raises(OdtError, match="X102"):
        odtdsl.compare(SPEC, frame=ROWS, backends=["exact", "milp"])
    result = CliRunner().invoke(app, ["compare", spec(SPEC), "--on", "exact", "--on", "milp"])
    assert result.exit_code == 70
