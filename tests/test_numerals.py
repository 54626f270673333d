"""`decimal` and `thousands`: numbers are read as their file writes them, or not at all."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.numerals import Numerals, numerals_of
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import RawColumn

REST = "\ntarget y: class\ntree depth <= 1\nminimize errors\n"


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "value"),
    [
        (",", None, "1,5", 1.5),
        (",", None, "-0,25e2", -25),
        (",", None, ",5", 0.5),
        (",", None, "5,", 5),
        (",", None, "7", 7),
        (",", ".", "1.073,5", 1073.5),
        (",", ".", "1.073", 1073),
        (",", ".", "1.234.567", 1234567),
        (",", ".", "1073,5", 1073.5),
        (None, ",", "72,949", 72949),
        (None, ",", "1,073.25", 1073.25),
        (None, ",", "1.5", 1.5),
        (None, " ", "1\u202f073", 1073),
        (None, "'", "1\u2019073.5", 1073.5),
        (",", None, "1.5", None),
        (",", ".", "1.5", None),
        (",", ".", "01.02.2024", None),
        (",", ".", "1.0734", None),
        (None, ",", "1,5", None),
        (None, ",", "1,07,300", None),
        (",", None, ",", None),
        (",", None, "", None),
        (",", None, "+", None),
    ],
)
def test_a_number_keeps_to_the_signs(
    decimal: str | None, thousands: str | None, text: str, value: float | None
) -> None:
    plain = numerals_of(decimal, thousands).plain(text)
    try:
        assert (None if plain is None else float(plain)) == value
    except ValueError:
        assert value is None


def test_words_for_no_number_stay() -> None:
    assert math.isnan(float(Numerals(",").plain("NaN") or ""))


@pytest.mark.parametrize(
    "options",
    ['decimal ";"', 'decimal ""', 'thousands "_"', 'thousands "."', 'decimal ",", thousands ","'],
)
def test_signs_that_cannot_be(options: str, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("x;y\n1;a\n2;b\n")
    with pytest.raises(OdtError, match="D119"):
        solve(tmp_path, f'separator ";", {options}')


def solve(folder: Path, options: str) -> odtdsl.Result:
    (folder / "s.odt").write_text(f'data "f.csv", {options}{REST}')
    return odtdsl.solve(folder / "s.odt")


def column(folder: Path, text: str, **options: str) -> RawColumn:
    (folder / "f.csv").write_text(text)
    request = DataRequest(kind="file", name="f.csv", separator=";", **options)  # type: ignore[arg-type]
    return read(request, base=folder).columns["x"]


def test_a_file_of_decimal_commas_is_solved(tmp_path: Path) -> None:
    cells = [("1.072,5", "a"), ("1.073", "a"), ("1.073,5", "b"), ("72.949", "b")]
    (tmp_path / "f.csv").write_text("x;y\n" + "".join(f"{x};{y}\n" for x, y in cells))
    result = solve(tmp_path, 'separator ";", decimal ",", thousands "."')
    assert result.tree is not None
    assert result.audit.objective == (0,)
    rows = [[1072.5], [1073], [1073.5], [72949]]
    assert result.tree.predict({"x": [x for (x,) in rows]}).tolist() == ["a", "a", "b", "b"]  # type: ignore[has-type, misc]


def test_two_writings_of_one_number_are_one_number_and_two_levels(tmp_path: Path) -> None:
    read_ = column(
        tmp_path, "x;y\n1.000.000.000.000;a\n1000000000000;b\n", decimal=",", thousands="."
    )
    assert read_.numbers is not None
    assert read_.numbers.tolist() == [1e12, 1e12]
    assert len(read_.distinct[0]) == 2
    result = solve(tmp_path, 'separator ";", decimal ",", thousands "."')
    assert result.status == "optimal"


def test_a_column_declared_a_number_names_the_cell_that_breaks_the_signs(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("x;y\n1,5;a\n1.5;b\n")
    (tmp_path / "s.odt").write_text(
        'data "f.csv", separator ";", decimal ","\nfeature x: number' + REST
    )
    with pytest.raises(OdtError, match=r"D141.*`1\.5`"):
        odtdsl.solve(tmp_path / "s.odt")
