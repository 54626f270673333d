"""Frames of each kind, Parquet files, and sets by name become the tables that files give."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets import frames
from odtdsl.datasets.bundled import BUNDLED, read_openml
from odtdsl.datasets.cells import Marks, column_from_texts
from odtdsl.datasets.digest import digest
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import Table, ranked
from odtdsl.datasets.typing import infer_type, levels_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

CSV = "n,i,b,t,m\n1.5,1,True,x,1\n,2,False,,a\n-2,3,True,y,2.5\n"
COLUMNS: dict[str, list[Any]] = {
    "n": [1.5, None, -2.0],
    "i": [1, 2, 3],
    "b": [True, False, True],
    "t": ["x", None, "y"],
    "m": ["1", "a", "2.5"],
}


def code_of(caught: pytest.ExceptionInfo[OdtError]) -> str:
    return caught.value.diagnostics[0].code


def cells(table: Table) -> dict[str, list[str | None]]:
    return {name: column.texts.tolist() for name, column in table.columns.items()}


def from_csv(tmp_path: Path) -> Table:
    (tmp_path / "t.csv").write_text(CSV)
    return read(DataRequest(kind="file", name="t.csv"), base=tmp_path)


FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas, any index": lambda: pd.DataFrame(COLUMNS, index=[7, 7, 3]),
    "pandas, nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas, objects": lambda: pd.DataFrame(COLUMNS, dtype=object),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "arrow": lambda: pa.table(COLUMNS),
    "arrow, chunked": lambda: pa.concat_tables(
        [pa.table({k: v[:1] for k, v in COLUMNS.items()}), pa.table(COLUMNS).slice(1)]
    ),
    "arrow, one batch": lambda: pa.table(COLUMNS).to_batches()[0],
    "mapping": lambda: COLUMNS,
    "mapping of arrays": lambda: {k: np.array(v, dtype=object) for k, v in COLUMNS.items()},
    "mapping of series": lambda: {k: pl.Series(v) for k, v in COLUMNS.items()},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_each_kind_give_the_table_of_the_file(kind: str, tmp_path: Path) -> None:
    table = read(DataRequest(kind="frame"), base=tmp_path, frame=FRAMES[kind]())
    wanted = from_csv(tmp_path)
    assert digest(table) == digest(wanted)
    assert list(table.columns) == list(wanted.columns)
    for name, column in table.columns.items():
        other = wanted.columns[name]
        assert column.missing.tolist() == other.missing.tolist()
        assert (column.numbers is None) == (other.numbers is None)
        if column.numbers is not None and other.numbers is not None:
            assert np.array_equal(column.numbers, other.numbers, equal_nan=True)
        assert column.texts.tolist() == other.texts.tolist()


@pytest.mark.parametrize("backend", ["pyarrow", "polars"])
def test_parquet(tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame(COLUMNS).write_parquet(tmp_path / "t.parquet")
    if backend == "polars":
        hide(monkeypatch, "pyarrow")
    table = read(DataRequest(kind="file", name="t.parquet"), base=tmp_path)
    assert digest(table) == digest(from_csv(tmp_path))
    assert table.name == "t.parquet"


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let a package look as if it were not installed."""
    import importlib.util

    real = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> Any:
        return None if name in packages else real(name, package)

    monkeypatch.setattr("odtdsl.datasets.frames.find_spec", find)
    monkeypatch.setattr("importlib.util.find_spec", find)


def test_parquet_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="file", name="t.parquet"), base=tmp_path)
    assert code_of(caught) == "D108"
    hide(monkeypatch, "pyarrow", "polars")
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="file", name="t.parquet"), base=tmp_path)
    assert code_of(caught) == "D108"
    assert "pip install pyarrow" in caught.value.diagnostics[0].helps[0]


def test_a_text_that_is_called_parquet_is_told_so(tmp_path: Path) -> None:
    for content, told in ((b"a,y\n1,p\n2,q\n", True), (b"", True), (b"PAR1 broken", False)):
        (tmp_path / "rows.parquet").write_bytes(content)
        with pytest.raises(OdtError) as caught:
            read(DataRequest(kind="file", name="rows.parquet"), base=tmp_path)
        (one,) = caught.value.diagnostics
        assert one.code == "D108"
        assert any("give it the ending `.csv`" in text for text in one.helps) is told, content


def test_arrays() -> None:
    table = read_frame(np.array([[1, 2.5], [math.nan, -0.0]]))
    assert cells(table) == {"x0": ["1", None], "x1": ["2.5", "0"]}
    assert cells(read_frame(np.array([[1, 2]], dtype=np.int8))) == {"x0": ["1"], "x1": ["2"]}
    assert cells(read_frame(np.array([[True]]))) == {"x0": ["True"]}
    assert cells(read_frame(np.array([["a", "1"]]))) == {"x0": ["a"], "x1": ["1"]}
    assert cells(read_frame(np.array([["a", None, 2.0]], dtype=object))) == {
        "x0": ["a"],
        "x1": [None],
        "x2": ["2"],
    }


@pytest.mark.parametrize("na", [(), ("b",), ("1",)])
@pytest.mark.parametrize(
    "cells_",
    [
        ["a", " a", "b", "b", "", "a", None, "a"],
        ["1", "1.0", " 1", "2", "1", "1", "2", "2"],
        ["1", "x", "1", "1", None, "", "x", "x"],
        [None, None, "", " ", None, None],
        [3, 1, 1, -2, 3, 3],
        [2**53 + 1, 2**53, 1, 1],
        [2**64, 1, 1, 1],
        [-1, 2**63, 2**63, 1],
    ],
)
def test_repeated_texts_and_whole_numbers_are_read_as_each_cell_alone(
    cells_: list[Any], na: tuple[str, ...]
) -> None:
    quick = read_frame({"c": cells_}, na=na).columns["c"]
    slow = column_from_texts("c", frames._texts("c", cells_), marks=Marks.of(na))
    assert quick.texts.tolist() == slow.texts.tolist()
    assert quick.missing.tolist() == slow.missing.tolist()
    assert quick.by_value == isinstance(cells_[0], int)
    assert quick.blanks == slow.blanks
    assert quick.marked == slow.marked
    assert (quick.numbers is None) == (slow.numbers is None)
    if quick.numbers is not None and slow.numbers is not None:
        assert np.array_equal(quick.numbers, slow.numbers, equal_nan=True)
    assert infer_type(quick) == infer_type(replace(slow, by_value=quick.by_value))


@pytest.mark.parametrize("letters", ["ab", "a b", "12. ", "\ud800a", "abcdefghijklmnop"])
def test_arrays_of_texts_are_read_as_each_cell_alone(letters: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        texts = ["".join(rng.choice(list(letters), rng.integers(0, 3))) for _ in range(9)]
        cells_ = [texts[place] for place in rng.integers(0, 9, rng.integers(1, 30))]
        if any("\ud800" in text for text in cells_):
            with pytest.raises(OdtError) as caught:
                read_frame({"c": np.array(cells_)})
            assert code_of(caught) == "D136"
            continue
        slow = column_from_texts("c", frames._texts("c", cells_), marks=Marks.of(()))
        quick = read_frame({"c": np.array(cells_)}).columns["c"]
        assert quick.texts.tolist() == slow.texts.tolist()
        assert quick.missing.tolist() == slow.missing.tolist()
        assert quick.blanks == slow.blanks
        assert infer_type(quick) == infer_type(slow)


def test_ranks_are_places_among_the_different_values() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        cells_ = rng.integers(-2, 3, rng.integers(0, 9)).astype(float)
        cells_[rng.random(len(cells_)) < rng.choice([0, 0.3, 1])] = math.nan
        values, places = ranked(cells_)
        expected = sorted({x for x in cells_.tolist() if x == x})
        assert values.tolist() == expected
        assert places.tolist() == [
            expected.index(x) if x == x else len(expected) for x in cells_.tolist()
        ]


def test_marks_hold_for_frames() -> None:
    table = read_frame({"a": [-9, 1], "b": [-9.0, 1.0], "c": ["?", "x"]}, na=("?", "-9"))
    assert cells(table) == {"a": [None, "1"], "b": [None, "1"], "c": [None, "x"]}
    floats = table.columns["b"].numbers
    assert floats is not None
    assert math.isnan(floats[0])


def test_scalars_of_all_sorts() -> None:
    values = [
        1,
        1.0,
        "1",
        np.int64(2),
        np.float32(0.5),
        decimal.Decimal("0.25"),
        fractions.Fraction(1, 8),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT"),
        None,
        math.nan,
        decimal.Decimal("nan"),
        "",
        True,
        np.bool_(False),
        1e22,
        10**17,
    ]
    texts = [
        "1",
        "1",
        "1",
        "2",
        "0.5",
        "0.25",
        "0.125",
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        "True",
        "False",
        "1e+22",
        "100000000000000000",
    ]
    table = read_frame({"x": values})
    wanted = [text or None for text in texts]
    assert cells(table) == {"x": wanted}
    assert table.columns["x"].numbers is None


def test_a_text_column_of_numerals_is_one_of_numbers() -> None:
    assert infer_type(read_frame(pl.DataFrame({"a": ["1", "2.0"]})).columns["a"]).kind == "number"


def test_column_names_that_are_no_texts() -> None:
    assert list(read_frame(pd.DataFrame([[1, 2]])).columns) == ["0", "1"]


def test_pandas_categories_keep_their_order() -> None:
    low_high = pd.Categorical(["high", None, "low"], categories=["low", "mid", "high"])
    ordered = pd.Categorical(["high", None, "low"], ["low", "mid", "high"], ordered=True)
    grades = pd.Categorical([3, 1, 2], categories=[3, 2, 1])
    flags = pd.Categorical([True, False, True], categories=[True, False])
    columns = {"u": low_high, "o": ordered, "g": grades, "f": flags}
    table = read_frame(pd.DataFrame(columns))
    assert table.columns["u"].levels == ("low", "mid", "high")
    assert levels_of(table.columns["u"]) == ("low", "high")
    types = {name: infer_type(column) for name, column in table.columns.items()}
    assert (types["u"].kind, types["u"].levels) == ("category", ("low", "high"))
    assert (types["o"].kind, types["o"].levels) == ("ordered", ("low", "mid", "high"))
    assert (types["g"].kind, types["g"].levels) == ("category", (3, 2, 1))
    assert (types["f"].kind, types["f"].levels) == ("category", ("True", "False"))


def test_levels_of_polars_and_arrow() -> None:
    frame = pl.DataFrame(
        {"e": ["b", "a"], "c": ["b", "a"]},
        schema={"e": pl.Enum(["b", "a", "z"]), "c": pl.Categorical},
    )
    table = read_frame(frame)
    assert levels_of(table.columns["e"]) == ("b", "a")
    assert levels_of(table.columns["c"]) == ("a", "b")
    coded = pa.array([1, 0, None], pa.int8())
    words = pa.array(["b", "a"])
    arrow = pa.table(
        {
            "u": pa.DictionaryArray.from_arrays(coded, words),
            "o": pa.DictionaryArray.from_arrays(coded, words, ordered=True),
        }
    )
    table = read_frame(arrow)
    assert cells(table) == {"u": ["a", "b", None], "o": ["a", "b", None]}
    assert levels_of(table.columns["u"]) == ("a", "b")
    assert infer_type(table.columns["o"]).levels == ("b", "a")


DAY = datetime.date(2024, 1, 2)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (lambda: pd.DataFrame({"d": pd.to_datetime(["2024-01-01"])}), "D134"),
        (lambda: pl.DataFrame({"d": [DAY]}), "D134"),
        (lambda: pa.table({"d": [datetime.timedelta(1)]}), "D134"),
        (lambda: {"d": [DAY]}, "D134"),
        (lambda: {"d": np.array(["2024-01-01"], dtype="datetime64[D]")}, "D134"),
        (lambda: pd.DataFrame({"d": [DAY, 1]}, dtype=object), "D134"),
        (lambda: {"d": [[1, 2], [3]]}, "D135"),
        (lambda: pl.DataFrame({"d": [[1, 2], [3]]}), "D135"),
        (lambda: {"d": [1j]}, "D135"),
        (lambda: {"d": np.array([1j])}, "D135"),
        (lambda: {"d": [1.0, math.inf]}, "D106"),
        (lambda: {"d": np.array([1.0, -math.inf])}, "D106"),
        (lambda: pl.DataFrame({"d": [1.0, math.inf]}), "D106"),
        (lambda: {"d": [1, 10**5000]}, "D106"),
        (lambda: {"d": [1, fractions.Fraction(10**400, 3)]}, "D106"),
        (lambda: {"a": [1], "b": [1, 2]}, "D133"),
        (lambda: {"a": 1}, "D132"),
        (lambda: np.zeros(3), "D132"),
        (lambda: np.zeros((1, 2, 3)), "D132"),
        (lambda: "t.csv", "D132"),
        (lambda: pl.DataFrame({"a": [1]}).lazy(), "D132"),
        (lambda: pl.Series([1]), "D132"),
        (lambda: pd.Series([1]), "D132"),
        (lambda: [1, 2], "D132"),
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "D104"),
        (lambda: pa.table([[1], [2]], names=["a", "a"]), "D104"),
        (lambda: pa.record_batch([[1], [2]], names=["a", "a"]), "D104"),
        (lambda: {1: [1], "1": [2]}, "D104"),
        (dict, "D105"),
        (lambda: pd.DataFrame(), "D105"),
        (lambda: pl.DataFrame({"a": []}), "D105"),
        (lambda: np.zeros((0, 2)), "D105"),
        (lambda: None, "D131"),
    ],
)
def test_refusals(frame: Any, code: str, tmp_path: Path) -> None:
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="frame"), base=tmp_path, frame=frame())
    assert code_of(caught) == code


def test_all_wrong_columns_are_named_at_once() -> None:
    with pytest.raises(OdtError) as caught:
        read_frame({"a": [DAY], "b": [math.inf], "c": [1]})
    assert [d.code for d in caught.value.diagnostics] == ["D134", "D106"]


@pytest.mark.parametrize(
    ("name", "spec", "shown"),
    [("day", "drop day", "`drop day`"), ("my day", "drop `my day`", "`` drop `my day` ``")],
)
def test_dates_are_told_with_statements_on_their_column(name: str, spec: str, shown: str) -> None:
    frame = pd.DataFrame({name: pd.to_datetime(["2024-01-01", "2024-01-02"]), "x": [1, 2]})
    with pytest.raises(OdtError) as caught:
        read_frame(frame)
    assert caught.value.diagnostics[0].helps[0].endswith(f"leave it out: {shown}")
    tree = odtdsl.OptimalTreeClassifier(max_depth=1)
    with pytest.raises(OdtError) as caught:
        tree.fit(frame, ["a", "b"])
    assert f'spec="{spec}"' in caught.value.diagnostics[0].helps[0]
    assert tree.set_params(spec=spec).fit(frame, ["a", "b"]).score(frame, ["a", "b"]) == 1


ODD: list[list[Any]] = [
    [DAY, datetime.date(2024, 3, 2), None, DAY],
    [datetime.datetime(2024, 1, 2, 3), datetime.datetime(2024, 3, 2), None, DAY],
    [datetime.timedelta(1), datetime.timedelta(2), None, datetime.timedelta(1)],
    [[1], [2], None, [1]],
]


@pytest.mark.parametrize("values", ODD, ids=lambda values: type(values[1]).__name__)
def test_a_dropped_column_may_hold_anything(values: list[Any]) -> None:
    """Of frames of every kind, in specs and in estimators; a group speaks of its text."""
    rows: dict[str, Any] = {"odd": values, "x": [1, 2, 3, 4], "y": ["a", "a", "b", "b"]}
    spec = "data frame drop odd target y tree depth <= 1 minimize errors"
    text = str(values[0])[:10]
    group = f' missing {{odd}} drop group first = odd == "{text}" rule all: accuracy(first) >= 50%'
    frames: list[Any] = [rows, pd.DataFrame(rows)]
    if len(set(map(type, values))) == 2:  # nothing else but nulls
        frames += [pl.DataFrame(rows), pa.table(rows)]
    for frame in frames:
        result = odtdsl.solve(spec, frame=frame)
        assert result.status == "optimal"
        if type(values[0]) is datetime.date:
            (line,) = odtdsl.solve(spec + group, frame=frame).audit.lines[-1:]
            assert (line.rule, [one.rows for one in line.rows]) == ("all", [2])
        with pytest.raises(OdtError, match=r"D13[45]"):
            odtdsl.solve(spec.replace("drop odd", ""), frame=frame)
    X = pd.DataFrame({"odd": pd.Series(values, dtype=object), "x": rows["x"]})
    tree = odtdsl.OptimalTreeClassifier(max_depth=1, spec="drop odd").fit(X, rows["y"])
    assert tree.predict(X).tolist() == rows["y"]


def test_bundled_sets(tmp_path: Path) -> None:
    tables = {name: read(DataRequest(kind="sklearn", name=name), base=tmp_path) for name in BUNDLED}
    shapes = {name: (table.n_rows, len(table.columns)) for name, table in tables.items()}
    assert shapes == {
        "breast_cancer": (569, 31),
        "diabetes": (442, 11),
        "digits": (1797, 65),
        "iris": (150, 5),
        "linnerud": (20, 6),
        "wine": (178, 14),
    }
    target = {name: table.columns.get("target") for name, table in tables.items()}
    assert levels_of(target["iris"]) == ("setosa", "versicolor", "virginica")  # type: ignore[arg-type]
    assert levels_of(target["digits"]) == tuple(range(10))  # type: ignore[arg-type]
    assert target["linnerud"] is None
    assert list(tables["linnerud"].columns)[3:] == ["Weight", "Waist", "Pulse"]
    assert list(tables["digits"].columns)[:2] == ["pixel_0_0", "pixel_0_1"]
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    table = tables["breast_cancer"]
    assert list(table.columns) == [*bunch.feature_names, "target"]
    assert table.columns["target"].texts.tolist() == bunch.target_names[bunch.target].tolist()
    for name, values in zip(bunch.feature_names, bunch.data.T, strict=True):
        assert np.array_equal(table.columns[name].numbers, values)
    assert table.columns["mean radius"].texts[0] == "17.99"


def test_unknown_bundled_set(tmp_path: Path) -> None:
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="sklearn", name="Iris "), base=tmp_path)
    assert code_of(caught) == "D121"
    assert "iris" in caught.value.diagnostics[0].helps[0]


def openml(name: str, fetch: Any) -> Table:
    return read_openml(DataRequest(kind="openml", name=name, na=("?",)), fetch)


def test_openml_with_pandas() -> None:
    asked: list[dict[str, Any]] = []
    frame = pd.DataFrame({"age": [1, 2], "job": pd.Categorical(["b", "?"], ["b", "a", "?"])})

    def fetch(**options: Any) -> Any:
        asked.append(options)
        return SimpleNamespace(frame=frame)

    table = openml("adult", fetch)
    assert table.name == 'openml "adult"'
    assert cells(table) == {"age": ["1", "2"], "job": ["b", None]}
    openml("1590", fetch)
    assert asked == [
        {"name": "adult", "as_frame": True, "parser": "auto"},
        {"data_id": 1590, "as_frame": True, "parser": "auto"},
    ]


def test_openml_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pandas")
    bunch = SimpleNamespace(
        data=np.array([[1.5, 1.0], [2.0, math.nan]]),
        feature_names=["x", "job"],
        categories={"job": ["b", "a"]},
        target=np.array(["yes", "no"], dtype=object),
        target_names=["y"],
    )
    asked: list[dict[str, Any]] = []
    table = openml("adult", lambda **options: asked.append(options) or bunch)  # type: ignore[func-returns-value]
    assert asked == [{"name": "adult", "as_frame": False, "parser": "liac-arff"}]
    assert cells(table) == {"x": ["1.5", "2"], "job": ["a", None], "y": ["yes", "no"]}
    bunch.data = "sparse"
    with pytest.raises(OdtError) as caught:
        openml("adult", lambda **_: bunch)
    assert code_of(caught) == "D123"


@pytest.mark.parametrize("problem", [OSError("no network"), ValueError("no such set")])
def test_openml_out_of_reach(problem: Exception) -> None:
    def fetch(**_: Any) -> Any:
        raise problem

    with pytest.raises(OdtError) as caught:
        openml("adult", fetch)
    assert code_of(caught) == "D122"
    assert str(problem) in caught.value.diagnostics[0].message


def test_digest_is_stable_and_sensitive() -> None:
    def of(frame: Any) -> str:
        return digest(read_frame(frame))

    base = of({"a": [1.0, None], "b": ["x", "y"]})
    assert base == "dce3a3a25f85b5f1256e15c071a24f91f86d2431a0e7772696b5b40b54cc0082"
    assert base == of({"a": ["1.0", ""], "b": ["x", "y"]})
    others = [
        {"a": [1.0, 0.0], "b": ["x", "y"]},
        {"a": [None, 1.0], "b": ["x", "y"]},
        {"a": [1.0, None], "c": ["x", "y"]},
        {"b": ["x", "y"], "a": [1.0, None]},
        {"a": [1.0, None], "b": ["xy", None]},
        {"a": [1.0, None], "b": ["x", "y "]},
    ]
    assert [of(other) == base for other in others] == [False] * 5 + [True]
    table = read_frame({"a": [1.0, 2.0]})
    types = [infer_type(table.columns["a"])]
    assert digest(table, types) != digest(table)


# ---- texts that no file can hold

HALF = "gr\u00fcn\ud800"


def _frame(columns: dict[str, list[Any]]) -> Any:
    """A pandas frame whose names and texts are objects, which alone hold half a pair."""
    made = pd.DataFrame({at: pd.Series(v, dtype=object) for at, v in enumerate(columns.values())})
    made.columns = pd.Index(list(columns), dtype=object)
    return made


@pytest.mark.parametrize("make", [dict, _frame])
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": [1, 2], HALF: [1, 2]}, "column 2 of frame is named 'gr\\xfcn\\ud800'"),
        ({"a": ["x", HALF]}, "column `a` contains 'gr\\xfcn\\ud800' in row 1 (counted from 0)"),
        ({"a": ["\ud83d", "\ude00"]}, "column `a` contains '\\ud83d' in row 0"),
    ],
)
def test_half_a_surrogate_pair_is_refused(
    make: Any, columns: dict[str, list[Any]], told: str
) -> None:
    """It would end in a UnicodeEncodeError wherever a model or an answer is written."""
    with pytest.raises(OdtError) as caught:
        read_frame(make(columns))
    assert code_of(caught) == "D136"
    assert told in str(caught.value)
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize("kind", [object, "U"])
def test_arrays_may_hold_half_a_pair_no_more(kind: Any) -> None:
    with pytest.raises(OdtError, match="D136"):
        read_frame(np.array([["x", "y"], [HALF, "y"]], dtype=kind))


def test_whole_characters_beyond_the_first_plane_are_read() -> None:
    assert cells(read_frame({"\U0001f600": ["\U0001f600", "\u00fc"]})) == {
        "\U0001f600": ["\U0001f600", "\u00fc"]
    }


def test_a_record_batch_is_taken_for_a_table_everywhere() -> None:
    columns = {"a": [1.0, 2.0, 3.0, 4.0] * 3, "b": list("uvuv") * 3}
    whole, y = pa.table(columns), list("nnpp") * 3
    (batch,) = whole.to_batches()
    tree = odtdsl.OptimalTreeClassifier(max_depth=1).fit(batch, y)
    assert tree.feature_names_in_.tolist() == ["a", "b"]
    assert tree.predict(batch).tolist() == tree.predict(whole).tolist() == y
    text = "data frame target y tree depth <= 1 minimize errors"
    model = odtdsl.solve(text, frame=batch.append_column("y", pa.array(y))).model
    assert model is not None
    odd = batch.append_column("odd", pa.array([{"x": 1}] * 12))  # read by no test of the tree
    assert model.predict(odd).tolist() == y
