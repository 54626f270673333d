"""Saved trees: what the strict reader refuses, and how files are written."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors import json as model_files
from odtdsl.predictors.json import dumps, from_json, load, loads, save, to_json
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Threshold, TreeNode
from odtdsl.predictors.tree import Tree

LEAVES = tuple(Leaf(label=i % 2, size=i, class_weights=(0.5, i / 3)) for i in range(4))
TREE = Tree(
    root=Branch(
        feature="age",
        test=Threshold(value=0.1),
        left=Branch(
            feature="city",
            test=Equals(value="Köln"),
            left=LEAVES[0],
            right=LEAVES[1],
            missing="right",
            size=1,
        ),
        right=Branch(
            feature="age",
            test=InBin(low=1.5, high=math.inf, closed=False),
            left=LEAVES[2],
            right=LEAVES[3],
            missing="left",
        ),
        missing="left",
        size=6,
    ),
    features=(
        ColumnType(name="age", kind="number", step=Fraction(1, 2)),
        ColumnType(name="city", kind="category", levels=("Köln", 3, 2.5)),
    ),
    targets=("y",),
    classes=("no", "yes"),
)


def codes(act: Callable[[], object]) -> list[str]:
    with pytest.raises(OdtError) as caught:
        act()
    assert all(d.message and "\n" not in d.message for d in caught.value.diagnostics)
    str(caught.value)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def test_a_saved_tree_is_the_documented_object() -> None:
    assert to_json(TREE)["features"][0] == {
        "name": "age",
        "kind": "number",
        "levels": [],
        "step": "1/2",
        "by_value": False,
    }
    root = to_json(TREE)["root"]
    assert root["test"] == {"test": "threshold", "value": 0.1}
    assert root["right"]["test"] == {"test": "bin", "low": 1.5, "high": None, "closed": False}
    assert root["left"]["left"] == {
        "node": "leaf",
        "label": 0,
        "output": None,
        "size": 0,
        "class_weights": [0.5, 0.0],
    }


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    save(TREE, path)
    save(TREE, str(path))
    assert load(path) == TREE
    assert os.listdir(tmp_path) == ["tree.json"]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tree.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert codes(lambda: save(TREE, path)) == ["F301"]
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_places_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    assert codes(lambda: save(TREE, tmp_path / "no" / "tree.json")) == ["F301"]
    assert codes(lambda: save(TREE, tmp_path)) == ["F301"]
    assert codes(lambda: load(tmp_path / "none.json")) == ["F201"]
    assert codes(lambda: load(tmp_path)) == ["F201"]
    assert codes(lambda: load("a\0b")) == ["F201"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "F203"),
        ("  \n", "F203"),
        ("not json", "F203"),
        (b"\xff\xfe{}", "F203"),
        (b"PK\x03\x04", "F203"),
        ("[]", "F204"),
        ("null", "F204"),
        ("3", "F204"),
        ('{"a": 1}', "F204"),
        ('{"format": "other"}', "F204"),
        ('{"format": "odtdsl.tree"}', "F205"),
        ('{"format": "odtdsl.tree", "version": 3}', "F205"),
        ('{"format": "odtdsl.tree", "version": "1"}', "F205"),
        ('{"format": "odtdsl.tree", "version": true}', "F205"),
        ('{"format": "odtdsl.tree", "version": NaN}', "F209"),
        ("-Infinity", "F209"),
        ("9" * 5000, "F209"),
        ("[" * 200_000, "F208"),
        ('{"a":' * 200_000, "F208"),
    ],
)
def test_files_that_are_something_else(text: str | bytes, code: str) -> None:
    assert codes(lambda: loads(text)) == [code]


def test_every_truncated_file_is_refused() -> None:
    text = dumps(TREE).rstrip()
    for end in range(len(text)):
        assert codes(lambda end=end: loads(text[:end])) == ["F203"]  # type: ignore[misc]
    with pytest.raises(OdtError) as caught:
        loads(text[: text.index('"kind"')])
    assert "truncated" in caught.value.diagnostics[0].message


def test_large_files_are_refused_unparsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "MAX_BYTES", 1000)
    path = tmp_path / "tree.json"
    path.write_bytes(b" " * 1001)
    assert codes(lambda: load(path)) == ["F202"]
    assert codes(lambda: loads(" " * 1001)) == ["F202"]
    path.write_bytes(b" " * 1000)
    assert codes(lambda: load(path)) == ["F203"]


def at(value: Any, place: str) -> tuple[Any, Any]:
    """The container of a place such as `root.left.test`, and its key there."""
    *above, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    for part in above:
        value = value[part]
    return value, last


DROP = object()
WRONG = [
    ("features", DROP, "F206"),
    ("root", DROP, "F206"),
    ("targets", DROP, "F206"),
    ("extra", 1, "F206"),
    ("root.size", DROP, "F206"),
    ("root.left.left.label", DROP, "F206"),
    ("root.extra", None, "F206"),
    ("root.test.value", DROP, "F206"),
    ("root.right.test.closed", DROP, "F206"),
    ("features", {}, "F207"),
    ("features.0", "age", "F207"),
    ("features.0.kind", "text", "F207"),
    ("features.0.kind", [], "F207"),
    ("features.0.step", 0.5, "F207"),
    ("features.0.step", "1/0", "F207"),
    ("features.0.step", "9" * 6000, "F207"),
    ("features.0.name", 1, "F207"),
    ("features.0.name", "\ud800", "F207"),
    ("features.1.levels.0", None, "F207"),
    ("features.1.levels.0", True, "F207"),
    ("features.1.levels.1", "Köln", "F207"),
    ("classes.1", "no", "F207"),
    ("targets", [], "F207"),
    ("root", None, "F207"),
    ("root", [], "F207"),
    ("root.node", "twig", "F207"),
    ("root.left", 3, "F207"),
    ("root.feature", None, "F207"),
    ("root.missing", "both", "F207"),
    ("root.missing", ["left"], "F207"),
    ("root.size", -1, "F207"),
    ("root.size", 1.0, "F207"),
    ("root.size", True, "F207"),
    ("root.size", 2**63, "F207"),
    ("root.test", None, "F207"),
    ("root.test.test", "greater", "F207"),
    ("root.test.value", "0.1", "F207"),
    ("root.test.value", None, "F207"),
    ("root.test.value", True, "F207"),
    ("root.right.test.low", "1", "F207"),
    ("root.right.test.closed", 0, "F207"),
    ("root.right.test.high", 1, "F207"),
    ("root.left.left.label", None, "F207"),
    ("root.left.left.label", "no", "F207"),
    ("root.left.left.label", 0.0, "F207"),
    ("root.left.left.output", [1.0], "F207"),
    ("root.left.left.output", 1.0, "F207"),
    ("root.left.left.class_weights", [1.0], "F207"),
    ("root.left.left.class_weights", [1.0, "1"], "F207"),
    ("root.left.left.class_weights", [1.0, -1.0], "F207"),
    ("root.left.left.class_weights", None, "F207"),
    ("root.test.value", math.nan, "F209"),
    ("root.test.value", math.inf, "F209"),
    ("root.test.value", 10**400, "F209"),
    ("root.right.test.low", math.nan, "F209"),
    ("root.left.left.class_weights", [math.inf, 0.0], "F209"),
    ("root.left.left.label", 2, "F210"),
    ("root.feature", "height", "F210"),
    ("root.left.test.value", "Bonn", "F210"),
]


@pytest.mark.parametrize(("place", "value", "code"), WRONG)
def test_every_kind_of_wrong_content_is_told(place: str, value: Any, code: str) -> None:
    saved = json.loads(dumps(TREE))
    container, key = at(saved, place)
    if value is DROP:
        del container[key]
    else:
        container[key] = value
    assert codes(lambda: from_json(saved)) == [code]


def test_all_that_is_wrong_is_told_at_once_with_its_place() -> None:
    saved = json.loads(dumps(TREE))
    saved["root"]["missing"] = "up"
    saved["root"]["left"]["size"] = "many"
    del saved["root"]["right"]["test"]["low"]
    with pytest.raises(OdtError) as caught:
        from_json(saved, name="tree.json")
    messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert [message.split(": ")[0] for message in messages] == [
        "tree.json, at root.missing",
        "tree.json, at root.left.size",
        "tree.json, at root.right.test",
    ]


def test_the_number_of_messages_is_bounded() -> None:
    saved = json.loads(dumps(TREE))
    saved["classes"] = [None] * 100_000
    assert len(codes(lambda: from_json(saved))) == model_files.MAX_MESSAGES


def test_a_repeated_key_is_refused() -> None:
    text = dumps(TREE).replace('"missing": "left"', '"missing": "left", "missing": "right"', 1)
    assert codes(lambda: loads(text)) == ["F206"]


def test_infinity_cannot_be_smuggled_in_by_digits() -> None:
    assert codes(lambda: loads(dumps(TREE).replace('"value": 0.1', '"value": 1e999'))) == ["F209"]


def chain(depth: int) -> Tree:
    node: TreeNode = Leaf(label=0)
    for _ in range(depth):
        node = Branch(
            feature="age",
            test=Threshold(value=1),
            left=Leaf(label=1),
            right=node,
            missing="left",
        )
    return Tree(root=node, features=TREE.features, targets=("y",), classes=("a", "b"))


def test_depth_is_bounded_on_both_ways() -> None:
    assert loads(dumps(chain(64))) == chain(64)
    assert codes(lambda: dumps(chain(65))) == ["F208"]
    saved = to_json(chain(64))
    leaf = saved["root"]
    while leaf["node"] == "branch":
        parent, leaf = leaf, leaf["right"]
    parent["right"] = to_json(chain(1))["root"]
    assert codes(lambda: from_json(saved)) == ["F208"]


@pytest.mark.parametrize("depth", [100, 900, 10_000, 100_000])
def test_absurd_depth_is_an_error_and_no_crash(depth: int) -> None:
    leaf = json.dumps(to_json(chain(0))["root"])
    branch = json.dumps({**to_json(chain(1))["root"], "right": None})
    head, tail = branch.split("null}")[0], "}"
    text = json.dumps({**to_json(chain(0)), "root": "HERE"}).replace(
        '"HERE"', head * depth + leaf + tail * depth
    )
    assert codes(lambda: loads(text)) == ["F208"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
    st.sampled_from([place for place, _, _ in WRONG if place != "extra"]),
)
def test_any_value_anywhere_is_a_tree_or_a_clear_error(value: Any, place: str) -> None:
    saved = json.loads(dumps(TREE))
    container, key = at(saved, place)
    container[key] = value
    problems: set[str] = set()
    try:
        tree = from_json(saved)
    except OdtError as caught:
        problems = {diagnostic.code[:2] for diagnostic in caught.diagnostics}
    assert problems == {"F2"} if problems else loads(dumps(tree)) == tree


@given(st.binary() | st.text())
def test_any_bytes_are_a_clear_error(data: bytes | str) -> None:
    assert codes(lambda: loads(data))[0][:2] == "F2"
