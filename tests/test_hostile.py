"""Names that mean something to a program that reads what is written: encodings, XML, terminals."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.numbers import as_number
from odtdsl.datasets.dataset import ColumnType
from odtdsl.driver.scoring import OutputScore
from odtdsl.driver.scoring import TestScore as OutputTest
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, Terminal
from odtdsl.predictors.diagram_validation import check_diagram
from odtdsl.predictors.nodes import Branch, Leaf, Threshold
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.validation import check_tree

pytestmark = pytest.mark.usefixtures("few_starts")

NOT_XML = ("\ufffe", "\uffff", "\x0b", "\x1b[31m", "]]>", "\x85", "\u202e", "&amp;", "<b>")


def small(target: str) -> Tree:
    root = Branch(
        feature="age",
        test=Threshold(value=1.0),
        left=Leaf(label=0, size=1),
        right=Leaf(label=1, size=1),
        missing="left",
    )
    age = ColumnType(name="age", kind="number")
    return Tree(root=root, features=(age,), targets=(target,), classes=("u", "v"))


# ---- Python


@pytest.mark.parametrize(
    "target",
    [
        "coding: unicode_escape \nOWNED = 1#",
        "coding=raw_unicode_escape \\u000aOWNED = 1#",
        "coding:utf-7 +AAo-OWNED = 1+AAo-#",
        "vim: set fileencoding=utf-16 :",
        "coding: no-such-encoding",
        "coding: latin-1 Größe",
    ],
)
def test_no_name_is_the_encoding_of_a_module(target: str, tmp_path: Path) -> None:
    """Python looks for it in the comments of the first two lines, and decodes what follows."""
    path = tmp_path / "exported.py"
    small(target).export("python", path)
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not hasattr(module, "OWNED")
    assert module.predict({"age": 2}) == "v"
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


# ---- names that are asked for

OF_C = (
    "log",
    "cosf",
    "fabsl",
    "size_t",
    "offsetof",
    "strlen",
    "memcpy",
    "INFINITY",
    "y1",
    "index",
    "HUGE_VAL",
    "int8_t",
    "nan",
    "gamma",
    "printf",
    "M_PI",
)


@pytest.mark.parametrize("name", OF_C)
def test_names_of_the_library_of_c_are_no_names_of_functions(name: str) -> None:
    for to in ("c", "python"):
        with pytest.raises(OdtError, match="U373"):
            small("y").export(to, name=name)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: it runs the exports")
@pytest.mark.parametrize("name", ["row", "product", "total", "outputs", "x_age", "age", "logit"])
def test_other_names_compile(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.c"
    small("y").export("c", path, name=name)
    for standard in ("-std=c99", "-std=gnu17", "-xc++"):
        command = ["gcc", standard, "-Wall", "-Wextra", "-Werror", "-c", str(path), "-o"]
        done = subprocess.run(
            [*command, str(tmp_path / "model.o")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("to", "name"),
    [
        ("sql", "\udcff"),
        ("sql", "a\0b"),
        ("pmml", "\udcff"),
        ("pmml", "\x1b"),
        ("pmml", "\ufffe"),
        ("onnx", "\udcff"),
    ],
)
def test_names_that_a_format_cannot_hold_are_refused(to: str, name: str) -> None:
    if to == "onnx":
        pytest.importorskip("onnx")
    with pytest.raises(OdtError, match="U373"):
        small("y").export(to, name=name)


# ---- pictures


def solved(bad: str) -> tuple[odtdsl.Model, dict[str, list[Any]]]:
    """A spec in which the text is the name of all that has one."""
    text = (
        f"data frame target `{bad}` group `{bad}g` = `{bad}n` <= 4 tree depth <= 2\n"
        f"minimize errors + leaves / 100 rule `{bad}r`: forall leaf: size >= 2\n"
        f"rule `{bad}s`: accuracy(`{bad}g`) >= 10%"
    )
    cells = [at * 7 % 9 for at in range(36)]
    frame: dict[str, list[Any]] = {
        f"{bad}n": cells,
        f"{bad}c": [f"{bad}{at % 3}" for at in range(36)],
        bad: [f"{bad}{'xy'[cell > 4]}" for cell in cells],
    }
    return odtdsl.parse(text), frame


@pytest.mark.parametrize("bad", NOT_XML)
def test_pictures_are_xml_whatever_the_names(bad: str) -> None:
    model, frame = solved(bad)
    result = model.solve(frame=frame)
    assert result.tree is not None
    tuned = odtdsl.tune(model, {"depth": [1, 2]}, score=f"error_rate(`{bad}g`)", frame=frame, cv=2)
    for picture in (
        result.tree.to_svg(title=bad),
        result.to_svg(title=bad),
        tuned.to_svg(title=bad),
        tuned.to_svg(),
    ):
        ElementTree.fromstring(picture.encode("utf-8"))


# ---- terminals


def test_no_name_commands_a_terminal(tmp_path: Path) -> None:
    bad = "\x1b[31m\x07\u202e"
    spec, model = tmp_path / "s.odt", tmp_path / "m.json"
    text, frame = solved(bad)
    rows = "\n".join(",".join(map(str, row)) for row in zip(*frame.values(), strict=True))
    (tmp_path / "rows.csv").write_text(f"{','.join(frame)}\n{rows}\n", encoding="utf-8")
    spec.write_text(str(text).replace("data frame", 'data "rows.csv"'), encoding="utf-8")
    for command in (
        ["solve", str(spec), "--out", str(model)],
        ["audit", str(spec), str(model)],
        ["plan", str(spec)],
        ["explain", str(spec)],
        ["compare", str(spec), "--within", "5s"],
        ["tune", str(spec), "--vary", "depth=1,2", "--cv", "2"],
    ):
        done = CliRunner().invoke(app, command, color=True)
        assert done.exit_code == 0, done.output
        assert not set("\x1b\x07\u202e") & set(done.stdout), command
    assert "\\x1b[31m" in done.stdout


# ---- models


def test_models_that_pictures_cannot_hold_are_refused() -> None:
    tree = small("y")
    two = replace(tree, targets=("y", "z"))
    assert [d.code for d in check_tree(two)] == ["F207"]
    heavy = replace(tree, root=Leaf(label=0, size=2, class_weights=(1e308, 1e308)))
    assert [d.code for d in check_tree(heavy)] == ["F209"]
    diagram = Diagram(
        entry=Arc(label=0),
        layers=(),
        features=tree.features,
        targets=("y",),
        classes=("u", "v"),
        terminals=(Terminal(size=2, class_weights=(1e308, 1e308)), Terminal()),
    )
    assert [d.code for d in check_diagram(diagram)] == ["F209"]


def test_numbers_beyond_all_floats_are_json() -> None:
    """Models from elsewhere have outputs up to 1e308, and specs numbers of 400 digits."""
    score = OutputScore(rows=2, mse=(("y", float("inf")),), infeasible=0)
    test = OutputTest(rows=2, mse=float("inf"), mae=1.0, outputs=score)
    said = json.loads(json.dumps(test.to_json(), allow_nan=False))
    assert said["mse"] is None
    assert said["outputs"]["mse"] == {"y": None}
    assert as_number(Fraction(10**350, 3)) is None
    assert as_number(Fraction(10**350)) == 10**350
