"""A task is one folder: a toy one is found, and works from check to report."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odtdsl.auditor.targets import AuditPart
from odtdsl.base.tasks import Part, task_of_type, tasks
from odtdsl.compiler.targets import TargetPart
from odtdsl.driver.scoring import ScorePart
from odtdsl.predictors.leaves import LeafPart
from odtdsl.presentation.report.targets import ReportPart
from odtdsl.problem.ir.targets import ProblemPart

Odt = Callable[..., subprocess.CompletedProcess[str]]
RUN = [sys.executable, str(Path(__file__).parent / "toy_task.py")]
DATA = "x,z,placebo,drug\n1,0,1,0\n2,1,1,2\n3,0,2,0\n4,1,0,4\n5,0,0,3\n6,1,3,1\n"
SPEC = """data "rows.csv"
target placebo, drug: pick
tree depth <= 2
maximize picked_reward then minimize leaves
rule good: picked_reward >= 15
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    """A process that knows the toy and runs command after command."""
    pipe = subprocess.PIPE
    with subprocess.Popen(RUN, stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@pytest.fixture
def odt(runner: subprocess.Popen[str]) -> Odt:
    def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        assert runner.stdin is not None
        assert runner.stdout is not None
        print(json.dumps([str(cwd), words]), file=runner.stdin, flush=True)
        status, out, err = json.loads(runner.stdout.readline())
        return subprocess.CompletedProcess(words, status, out, err)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(DATA, encoding="utf-8")
    (tmp_path / "spec.odt").write_text(SPEC, encoding="utf-8")
    return tmp_path


# ---- the tasks of the package


def test_every_task_has_all_parts() -> None:
    parts: tuple[type[Part], ...] = (
        *(AuditPart, LeafPart, ProblemPart, ReportPart, ScorePart, TargetPart),
    )
    assert set(Part.__subclasses__()) == set(parts)
    for kind in tasks():
        for part in parts:
            assert isinstance(part.of(kind), part)


def test_types_of_targets_tell_the_task() -> None:
    found = {word: task_of_type(word) for word in ("class", "ordered", "number", "integer")}
    assert [task and task.kind for task in found.values()] == ["class", "class", "number", "number"]
    assert task_of_type("category") is None


def test_a_part_is_of_the_kind_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odtdsl.tasks.classes.leaf.PART", object())
    with pytest.raises(AssertionError, match="holds a LeafPart"):
        LeafPart.of("class")


def test_no_floor_asks_for_a_kind_of_target() -> None:
    package = Path(__file__).resolve().parents[1] / "odtdsl"
    asks = re.compile(r"target(_kind|\.kind) *([!=]=|in\b|not in\b)")
    files = [path for path in package.rglob("*.py") if "tasks" not in path.parts]
    assert len(files) > 400
    found = {
        str(path.relative_to(package))
        for path in files
        if asks.search(path.read_text(encoding="utf-8"))
    }
    assert found == set()
    assert asks.search('if problem.target.kind == "number":')


# ---- a toy


def test_a_toy_task_works_from_check_to_report(folder: Path, odt: Odt) -> None:
    done = odt("check", "spec.odt", cwd=folder)
    assert done.returncode == 0, done.stderr

    done = odt("solve", "spec.odt", "--using", "exact", "--out", "tree.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "maximize picked_reward: 15, proven" in done.stdout
    assert "placebo  (2 rows)" in done.stdout
    saved = json.loads((folder / "tree.json").read_text(encoding="utf-8"))
    assert (saved["task"], saved["classes"]) == ("pick", ["placebo", "drug"])

    done = odt("audit", "spec.odt", "tree.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = odt("predict", "tree.json", "rows.csv", cwd=folder)
    assert done.stdout.split() == ["pick", "placebo", "drug", "placebo", "drug", "drug", "placebo"]
    done = odt("export", "tree.json", "--to", "sql", cwd=folder)
    assert '"predicted_pick"' in done.stdout

    done = odt("report", "spec.odt", "--out", "page.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    for said in ("Rewards", "mean reward", "placebo 3 · drug 0", "maximize picked_reward"):
        assert said in page, said


def test_the_audit_finds_a_toy_that_is_wrong(folder: Path, odt: Odt) -> None:
    assert odt("solve", "spec.odt", "--out", "tree.json", cwd=folder).returncode == 0
    path = folder / "tree.json"
    tree = json.loads(path.read_text(encoding="utf-8"))
    leaf = next(leaf for leaf in _leaves(tree["root"]) if leaf["size"] == 2)
    leaf["label"] = 1 - leaf["label"]
    path.write_text(json.dumps(tree), encoding="utf-8")
    done = odt("audit", "spec.odt", "tree.json", cwd=folder)
    assert done.returncode != 0
    assert "good" in done.stdout
    leaf["label"] = 2
    path.write_text(json.dumps(tree), encoding="utf-8")
    assert "F210" in odt("audit", "spec.odt", "tree.json", cwd=folder).stderr


def _leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node["node"] == "leaf":
        yield node
    else:
        yield from _leaves(node["left"])
        yield from _leaves(node["right"])


def test_messages_speak_of_the_toy(folder: Path, odt: Odt) -> None:
    (folder / "bad.odt").write_text(
        SPEC.replace("maximize picked_reward", "minimize errors"), encoding="utf-8"
    )
    said = odt("check", "bad.odt", cwd=folder).stderr
    assert "`errors` needs a class target, but the target is a pick" in said
    assert "for a pick use `picked_reward`" in said


def test_test_rows_of_a_toy_have_its_measure(folder: Path, odt: Odt) -> None:
    spec = SPEC.replace('"rows.csv"', '"rows.csv", test "rows.csv"')
    (folder / "spec.odt").write_text(spec, encoding="utf-8")
    done = odt("solve", "spec.odt", cwd=folder)
    assert "test: mean reward 2.5 on 6 rows" in done.stdout
    assert "always predicting drug: mean reward" in done.stdout


def test_a_toy_has_no_errors_to_be_near_by(folder: Path, odt: Odt) -> None:
    """Though every row loses as much by the second choice as by the first."""
    (folder / "rows.csv").write_text("x,a,b\n1,1,0\n2,1,0\n3,1,0\n", encoding="utf-8")
    spec = 'data "rows.csv" target a, b: pick tree depth <= 1 maximize picked_reward'
    (folder / "spec.odt").write_text(spec, encoding="utf-8")
    assert "U314" in odt("solve", "spec.odt", "--near", "1 errors", cwd=folder).stderr
    done = odt("solve", "spec.odt", "--near", "1", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_conflict_of_a_toy_is_explained(folder: Path, odt: Odt) -> None:
    (folder / "spec.odt").write_text(SPEC.replace(">= 15", ">= 16"), encoding="utf-8")
    said = odt("explain", "spec.odt", cwd=folder)
    assert "no tree satisfies `good`" in said.stdout + said.stderr
    assert "a bound of at most 15" in said.stdout + said.stderr


def test_back_ends_prove_the_best_reward_of_a_toy(tmp_path: Path) -> None:
    """Against all trees of two levels, on random rows."""
    draw, back_ends = random.Random(5), ("exact", "milp", "sat", "cpsat")
    asked: list[dict[str, list[int]]] = []
    while len(asked) < 5:
        many = draw.randint(2, 8)
        columns = {name: [draw.randint(0, 3) for _ in range(many)] for name in ("x", "z")}
        columns |= {name: [draw.randint(-2, 5) for _ in range(many)] for name in ("a", "b", "c")}
        if all(len(set(columns[name])) > 1 for name in ("x", "z")):
            asked.append(columns)
    spec = "target a, b, c: pick\ntree depth <= 2\nmaximize picked_reward"
    text = json.dumps([[spec, one] for one in asked])
    done = subprocess.run(
        [*RUN, "values", *back_ends],
        cwd=tmp_path,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pairs = itertools.product(asked, back_ends)
    for (columns, by), found in zip(pairs, json.loads(done.stdout), strict=True):
        most = best(columns, tuple(range(len(columns["x"]))), 2)
        assert found == ["optimal", [str(most)], True], by


def best(columns: dict[str, list[int]], rows: tuple[int, ...], depth: int) -> int:
    """The largest reward of a tree, over all splits."""
    found = max(sum(columns[name][row] for row in rows) for name in ("a", "b", "c"))
    if depth == 0:
        return found
    for name, cut in itertools.product(("x", "z"), range(3)):
        left = tuple(row for row in rows if columns[name][row] <= cut)
        right = tuple(row for row in rows if columns[name][row] > cut)
        if left and right:
            sides = best(columns, left, depth - 1) + best(columns, right, depth - 1)
            found = max(found, sides)
    return found
