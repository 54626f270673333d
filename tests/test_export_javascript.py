"""The module of a model: its names, cells and labels. What all formats do is tested with them."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from exported import Model, Row, asks, one_by_one, predicted, renamed
from runners.javascript import by_javascript, node
from runners.python import by_python
from test_exports import cases, code_tree
from test_exports_names import HOSTILE, hostile, hostile_rows

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, Hyperplane, Node, Terminal, Weight
from odtdsl.predictors.nodes import Equals, InBin, Leaf, Threshold
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.exports.formats.javascript import WORDS

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node is not installed: it runs the exports"
)
AGE = ColumnType(name="age", kind="number")

# ---- names


@needs_node
def test_names_that_objects_have_are_names_of_columns(tmp_path: Path) -> None:
    """And what UTF-8 cannot write."""
    names = ["__proto__", "constructor", "toString", "a\0b", "//# source=x", "\ud800"]
    trees: list[Model] = [hostile(name) for name in names]
    rows = [hostile_rows(name) for name in names]
    *found, half = by_javascript(trees, rows, tmp_path)
    assert half == by_python(trees.pop(), rows.pop())  # `predict` takes no such rows
    assert found == [predicted(tree, some) for tree, some in zip(trees, rows, strict=True)]


def test_comments_stay_on_their_lines_in_javascript() -> None:
    plain = _source(hostile("plain"))
    for name in HOSTILE:
        text = _source(hostile(name))
        head = text.split("\n", 1)[0]
        assert (head.count("/*"), head.count("*/"), head[-2:]) == (1, 1, "*/"), name
        if name == name.strip() and name not in ("", "nan"):  # others can be levels of no row
            assert len(text.splitlines()) == len(plain.splitlines()), name


def _source(model: Model) -> str:
    found = model.export("javascript")
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("name", ["1x", "a b", "class", "function", "await", "eval", "Number"])
def test_names_of_javascript_are_refused(name: str) -> None:
    with pytest.raises(OdtError, match="U373") as caught:
        hostile("x").export("javascript", name=name)
    assert ("use letters" in str(caught.value)) == (name in ("1x", "a b"))


def test_what_a_module_uses_is_no_name() -> None:
    """A function of that name would be called in its place."""
    sources = [_source(model) for model, _ in cases("words", 12)]
    used = {word for text in sources for word in re.findall(r"\b[A-Z]\w*(?=[.(\[])", _bare(text))}
    assert {"Number", "RangeError", "JSON"} <= used <= set(WORDS.split())


def _bare(text: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*\*/', "", text)


# ---- cells and labels


@needs_node
def test_cells_are_read_as_predict_reads_them(tmp_path: Path) -> None:
    """Numbers as texts, blanks, all ways to be missing, truth values, infinite numbers."""
    number = Tree(
        root=asks("v", Threshold(value=2.5), 0, 1, "left"),
        features=(ColumnType(name="v", kind="number"),),
        targets=("y",),
        classes=("low", "high"),
    )
    text = renamed(
        code_tree(ColumnType(name="code", kind="category", levels=("04", "True", "inf", "a")))
    )
    models: list[Model] = [number, text]
    texts = ["2.5", " 2.6\n", "+1e1", "-.5", "3.", "1E+2", "\x1c\x851\u3000", "", "  ", "NaN"]
    texts += ["-nan", "1_0", "0x10", "0b1", "x", "inf", "-Infinity", "1e999", "True", "04", "4"]
    texts += ["\ufeff1", "1e", ".", "1 2", "a", " a "]
    rows: list[Row] = [{"v": x} for x in (*texts, None, math.nan, 2, 3.5, 4, True, False)]
    rows += [{"v": x} for x in (2**60 + 1, math.inf, -math.inf)]
    found = by_javascript(models, [rows, rows], tmp_path)
    assert found == [by_python(model, rows) for model in models]
    assert found[0] == one_by_one(number, rows)
    # Alone, an infinite number would make a column of numbers, where `predict` refuses it.
    endless = ("inf", "-Infinity", "1e999", math.inf, -math.inf)
    finite: list[Row] = [row for row in rows if row["v"] not in endless]
    assert by_javascript([text], [finite], tmp_path) == [one_by_one(text, finite)]


@needs_node
def test_levels_that_look_like_numbers(tmp_path: Path) -> None:
    """Texts are the level with that text, or by value those of a frame; integers are exact."""
    big = (2**60, 2**60 + 1, 7)
    types = [
        ColumnType(name="code", kind="category", levels=("04", "4.0", "5.0", "a")),
        ColumnType(name="code", kind="category", levels=("04", "4.0", "5.0"), by_value=True),
        ColumnType(name="code", kind="category", levels=(4, 5, 6)),
        ColumnType(name="code", kind="category", levels=(4, 5, 6), by_value=True),
        ColumnType(name="code", kind="ordered", levels=big),
        ColumnType(name="code", kind="category", levels=big, by_value=True),
    ]
    models: list[Model] = [code_tree(type_) for type_ in types]
    cells = ("04", "4.0", "4", "4.00", "5", "5.0", "7", "a", None, 4, 5, 5.5, -0.0, *big, 2**60 + 2)
    rows: list[Row] = [{"code": x} for x in (*cells, *map(str, big))]
    found = by_javascript(models, [rows] * len(models), tmp_path)
    assert found == [one_by_one(model, rows) for model in models]


@needs_node
def test_labels_keep_their_kind(tmp_path: Path) -> None:
    """Integers that float64 would merge are BigInts."""
    labels = (2**53 - 1, 2**53 + 1, -(2**60) - 1)
    inner = asks("age", Equals(value=2), 1, 2, "right")
    root = replace(asks("age", Threshold(value=1), 0, 0, "left"), right=inner)
    tree = Tree(root=root, features=(AGE,), targets=("y",), classes=labels)
    rows: list[Row] = [{"age": x} for x in (0, 2, 3)]
    assert by_javascript([tree], [rows], tmp_path) == [list(labels)]
    assert "return 9007199254740991;" in _source(tree)
    assert "return 9007199254740993n;" in _source(tree)


@needs_node
def test_a_row_without_a_column_is_an_error_and_undefined_is_missing(tmp_path: Path) -> None:
    tree = Tree(
        root=asks("constructor", Threshold(value=1), 0, 1, "left"),
        features=(ColumnType(name="constructor", kind="number"),),
        targets=("y",),
        classes=("low or missing", "high"),
    )
    tree.export("javascript", tmp_path / "tree.mjs", name="score")
    (tmp_path / "run.mjs").write_text(
        'import { score } from "./tree.mjs";\n'
        "const kinds = [];\n"
        "let last;\n"
        "const cells = [{}, Symbol(), Object.create(null)].map((x) => ({ constructor: x }));\n"
        "for (const row of [{}, null, ...cells]) {\n"
        "    try { score(row); } catch (error) { kinds.push(error.name); last = error.message; }\n"
        "}\n"
        "const missing = [undefined, null, NaN].map((x) => score({ constructor: x }));\n"
        "console.log(JSON.stringify([kinds, last, missing]));\n"
    )
    assert json.loads(node("run.mjs", tmp_path)) == [
        ["TypeError", "TypeError", "RangeError", "RangeError", "RangeError"],
        '"constructor" must be a finite number, not object',
        ["low or missing"] * 3,
    ]


@needs_node
def test_ends_of_sums_and_bins(tmp_path: Path) -> None:
    """A sum that is the bound does not pass, whichever way it is rounded; any number is in a bin
    without ends, and no missing cell."""
    names = ("a", "b", "c")
    features = tuple(ColumnType(name=name, kind="number") for name in names)
    plane = Hyperplane(weights=tuple(Weight(feature=x, weight=1.0) for x in names), bound=0.6)
    layer = (Node(split=plane, left=Arc(label=0), right=Arc(label=1)),)
    diagram = Diagram(
        entry=Arc(node=0),
        layers=(layer,),
        terminals=(Terminal(), Terminal()),
        features=features,
        targets=("y",),
        classes=("below", "not"),
    )
    sums: list[Row] = [
        dict(zip(names, x, strict=True)) for x in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0, 0, 0.6))
    ]
    sums += [{"a": 0, "b": 0, "c": math.nextafter(0.6, 0)}]
    bins: list[Model] = [
        Tree(
            root=asks("age", InBin(low=-math.inf, high=math.inf, closed=closed), 0, 1, missing),
            features=(AGE,),
            targets=("y",),
            classes=("in", "out"),
        )
        for closed in (False, True)
        for missing in ("left", "right")
    ]
    ages: list[Row] = [{"age": x} for x in (None, 1e308, -1e308, 0)]
    models = [diagram, *bins]
    rows = [sums] + [ages] * len(bins)
    found = by_javascript(models, rows, tmp_path)
    assert found == [predicted(model, some) for model, some in zip(models, rows, strict=True)]
    assert found[0] == ["not", "not", "not", "below"]


def test_a_module_of_a_leaf_reads_nothing() -> None:
    tree = Tree(root=Leaf(output=(1.5, -2.0)), features=(AGE,), targets=("a", "b"))
    assert tree.export("javascript", name="score") == (
        "/* a, b by a decision tree of 0 splits. A module of ECMAScript 2020. */\n"
        "\n"
        "// The outputs, an array, of a row: an object with a cell for each column; null is"
        " missing.\n"
        "export function score(row) {\n"
        "    return [1.5, -2.0];\n"
        "}\n"
    )
