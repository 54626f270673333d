"""Dates as numbers: days since 1970-01-01, or year, month and weekday."""

from __future__ import annotations

import datetime
import importlib.util
import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler.draft import draft
from odtdsl.datasets.dataset import Day
from odtdsl.datasets.dates import date_of, order_of
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.nodes import Branch, InBin, Threshold, TreeNode
from odtdsl.presentation.exports.registry import FORMATS

SPEC = """data "rows.csv", days {seen}, parts {seen}, test 25% seed 1
target ill
missing branch
group later = seen >= 2021-06-01
tree depth <= 2
minimize errors then leaves
rule cut: forall split: threshold(seen) >= 2021-02-01
"""


def odt(words: str) -> Result:
    return CliRunner().invoke(app, words.split())


def days(date: datetime.date) -> int:
    return (date - datetime.date(1970, 1, 1)).days


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows that are ill from a day on, some without a date."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(3)
    lines = ["seen,age,ill"]
    for at in range(120):
        day = datetime.date(2021, 1, 1) + datetime.timedelta(days=rng.randrange(400))
        ill = day >= datetime.date(2021, 7, 15)
        written = "" if at % 20 == 7 else day.isoformat()
        lines.append(f"{written},{rng.randrange(20, 80)},{'yes' if ill else 'no'}")
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    Path("spec.odt").write_text(SPEC)
    return tmp_path


@pytest.mark.parametrize("seed", range(scaled(300)))
def test_written_dates_are_read(seed: int) -> None:
    rng = random.Random(seed)
    day = datetime.date.fromordinal(rng.randrange(1, datetime.date.max.toordinal()))
    time = rng.choice(["", "T07:15", " 23:59:59.5", "T00:00:00Z", " 1:02:03+01:00"])
    pad = rng.choice(["d", "02d"])
    month, number = format(day.month, pad), format(day.day, pad)
    sign = rng.choice("-/.")
    year = f"{day.year:04d}"
    assert date_of(f"{year}{sign}{month}{sign}{number}{time}") == day
    assert date_of(f"{number}.{month}.{year}{time}") == day
    assert date_of(f"{number}{sign}{month}{sign}{year}{time}", "dmy") == day
    assert date_of(f"{month}{sign}{number}{sign}{year}{time}", "mdy") == day
    if sign != ".":
        assert date_of(f"{number}{sign}{month}{sign}{year}") is None


@pytest.mark.parametrize(
    "text", ["", "2021", "2021-13-01", "2021-02-30", "soon", "1/2/21", "12:30", "2021-1/2"]
)
def test_other_texts_are_no_dates(text: str) -> None:
    assert date_of(text) is None
    assert date_of(text, "dmy") is None


def test_an_order_is_found_where_one_alone_would_do() -> None:
    assert order_of(("2021-03-04", "04.03.2021")) == ""
    assert order_of(("04/03/2021", "13/03/2021")) == "dmy"
    assert order_of(("04/03/2021", "03/13/2021")) == "mdy"
    assert order_of(("04/03/2021",)) is None
    assert order_of(("04/03/2021", "13/13/2021")) is None


def test_days_and_parts_are_columns_of_numbers(folder: Path) -> None:
    request = DataRequest(kind="file", name="rows.csv", days=("seen",), parts=("seen",))
    table, raw = (
        read(one, base=folder) for one in (request, DataRequest(kind="file", name="rows.csv"))
    )
    assert list(table.columns) == ["seen", "age", "ill", "seen_year", "seen_month", "seen_weekday"]
    for row, text in enumerate(raw.columns["seen"].texts.tolist()):
        found = [
            table.columns[name].numbers
            for name in ("seen", "seen_year", "seen_month", "seen_weekday")
        ]
        values = [None if one is None else one[row] for one in found]
        if text is None:
            assert np.isnan(np.array(values, dtype=float)).all()
            continue
        day = datetime.date.fromisoformat(text)
        assert values == [days(day), day.year, day.month, day.isoweekday()]
    parts = read(DataRequest(kind="file", name="rows.csv", parts=("seen",)), base=folder)
    assert "seen" not in parts.columns


def test_solve_predict_evaluate_audit_and_why_agree(folder: Path) -> None:
    solved = odt("solve spec.odt --out tree.json")
    assert "seen <= 2021-07-1" in solved.stdout
    assert "threshold(seen) >= 2021-02-01" in solved.stdout
    assert odt("audit spec.odt tree.json").exit_code == 0
    told = odt("predict tree.json rows.csv").stdout.split()[1:]
    assert odt("predict spec.odt tree.json rows.csv").stdout.split()[1:] == told
    truth = [line.rsplit(",")[2] for line in Path("rows.csv").read_text().split()[1:]]
    wrong = sum(a != b for a, b in zip(told, truth, strict=True))
    assert wrong <= 10
    measured = odt("evaluate tree.json rows.csv")
    assert f"{1 - wrong / 120:.4g}" in measured.stdout
    why = odt("why spec.odt tree.json --row 3").stdout
    assert "(seen is 2021-" in why or "(seen is 2022-" in why
    assert "with seen 2021-07-1" in why


def test_predict_passes_dates_on_as_they_are_written(folder: Path) -> None:
    odt("solve spec.odt --out tree.json")
    rows = Path("rows.csv").read_text().splitlines()
    for command in ("predict tree.json", "predict spec.odt tree.json"):
        told = odt(f"{command} rows.csv --columns *").stdout.splitlines()
        assert [line.rpartition(",")[0] for line in told] == rows
    assert odt("predict spec.odt tree.json rows.csv --columns seen").stdout.startswith("seen,ill")


def test_dates_that_no_split_asks_for_are_not_read(folder: Path) -> None:
    text = SPEC.replace("depth <= 2", "depth <= 0").partition("rule")[0]
    Path("leaf.odt").write_text(text)
    assert odt("solve leaf.odt --out leaf.json").exit_code == 0
    Path("later.csv").write_text("seen,age\nsoon,41\n")
    assert odt("predict leaf.json later.csv").stdout == "ill\nno\n"
    assert odt("solve spec.odt --out tree.json").exit_code == 0
    told = odt("predict tree.json later.csv")
    assert "D148" in told.stderr


def test_a_spec_that_reads_dates_as_texts_is_told(folder: Path) -> None:
    assert odt("solve spec.odt --out tree.json").exit_code == 0
    plain = 'data "rows.csv" target ill missing branch tree depth <= 1 minimize errors'
    Path("plain.odt").write_text(plain)
    told = odt("audit plain.odt tree.json")
    assert "U203" in told.stderr
    assert "say `days` of this column" in " ".join(told.stderr.split())


def test_frames_of_dates_predict_as_files_do(folder: Path) -> None:
    tree = odtdsl.parse(SPEC).solve().tree
    assert tree is not None
    rows = pd.read_csv("rows.csv")
    expected = tree.predict(rows).tolist()
    stamps = rows.assign(seen=pd.to_datetime(rows.seen))
    numbers = rows.assign(seen=(stamps.seen - pd.Timestamp("1970-01-01")).dt.days)
    objects = rows.assign(seen=[None if pd.isna(x) else x.date() for x in stamps.seen])
    given: list[Any] = [stamps, numbers, objects, pl.from_pandas(stamps), stamps.to_dict("list")]
    given[-1]["seen"] = stamps.seen.to_numpy()
    for frame in given:
        assert tree.predict(frame).tolist() == expected
    stamps.to_parquet("rows.parquet")
    for frame in (stamps, objects, pl.from_pandas(stamps)):
        text = SPEC.replace('"rows.csv"', "frame")
        again = odtdsl.solve(text, frame=frame)
        assert again.tree == tree
    spec = SPEC.replace("rows.csv", "rows.parquet")
    assert odtdsl.parse(spec).solve().tree == tree


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_dates_of_parquet_are_texts_where_none_asks_for_them(
    folder: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pd.read_csv("rows.csv")
    rows.assign(seen=pd.to_datetime(rows.seen)).to_parquet("rows.parquet")
    text = SPEC.partition("group")[0] + "drop seen tree depth <= 2 minimize errors"
    Path("spec.odt").write_text(text.replace(", days {seen}, parts {seen}", ""))
    Path("stamps.odt").write_text(Path("spec.odt").read_text().replace(".csv", ".parquet"))
    assert odt("solve spec.odt --out csv.json").exit_code == 0
    if library == "polars":
        find = importlib.util.find_spec
        monkeypatch.setattr(
            "odtdsl.datasets.frames.find_spec",
            lambda name: None if name == "pyarrow" else find(name),
        )
    assert odt("solve stamps.odt --out parquet.json").exit_code == 0
    assert odtdsl.load_tree("parquet.json") == odtdsl.load_tree("csv.json")
    told = odt("predict csv.json rows.parquet --columns seen").stdout
    assert told == odt("predict csv.json rows.csv --columns seen").stdout
    assert odt("init rows.parquet --target ill").exit_code == 0
    assert "\ndrop seen" in Path("rows.odt").read_text()


def test_a_saved_tree_is_the_same_again(folder: Path) -> None:
    assert odt("solve spec.odt --out tree.json").exit_code == 0
    tree = odtdsl.load_tree("tree.json")
    assert str(tree) == str(odtdsl.parse(SPEC).solve().tree)
    assert "2021-07-1" in str(tree)
    wrong = Path("tree.json").read_text().replace('"days"', '"hours"')
    Path("tree.json").write_text(wrong)
    with pytest.raises(OdtError, match="F207"):
        odtdsl.load_tree("tree.json")


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_exports_say_what_they_take(folder: Path, to: str) -> None:
    assert odt("solve spec.odt --out tree.json").exit_code == 0
    told = odt(f"export tree.json --to {to} --out written")
    if told.exit_code:  # its package is not installed
        assert "U37" in told.stderr
        return
    shows = to in ("text", "mermaid", "questionnaire")
    assert ("days since 1970-01-01" in told.stderr) != shows
    written = Path("written").read_bytes()
    assert (b"2021-07-1" in written) == shows
    assert (b"on or before 2021-07-1" in written) == (to == "questionnaire")


def on_days(tree: odtdsl.Tree) -> odtdsl.Tree:
    """The tree with the days that its thresholds fall on, as dates."""

    def shown(node: TreeNode) -> TreeNode:
        if not isinstance(node, Branch):
            return node
        test = node.test
        if isinstance(test, Threshold):
            test = Threshold(value=Day(math.floor(float(test.value))))
        elif isinstance(test, InBin):
            test = replace(test, low=Day(test.low), high=Day(test.high))
        return replace(node, test=test, left=shown(node.left), right=shown(node.right))

    return replace(tree, root=shown(tree.root))


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_a_tree_of_days_is_that_of_the_numbers(seed: int) -> None:
    """Whatever the spec says of thresholds, dates are numbers that are written otherwise."""
    rng = random.Random(seed)
    first = datetime.date(1969, 12, 1)
    dates = [first + datetime.timedelta(days=rng.randrange(90)) for _ in range(12)]
    labels = [rng.choice("np") for _ in dates]
    place = rng.choice(["", "candidates d at quantiles 3", "candidates d at bins 3"])
    cut = first + datetime.timedelta(days=rng.randrange(20, 70))
    rule = rng.choice(["", "rule r: forall split: threshold(d) >= {}", "group g = d > {}"])
    if "bins" in place:
        rule = ""
    tail = f"tree depth <= 2\nminimize errors then leaves\n{place}\n{rule}"
    named = [one.isoformat() for one in dates]
    frames = [{"d": named, "y": labels}, {"d": [days(one) for one in dates], "y": labels}]
    texts = [f"data frame, days {{d}}\ntarget y\n{tail}", f"data frame\ntarget y\n{tail}"]
    by_date, by_number = (
        odtdsl.solve(text.format(value), frame=frame)
        for text, frame, value in zip(
            [t.replace("{d}", "{{d}}") for t in texts], frames, (cut, days(cut)), strict=True
        )
    )
    assert by_date.status == by_number.status
    assert by_date.objective == by_number.objective
    if by_date.tree is not None:
        assert by_number.tree is not None
        assert str(by_date.tree) == str(on_days(by_number.tree))
        assert by_date.audit is not None
        assert by_date.audit.holds


@pytest.mark.parametrize(
    ("cells", "options", "code"),
    [
        (["2021-03-04", "soon"], "days {d}", "D148"),
        (["03/04/2021", "03/05/2021"], "days {d}", "D148"),
        (["13/13/2021", "03/05/2021"], 'parts {d}, dates "dmy"', "D148"),
        (["2021-03-04", "2021-03-05"], "days {e}", "D149"),
        (["2021-03-04", "2021-03-05"], 'days {d}, dates "ydm"', "N124"),
        (["2021-03-04", "2021-03-05"], "days {d}, days {d}", "N102"),
    ],
)
def test_mistakes_have_codes(cells: list[str], options: str, code: str) -> None:
    text = f"data frame, {options}\ntarget y\ntree depth <= 1\nminimize errors"
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(text, frame={"d": cells, "y": ["n", "p"]})
    assert {one.code for one in caught.value.diagnostics} == {code}


def test_a_part_whose_name_is_taken_is_refused() -> None:
    frame = {"d": ["2021-03-04", "2021-03-05"], "d_month": [1, 2], "y": ["n", "p"]}
    with pytest.raises(OdtError, match="D149"):
        odtdsl.solve(
            "data frame, parts {d}\ntarget y\ntree depth <= 1\nminimize errors", frame=frame
        )


def test_a_date_that_is_none_is_told() -> None:
    with pytest.raises(OdtError, match="S034"):
        odtdsl.parse("data frame\ntarget y\ngroup g = d > 2021-02-30\nminimize errors")


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (["2021-03-04", "2021-04-11"], "`days {seen on}`"),
        (["13/03/2021", "04/03/2021"], '`dates "dmy"`'),
        (["01/03/2021", "04/03/2021"], 'else `dates "mdy"`'),
        (["12:30", "13:15"], "such as minutes"),
    ],
)
def test_init_says_what_to_write(tmp_path: Path, cells: list[str], advice: str) -> None:
    lines = ["seen on,age,ill"]
    lines += [f"{cells[at % 2]},{at * 7 % 30},{'ny'[at % 2]}" for at in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    text = draft(tmp_path / "rows.csv", tmp_path / "rows.odt", None, None).text
    assert advice.replace("{seen on}", "{`seen on`}") in text.replace("``", "`") or advice in text


@pytest.mark.parametrize(
    "gone", [None, np.nan, pd.NaT, np.datetime64("NaT")], ids=["None", "nan", "NaT", "datetime64"]
)
def test_dates_in_a_column_of_objects_may_be_missing(gone: Any) -> None:
    seen = pd.Series([datetime.date(1969, 12, 31), np.datetime64("1970-01-01"), gone], dtype=object)
    frame = pd.DataFrame({"seen": seen, "y": ["a", "b", "b"]})
    spec = "data frame, days {seen} target y missing branch tree depth <= 1 minimize errors"
    result = odtdsl.solve(spec, frame=frame)
    assert result.objective == 0
    assert result.tree is not None
    cells = [datetime.date(1950, 1, 1), gone, np.datetime64("1960-01-01"), pd.Timestamp(0)]
    told = result.tree.predict({"seen": pd.Series(cells, dtype=object)})
    assert list(told) == ["a", "b", "a", "b"]


def test_dates_may_be_categories() -> None:
    stamps = pd.Series(pd.to_datetime(["1969-12-30", "1970-01-02", None, "1969-12-30"]))
    frame = pd.DataFrame({"seen": stamps.astype("category"), "y": ["a", "b", "b", "a"]})
    spec = "data frame, days {seen} target y missing branch tree depth <= 1 minimize errors"
    result = odtdsl.solve(spec, frame=frame)
    assert result.objective == 0
    assert result.tree is not None
    assert list(result.tree.predict(frame)) == ["a", "b", "b", "a"]


# ---- thresholds on whole days


def _worst(days: list[int], ill: list[bool], allowed: list[int], depth: int) -> int:
    """The least errors of a tree whose splits stand at allowed days; both sides hold a row."""
    errors = min(sum(ill), len(ill) - sum(ill))
    for cut in allowed if depth and errors else []:
        left = [at for at, day in enumerate(days) if day <= cut]
        right = [at for at, day in enumerate(days) if day > cut]
        if left and right:
            parts = (([days[i] for i in side], [ill[i] for i in side]) for side in (left, right))
            errors = min(errors, sum(_worst(*part, allowed, depth - 1) for part in parts))
    return errors


@pytest.mark.parametrize("seed", range(scaled(400)))
def test_thresholds_fall_on_whole_days(seed: int) -> None:
    """Under rules on them as without, with the optimum of brute force over all whole days."""
    rng = random.Random(seed)
    first = datetime.date(1969, 12, 20)
    span = rng.choice([4, 8, 30])
    places = [rng.randrange(span) for _ in range(rng.randrange(3, 11))]
    ill = [rng.random() < 0.5 for _ in places]
    if len(set(ill)) < 2:
        ill[0] = not ill[1]
    at, to = sorted(rng.randrange(span) for _ in range(2))
    low, high = (first + datetime.timedelta(days=n) for n in (at, to))
    condition, keeps = rng.choice(
        [
            ("", lambda day: True),
            (f"threshold(d) > {low}", lambda day: day > at),
            (f"threshold(d) < {low}", lambda day: day < at),
            (f"threshold(d) in [{low}, {high}]", lambda day: at <= day <= to),
            (f"not threshold(d) in [{low}, {high}]", lambda day: not at <= day <= to),
            (f"threshold(d) > {low} and threshold(d) < {high}", lambda day: at < day < to),
        ]
    )
    place = rng.choice(["", "candidates d at midpoints exact", "candidates d at quantiles 3"])
    text = f"data frame, days {{d}} target y tree depth <= 2 minimize errors {place}"
    if condition:
        text += f" rule r: forall split: {condition}"
    frame = pd.DataFrame(
        {
            "d": [(first + datetime.timedelta(days=n)).isoformat() for n in places],
            "y": ["yes" if one else "no" for one in ill],
        }
    )
    using = rng.choice(["exact", "milp", "sat"])
    result = odtdsl.solve(f"{text} solve using {using}", frame=frame)
    assert result.status == "optimal"
    allowed = [day for day in range(span) if keeps(day)]
    if "quantiles" in place:
        since = [days(first) + place for place in places]
        shares = np.quantile(since, [1 / 3, 2 / 3]).round(9)
        cuts = {math.floor(cut) - days(first) for cut in shares.tolist()}
        allowed = [day for day in allowed if day in cuts]
    assert result.audit.errors == _worst(places, ill, allowed, 2)
    for node in result.tree.nodes():
        if isinstance(node, Branch):
            shown = str(node.test.value)
            assert float(node.test.value) == days(datetime.date.fromisoformat(shown))
            assert keeps((datetime.date.fromisoformat(shown) - first).days)


def test_audits_leaves_and_predictions_show_dates(folder: Path) -> None:
    assert odt("solve spec.odt --out tree.json").exit_code == 0
    line = next(one for one in odt("audit spec.odt tree.json").stdout.split("\n") if "cut " in one)
    assert line.split()[2:4] == [line.split()[2], "2021-02-01"]
    datetime.date.fromisoformat(line.split()[2])
    report = odt("report spec.odt --model tree.json --out report.html")
    assert report.exit_code == 0, report.stderr
    assert re.search("<td[^>]*>2021-02-01</td>", Path("report.html").read_text())
    Path("target.odt").write_text(
        'data "rows.csv", days {seen} target seen: number drop ill '
        "tree depth <= 1 minimize mse missing drop rule early: forall leaf: seen >= 2021-01-01"
    )
    solved = odt("solve target.odt --out days.json")
    assert "predicts 2021-" in solved.stdout or "yes: 2021-" in solved.stdout
    assert json.loads(Path("days.json").read_text())["days"] == ["seen"]
    told = odt("predict days.json rows.csv").stdout.split()
    assert told[0] == "seen"
    outputs = odtdsl.load_model("days.json").predict(pd.read_csv("rows.csv"))
    assert [days(datetime.date.fromisoformat(one)) for one in told[1:]] == [
        math.floor(one) for one in outputs
    ]
    assert "`seen` = 2021-" in odt("export days.json --to text").stdout
    assert "2021" not in odt("export days.json --to python").stdout.partition("def _number")[0]
    line = next(
        one for one in odt("audit target.odt days.json").stdout.split("\n") if "early" in one
    )
    assert "2021-01-01  " in line
    measured = odt("evaluate target.odt days.json rows.csv").stdout
    constant = re.search("always predicting (.*): mse", measured)
    assert constant is not None
    datetime.date.fromisoformat(constant[1])


def test_a_rule_on_a_column_that_no_split_tests_says_so(folder: Path) -> None:
    Path("other.odt").write_text(
        SPEC.replace("threshold(seen)", "threshold(age)").replace("2021-02-01", "20")
    )
    told = " ".join(odt("solve other.odt").stdout.split())
    assert "vacuous: the tree has no split on `age`" in told
