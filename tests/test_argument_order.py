"""Files on the command line: SPEC MODEL DATA everywhere, other orders understood, rows by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from odtdsl.interfaces.cli.main import app

SPEC = """data "rows.csv", separator ";", decimal ",", id name, test 25% seed 1
target ill
tree depth <= 1
minimize errors
rule half: gap(rate("yes"), sex) <= 60%
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec, its rows, a saved model and later rows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    lines = [f"p{at};{20 + at},5;{'mf'[at % 2]};{'yes' if at > 9 else 'no'}" for at in range(20)]
    Path("rows.csv").write_text("\n".join(["name;age;sex;ill", *lines]) + "\n")
    Path("later.csv").write_text("name;age;sex;ill\nq1;25,5;m;no\nq2;70,25;f;yes\n")
    Path("spec.odt").write_text(SPEC)
    assert run("solve spec.odt --out tree.json").exit_code == 0


def run(words: str) -> Result:
    return CliRunner().invoke(app, words.split())


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ("audit tree.json spec.odt", "SPEC MODEL"),
        ("audit later.csv tree.json spec.odt", "SPEC MODEL DATA"),
        ("why tree.json spec.odt --row 3", "SPEC MODEL"),
        ("report tree.json spec.odt --out page.html", "SPEC MODEL"),
        ("predict later.csv tree.json --separator ; --decimal ,", "MODEL DATA"),
        ("predict tree.json later.csv spec.odt", "SPEC MODEL DATA"),
        ("evaluate tree.json spec.odt later.csv", "SPEC MODEL DATA"),
    ],
)
def test_another_order_is_understood_and_told(given: str, order: str) -> None:
    told = run(given)
    assert told.exit_code == 0, told.output
    assert f"the order is {order}: read as" in told.stderr
    command, *words = told.stderr.partition("read as ")[2].split("\n")[0].split()
    options = [word for word in given.split()[1:] if word not in (command, *words)]
    again = run(" ".join([given.split()[0], command, *words, *options]))
    assert again.stdout == told.stdout
    assert "the order is" not in again.stderr


def test_names_that_say_nothing_are_taken_in_the_order_of_the_help() -> None:
    Path("tree.json").rename("tree.model")
    Path("later.csv").rename("later.rows")
    told = run("audit spec.odt tree.model later.rows")
    assert "on the 2 test rows" in told.stdout
    assert told.stderr == ""


def test_rows_are_read_as_the_spec_says() -> None:
    assert (
        run("predict spec.odt tree.json later.csv --id name").stdout == "name,ill\nq1,no\nq2,yes\n"
    )
    assert "later.csv" in run("predict tree.json later.csv").stderr


def test_a_missing_file_is_named() -> None:
    assert "Missing argument 'DATA'" in run("evaluate tree.json").stderr
    assert "U325" in run("audit spec.odt tree.json later.csv --test later.csv").stderr
    assert "U325" in run("report spec.odt tree.json --model tree.json").stderr
    assert "U325" in run("decode spec.odt").stderr


def test_why_finds_training_and_test_rows_by_name_and_number() -> None:
    for name, at in (("p3", 3), ("p17", 17)):
        by_name = run(f"why spec.odt tree.json --id {name}")
        assert f"(age is {20 + at}.5)" in by_name.stdout
        assert by_name.stdout == run(f"why spec.odt tree.json --row {at}").stdout
    every = [run(f"why spec.odt tree.json --id p{at} --json") for at in range(20)]
    assert {json.loads(one.stdout)["prediction"] for one in every} == {"yes", "no"}


def test_why_asks_rows_of_a_file_without_truth() -> None:
    Path("new.csv").write_text("name;age\nr1;99,5\n")
    told = run("why spec.odt tree.json new.csv --id r1")
    assert "(age is 99.5)" in told.stdout
    assert told.stdout == run("why spec.odt tree.json new.csv --row 0").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--id p33", "did you mean `p3`"),
        ("--row 20", "there is no row 20"),
        ("--row 1 --id p1", "exactly one row"),
        ("", "exactly one row"),
        ("--cell age", "is no cell"),
    ],
)
def test_why_says_which_row_it_does_not_find(words: str, said: str) -> None:
    told = run(f"why spec.odt tree.json {words}")
    assert told.exit_code != 0
    assert said in told.stderr


def test_a_spec_without_names_says_how_to_give_them() -> None:
    Path("spec.odt").write_text(SPEC.replace(", id name", "") + "drop name\n")
    assert "add `id NAME`" in run("why spec.odt tree.json --id p1").stderr


def test_the_report_calls_training_and_test_rows_by_name() -> None:
    assert run("report spec.odt tree.json --out page.html").exit_code == 0
    page = Path("page.html").read_text()
    given = json.loads(
        page.partition('<script type="application/json" id="data">')[2].partition("<")[0]
    )
    rows = given["rows"]
    assert sorted(rows["names"]) == sorted(f"p{at}" for at in range(20))
    assert (rows["all"], rows["tests"]) == (20, 5)
    truth = dict(zip(rows["names"], rows["actual"], strict=True))
    assert truth == {f"p{at}": "yes" if at > 9 else "no" for at in range(20)}
    ages = dict(zip(rows["names"], rows["cells"][0], strict=True))
    assert ages == {f"p{at}": 20.5 + at for at in range(20)}


def test_compile_takes_the_file_after_the_spec() -> None:
    told = run("compile spec.odt problem.lp")
    assert told.exit_code == 0, told.output
    first = Path("problem.lp").read_text()
    assert run("compile spec.odt --out option.lp").exit_code == 0
    assert Path("option.lp").read_text() == first
    other = run("compile turned.lp spec.odt")
    assert "the order is SPEC FILE: read as spec.odt turned.lp" in other.stderr
    assert Path("turned.lp").read_text() == first
    assert "U325" in run("compile spec.odt problem.lp --out twice.lp").stderr


def test_other_test_rows_train_no_other_tree() -> None:
    assert run("solve spec.odt --test later.csv --out other.json").exit_code == 0
    assert json.loads(Path("other.json").read_text()) == json.loads(Path("tree.json").read_text())
    told = run("audit spec.odt tree.json --test later.csv")
    assert told.exit_code == 0, told.output
    assert told.stdout == run("audit spec.odt tree.json later.csv").stdout
    assert "on the 2 test rows" in told.stdout
