"""`odt predict`: what it writes, in which format, and rows that come in parts."""

from __future__ import annotations

import copy
import csv
import io
import json
import pickle
import random
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner

from odtdsl import OdtError, load_model
from odtdsl.base.diagnostics.model import DataHelp
from odtdsl.datasets import parts
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.interfaces.cli.main import app

ROWS = """name,age,sex,ill
"Ann ""A"", x",41,f,yes
Bob,19,m,no
"two
lines",,m,yes
Dan,63,f,yes
Eve,22,f,no
"""
SPEC = 'data "rows.csv", id name\ntarget ill\nmissing branch\ntree depth <= 2\nminimize errors\n'


def odt(*words: object, stdin: bytes | None = None):
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "s.odt").write_text(SPEC)
    done = odt("solve", tmp_path / "s.odt", "-o", tmp_path / "t.json")
    assert done.exit_code == 0, done.output
    return tmp_path / "t.json"


FULL = ["--id", "name", "--probabilities", "--leaf", "--columns", "sex,age"]


def test_a_row_has_id_class_probabilities_leaf_and_other_columns(tree):
    done = odt("predict", tree, tree.parent / "rows.csv", *FULL)
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    heads = ["name", "sex", "age", "ill", "probability_no", "probability_yes", "leaf"]
    assert list(found[0]) == heads
    assert [row["name"] for row in found] == ['Ann "A", x', "Bob", "two\nlines", "Dan", "Eve"]
    assert found[2]["age"] == ""
    table = read(DataRequest(kind="file", name="rows.csv"), base=tree.parent)
    model = load_model(tree)
    assert [int(row["leaf"]) for row in found] == model.apply(table).tolist()
    assert [row["ill"] for row in found] == model.predict(table).tolist()
    shares = [[float(row["probability_no"]), float(row["probability_yes"])] for row in found]
    assert shares == model.predict_proba(table).tolist()


def test_the_id_of_the_spec_is_written_first(tree):
    named = tree.parent / "s.odt"
    rows = tree.parent / "rows.csv"
    done = odt("predict", named, tree, rows)
    assert done.stdout.splitlines()[0] == "name,ill"
    assert odt("predict", named, tree, rows, "--id", "sex").stdout.startswith("sex,ill\n")
    (tree.parent / "unnamed.csv").write_text("sex,age\nf,30\n")
    assert odt("predict", named, tree, tree.parent / "unnamed.csv").stdout.startswith("ill\n")


def _regions(folder: Path, more: str = "") -> Path:
    rows = ["north,30,a", "north,31,a", "south,40,b", "south,45,b", "south,22,b", "north,50,a"]
    (folder / "t.csv").write_text("region,age,y\n" + "\n".join(rows) + "\n")
    (folder / "t.odt").write_text(
        f'data "t.csv" target y {more} tree depth <= 1 minimize errors then leaves'
    )
    done = odt("solve", folder / "t.odt", "-o", folder / "m.json")
    assert done.exit_code == 0, done.output
    return folder / "m.json"


def test_values_that_no_training_row_had_are_told(tmp_path, monkeypatch):
    model = _regions(tmp_path)
    cells = ["South", "north", "South", "east", "west", "up", "down", "up"]
    rows = "region,age,y\n" + "".join(f"{cell},30,a\n" for cell in cells)
    (tmp_path / "e.csv").write_text(rows)
    monkeypatch.setattr(parts, "text_parts", partial(parts.text_parts, size=30))
    done = odt("predict", model, tmp_path / "e.csv")
    assert done.exit_code == 0
    assert done.stdout.split() == ["y", "b", "a", *"bbbbbb"]
    (first, *rest) = done.stderr.strip().splitlines()
    assert first == (
        'warning[U218]: `region` is "South", "east", "west" and 2 more values in 7 of 8 rows, '
        "which no training row has"
    )
    assert any('did you mean "south"?' in line for line in rest)
    measured = odt("evaluate", model, tmp_path / "e.csv", "--json")
    assert json.loads(measured.stdout)
    assert measured.stderr == done.stderr
    for more in ((), ("--json",)):
        checked = odt("audit", tmp_path / "t.odt", model, tmp_path / "e.csv", *more)
        assert checked.exit_code == 0
        assert checked.stderr == done.stderr
    assert odt("audit", tmp_path / "t.odt", model).stderr == ""
    known = odt("predict", model, tmp_path / "t.csv")
    assert known.stderr == ""


def test_missing_cells_without_a_side_are_told(tmp_path):
    (tmp_path / "e.csv").write_text("region,age\n,30\nnorth,\n,\n")
    model = _regions(tmp_path)
    done = odt("predict", model, tmp_path / "e.csv")
    assert done.exit_code == 0
    assert len(done.stdout.split()) == 4
    assert done.stderr.startswith("warning[U219]: `region` is missing in 2 of 3 rows, and")
    assert "`missing {region} branch`" in done.stderr
    assert "without such rows nothing is learned" in " ".join(done.stderr.split())
    assert done.stderr.count("warning") == 1, "age is not tested"
    for policy, told in (("drop", 1), ("branch", 0), ("left", 0), ("{region} branch", 0)):
        model = _regions(tmp_path, f"missing {policy}")
        done = odt("predict", model, tmp_path / "e.csv")
        assert done.stderr.count("U219") == told, policy
        assert load_model(model).features[0].gaps is (not told)


def test_a_model_of_an_older_version_does_not_speak_for_its_spec(tmp_path):
    (tmp_path / "e.csv").write_text("region,age\n,30\nnorth,31\n")
    for policy in ("drop", "branch"):
        model = _regions(tmp_path, f"missing {policy}")
        value = json.loads(model.read_text())
        for feature in value["features"]:
            del feature["gaps"]
        model.write_text(json.dumps(value))
        assert load_model(model).features[0].gaps is None
        done = odt("predict", model, tmp_path / "e.csv")
        assert done.exit_code == 0
        assert done.stderr.startswith(
            "warning[U219]: `region` is missing in 1 of 2 rows, and the model, which an older "
            "odtdsl saved, does not tell whether its spec says"
        )
        assert "help: solve and save it again, with `missing {region} branch`" in done.stderr
    for wrong in ("null", '"yes"'):
        model.write_text(json.dumps(value).replace('"step"', f'"gaps": {wrong}, "step"'))
        with pytest.raises(OdtError, match="is not true or false"):
            load_model(model)


def test_the_target_may_be_passed_through(tree):
    done = odt("predict", tree, tree.parent / "rows.csv", "--columns", "*", "--json")
    told = json.loads(done.stdout)
    assert list(told["rows"][0]) == ["name", "age", "sex", "ill", "predicted_ill"]
    assert told["predictions"] == [row["predicted_ill"] for row in told["rows"]]
    wrong = odt("predict", tree, tree.parent / "rows.csv", "--columns", "agee")
    assert wrong.exit_code != 0
    assert "did you mean `age`?" in wrong.stderr


def test_all_formats_and_standard_input_hold_the_same(tree):
    rows, folder = tree.parent / "rows.csv", tree.parent
    plain = list(csv.DictReader(io.StringIO(odt("predict", tree, rows, *FULL).stdout)))
    piped = odt("predict", tree, "-", *FULL, stdin=ROWS.encode())
    assert list(csv.DictReader(io.StringIO(piped.stdout))) == plain
    for name in ("p.csv", "p.json", "p.jsonl", "p.parquet"):
        assert odt("predict", tree, rows, *FULL, "-o", folder / name).exit_code == 0
    from pyarrow import parquet

    written = {
        "csv": list(csv.DictReader((folder / "p.csv").open(newline=""))),
        "json": json.loads((folder / "p.json").read_text()),
        "jsonl": [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()],
        "parquet": parquet.read_table(folder / "p.parquet").to_pylist(),
    }
    for found in written.values():
        as_text = [{k: "" if v is None else str(v) for k, v in row.items()} for row in found]
        assert as_text == plain


@pytest.mark.parametrize(
    ("rows", "code", "option"),
    [
        (b"age;ward\n1;2\n", "D107", '`--separator ";"`'),
        (b"age,ward\n1,\xe9\n", "D102", "`--encoding latin-1`"),
        (b"1,a\n", "D105", "`--no-header`"),
        (b"age,ward\ninf,2\n", "D106", "`--na inf`"),
        (b"age,ward\n1e999,2\n", "D106", "`--na 1e999`"),
    ],
)
def test_how_rows_are_written_is_told_by_options(tree, rows, code, option):
    path = tree.parent / "odd.csv"
    path.write_bytes(rows)
    for command in ("predict", "evaluate"):
        found = odt(command, tree, path, "--json")
        (problem,) = json.loads(found.stdout)["diagnostics"]
        assert problem["code"] == code
        assert option in problem["helps"][0]
        assert "data statement" not in problem["helps"][0]


def test_a_help_in_two_wordings_is_a_text_that_can_be_sent():
    said = DataHelp("write `header none` in the data statement", "add `--no-header`")
    again = pickle.loads(pickle.dumps(said))
    for one in (said, again, copy.deepcopy(said)):
        assert one == "write `header none` in the data statement"
        assert one.option == "add `--no-header`"


@pytest.mark.parametrize("seed", range(30))
def test_parts_hold_what_the_whole_file_holds(tmp_path, seed):
    """Cut anywhere: within quotes, within `\\r\\n`, within a character of several bytes."""
    draw = random.Random(seed)
    cells = ["1", "2.5", "", "ä€", "a,b", 'q"q', "l\nl", "x", "\U0001f600"]
    quoting: Literal[0, 1] = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=draw.choice(["\n", "\r\n"]), quoting=quoting)
    writer.writerow(["a", "b", "c"])
    writer.writerows([[*draw.choices(cells, k=2), "k"] for _ in range(draw.randint(1, 40))])
    codec = draw.choice(["utf-8", "utf-8-sig", "utf-16"])
    path = tmp_path / "rows.csv"
    path.write_bytes(text.getvalue().encode(codec))
    request = DataRequest(kind="file", name="rows.csv")
    whole = read(request, base=tmp_path)
    with path.open("rb") as file:
        found = list(parts.text_parts(file, request, size=draw.randint(20, 60)))
    for name, column in whole.columns.items():
        assert [cell for part in found for cell in part.columns[name].texts] == list(column.texts)


def test_an_error_in_a_later_part_says_where(tmp_path):
    text = "a,b\n" + "1,2\n" * 50 + "1,2,3\n"
    with pytest.raises(Exception, match=r"after line \d+, line \d+ has 3 cells"):
        list(parts.text_parts(io.BytesIO(text.encode()), DataRequest(kind="file"), size=40))


def test_marks_of_missing_cells_are_kept_with_the_model(tmp_path):
    (tmp_path / "rows.csv").write_text("age,ill\n41,yes\n19,no\n?,yes\n63,yes\n22,no\n-1,yes\n")
    marked = SPEC.replace(", id name", ', na {"?", -1}')
    (tmp_path / "s.odt").write_text(marked)
    done = odt("solve", tmp_path / "s.odt", "-o", tmp_path / "t.json")
    assert done.exit_code == 0, done.output
    assert load_model(tmp_path / "t.json").features[0].na == ("?", "-1")
    done = odt("predict", tmp_path / "t.json", tmp_path / "rows.csv")
    assert done.stdout.split() == ["ill", "yes", "no", "yes", "yes", "no", "yes"]
    given = odt("predict", tmp_path / "t.json", tmp_path / "rows.csv", "--na", "x")
    assert given.exit_code
    assert "U203" in given.stderr
    assert odt("evaluate", tmp_path / "t.json", tmp_path / "rows.csv").exit_code == 0
