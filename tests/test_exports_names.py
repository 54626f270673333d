"""Exports with hostile names, of large models, of numbers hard to write, and by the command."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exported import Model, Row, predicted
from hypothesis import example, given, settings
from hypothesis import strategies as st
from runners import RUNNERS
from runners.python import by_python
from runners.sql import by_sql
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Node, Terminal
from odtdsl.predictors.nodes import Branch, Equals, Leaf, Threshold, TreeNode
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.exports.formats.sql import number
from odtdsl.presentation.exports.registry import FORMATS, format_of, is_export

AGE = ColumnType(name="age", kind="number")
PMML = "{http://www.dmg.org/PMML-4_4}"

# ---- hostile names

HOSTILE = [
    "it's",
    'say "hi"',
    "a\nb",
    "a\r\nb",
    "back\\slash",
    "\\",
    '\\"',
    "\\' OR 1=1 --",
    "'; DROP TABLE canary; --",
    '"; DROP TABLE canary; --',
    "*/ int main(void) { return 1; } /*",
    "*/",
    "/*",
    "//",
    "-- ",
    "??/",
    "%s%n",
    "</title><script>alert(1)</script>",
    "<b>&amp; &lt;",
    "]]>",
    "<!--",
    "${x}",
    "{x}",
    "`x`",
    '"""',
    "'''",
    "class",
    "None",
    "SELECT",
    "NULL",
    "int",
    "linux",
    "",
    " ",
    "_",
    "1",
    "1e3",
    "nan",
    "Größe 身長 ✓",
    "\u202ereversed",
    "\x1b[31mred",
    "\x85",
    "x" * 500,
    "# comment",
    "\nimport os\n",
    "x_age",
    "x age",
    "row",
    "data",
]


def hostile(name: str) -> Tree:
    """A tree that has the name for a feature, a level, a target and a label."""
    here = ColumnType(name=name, kind="category", levels=(name, "other"))
    order = ColumnType(name=name + " 2", kind="ordered", levels=("low " + name, name + " high"))
    inner = Branch(
        feature=order.name,
        test=Threshold(value=order.levels[0]),
        missing="left",
        left=Leaf(label=0, size=1),
        right=Leaf(label=1, size=2),
    )
    root = Branch(
        feature=name, test=Equals(value=name), missing="right", left=inner, right=Leaf(label=2)
    )
    return Tree(
        root=root,
        features=(here, order),
        targets=("target " + name,),
        classes=(name, name + "b", "c" + name),
    )


def hostile_rows(name: str) -> list[Row]:
    cells = (name, "other", "new", None)
    orders = ("low " + name, name + " high", None)
    return [{name: a, name + " 2": b} for a in cells for b in orders]


def clean(name: str) -> bool:
    """Whether cells that hold the name are read as they are."""
    return name == name.strip() and name not in ("", "nan")


def clean_rows(name: str) -> list[Row]:
    """The rows whose cells are compared as they stand, as most formats do."""
    rows = [row for row in hostile_rows(name) if clean(name) or row[name] != name]
    return [row for row in rows if all(x is None or clean(x) for x in row.values())]


@pytest.mark.parametrize("to", RUNNERS)
def test_hostile_names_stay_names(to: str, tmp_path: Path) -> None:
    runner = RUNNERS[to]
    names = [name for name in HOSTILE if runner.reads(name)]
    trees: list[Model] = [hostile(name) for name in names]
    rows = [hostile_rows(name) if runner.raw else clean_rows(name) for name in names]
    found = runner.said(trees, rows, tmp_path)
    for name, tree, some, said in zip(names, trees, rows, found, strict=True):
        assert said == predicted(tree, some), name


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_tables(name: str) -> None:
    tree, rows = hostile(name), clean_rows(name)
    assert by_sql(tree, rows, table=f"rows {name}") == predicted(tree, rows)


def test_documents_hold_names_as_they_are() -> None:
    """Any reader of XML finds the names again, and no element that is none of PMML's."""
    for name in HOSTILE:
        if name in ("", "\x1b[31mred"):
            with pytest.raises(OdtError, match="U371"):
                hostile(name).export("pmml")
            continue
        written = hostile(name).export("pmml", name=name)
        assert isinstance(written, str)
        root = ElementTree.fromstring(written.encode("utf-8"))
        fields = [x.get("name") for x in root.iter(f"{PMML}DataField")]
        assert fields == [name, name + " 2", "target " + name]
        assert {x.get("score") for x in root.iter(f"{PMML}Node")} - {None} == {
            name,
            name + "b",
            "c" + name,
        }
        tags = {x.tag.removeprefix(PMML) for x in root.iter()}
        assert tags <= {
            "PMML",
            "Header",
            "Application",
            "DataDictionary",
            "DataField",
            "Value",
            "TreeModel",
            "MiningSchema",
            "MiningField",
            "Node",
            "True",
            "SimplePredicate",
            "CompoundPredicate",
            "ScoreDistribution",
        }


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ((0, 1, -7), "integer"),
        ((0, 2**53, 1), "double"),
        ((0, 2**53 + 1, 1), "string"),
        ((0, -(10**400), 1), "string"),
        ((0.5, 2, 3), "double"),
        (("0", 1, 2), "string"),
    ],
)
def test_documents_keep_labels_apart(labels: tuple[Any, ...], kind: str) -> None:
    written = replace(hostile("x"), classes=labels).export("pmml")
    assert isinstance(written, str)
    fields = ElementTree.fromstring(written).iter(f"{PMML}DataField")
    assert [x.get("dataType") for x in fields][-1] == kind


@pytest.mark.parametrize("to", ["sql", "python", "c", "text"])
def test_comments_stay_on_their_lines(to: str) -> None:
    """Whatever the names, a file has as many lines and comments as with a plain one."""
    plain = hostile("plain").export(to)
    assert isinstance(plain, str)
    for name in HOSTILE:
        text = hostile(name).export(to)
        assert isinstance(text, str)
        # Quoted identifiers keep line ends, and unclean levels can be those of no row.
        if to != "sql" and clean(name):
            assert len(text.splitlines()) == len(plain.splitlines()), name
        if to == "c":
            tokens = re.findall(r'"(?:[^"\\]|\\.)*"|/\*(?:.|\n)*?\*/', text)
            assert sum(token.startswith("/*") for token in tokens) == plain.count("/*"), name
            rest = re.sub(r'"(?:[^"\\]|\\.)*"|/\*(?:.|\n)*?\*/', "", text)
            assert not re.search(r'["\\]|/\*|\*/', rest), name


def test_what_a_format_cannot_carry_is_refused() -> None:
    for to, name in (("sql", "a\0b"), ("c", "a\0b"), ("c", "x" * 2000), ("sql", "\ud800")):
        with pytest.raises(OdtError) as caught:
            hostile(name).export(to)
        assert {d.code for d in caught.value.diagnostics} == {"U371"}
        assert "python" in str(caught.value)
    assert by_python(hostile("a\0b"), hostile_rows("a\0b"))[0] == "a\0b"
    two = Tree(root=Leaf(output=(1.0, 2.0)), features=(AGE,), targets=("a", "b"))
    same = replace(hostile("x"), targets=("x",))
    for model in (two, same, hostile("")):
        with pytest.raises(OdtError, match="U371") as caught:
            model.export("pmml")
        assert "export to onnx" in str(caught.value)
    for to in ("sqlite", "", "SQL"):
        with pytest.raises(OdtError, match="U370"):
            hostile("x").export(to)
    for name in ("1x", "a b", "", "class", "float", "int", "é", "x;y"):
        for to in ("python", "c"):
            with pytest.raises(OdtError, match="U373"):
                hostile("x").export(to, name=name)


# ---- sizes


def ladder(depth: int, width: int = 2) -> Diagram:
    """Each node leads to both nodes of the next layer: paths double with every layer."""

    def node(level: int, at: int) -> Node:
        split = AxisTest(
            feature="age", test=Threshold(value=float(level * width + at)), missing="right"
        )
        last = level + 1 == depth
        arcs = [Arc(label=i) if last else Arc(node=i % width) for i in (0, 1)]
        return Node(split=split, left=arcs[at % 2], right=arcs[1 - at % 2])

    layers = tuple(
        tuple(node(level, at) for at in range(1 if level == 0 else width)) for level in range(depth)
    )
    return Diagram(
        entry=Arc(node=0),
        layers=layers,
        terminals=(Terminal(), Terminal()),
        features=(AGE,),
        targets=("y",),
        classes=("no", "yes"),
    )


def test_shared_nodes_are_repeated_up_to_a_limit() -> None:
    text = ladder(4).export("sql")
    assert isinstance(text, str)
    assert text.startswith("-- y by a decision diagram of 7 nodes, written as 15 splits.")
    assert text.count("<=") == 15
    ladder(13).export("sql")
    with pytest.raises(OdtError, match=r"U372.*27 nodes.*16,383 splits"):
        ladder(14).export("sql")


@pytest.mark.parametrize("to", RUNNERS)
def test_deep_and_large_models_run(to: str, tmp_path: Path) -> None:
    """SQLite's parser has a small stack, compilers promise 127 levels: left and right chains of
    depth 64, and a full tree."""
    rows: list[Row] = [{"age": x / 2} for x in range(-2, 132)] + [{"age": None}]
    models: list[Model] = [chain("left"), chain("right"), ladder(10)]
    found = RUNNERS[to].said(models, [rows] * 3, tmp_path)
    assert found == [predicted(model, rows) for model in models]


def chain(side: str) -> Tree:
    """A tree of depth 64 with one long path."""
    root: TreeNode = Leaf(label=0)
    for i in range(64):
        children = (root, Leaf(label=1)) if side == "left" else (Leaf(label=1), root)
        root = Branch(
            feature="age",
            test=Threshold(value=i if side == "left" else 64 - i),
            left=children[0],
            right=children[1],
            missing="right",
        )
    return Tree(root=root, features=(AGE,), targets=("y",), classes=(0, 1))


# ---- the command


def test_command_writes_files_and_says_how_large(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from odtdsl.interfaces.cli.main import app
    from odtdsl.predictors.saving import save

    def odt(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["export", *arguments])

    model = tmp_path / "model.json"
    save(ladder(3), model)
    done = odt(str(model), "--to", "c", "--name", "risk")
    assert done.exit_code == 0
    assert "int risk(const risk_row *row)" in done.stdout
    assert "5 nodes, as a tree of 7 splits" in done.stderr
    file = tmp_path / "model.sql"
    done = odt(str(model), "--out", str(file))
    assert done.stdout.endswith("5 nodes, as a tree of 7 splits: shared nodes are repeated\n")
    assert file.read_text(encoding="utf-8") == ladder(3).export("sql")
    told = json.loads(odt(str(model), "--to", "sql", "--json").stdout)
    assert told == {
        "format": "sql",
        "file": None,
        "splits": 7,
        "nodes": 5,
        "text": ladder(3).export("sql"),
    }
    for wrong in (
        (str(model),),
        (str(model), "--to", "java"),
        (str(model), "--out", "x.unknown"),
        (str(model), "--to", "sql", "--out", str(model)),
    ):
        done = odt(*wrong)
        assert done.exit_code == 2
        assert re.search(r"U370|U308", done.stderr)


def test_files_are_named_by_their_suffixes() -> None:
    named = {suffix: to for to, form in FORMATS.items() for suffix in form.suffixes}
    assert {suffix: format_of(Path(f"tree{suffix.upper()}")) for suffix in named} == named
    assert set(named.values()) == set(FORMATS)
    assert named[".mmd"] == "mermaid"


@pytest.mark.parametrize("to", FORMATS)
def test_files_are_known_by_how_they_begin(to: str, tmp_path: Path) -> None:
    """Whatever the names; a flowchart that somebody drew is not one of ours."""
    if FORMATS[to].package:
        pytest.importorskip(FORMATS[to].package)
    file = tmp_path / "model"
    for name in ("", *HOSTILE):
        model = hostile(name)
        if to == "pmml" and name in ("", "\x1b[31mred"):
            continue
        model.export(to, file)
        assert is_export(file), name
    hostile("x").export(to, file, name="risk")
    assert is_export(file)
    file.write_text('flowchart TD\n  n0["by a decision tree of 2 splits."]\n', encoding="utf-8")
    assert not is_export(file)


# ---- numbers


@settings(max_examples=scaled(300), deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.1 + 0.2)
@example(5e-324)
@example(1.7976931348623157e308)
@example(9007199254740993.0)
@example(-1e23)
def test_sqlite_reads_numbers_as_they_are(value: float) -> None:
    """Of plain decimals it reads one in a thousand as a neighbour, as of 3.40."""
    (read,) = sqlite3.connect(":memory:").execute(f"SELECT {number(value)}").fetchone()
    assert read == value


def test_usual_numbers_stay_readable() -> None:
    assert [number(x) for x in (0.8, 54.5, -2.45, 3.0, 0.0, 1e22, 1e-7)] == [
        "0.8E0",
        "54.5E0",
        "-2.45E0",
        "3.0E0",
        "0.0E0",
        "1.0E22",
        "1.0E-7",
    ]
    quotient, _, comment = number(0.1 + 0.2).partition(" /* ")
    assert quotient == "(1351079888211149.0E0 / 4503599627370496.0E0)"
    assert comment == "0.30000000000000004 */"
    assert math.isclose(eval(number(1e-300).partition(" /* ")[0]), 1e-300, rel_tol=0)


def test_sql_names_the_columns_that_make_a_prediction_null() -> None:
    solved = odtdsl.solve(
        'data frame target y feature a: ordered {"I", "II"} tree depth <= 2 minimize errors',
        frame={"a": ["I", "I", "II", "II"], "b": [1, 2, 1, 2], "y": ["u", "u", "u", "v"]},
    )
    assert solved.tree is not None
    text = solved.tree.export("sql")
    assert isinstance(text, str)
    head = [line for line in text.splitlines() if line.startswith("--")]
    assert head[-1] == "-- An unknown value of a makes the prediction NULL."
    assert "hyperplane" not in "".join(head)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for to in ("onnx", "treelite"):
        monkeypatch.setattr("odtdsl.presentation.exports.registry.find_spec", lambda name: None)
        with pytest.raises(OdtError, match="U374") as caught:
            hostile("x").export(to)
        assert "odtdsl[export]" in str(caught.value)
