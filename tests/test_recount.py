"""`odt audit` counts again what a saved result says beside its model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from odtdsl.interfaces.cli.main import app

ROWS = "a,g,y\n1,u,n\n1,v,n\n2,u,p\n2,v,p\n2,u,n\n"
TEST = "a,g,y\n1,u,n\n1,u,p\n2,v,p\n"
SPEC = """data "d.csv", test "t.csv"
target y positive "p"
drop g
group u = g == "u"
group v = g == "v"
tree depth <= 1
minimize errors then leaves
rule parity: gap(rate("p"), u, v) <= 50%
"""
NUMBERS = """data "d.csv"
target a: number
drop y
tree depth <= 1
minimize mse
"""
DIAGRAM = SPEC.replace("tree depth <= 1", "diagram widths 1, 2").replace(" then leaves", "")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "d.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "t.csv").write_text(TEST, encoding="utf-8")
    return tmp_path


def solved(folder: Path, spec: str = SPEC) -> dict[str, Any]:
    (folder / "s.odt").write_text(spec, encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(folder / "s.odt"), "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def audited(folder: Path, result: object) -> Result:
    (folder / "r.json").write_text(json.dumps(result), encoding="utf-8")
    return CliRunner().invoke(app, ["audit", str(folder / "s.odt"), str(folder / "r.json")])


@pytest.mark.parametrize("spec", [SPEC, NUMBERS, DIAGRAM])
def test_an_honest_result_passes(folder: Path, spec: str) -> None:
    done = audited(folder, solved(folder, spec))
    assert done.exit_code == 0, done.output
    assert "result status" in done.output


def edit(*keys: Any, to: object) -> Callable[[dict[str, Any]], None]:
    def change(result: dict[str, Any]) -> None:
        inside: Any = result
        for key in keys[:-1]:
            inside = inside[key]
        assert inside[keys[-1]] != to
        inside[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (edit("errors", to=0), "errors 0, counted 1"),
        (edit("leaves", to=1), "leaves 1, counted 2"),
        (edit("objective", to=[0, 2]), "objective[0] 0, counted 1"),
        (edit("objective", to=None), "objective null, counted [1, 2]"),
        (edit("stages", 0, "value", to=0), "stages[0].value 0, counted 1"),
        (edit("stages", 0, "text", to="minimize loss"), 'stages[0].text "minimize loss"'),
        (edit("status", to="infeasible"), "status infeasible, although there is a model"),
        (edit("stages", 1, "proven", to=False), "status optimal, although a stage is not proven"),
        (edit("bound", to=[0, 2]), "bound [0, 2], but the stages have [1, 2]"),
        (edit("stages", 0, "bound", to=2), "stages[0]: proven with bound 2, but counted 1"),
        (edit("stages", 0, "bound", to="1"), 'stages[0]: bound "1" is not a number'),
        (edit("audit", -1, "value", to=0.1), "parity: value 0.1, counted"),
        (edit("audit", -1, "holds", to=False), "parity: holds false, counted true"),
        (edit("test", "errors", to=0), "test.errors 0, counted 1"),
        (edit("test", "accuracy", to=1), "test.accuracy 1, counted 0.666"),
        (edit("test", "objective", to=[0, 2]), "test.objective[0] 0, counted 1"),
        (edit("test", "audit", 0, "holds", to=True), "test.audit[parity].holds true"),
        (edit("test", "audit", 0, "rows", 0, "rows", to=9), "rows 9, counted 2"),
        (edit("test", "baseline", "errors", to=3), "test.baseline.errors 3, counted 2"),
    ],
)
def test_a_falsified_figure_is_told(
    folder: Path, change: Callable[[dict[str, Any]], None], told: str
) -> None:
    result = solved(folder)
    change(result)
    done = audited(folder, result)
    assert done.exit_code == 1
    assert told in done.output


@pytest.mark.parametrize("to", [None, 3, "x", [], {}, [3], [[]], True, 1e400])
@pytest.mark.parametrize("key", ["stages", "audit", "test", "bound", "problem", "status"])
def test_what_is_no_result_is_told_or_left_alone(folder: Path, key: str, to: object) -> None:
    done = audited(folder, {**solved(folder), key: to})
    assert done.exit_code in (0, 1), done.output


def test_of_another_spec_only_what_rows_decide_is_compared(folder: Path) -> None:
    result = solved(folder)
    text = SPEC.replace("50%", "60%").replace("then leaves", "then depth")
    (folder / "s.odt").write_text(text, encoding="utf-8")
    done = audited(folder, result)
    assert done.exit_code == 0, done.output
    assert "result status" not in done.output
    done = audited(folder, {**result, "errors": 0})
    assert "errors 0, counted 1" in done.output
