"""Prediction on everything that people have their rows in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.datasets.frames import read_frame
from odtdsl.predictors.json import save
from odtdsl.predictors.nodes import Branch, Equals, Leaf, Threshold
from odtdsl.predictors.tree import Tree

FEATURES = (
    ColumnType(name="unused", kind="number"),
    ColumnType(name="age", kind="number"),
    ColumnType(name="blood pressure", kind="ordered", levels=("low", "high")),
    ColumnType(name="code", kind="category", levels=(1, 2)),
)
TREE = Tree(
    root=Branch(
        feature="age",
        test=Threshold(value=0.5),
        left=Branch(
            feature="blood pressure",
            test=Threshold(value="low"),
            left=Leaf(label=0, size=4, class_weights=(3.0, 1.0, 0.0)),
            right=Leaf(label=1, size=1, class_weights=(0.0, 2.0, 0.0)),
            missing="right",
        ),
        right=Branch(
            feature="code",
            test=Equals(value=2),
            left=Leaf(label=2, size=2, class_weights=(0.0, 0.0, 2.0)),
            right=Leaf(label=0),
            missing="left",
        ),
        missing="right",
    ),
    features=FEATURES,
    targets=("y",),
    classes=("no", "yes", "maybe"),
)
ROWS = {
    "age": [0.5, 0.25, 0.25, 1.0, None, 7.0],
    "blood pressure": ["low", "high", None, "low", "high", "low"],
    "code": [1, 1, 1, 2, None, 9],
}
LEAVES = [0, 1, 1, 2, 2, 3]


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def pandas_nullable() -> Any:
    return pandas_frame().convert_dtypes()


def pandas_categories() -> Any:
    return pandas_frame().astype({"blood pressure": "category", "code": "category"})


def polars_frame() -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def arrow_table() -> Any:
    return pytest.importorskip("pyarrow").table(ROWS)


def object_array() -> Any:
    columns = [[0.0] * 6, ROWS["age"], ROWS["blood pressure"], ROWS["code"]]
    return np.array(columns, dtype=object).T


@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        lambda: read_frame(ROWS),
        pandas_frame,
        pandas_nullable,
        pandas_categories,
        polars_frame,
        arrow_table,
        object_array,
    ],
)
def test_all_kinds_of_rows_reach_the_same_leaves(make: Callable[[], Any]) -> None:
    data = make()
    leaves = TREE.apply(data)
    assert leaves.dtype == np.int64
    assert leaves.tolist() == LEAVES
    assert TREE.predict(data).tolist() == ["no", "yes", "yes", "maybe", "maybe", "no"]


def test_shares_are_those_of_the_leaf() -> None:
    shares = TREE.predict_proba(ROWS)
    assert shares.shape == (6, 3)
    assert shares.dtype == np.float64
    assert shares[0].tolist() == [0.75, 0.25, 0.0]
    assert shares[3].tolist() == [0.0, 0.0, 1.0]
    assert shares[5].tolist() == [1.0, 0.0, 0.0], "a leaf without weight is sure of its label"


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [((0, 1, 2), np.int64), ((0, 1, 2.5), np.float64), (("a", 1, 2), object)],
)
def test_labels_keep_their_type(classes: Any, dtype: Any) -> None:
    labels = replace(TREE, classes=classes).predict(ROWS)
    assert labels.dtype == dtype
    assert labels.tolist() == [classes[TREE.leaves[leaf].label or 0] for leaf in LEAVES]


def regression(*outputs: tuple[float, ...]) -> Tree:
    leaves = [Leaf(output=output) for output in outputs]
    root = Branch(
        feature="x", test=Threshold(value=0.5), left=leaves[0], right=leaves[1], missing="left"
    )
    targets = tuple(f"t{i}" for i in range(len(outputs[0])))
    return Tree(root=root, features=(ColumnType(name="x", kind="number"),), targets=targets)


def test_outputs_have_a_column_for_each_of_several_targets() -> None:
    array = np.array([[0.0], [1.0], [np.nan]])
    single = regression((1.5,), (2.0,)).predict(array)
    assert single.dtype == np.float64
    assert single.tolist() == [1.5, 2.0, 1.5]
    several = regression((1.5, 1.0), (2.0, 0.0)).predict(array)
    assert several.tolist() == [[1.5, 1.0], [2.0, 0.0], [1.5, 1.0]]
    assert codes(lambda: regression((1.0,), (2.0,)).predict_proba(array)) == ["U206"]


def test_comparison_is_in_float64() -> None:
    """A cast to float32 would send the next float above the threshold to the left."""
    tree = regression((0.0,), (1.0,))
    array = np.array([[0.5], [np.nextafter(0.5, 1.0)], [np.nextafter(0.5, 0.0)]])
    assert tree.predict(array).tolist() == [0.0, 1.0, 0.0]


def test_integers_and_floats_of_all_widths() -> None:
    tree = regression((0.0,), (1.0,))
    for dtype in (np.int8, np.uint64, np.float16, np.float32, bool):
        values = np.array([[0], [1]], dtype=dtype)
        if dtype is bool:
            assert codes(lambda v=values: tree.predict(v)) == ["U203"]  # type: ignore[misc]
        else:
            assert tree.predict(values).tolist() == [0.0, 1.0]


def test_missing_numbers_of_every_library() -> None:
    tree = regression((0.0,), (1.0,))
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for data in (
        {"x": np.array([1.0, np.nan])},
        {"x": pandas.array([1, None], dtype="Int64")},
        {"x": pandas.Series([1, None])},
        pandas.DataFrame({"x": pandas.array([1, None], dtype="Int8")}),
        polars.DataFrame({"x": [1, None]}),
        polars.DataFrame({"x": [1.0, float("nan")]}),
        polars.DataFrame({"x": ["1", None]}),
        pytest.importorskip("pyarrow").table({"x": [1, None]}),
    ):
        assert tree.predict(data).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("empty", [{"x": []}, np.empty((0, 1))])
def test_no_rows_get_no_predictions(empty: Any) -> None:
    assert regression((1.0,), (2.0,)).predict(empty).shape == (0,)
    assert regression((1.0, 1.0), (2.0, 2.0)).predict(empty).shape == (0, 2)


def test_a_single_leaf_needs_no_column() -> None:
    tree = replace(TREE, root=Leaf(label=1))
    assert tree.predict({"anything": [None, "x"]}).tolist() == ["yes", "yes"]
    assert tree.predict(pandas_frame()).tolist() == ["yes"] * 6


def test_columns_that_are_not_tested_may_hold_anything() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas_frame().assign(unused=[object()] * 6, day=pandas.to_datetime(["2020-01-01"] * 6))
    assert TREE.apply(frame).tolist() == LEAVES
    assert TREE.apply({**ROWS, "unused": [object()] * 6}).tolist() == LEAVES


def codes(act: Callable[[], object]) -> list[str]:
    with pytest.raises(OdtError) as caught:
        act()
    str(caught.value)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def without(*names: str, **more: Any) -> dict[str, Any]:
    return {**{key: value for key, value in ROWS.items() if key not in names}, **more}


@pytest.mark.parametrize("convert", ["dict", "table", "pandas"])
def test_a_tested_column_that_is_absent_is_named_with_the_likely_one(convert: str) -> None:
    data: Any = {**without("blood pressure", "code"), "Blood_pressure": ["low"] * 6}
    if convert == "table":
        data = read_frame(data)
    elif convert == "pandas":
        data = pytest.importorskip("pandas").DataFrame(data)
    with pytest.raises(OdtError) as caught:
        TREE.predict(data)
    first, second = caught.value.diagnostics
    assert first.code == second.code == "U201"
    assert "`blood pressure`" in first.message
    assert "did you mean `Blood_pressure`?" in first.helps[0]
    assert "`code`" in second.message


def test_an_unknown_level_names_row_and_cell() -> None:
    pressure = ["low", "high", None, "medium", "high", "odd"]
    with pytest.raises(OdtError) as caught:
        TREE.predict(without("blood pressure", **{"blood pressure": pressure}))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "U204"
    assert '"medium" in row 3' in diagnostic.message
    assert "`blood pressure`" in diagnostic.message


def test_a_text_among_numbers_names_row_and_cell() -> None:
    with pytest.raises(OdtError) as caught:
        TREE.predict(without("age", age=["1", "", "?", "4", "5", "x"]))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "U203"
    assert 'row 2 (counted from 0) has "?"' in diagnostic.message
    assert diagnostic.notes[0].startswith("2 of 6 cells")


def test_an_unseen_category_is_not_equal() -> None:
    leaf_of = TREE.apply({"age": [9, 9], "code": ["x", 2], "blood pressure": ["low", "low"]})
    assert leaf_of.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (np.zeros((3, 3)), "U202"),
        (np.zeros(4), "U202"),
        ({"age": np.array([np.inf]), "code": [1], "blood pressure": ["low"]}, "D106"),
        (np.zeros((1, 1, 4)), "U202"),
        ({"age": 3, "code": 1}, "U205"),
        ({"age": "31", "code": "x"}, "U205"),
        ({"age": [1, 2], "code": [1], "blood pressure": ["low"]}, "D133"),
        ([[1, 2, 3, 4]], "D132"),
        (3, "D132"),
        (None, "D132"),
        ("rows.csv", "D132"),
    ],
)
def test_data_of_other_shapes_are_refused(data: Any, expected: str) -> None:
    assert codes(lambda: TREE.predict(data)) == [expected]


def test_a_loaded_tree_predicts_without_solvers_or_frames(tmp_path: Any) -> None:
    save(TREE, tmp_path / "tree.json")
    program = (
        "import sys\n"
        "from odtdsl.predictors.json import load\n"
        f"tree = load({str(tmp_path / 'tree.json')!r})\n"
        "print(tree.apply({'age': [1], 'code': [2], 'blood pressure': ['low']}).tolist())\n"
        "heavy = {'pyomo', 'highspy', 'pysat', 'sklearn', 'pandas', 'polars', 'lark', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:2] == ["[2]", "[]"]
