"""What tells two cells apart, from the file or frame to the saved model and its exports."""

from __future__ import annotations

import csv
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from runners import RUNNERS
from runners.python import by_python
from runners.sql import by_sql
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.cells import Marks, column_from_texts
from odtdsl.datasets.digest import digest
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.typing import declare_type
from odtdsl.interfaces.api.model import Model
from odtdsl.predictors.json import from_json, to_json

CODES = ("900000000000207008", "900000000000207009")
SPEC = """
data "rows.csv"
target code: class
feature f: category
tree depth <= 3
minimize errors
"""


def model_of(folder: Path, spec: str, rows: list[dict[str, str]]) -> Model:
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "spec.odt").write_text(spec, encoding="utf-8")
    return odtdsl.load(folder / "spec.odt")


def refusal(call: Any, *args: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(OdtError) as caught:
        call(*args, **options)
    return caught.value.diagnostics[0].code, caught.value.diagnostics[0].message


# ---- files


@pytest.mark.parametrize("texts", [("1.1", "1.10"), ("250.0", "250.00"), ("01", "1"), CODES])
def test_texts_that_read_as_one_number_are_two_values(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    rows = [{"f": texts[i % 2], "code": CODES[i % 2]} for i in range(6)]
    model = model_of(tmp_path, SPEC, rows)
    result = model.solve(using="exact")
    assert (result.status, result.objective) == ("optimal", Fraction(0))
    assert result.model is not None
    expected = [int(row["code"]) for row in rows]
    saved = from_json(to_json(result.model))  # type: ignore[arg-type]
    assert saved == result.model
    cells: list[dict[str, Any]] = [{"f": row["f"]} for row in rows]
    for predictor in (result.model, saved):
        assert predictor.predict({"f": [row["f"] for row in rows]}).tolist() == expected
        assert by_python(predictor, cells) == expected
        assert by_sql(predictor, cells) == expected
    other = {"f": [texts[0] + "0", "+" + texts[1]]}  # neither is a value: not equal to all
    assert len(set(result.model.predict(other).tolist())) == 1


def naive(train: list[str], labels: list[str], cell: str) -> str | None:
    """The only label that a text had in training; None where it had several or was not there."""
    seen = {label for text, label in zip(train, labels, strict=True) if text == cell.strip()}
    return seen.pop() if len(seen) == 1 else None


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_random_texts_mean_what_they_mean_alone(tmp_path: Path, seed: int) -> None:
    """A tree with a leaf for each text predicts the label of that text, whatever else there is."""
    rng = random.Random(seed)
    pool = [
        "1",
        "1.0",
        "01",
        "1e0",
        "+1",
        "1.10",
        "1.1",
        "-0",
        "0",
        ".5",
        "0.5",
        "a",
        "A",
        "1_0",
        "10",
        "9007199254740993",
        "9007199254740992",
        "1" * 30,
        "inf",
        "yes",
    ]
    words = rng.sample(pool, rng.randint(2, 5))
    if set(words) == {"inf"} or all(
        w == "inf" or w.lstrip("+-").replace(".", "").isdigit() for w in words
    ):
        words.append("b")  # else `inf` is an infinite number among numbers
    train = words + [rng.choice(words) for _ in range(6)]
    of_word = {word: rng.choice(["p", "q"]) for word in words}
    labels = [of_word[word] for word in train]
    if len(set(labels)) < 2:
        labels = ["q" if word == words[0] else "p" for word in train]
    rows = [{"f": f, "code": label} for f, label in zip(train, labels, strict=True)]
    result = model_of(tmp_path, SPEC.replace("<= 3", "<= 6"), rows).solve(using="exact")
    assert result.objective == 0
    assert result.model is not None
    cells = [word for word in pool if word != "inf"]
    saved = from_json(to_json(result.model))  # type: ignore[arg-type]
    said = saved.predict({"f": [*cells, "zz"]}).tolist()  # "zz" keeps them texts
    for cell, label in zip(cells, said[:-1], strict=True):
        known = naive(train, labels, cell)
        assert known is None or label == known
    assert by_python(saved, [{"f": cell} for cell in cells]) == said[:-1]
    unknown = {said[i] for i, cell in enumerate(cells) if cell not in words} | {said[-1]}
    assert len(unknown) == 1


def test_numbers_that_float64_would_merge_are_refused(tmp_path: Path) -> None:
    rows = [{"f": CODES[i % 2], "code": "ab"[i % 2]} for i in range(4)]
    spec = SPEC.replace("category", "number")
    code, message = refusal(model_of(tmp_path, spec, rows).analyse)
    assert code == "D146"
    assert f"`{CODES[0]}` and `{CODES[1]}`" in message
    undeclared = spec.replace("feature f: number", "")
    assert refusal(model_of(tmp_path, undeclared, rows).analyse)[0] == code
    longer = [{"f": f, "code": c} for f, c in (("0.1", "a"), ("0.10000000000000001", "b"))]
    assert refusal(model_of(tmp_path, spec, longer).analyse)[0] == code
    for more in ("drop f feature x: category", "feature x: category"):
        free = [{**row, "x": "1"} for row in rows]
        data = SPEC.replace("feature f: category", more)
        if "drop" not in more:
            data = data.replace('"rows.csv"', '"rows.csv", id f')
        model_of(tmp_path, data, free).analyse()
    same = [{"f": f, "code": c} for f, c in (("1e20", "a"), ("100000000000000000000", "b"))]
    model_of(tmp_path, spec, same).analyse()  # one number in two writings is one number


# ---- numbers in specs


@pytest.mark.parametrize(
    ("cells", "literal", "outcome"),
    [
        (("1.1", "1.10"), "1.1", "1.1"),
        (("1.1", "1.10"), "1.10", "1.10"),
        (("1.1", "1.10"), "1.100", "N123"),
        (("1.1", "1.10"), '"1.100"', "N116"),
        (("01", "2"), "1", "01"),
        (("01", "2"), '"1"', "N116"),
        (("01", "2"), "3", "N116"),
        (("-1.0", "2"), "-1", "-1.0"),
        (CODES, CODES[0], CODES[0]),
        (CODES, "900000000000207000", "N116"),
    ],
)
def test_a_number_stands_for_its_text_or_the_one_that_reads_as_it(
    tmp_path: Path, cells: tuple[str, str], literal: str, outcome: str
) -> None:
    rows = [{"f": cells[i % 2], "code": "ab"[i % 2]} for i in range(4)]
    model = model_of(tmp_path, f"{SPEC} group g = f = {literal}", rows)
    if outcome[0] == "N":
        assert refusal(model.analyse)[0] == outcome
    else:
        mask = model.analyse().rows.mask(model.analyse().problem.groups[0])  # type: ignore[arg-type]
        assert mask.tolist() == [cells[i % 2] == outcome for i in range(4)]


def test_labels_follow_the_same_rule(tmp_path: Path) -> None:
    rows = [{"f": "ab"[i % 2], "code": ("0.0", "1.0")[i % 2]} for i in range(4)]
    spec = SPEC.replace("class", "class {1, 0} positive 1")
    spec += " loss predict 0 when 1 = 5 rule r: recall(1) >= 50%"
    target = model_of(tmp_path, spec, rows).analyse().problem.target
    assert (target.classes, target.positive) == (("1.0", "0.0"), 0)
    rows[0]["code"] = "0"
    rows[2]["code"] = "0.00"
    assert refusal(model_of(tmp_path, SPEC.replace("class", "class {0, 1}"), rows).analyse) == (
        "T107",
        "column `code` contains the class `0.00`, which is not declared",
    )
    rows[0]["code"] = "0.0"
    assert (
        refusal(model_of(tmp_path, SPEC + "loss predict 0 when 1 = 5", rows).analyse)[0] == "N123"
    )


def test_rows_are_named_by_the_text_of_their_id(tmp_path: Path) -> None:
    rows = [
        {"f": f, "x": x, "code": c}
        for f, x, c in zip((*CODES, "007", "1", "01"), "aabba", "pqpqp", strict=True)
    ]
    spec = SPEC.replace('"rows.csv"', '"rows.csv", id f').replace("feature f", "feature x")
    for literal, found in ((CODES[1], 1), ("7", 2), ('"01"', 4), ("1", 3)):
        analysis = model_of(tmp_path, f"{spec} group g = row in {{{literal}}}", rows).analyse()
        assert analysis.rows.mask(analysis.problem.groups[0]).argmax() == found  # type: ignore[arg-type]
        by_cell = model_of(tmp_path, f"{spec} group g = f = {literal}", rows).analyse()
        assert by_cell.rows.mask(by_cell.problem.groups[0]).nonzero()[0].tolist() == [found]  # type: ignore[arg-type]
    wrong = model_of(tmp_path, f"{spec} group g = row in {{1.0}}", rows)
    assert refusal(wrong.analyse)[0] == "N123"


def test_ordered_values_are_the_listed_ones(tmp_path: Path) -> None:
    rows = [{"f": f, "code": c} for f, c in zip(("10.0", "9", "2"), "aba", strict=True)]
    listed = SPEC.replace("category", "ordered {2.0, 9, 10}")
    spec = listed + "rule r: forall split: threshold(f) <= 9.0"
    (feature,) = model_of(tmp_path, spec, rows).analyse().problem.features
    assert feature.type.levels == ("2", "9", "10.0")
    assert model_of(tmp_path, spec, rows).solve(using="exact").status == "optimal"
    rows[2]["f"] = "9.0"
    assert refusal(model_of(tmp_path, listed, rows).analyse)[0] == "D142"


def test_an_order_that_is_not_listed_is_that_of_numbers_without_ties() -> None:
    assert declare_type(column_from_texts("f", ["10", "9.0"]), "ordered").levels == ("9.0", "10")
    for texts in (["10", "9.0", "9"], ["10", "a"]):
        assert refusal(declare_type, column_from_texts("f", texts), "ordered")[0] == "D144"


def test_blanks_that_merge_values_are_told(tmp_path: Path) -> None:
    rows = [{"f": f, "code": c} for f, c in zip(("a", "a ", "b ", "b "), "pqpq", strict=True)]
    analysis = model_of(tmp_path, SPEC, rows).analyse()
    assert analysis.problem.features[0].type.levels == ("a", "b")
    (warning,) = [one for one in analysis.warnings if one.code == "D218"]
    assert '`f` has "a" with' in warning.message
    assert column_from_texts("f", ["a", " a", None, "b"]).blanks == ("a",)


@pytest.mark.parametrize("quick", [False, True])
def test_values_that_read_as_a_mark_are_told(
    tmp_path: Path, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if quick:
        monkeypatch.setattr("odtdsl.datasets.quick.MIN_QUICK_SIZE", 0)
        monkeypatch.setattr("odtdsl.datasets.quick.LEAST_LINES", 0)
    rows = [{"f": f, "code": c} for f, c in zip(("09", "9", "1", "1"), "abab", strict=True)]
    spec = SPEC.replace('csv"', 'csv", na {"9"}') + "missing branch"
    found = {d.code: d.message for d in model_of(tmp_path, spec, rows).analyse().warnings}
    assert found["D223"] == '"09" of `f` is read as a missing value'
    for plain in (spec.replace("category", "number"), spec.replace('{"9"}', '{"9", "09"}')):
        told = model_of(tmp_path, plain, rows).analyse().warnings
        assert "D223" not in {d.code for d in told}


# ---- frames


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([int(c) for c in CODES], dtype="int64"),
        pd.Series([int(c) for c in CODES], dtype="Int64"),
        pd.Series([int(c) for c in CODES], dtype="uint64"),
        pd.Series([int(c) for c in CODES], dtype=object),
        pd.Series([int(c) for c in CODES]).astype("category"),
        pd.Series(CODES, dtype=object),
        pd.Series(CODES, dtype="category"),
        pl.Series([int(c) for c in CODES]),
        pl.Series(CODES, dtype=pl.Categorical),
        np.array([int(c) for c in CODES]),
        np.array(CODES),
    ],
    ids=lambda values: f"{type(values).__module__.split('.')[0]}-{values.dtype}",
)
def test_large_integers_of_frames_are_exact(values: Any) -> None:
    frame = {"f": values, "y": [0, 1]}
    spec = "data frame target y feature f: category tree depth <= 1 minimize errors"
    result = odtdsl.parse(spec).solve(frame=frame, using="exact")
    assert result.objective == 0
    assert result.model is not None
    saved = from_json(to_json(result.model))  # type: ignore[arg-type]
    assert saved.predict({"f": values}).tolist() == [0, 1]
    assert by_python(saved, [{"f": value} for value in list(values)]) == [0, 1]
    target = odtdsl.parse("data frame target f: class tree depth <= 1 minimize errors")
    label = target.solve(frame=frame, using="exact").model
    assert label is not None
    assert label.predict({"y": [0, 1]}).tolist() == [int(c) for c in CODES]
    if getattr(values, "dtype", None) in (np.int64, np.uint64):
        plain = odtdsl.parse("data frame target y tree depth <= 1 minimize errors")
        assert refusal(plain.analyse, frame=frame)[0] == "D146"


def test_values_of_frames_are_their_identity() -> None:
    column = read_frame({"f": [1.0, 1, True, "1.0"]}).columns["f"]
    assert column.distinct[0] == ("1", "True", "1.0")
    big = read_frame({"f": [2**70, 2**70 + 1, 2.5]}).columns["f"]
    assert big.distinct[0] == (str(2**70), str(2**70 + 1), "2.5")
    same = read_frame({"f": [10**16, 1e16, 1e22, 10**22, 10**16 + 1]}).columns["f"]
    assert same.distinct[1].tolist() == [0, 0, 1, 1, 2]
    missing = read_frame({"f": pd.Series([int(CODES[0]), None], dtype="Int64")}).columns["f"]
    assert missing.texts.tolist() == [CODES[0], None]
    marked = read_frame({"f": np.array([int(c) for c in CODES])}, na=[CODES[0]]).columns["f"]
    assert marked.missing.tolist() == [True, False]
    written = column_from_texts("f", CODES, marks=Marks.of([CODES[1]]))
    assert written.missing.tolist() == [False, True]


@pytest.mark.parametrize("last", [2**70, None])
def test_integers_of_128_bits_are_exact(last: int | None) -> None:
    values = pl.Series([2**64 + 1, 2**64 + 2, last], dtype=pl.Int128)
    column = read_frame(pl.DataFrame({"f": values})).columns["f"]
    texts = [str(2**64 + 1), str(2**64 + 2), None if last is None else str(last)]
    assert column.texts.tolist() == texts
    assert column.by_value


def test_a_million_numbers_make_no_texts() -> None:
    column = read_frame({"f": np.arange(1_000_000)}).columns["f"]
    assert not {"texts", "distinct"} & set(vars(column))
    model = odtdsl.parse("data frame target y feature f: number tree depth <= 1 minimize errors")
    frame = {"f": np.arange(100.0), "y": np.arange(100) % 2}
    columns = model.analyse(frame=frame).table.columns
    assert "texts" not in vars(columns["f"])


def test_digests_tell_texts_apart() -> None:
    one, other = ({"f": list(texts)} for texts in (("1.1", "1.10"), ("1.10", "1.1")))
    assert digest(read_frame(one)) != digest(read_frame(other))
    assert digest(read_frame({"f": ["1.1", "2"]})) == digest(read_frame({"f": [1.1, 2]}))


# ---- saved models


def test_a_model_of_version_1_reads_cells_as_it_did() -> None:
    first = {
        "format": "odtdsl.tree",
        "version": 1,
        "targets": ["y"],
        "classes": ["n", "p"],
        "features": [{"name": "f", "kind": "category", "levels": [1, 2], "step": None}],
        "root": {
            "node": "branch",
            "feature": "f",
            "test": {"test": "equals", "value": 1},
            "missing": "left",
            "size": 2,
            **{
                side: {
                    "node": "leaf",
                    "label": label,
                    "output": None,
                    "size": 1,
                    "class_weights": [],
                }
                for side, label in (("left", 1), ("right", 0))
            },
        },
    }
    tree = from_json(first)
    rows: list[dict[str, Any]] = [{"f": f} for f in ("1", "1.0", "01", "2", "x", 1.0)]
    assert tree.predict({"f": ["1", "1.0", "01", "2", "x"]}).tolist() == ["p", "p", "p", "n", "n"]
    assert by_python(tree, rows) == ["p", "p", "p", "n", "n", "p"]
    assert from_json(to_json(tree)) == tree


# ---- exports


@pytest.mark.parametrize("texts", [("1.1", "1.10"), ("01", "1"), CODES])
@pytest.mark.parametrize("to", RUNNERS)
def test_exports_tell_texts_apart(tmp_path: Path, to: str, texts: tuple[str, str]) -> None:
    rows = [{"f": texts[i % 2], "code": CODES[i % 2]} for i in range(6)]
    tree = model_of(tmp_path, SPEC, rows).solve(using="exact").model
    assert tree is not None
    expected = [int(row["code"]) for row in rows]
    cells: list[dict[str, Any]] = [{"f": row["f"]} for row in rows]
    assert RUNNERS[to].says(tree, cells, tmp_path) == expected


# ---- estimators


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy", "category"])
def test_estimators_tell_texts_apart(kind: str) -> None:
    texts = ["1.1", "1.10"] * 6
    X: Any = {
        "pandas": lambda: pd.DataFrame({"v": texts}),
        "polars": lambda: pl.DataFrame({"v": texts}),
        "numpy": lambda: np.array(texts, dtype=object)[:, None],
        "category": lambda: pd.DataFrame({"v": pd.Categorical(texts)}),
    }[kind]()
    for y in (np.array(texts), np.array([int(c) for c in CODES] * 6), np.array(CODES * 6)):
        tree = odtdsl.OptimalTreeClassifier(max_depth=1).fit(X, y)
        assert tree.predict(X).tolist() == y.tolist()
        assert tree.classes_.tolist() == sorted(set(y.tolist()))


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy", "list"])
def test_estimators_refuse_numbers_that_would_merge(kind: str) -> None:
    values = [int(c) for c in CODES] * 6
    X: Any = {
        "pandas": lambda: pd.DataFrame({"v": values}),
        "polars": lambda: pl.DataFrame({"v": values}),
        "numpy": lambda: np.array(values)[:, None],
        "list": lambda: [[value] for value in values],
    }[kind]()
    tree = odtdsl.OptimalTreeClassifier(max_depth=1)
    assert refusal(tree.fit, X, [0, 1] * 6)[0] == "D146"
