"""The table of claims is true to the project, and the claims that no other test holds."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import odtdsl
from odtdsl.base.back_ends import entry_of, names

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/claims.md"


@dataclass(frozen=True)
class Claim:
    quote: str
    stands_in: str
    held_by: tuple[str, ...]


def claims(text: str) -> Iterator[Claim]:
    """The lines of the tables of a page."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "claim" and not cells[0].startswith("---"):
            assert len(cells) == 3, line
            held_by = re.findall(r"`([^`]*)`", cells[2])
            yield Claim(cells[0], cells[1].strip("`"), tuple(held_by))


def plain(text: str) -> str:
    return " ".join(text.split())


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def constants(path: Path) -> set[object]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def wrong(claim: Claim) -> Iterator[str]:
    """What is not so of a line of the table."""
    file = ROOT / claim.stands_in
    if not file.is_file() or plain(claim.quote) not in plain(file.read_text(encoding="utf-8")):
        yield f"{claim.stands_in} does not say: {claim.quote}"
    if not claim.held_by:
        yield f"nothing holds: {claim.quote}"
    for holder in claim.held_by:
        if holder.startswith("python "):
            _, script, *words = holder.split()
            known = (ROOT / script).is_file() and set(words) <= constants(ROOT / script)
        else:
            name, _, function = holder.partition("::")
            test = ROOT / "tests" / name
            known = test.is_file() and function.startswith("test_") and function in functions(test)
        if not known:
            yield f"there is no {holder}"


def test_every_claim_stands_and_is_held() -> None:
    found = list(claims(PAGE.read_text(encoding="utf-8")))
    assert len(found) > 50
    assert [said for claim in found for said in wrong(claim)] == []


@pytest.mark.parametrize(
    "line",
    [
        "| never written anywhere | `README.md` | `test_claims.py::claims` |",
        "| optimal | `README.md` | `test_claims.py::test_that_is_not_there` |",
        "| optimal | `README.md` | `test_of_nothing.py::test_the_optimum` |",
        "| optimal | `README.md` | `python benchmarks/exact.py guesses` |",
        "| optimal | `README.md` | some test |",
        "| optimal | `READYOU.md` | `test_claims.py::test_a_wrong_line_is_found` |",
    ],
)
def test_a_wrong_line_is_found(line: str) -> None:
    (claim,) = claims(line)
    assert list(wrong(claim))


IRIS = """
data sklearn "iris"
target target
candidates * at bins 3
tree depth <= 2
minimize errors then leaves
solve within 60 s, seed 3
"""


@pytest.mark.parametrize("name", [name for name in names() if entry_of(name).ends])
def test_the_same_back_end_and_seed_give_the_same_answer(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """And no word of it is printed, by Python or by a solver."""
    if name == "cpsat":
        pytest.importorskip("ortools")
    small = IRIS.replace("depth <= 2", "depth <= 1").replace(" then leaves", "")
    takes = odtdsl.parse(f"{IRIS} solve using {name}").plan().choice.name
    one, two = (odtdsl.parse(IRIS if takes else small).solve(using=name) for _ in range(2))
    assert one.tree is not None
    assert two.tree is not None
    assert one.tree == two.tree
    assert one.stages == two.stages
    assert capfd.readouterr() == ("", "")


def test_an_audit_loads_no_solver(tmp_path: Path) -> None:
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps(odtdsl.parse(IRIS).solve().to_json()))
    (tmp_path / "iris.odt").write_text(IRIS)
    code = f"""
import sys
for name in ("odtdsl.base._engine", "highspy", "pyomo", "pysat", "ortools"):
    sys.modules[name] = None
from odtdsl.interfaces.cli.main import app
app(["audit", "iris.odt", {str(tree)!r}, "--json"])
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["holds"] is True


def test_test_rows_change_no_model() -> None:
    """Rows that are held out may be far away and of other levels: the tree is the same."""
    frame = load_iris(as_frame=True).frame
    frame.columns = ["a", "b", "c", "d", "y"]
    frame["kind"] = [("u", "v", "w")[i % 3] for i in range(len(frame))]
    spec = odtdsl.parse(
        "data frame\ntarget y: class\ncandidates * at quantiles 4\ntree depth <= 2\nminimize errors"
    )
    other = frame.assign(
        a=frame.a * 1000, d=-frame.d, kind="z", y=frame.y.sample(frac=1, random_state=1).values
    )
    alone, beside = spec.solve(frame=frame), spec.solve(frame=frame, test_frame=other)
    assert beside.test is not None
    assert beside.tree is not None
    assert beside.tree == alone.tree
    assert beside.stages == alone.stages
