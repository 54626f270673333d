"""Excel files: cells as the file holds them, sheets by name, and clear refusals."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets import readers
from odtdsl.datasets.request import DataRequest
from odtdsl.interfaces.cli.main import app

openpyxl = pytest.importorskip("openpyxl")

ROWS: list[Sequence[Any]] = [
    ("name", "age", "seen", "ward", "dose", "ok"),
    ("Ä1", 31, datetime.datetime(2021, 3, 4), 1, 0.5, True),
    ("b2", 52.5, datetime.datetime(2021, 3, 5, 6, 7), "x", None, False),
    ("c3", 63, None, 2.0, 1.25, True),
]


def book(path: Path, **sheets: list[Sequence[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    made.save(path)
    return path


def table(path: Path, **options: Any) -> Any:
    return readers.read(DataRequest(kind="file", name=str(path), **options), base=Path())


def test_cells_are_read_as_the_file_holds_them(tmp_path: Path) -> None:
    found = table(book(tmp_path / "a.xlsx", first=[(), *ROWS[:2], (None, None), *ROWS[2:]]))
    assert {name: column.texts.tolist() for name, column in found.columns.items()} == {
        "name": ["Ä1", "b2", "c3"],
        "age": ["31", "52.5", "63"],
        "seen": ["2021-03-04", "2021-03-05T06:07:00", None],
        "ward": ["1", "x", "2"],
        "dose": ["0.5", None, "1.25"],
        "ok": ["true", "false", "true"],
    }
    numbers = [name for name, column in found.columns.items() if column.numbers is not None]
    assert numbers == ["age", "dose"]


def test_sheets_headers_and_marks(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", one=ROWS, two=[(1, "?"), (2, 3), (4, 5)])
    found = table(path, sheet="two", header=False, na=("?",))
    assert found.columns["c1"].numbers.tolist() == [1, 2, 4]
    assert found.columns["c2"].texts.tolist() == [None, "3", "5"]
    with pytest.raises(OdtError, match=r"no sheet `tow`(.|\n)*did you mean `two`"):
        table(path, sheet="tow")


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([("a", "a"), (1, 2)], "D104"),
        ([("a", None), (1, 2)], "D103"),
        ([("a", "b")], "D105"),
        ([], "D105"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, rows: list[Sequence[Any]], code: str) -> None:
    with pytest.raises(OdtError, match=code):
        table(book(tmp_path / "a.xlsx", one=rows))


def test_other_files_and_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_text("age;ill\n1;yes\n")
    with pytest.raises(OdtError, match="D108"):
        table(path)
    path = book(path, one=ROWS)
    for option in ({"separator": ";"}, {"encoding": "latin-1"}):
        with pytest.raises(OdtError, match="D109"):
            table(path, **option)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OdtError, match="D109"):
        table(tmp_path / "a.csv", sheet="one")


def test_from_a_file_to_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows: list[Sequence[Any]] = [
        ("id", "age", "ill"),
        *((f"p{i}", 20 + i % 37, ["no", "yes"][i % 37 > 20]) for i in range(60)),
    ]
    book(Path("rows.xlsx"), notes=[("nothing",), ("here",)], patients=rows)
    Path("spec.odt").write_text(
        'data "rows.xlsx", sheet "patients", id id, test 25% seed 1\n'
        "target ill tree depth <= 1 minimize errors"
    )
    assert odtdsl.load("spec.odt").solve().objective == 0
    assert 'sheet "patients"' in str(odtdsl.load("spec.odt"))
    assert 'sheet "s"' in str(odtdsl.Model().data("rows.xlsx", sheet="s"))
    run = CliRunner()
    assert run.invoke(app, ["solve", "spec.odt", "--out", "tree.json"]).exit_code == 0
    told = run.invoke(app, ["predict", "spec.odt", "tree.json", "rows.xlsx", "--id", "id"])
    assert told.stdout.split("\n")[:2] == ["id,ill", "p0,no"]
    assert run.invoke(app, ["why", "spec.odt", "tree.json", "--id", "p30"]).exit_code == 0
    book(Path("plain.xlsx"), patients=rows)
    drafted = run.invoke(app, ["init", "plain.xlsx", "--target", "ill"])
    assert drafted.exit_code == 0, drafted.output
    assert odtdsl.load("plain.odt").solve().status == "optimal"


def test_texts_with_decimal_commas_are_numbers_where_the_spec_says_so(tmp_path: Path) -> None:
    """As exports write them; `odt init` finds them, a warning says what to write, and all solve."""
    rows: list[Sequence[Any]] = [("nr", "size", "mixed", "plain", "y")]
    for at in range(40):
        size = f"{1000 + at % 7}".replace("100", "1.00") + f",{at % 5}"
        mixed = at + 0.5 if at % 2 else f"{at},25"
        rows.append((f"n{at}", size, mixed, at / 4, "yes" if at % 7 > 3 else "no"))
    path = book(tmp_path / "a.xlsx", one=rows)
    found = table(path, decimal=",", thousands=".").columns
    assert found["size"].numbers.tolist() == [1000 + at % 7 + at % 5 / 10 for at in range(40)]
    assert found["mixed"].numbers.tolist() == [at + (0.5 if at % 2 else 0.25) for at in range(40)]
    assert found["plain"].numbers.tolist() == [at / 4 for at in range(40)]
    odt = CliRunner().invoke
    made = odt(app, ["init", str(path), "--target", "y", "--out", str(tmp_path / "a.odt")])
    assert made.exit_code == 0, made.output
    text = (tmp_path / "a.odt").read_text()
    assert 'decimal ",", thousands "."' in text
    (tmp_path / "plain.odt").write_text(
        'data "a.xlsx", id nr target y tree depth <= 1 minimize errors'
    )
    told = odt(app, ["check", str(tmp_path / "plain.odt")])
    assert 'add `decimal ",", thousands "."` to the data statement' in " ".join(told.output.split())
    assert (
        odt(app, ["solve", str(tmp_path / "a.odt"), "--out", str(tmp_path / "a.json")]).exit_code
        == 0
    )
    alone = odt(app, ["predict", str(tmp_path / "a.json"), str(path)])
    assert '--decimal ","' in alone.output
    with_spec = odt(app, ["predict", *(str(tmp_path / n) for n in ("a.odt", "a.json", "a.xlsx"))])
    asked = odt(
        app,
        ["predict", str(tmp_path / "a.json"), str(path), "--decimal", ",", "--thousands", "."],
    )
    assert asked.exit_code == 0, asked.output
    assert [one.split(",")[-1] for one in with_spec.stdout.split()] == asked.stdout.split()


def test_titles_above_the_names_are_told(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", one=[("A report", None, None), *ROWS])
    with pytest.raises(OdtError, match="delete the row above them"):
        table(path)
    path = book(tmp_path / "b.xlsx", one=[("A", None, "report"), ("of", None), *ROWS])
    with pytest.raises(OdtError, match="delete the 2 rows above them"):
        table(path)
    csv = tmp_path / "c.csv"
    csv.write_text("A report,,\na,b,ill\n1,2,no\n3,4,yes\n")
    told = CliRunner().invoke(app, ["init", str(csv), "--target", "ill"])
    assert "delete the rows above them" in told.output
