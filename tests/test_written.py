"""Numbers, dates and classes that are not read as what they are: told, with what to write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import odtdsl
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.compiler.draft import draft
from odtdsl.estimators import OptimalTreeClassifier

REST = "\ntarget y: class\ntree depth <= 1\nminimize errors\n"


def told(folder: Path, columns: dict[str, list[str]], options: str = "") -> list[Diagnostic]:
    n = 40
    lines = [";".join([*columns, "y"])]
    for i in range(n):
        cells = [cells[i % len(cells)] for cells in columns.values()]
        lines.append(";".join([*cells, "ab"[i % 2]]))
    (folder / "f.csv").write_text("\n".join(lines))
    (folder / "s.odt").write_text(f'data "f.csv", separator ";"{options}{REST}')
    return list(odtdsl.load(folder / "s.odt").check())


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["72,949", "1,073", "8"], ', thousands ","'),
        (["1,073.50", "12.25"], ', thousands ","'),
        (["1,5", "12,25", "0,125"], ', decimal ","'),
        (["1.073,5", "72.949,25"], ', decimal ",", thousands "."'),
        (["1 073", "72 949"], ', thousands " "'),
        (["1'073", "72'949.5"], ''', thousands "'"'''),
    ],
)
def test_one_message_says_what_to_write_and_it_helps(
    cells: list[str], options: str, tmp_path: Path
) -> None:
    columns = {"price": cells, "rent": cells[::-1]}
    (one,) = [d for d in told(tmp_path, columns) if d.code == "D220"]
    assert "`price` and `rent`" in one.message
    assert f"add `{options[2:]}` to the data statement" in one.helps[0]
    assert not [d for d in told(tmp_path, columns, options) if d.code in ("D214", "D220")]


@pytest.mark.parametrize(
    ("cells", "fractions", "options", "helps"),
    [
        (["1,073", "8,500"], "1", "", ['`thousands ","`', '`decimal ","` instead']),
        (["1,073", "8,500"], "1.5", "", ['`thousands ","`']),
        (["1,073", "8,500.5"], "1", "", ['`thousands ","`']),
        (["1,5", "12,25"], "1.5", "", ["as those of `x` are written"]),
        (["1.073,5", "2,5"], "1,5", ', decimal ","', ['`thousands "."`']),
    ],
)
def test_no_decimal_separator_is_offered_that_the_data_refute(
    cells: list[str], fractions: str, options: str, helps: list[str], tmp_path: Path
) -> None:
    columns = {"price": cells, "x": [fractions, "2", "3"]}
    (one,) = [d for d in told(tmp_path, columns, options) if d.code == "D220"]
    assert len(one.helps) == len(helps) + 1
    for said, help_ in zip(one.helps, helps, strict=False):
        assert help_ in said
    if "add" in one.helps[0]:
        more = options + f", {helps[0].strip('`')}"
        assert not [d for d in told(tmp_path, columns, more) if d.code in ("D214", "D220")]


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["2024-01-31", "2024-02-01"], "dates"),
        (["31.01.2024", "1.2.2024"], "dates"),
        (["2024-01-31T10:00:00Z", "2024-02-01 11:30"], "dates"),
        (["45%", "5.5 %"], "percentages"),
        (["$1,200", "$5"], "money"),
        (["5 €", "1.200,50 €"], "money"),
    ],
)
def test_dates_percentages_and_money_are_told(cells: list[str], what: str, tmp_path: Path) -> None:
    (one,) = [d for d in told(tmp_path, {"x": cells}) if d.code == "D221"]
    assert what in one.message
    assert not told(tmp_path, {"x": cells}, "\nfeature x: category")


def test_texts_that_are_none_of_these_are_left_alone(tmp_path: Path) -> None:
    assert not told(tmp_path, {"x": ["a", "1-2", "10-20", "5more"], "z": ["yes", "no"]})


def test_classes_that_differ_in_capitals(tmp_path: Path) -> None:
    frame = {"x": list(range(9)), "y": ["Yes", "yes", "no"] * 3}
    found = odtdsl.parse(f"data frame{REST}").check(frame=frame)
    assert [d.code for d in found if d.code != "D215"] == ["D222"]
    (one,) = odtdsl.parse("data frame target `the class` tree depth <= 1 minimize errors").check(
        frame={"x": list(range(6)), "the class": ["Yes", "yes", "no"] * 2}
    )
    assert "target `the class`: class {...}" in one.helps[1]


def test_a_plan_refuses_ways_of_growth_as_a_solve_does() -> None:
    text = (
        "data frame target y tree depth <= 1 minimize errors"
        " solve using greedy(split = medoid, leaf = medoid)"
    )
    frame = {"x": [1, 2, 3, 3], "y": ["a", "b", "b", "a"]}
    for ask in (odtdsl.plan, odtdsl.solve):
        with pytest.raises(OdtError, match="B102"):
            ask(text, frame=frame)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
def test_a_class_label_that_is_missing(gap: object) -> None:
    y = np.array(["a", gap, "b", "a"], dtype=object)
    with pytest.raises(OdtError, match="Input y contains NaN: 1 of 4"):
        OptimalTreeClassifier().fit([[1], [2], [3], [4]], y)


@pytest.mark.parametrize(
    ("cells", "said", "written"),
    [
        (["Yes", "yes", "no", "yes"], '"yes" and "Yes"', '"yes" for "Yes"'),
        (["a b", "a  b", "ab", "c"], '"a  b" and "a b" and "ab"', '"a  b" for "a b" and "ab"'),
        (["a\u00a0b", "A B", "c", "c"], '"A B" and "a\u00a0b"', '"A B" for "a\u00a0b"'),
        (["STRASSE", "Straße", "Weg", "x"], '"STRASSE" and "Straße"', '"STRASSE" for "Straße"'),
        (["Yes", "no", "maybe", "n o t"], "", ""),
    ],
)
def test_categories_that_differ_in_capitals_or_blanks(
    cells: list[str], said: str, written: str
) -> None:
    text = "data frame target y tree depth <= 1 minimize errors"

    def told(cells: list[str], more: str = "") -> list[Diagnostic]:
        frame = {"my x": cells, "z": cells, "y": ["a", "b"] * 10}
        return [d for d in odtdsl.parse(text + more).check(frame=frame) if d.code == "D235"]

    found = told(cells * 5)
    assert len(found) == bool(said)
    for one in found:
        assert one.notes[:2] == (f"`my x`: {said}", f"`z`: {said}")
        assert one.helps[0].endswith(f"in the data: {written}")
        assert "feature `my x`, z: category" in one.helps[1]
    assert not told(cells * 5, " feature `my x`, z: category")
    assert not told(["".join(cell.split()).casefold() for cell in cells] * 5)


def test_an_estimator_tells_of_categories_that_differ_in_capitals() -> None:
    X = pd.DataFrame({"smoker": ["Yes", "yes", "no", "Yes"] * 5})
    y = ["a", "b"] * 10
    with pytest.warns(odtdsl.DataWarning, match='"Yes" and "yes"'):
        OptimalTreeClassifier(max_depth=1).fit(X, y)
    tree = OptimalTreeClassifier(max_depth=1, spec="feature smoker: category").fit(X, y)
    assert not tree.result_.warnings


CAPITALS = {
    "x": list(range(8)),
    "my sex": ["F", "f", "M", "M", "F", "F", "m", "M"],
    "y": ["yes", "no"] * 4,
}


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ('group f = `my sex` = "F"', ['"F" and "f"']),
        ('group f = not `my sex` = "F" and x > 2', ['"F" and "f"']),
        ('group f = `my sex` in {"f", "M", "m"}', ['"F" and "f"']),
        ('group f = `my sex` in {"f", "F"}', []),
        ('group f = `my sex` in {"f", "F"} group m = `my sex` = "m"', ['"M" and "m"']),
        ('rule r: gap(rate("yes"), `my sex`) <= 50%', ['"F" and "f"', '"M" and "m"']),
        ("group f = x > 3", []),
        ("", []),
    ],
)
def test_values_of_groups_that_differ_in_capitals(said: str, values: list[str]) -> None:
    text = f"data frame target y missing branch tree depth <= 1 minimize errors {said}"
    found = [d for d in odtdsl.parse(text).check(frame=CAPITALS) if d.code == "D233"]
    assert len(found) == bool(values)
    for one in found:
        assert one.notes == (", ".join(values),)
        assert "`my sex` in {" in one.helps[1]
        assert text[one.labels[0].span.start :].startswith(said.split()[0])


@pytest.mark.parametrize(
    ("unit", "says"),
    [(" €", "write the numbers without the currency"), ("%", "write the numbers without the sign")],
)
def test_numbers_with_a_unit_are_no_names_and_no_category(unit: str, says: str) -> None:
    rows = {"x": [f"{k}{unit}" for k in range(40)], "y": list("ab") * 20}
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(
            "data frame feature x: number target y tree depth <= 1 minimize errors", frame=rows
        )
    first, last = caught.value.diagnostics[0].helps
    assert first == says
    assert last == "otherwise write `feature x: category`"
    rows["x"] = [f"w{k}" for k in range(40)]
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(
            "data frame feature x: number target y tree depth <= 1 minimize errors", frame=rows
        )
    assert caught.value.diagnostics[0].helps == ("write `feature x: category`",)


def test_a_draft_says_what_amounts_of_money_are(tmp_path: Path) -> None:
    cells = "".join(f"{1000 + k % 50} €,{k % 7},{'ab'[k % 2]}\n" for k in range(100))
    (tmp_path / "rows.csv").write_text("amount,x,y\n" + cells, encoding="utf-8")
    text = draft(tmp_path / "rows.csv", tmp_path / "rows.odt", None, None).text
    assert "drop amount  # amounts of money: write the numbers without the currency" in text


def test_a_condition_for_a_group_is_shown_as_one() -> None:
    rows = {"x": [1, 2, 3, 4], "land": list("abab"), "y": list("abab")}
    spec = 'data frame target y tree depth <= 1 minimize errors rule r: accuracy(land == "a") >= 5%'
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(spec, frame=rows)
    (one,) = caught.value.diagnostics
    assert one.helps == ('define the group first: `group these = land = "a"`',)
