"""Exports agree with `predict`, whatever the cells and however hostile the names."""

from __future__ import annotations

import csv
import json
import math
import os
import random
import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exported import (
    AWAY,
    REFUSED,
    Model,
    Row,
    by_c,
    by_onnx,
    by_pmml,
    by_python,
    by_rules,
    by_sql,
    by_treelite,
    edges,
    predicted,
)

from odtdsl.data.dataset import ColumnType
from odtdsl.diagnostics.model import OdtError
from odtdsl.predictors.diagram import Arc, AxisTest, Diagram, Hyperplane, Node, Terminal, Weight
from odtdsl.predictors.tree import Branch, Equals, InBin, Leaf, Test, Threshold, Tree, TreeNode

AGE = ColumnType(name="age", kind="number")
DOSE = ColumnType(name="dose (mg)", kind="number")
SIZE = ColumnType(name="size", kind="ordered", levels=("small", "middle", "large"))
GRADE = ColumnType(name="grade", kind="ordered", levels=(3, 1, 2))
CITY = ColumnType(name="city", kind="category", levels=("Köln", "Zürich", "a b"))
CODE = ColumnType(name="code", kind="category", levels=(0, 2.5, -3))
SEX = ColumnType(name="sex", kind="binary", levels=("f", "m"))
FEATURES = (AGE, DOSE, SIZE, GRADE, CITY, CODE, SEX)
PMML = "{http://www.dmg.org/PMML-4_4}"
ENDS = (-1.5, 0, 0.1, 0.1 + 0.2, 1 / 3, 2.5, 1e-300, 12345.678, 1e22, 2**53 + 2, 5e-324, -0.0, 1e23)
UNSEEN: dict[str, list[Any]] = {"city": ["Bern"], "code": [7, AWAY], "sex": ["x"], "size": ["huge"],
                                "grade": [9]}  # fmt: skip


def random_test(rng: random.Random, type_: ColumnType) -> Test:
    if type_.kind == "number":
        kind = rng.randrange(5)
        if kind <= 2:
            return Threshold(value=rng.choice(ENDS))
        if kind == 3:
            return Equals(value=rng.choice(ENDS))
        low, high = sorted(rng.choice((*ENDS, -math.inf, math.inf)) for _ in range(2))
        if low == math.inf or high == -math.inf:
            low, high = -math.inf, math.inf
        return InBin(low=low, high=high, closed=rng.random() < 0.5)
    value = rng.choice(type_.levels)
    ordered = type_.kind != "category" and rng.random() < 0.6
    return Threshold(value=value) if ordered else Equals(value=value)


def random_leaf(rng: random.Random, classes: int, targets: int) -> Leaf:
    if classes:
        return Leaf(label=rng.randrange(classes), size=rng.randint(0, 9))
    return Leaf(output=tuple(rng.choice((*ENDS, rng.gauss(0, 1))) for _ in range(targets)))


def random_tree(rng: random.Random, depth: int = 4) -> Tree:
    kind = rng.choice(("texts", "ints", "floats", "one", "two"))
    classes: tuple[Any, ...] = {
        "texts": ("no", "yes", "it's"), "ints": (0, 1, -7), "floats": (0.5, 0.1, 3)
    }.get(kind, ())  # fmt: skip
    targets = ("first", "second") if kind == "two" else ("y",)

    def node(room: int) -> TreeNode:
        if room == 0 or rng.random() < 0.2:
            return random_leaf(rng, len(classes), len(targets))
        type_ = rng.choice(FEATURES)
        return Branch(
            feature=type_.name, test=random_test(rng, type_), left=node(room - 1),
            right=node(room - 1), missing=rng.choice(("left", "right")),
        )  # fmt: skip

    return Tree(root=node(depth), features=FEATURES, targets=targets, classes=classes)


def random_diagram(rng: random.Random, planes: bool = False) -> Diagram:
    classes = rng.choice((("no", "yes"), (0, 1), (0.5, 2)))
    widths = (1, 2, 3)

    def arc(level: int) -> Arc:
        if level + 1 == len(widths) or rng.random() < 0.2:
            return Arc(label=rng.randrange(2))
        return Arc(node=rng.randrange(widths[level + 1]))

    def split() -> AxisTest | Hyperplane:
        if planes and rng.random() < 0.5:
            return random_plane(rng)
        type_ = rng.choice(FEATURES)
        missing = rng.choice(("left", "right"))
        return AxisTest(feature=type_.name, test=random_test(rng, type_), missing=missing)

    layers = tuple(
        tuple(Node(split=split(), left=arc(i), right=arc(i)) for _ in range(width))
        for i, width in enumerate(widths)
    )
    return Diagram(
        entry=Arc(node=0), layers=layers, terminals=(Terminal(), Terminal()), features=FEATURES,
        targets=("y",), classes=classes,
    )  # fmt: skip


def random_plane(rng: random.Random) -> Hyperplane:
    weights = []
    for type_ in rng.sample(FEATURES, rng.randint(1, 4)):
        value = rng.choice(type_.levels) if type_.kind in ("category", "binary") else None
        weights.append(Weight(feature=type_.name, weight=rng.uniform(-2, 2), value=value))
    return Hyperplane(weights=tuple(weights), bound=rng.uniform(-2, 2))


def random_rows(rng: random.Random, model: Model, count: int = 40) -> list[Row]:
    """Cells at the thresholds and beside them, levels, missing and unseen ones."""
    near = edges(model)

    def cell(type_: ColumnType) -> Any:
        if rng.random() < 0.12:
            return None
        if type_.kind == "number":
            return rng.choice([*near.get(type_.name, []), rng.uniform(-3, 3), *ENDS])
        refused = type_.kind == "ordered"
        return rng.choice(
            [*type_.levels, *([] if refused and rng.random() < 0.9 else UNSEEN[type_.name])]
        )

    rows = [{type_.name: cell(type_) for type_ in FEATURES} for _ in range(count)]
    rows += [{**rng.choice(rows), name: x} for name, values in near.items() for x in values]
    return rows


def cases(seed: str, count: int, planes: bool = True) -> list[tuple[Model, list[Row]]]:
    found: list[tuple[Model, list[Row]]] = []
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        model: Model
        if i % 3 == 2:
            model = random_diagram(rng, planes=planes and i % 2 == 0)
        else:
            model = random_tree(rng, depth=rng.randint(0, 5))
        found.append((model, random_rows(rng, model)))
    return found


def test_random_cells_reach_what_matters() -> None:
    """The cases below have refused rows, missing cells, and both answers of planes."""
    said = [x for model, rows in cases("count", 20) for x in predicted(model, rows)]
    assert 0.01 < sum(x == REFUSED for x in said) / len(said) < 0.5


def test_python_agrees() -> None:
    for model, rows in cases("python", 60):
        assert by_python(model, rows) == predicted(model, rows)


def test_sql_agrees() -> None:
    for model, rows in cases("sql", 60):
        assert by_sql(model, rows) == predicted(model, rows)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc compiles the exports to C")
def test_c_agrees(tmp_path: Path) -> None:
    drawn = cases("c", 45)
    found = by_c([model for model, _ in drawn], [rows for _, rows in drawn], tmp_path)
    for (model, rows), said in zip(drawn, found, strict=True):
        assert said == predicted(model, rows)


PACKAGES = {
    "onnx": ("onnx", "onnxruntime"), "pmml": ("jpmml_evaluator", "jpype"),
    "treelite": ("treelite",),
}  # fmt: skip


def by_package(to: str, model: Model, rows: list[Row], said: list[Any]) -> list[Any]:
    """A format of another library, where that is installed, else the test is skipped."""
    for package in PACKAGES[to]:
        pytest.importorskip(package, reason=f"{package} runs exports to {to}")
    if to == "pmml" and shutil.which("java") is None:
        pytest.skip("java runs exports to pmml")
    if to == "treelite":  # which has no way to refuse a row
        found = by_treelite(model, rows)
        return [REFUSED if x == REFUSED else y for x, y in zip(said, found, strict=True)]
    return by_onnx(model, rows) if to == "onnx" else by_pmml(model, rows)


@pytest.mark.parametrize("to", PACKAGES)
def test_formats_of_libraries_agree(to: str) -> None:
    for model, rows in cases(to, 24 if to != "pmml" else 12):
        said = predicted(model, rows)
        if refused_by(to, model):
            with pytest.raises(OdtError, match="U371"):
                model.export(to)
        else:
            assert by_package(to, model, rows, said) == said


def refused_by(to: str, model: Model) -> bool:
    """What only these formats cannot carry."""
    if to == "pmml":
        return len(model.targets) > 1
    planes = isinstance(model, Diagram) and any(
        isinstance(node.split, Hyperplane) for node in model.nodes()
    )
    return to == "treelite" and planes


def test_rules_agree() -> None:
    for model, rows in cases("rules", 30, planes=False):
        assert by_rules(model, rows) == predicted(model, rows)


# ---- data sets

SKLEARN = ("breast_cancer", "diabetes", "linnerud", "wine")
LEVELS: dict[str, dict[str, tuple[Any, ...]]] = {
    "heart.csv": {
        "sex": ("female", "male"), "cp": (1, 2, 3, 4), "restecg": (0, 1, 2), "slope": (1, 2, 3),
        "thal": ("fixed", "normal", "reversable"), "fbs": (0, 1), "exang": (0, 1),
    },
    "post_operative.csv": dict.fromkeys(("l_core", "l_surf", "l_bp"), ("low", "mid", "high"))
    | dict.fromkeys(("surf_stbl", "core_stbl", "bp_stbl"), ("unstable", "mod-stable", "stable"))
    | {"l_o2": ("excellent", "good")},
    "compas_train.csv": {
        "race": ("african_american", "caucasian"), "age_cat": ("under_25", "25_to_45", "over_45"),
        "sex": ("female", "male"), "c_charge_degree": ("felony", "misdemeanor"),
    },
}  # fmt: skip
"""Files in ODTDSL_DATA, with the levels of the columns that are no numbers."""
ORDERED = ("cp", "l_core", "l_surf", "l_bp", "surf_stbl", "core_stbl", "bp_stbl", "age_cat")
TARGETS = ("disease", "decision", "recidivism")


def rows_of(name: str) -> tuple[tuple[ColumnType, ...], list[Row]]:
    """The features of a set, and its rows, raw."""
    if name in SKLEARN:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")()
        names = [str(x) for x in bunch.feature_names]
        rows = [dict(zip(names, row, strict=True)) for row in bunch.data.tolist()]
        return tuple(ColumnType(name=x, kind="number") for x in names), rows
    folder = os.environ.get("ODTDSL_DATA")
    if folder is None:
        pytest.skip("the set is in the folder that ODTDSL_DATA names")
    with open(Path(folder) / "cases" / name, encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    levels = LEVELS[name]
    types = tuple(
        ColumnType(
            name=x, levels=levels.get(x, ()),
            kind="ordered" if x in ORDERED else "category" if x in levels else "number",
        )
        for x in found[0] if x not in TARGETS
    )  # fmt: skip
    return types, [{t.name: typed(row[t.name], t) for t in types} for row in found]


def typed(cell: str, type_: ColumnType) -> Any:
    if cell in ("", "?"):
        return None
    return cell if any(isinstance(level, str) for level in type_.levels) else float(cell)


def split_of(rng: random.Random, types: tuple[ColumnType, ...], rows: list[Row]) -> AxisTest:
    """A test of a column; thresholds are midpoints of values of the set."""
    type_ = rng.choice(types)
    test: Test
    if type_.levels:
        value = rng.choice(type_.levels[:-1])
        test = Threshold(value=value) if type_.kind == "ordered" else Equals(value=value)
    else:
        values = sorted({row[type_.name] for row in rows} - {None})
        at = rng.randrange(len(values) - 1)
        test = Threshold(value=(values[at] + values[at + 1]) / 2)
    return AxisTest(feature=type_.name, test=test, missing=rng.choice(("left", "right")))


def model_of(name: str, types: tuple[ColumnType, ...], rows: list[Row]) -> Model:
    """A model of a set: a diagram of wine, outputs of diabetes and linnerud, else classes."""
    rng = random.Random(name)
    targets = {"diabetes": ("y",), "linnerud": ("Weight", "Waist", "Pulse")}.get(name, ())

    def grown(room: int) -> TreeNode:
        if room == 0:
            return random_leaf(rng, 0 if targets else 2, len(targets))
        split = split_of(rng, types, rows)
        return Branch(
            feature=split.feature, test=split.test, missing=split.missing, left=grown(room - 1),
            right=grown(room - 1),
        )  # fmt: skip

    if name == "wine":
        drawn = random_diagram(rng)
        layers = tuple(
            tuple(replace(node, split=split_of(rng, types, rows)) for node in layer)
            for layer in drawn.layers
        )
        return replace(drawn, layers=layers, features=types)
    classes = () if targets else ("no", "yes")
    return Tree(root=grown(4), features=types, targets=targets or ("y",), classes=classes)


def at_the_edges(rng: random.Random, model: Model, rows: list[Row]) -> list[Row]:
    """Rows with one cell at a threshold or beside it, missing, or a category unseen."""
    near = edges(model)
    found = [{**rng.choice(rows), name: x} for name, values in near.items() for x in values]
    found += [{**rng.choice(rows), name: None} for name in model.tested for _ in range(3)]
    other = {t.name: "new" if any(isinstance(x, str) for x in t.levels) else AWAY
             for t in model.features if t.levels}  # fmt: skip
    found += [{**rng.choice(rows), name: other[name]} for name in model.tested if name in other]
    return found


SETS: dict[str, tuple[Model, list[Row], list[Any]]] = {}


def of_set(name: str) -> tuple[Model, list[Row], list[Any]]:
    """A model of a set, all its rows and those at the edges, and what `predict` says."""
    if name not in SETS:
        types, rows = rows_of(name)
        model = model_of(name, types, rows)
        rows = rows + at_the_edges(random.Random(name), model, rows)
        SETS[name] = model, rows, predicted(model, rows)
        assert len(set(SETS[name][2])) > 1
    return SETS[name]


@pytest.mark.parametrize("name", [*SKLEARN, *LEVELS])
def test_data_sets_agree(name: str, tmp_path: Path) -> None:
    model, rows, said = of_set(name)
    assert by_python(model, rows) == said
    assert by_sql(model, rows) == said
    assert by_rules(model, rows) == said
    if shutil.which("gcc"):
        assert by_c([model], [rows], tmp_path) == [said]


@pytest.mark.parametrize("to", PACKAGES)
@pytest.mark.parametrize("name", [*SKLEARN, *LEVELS])
def test_data_sets_agree_in_libraries(name: str, to: str) -> None:
    model, rows, said = of_set(name)
    if to == "pmml":
        if len(model.targets) > 1:
            pytest.skip("a TreeModel of PMML has one target; that it is refused is tested above")
        # All that is at the edges, and so many of the rest: this evaluator takes one by one.
        rows, said = rows[-200:], said[-200:]
    assert by_package(to, model, rows, said) == said


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
        feature=order.name, test=Threshold(value=order.levels[0]), missing="left",
        left=Leaf(label=0, size=1), right=Leaf(label=1, size=2),
    )  # fmt: skip
    root = Branch(
        feature=name, test=Equals(value=name), missing="right", left=inner, right=Leaf(label=2)
    )
    return Tree(
        root=root, features=(here, order), targets=("target " + name,),
        classes=(name, name + "b", "c" + name),
    )  # fmt: skip


def hostile_rows(name: str) -> list[Row]:
    cells = (name, "other", "new", None)
    orders = ("low " + name, name + " high", None)
    return [{name: a, name + " 2": b} for a in cells for b in orders]


def clean(name: str) -> bool:
    """Whether cells that hold the name are read as they are."""
    return name == name.strip() and name not in ("", "nan")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    tree, rows = hostile(name), hostile_rows(name)
    said = predicted(tree, rows)
    # Texts are compared as they stand but by the reader of `predict` and by Python.
    assert by_python(tree, rows) == said
    if not clean(name):
        rows = [row for row in rows if row[name] != name and clean(row[name + " 2"] or "x")]
        said = predicted(tree, rows)
    assert by_sql(tree, rows) == said
    assert by_sql(tree, rows, table=f"rows {name}") == said
    if name.isprintable():  # the others are spelled as escapes in the rules
        assert by_rules(tree, rows) == said


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc compiles the exports to C")
def test_hostile_names_stay_names_in_c(tmp_path: Path) -> None:
    trees = [hostile(name) for name in HOSTILE]
    rows = [
        [row for row in hostile_rows(name) if clean(name) or row[name] != name] for name in HOSTILE
    ]
    rows = [
        [row for row in some if all(x is None or clean(x) for x in row.values())] for some in rows
    ]
    found = by_c(list(trees), rows, tmp_path)
    assert found == [predicted(tree, some) for tree, some in zip(trees, rows, strict=True)]


@pytest.mark.parametrize("to", PACKAGES)
def test_hostile_names_stay_names_in_libraries(to: str) -> None:
    for name in HOSTILE:
        tree, rows = hostile(name), hostile_rows(name)
        rows = [row for row in rows if all(x is None or clean(x) for x in row.values())]
        if not clean(name):
            rows = [row for row in rows if row[name] != name]
        if to != "pmml" or name not in ("", "\x1b[31mred"):  # which are refused, see below
            said = predicted(tree, rows)
            assert by_package(to, tree, rows, said) == said, name


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
            name, name + "b", "c" + name,
        }  # fmt: skip
        tags = {x.tag.removeprefix(PMML) for x in root.iter()}
        assert tags <= {"PMML", "Header", "Application", "DataDictionary", "DataField", "Value",
                        "TreeModel", "MiningSchema", "MiningField", "Node", "True",
                        "SimplePredicate", "CompoundPredicate", "ScoreDistribution"}  # fmt: skip


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
        entry=Arc(node=0), layers=layers, terminals=(Terminal(), Terminal()), features=(AGE,),
        targets=("y",), classes=("no", "yes"),
    )  # fmt: skip


def test_shared_nodes_are_repeated_up_to_a_limit() -> None:
    text = ladder(4).export("sql")
    assert isinstance(text, str)
    assert text.startswith("-- y by a decision diagram of 7 nodes, written as 15 splits.")
    assert text.count("<=") == 15
    ladder(13).export("sql")
    with pytest.raises(OdtError, match=r"U372.*27 nodes.*16,383 splits"):
        ladder(14).export("sql")


def test_deep_and_large_models_run(tmp_path: Path) -> None:
    """SQLite's parser has a small stack, compilers promise 127 levels: left and right chains of
    depth 64, and a full tree."""
    for side in ("left", "right"):
        root: TreeNode = Leaf(label=0)
        for i in range(64):
            children = (root, Leaf(label=1)) if side == "left" else (Leaf(label=1), root)
            root = Branch(
                feature="age", test=Threshold(value=i if side == "left" else 64 - i),
                left=children[0], right=children[1], missing="right",
            )  # fmt: skip
        tree = Tree(root=root, features=(AGE,), targets=("y",), classes=(0, 1))
        rows = [{"age": x / 2} for x in range(-2, 132)] + [{"age": None}]
        check_all(tree, rows, tmp_path)
    rows = [{"age": float(x) / 2} for x in range(30)]
    check_all(ladder(10), rows, tmp_path)


def check_all(model: Model, rows: list[Row], folder: Path) -> None:
    said = predicted(model, rows)
    assert by_python(model, rows) == said
    assert by_sql(model, rows) == said
    if shutil.which("gcc"):
        assert by_c([model], [rows], folder) == [said]


# ---- the command


def test_command_writes_files_and_says_how_large(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from odtdsl.cli import app
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
        "format": "sql", "file": None, "splits": 7, "nodes": 5, "text": ladder(3).export("sql"),
    }  # fmt: skip
    for wrong in (
        (str(model),), (str(model), "--to", "java"), (str(model), "--out", "x.unknown"),
        (str(model), "--to", "sql", "--out", str(model)),
    ):  # fmt: skip
        done = odt(*wrong)
        assert done.exit_code == 2
        assert re.search(r"U370|U308", done.stderr)
