"""`Diagram` as a value: prediction, files, pictures, and how it comes out of a spec."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_json import from_json, loads, to_json
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Hyperplane, Node, Terminal, Weight
from odtdsl.predictors.nodes import Equals, Threshold
from odtdsl.predictors.saving import dumps, load, save
from odtdsl.presentation.pictures.diagram_layout import place
from odtdsl.presentation.pictures.diagram_text import diagram_to_text
from odtdsl.presentation.pictures.graphviz import to_dot
from odtdsl.presentation.pictures.svg import to_svg

AGE = ColumnType(name="age", kind="number")
SEX = ColumnType(name="sex", kind="category", levels=("f", "m", "x"))
PAIN = ColumnType(name="pain", kind="ordered", levels=("lo", "mid", "hi"))


def axis(feature: str, value: Any, missing: Any = "right") -> AxisTest:
    test = Equals(value=value) if feature == "sex" else Threshold(value=value)
    return AxisTest(feature=feature, test=test, missing=missing)


def node(split: AxisTest | Hyperplane, left: Arc, right: Arc) -> Node:
    return Node(split=split, left=left, right=right, size=left.size + right.size)


SHARED = Diagram(
    entry=Arc(node=0, size=10),
    layers=(
        (node(axis("age", 40.5, "left"), Arc(node=0, size=6), Arc(node=1, size=4)),),
        (
            node(axis("sex", "f"), Arc(node=0, size=3), Arc(label=0, size=3)),
            node(axis("sex", "m"), Arc(node=0, size=1), Arc(label=1, size=3)),
        ),
        (node(axis("pain", "lo"), Arc(label=1, size=2), Arc(label=0, size=2)),),
    ),
    terminals=(
        Terminal(size=5, class_weights=(4.0, 1.0)),
        Terminal(size=5, class_weights=(0.0, 5.0)),
    ),
    features=(AGE, SEX, PAIN),
    targets=("sick",),
    classes=("no", "yes"),
)
PLANES = replace(
    SHARED,
    layers=(
        (
            Node(
                split=Hyperplane(
                    weights=(
                        Weight(feature="age", weight=0.1),
                        Weight(feature="sex", weight=-2.0, value="f"),
                        Weight(feature="pain", weight=1.0),
                    ),
                    bound=4.0,
                ),
                left=Arc(label=0, size=4),
                right=Arc(label=1, size=6),
                size=10,
            ),
        ),
    ),
)


def test_rows_follow_arcs_that_join_again() -> None:
    data = {
        "age": [30, 30, 30, None, 50, 50, 50],
        "sex": ["f", "f", "m", "f", "m", "m", "new"],
        "pain": ["lo", "hi", "lo", "mid", "lo", "hi", "lo"],
    }
    assert SHARED.predict(data).tolist() == ["yes", "no", "no", "no", "yes", "no", "yes"]
    assert SHARED.predict_proba(data)[0].tolist() == [0, 1]
    assert SHARED.predict_proba(data)[1].tolist() == [0.8, 0.2]


def test_hyperplanes_weigh_numbers_ranks_and_presence() -> None:
    data = {"age": [50.0, 50.0, 39.0], "sex": ["f", "m", "m"], "pain": ["lo", "lo", "mid"]}
    sums = [5 - 2, 5, 3.9 + 1]
    assert PLANES.predict(data).tolist() == ["no" if x < 4 else "yes" for x in sums]
    with pytest.raises(OdtError, match="missing cells"):
        PLANES.predict({"age": [None, 3.0], "sex": ["f", "m"], "pain": ["lo", "lo"]})


def test_arrays_are_read_in_the_order_of_the_features() -> None:
    only = replace(
        SHARED,
        features=(AGE, replace(AGE, name="b")),
        layers=((Node(split=axis("b", 1.5), left=Arc(label=0), right=Arc(label=1)),),),
    )
    assert only.apply(np.array([[0.0, 1.0], [0.0, 2.0]])).tolist() == [0, 1]
    with pytest.raises(OdtError, match="shape"):
        only.apply(np.zeros((2, 3)))
    with pytest.raises(OdtError, match="no column `b`"):
        only.apply({"age": [1.0]})


def test_sizes_of_the_whole() -> None:
    assert (SHARED.depth, SHARED.n_splits, SHARED.widths) == (3, 4, (1, 2, 1))
    assert SHARED.tested == ("age", "sex", "pain")
    alone = replace(SHARED, entry=Arc(label=1, size=10), layers=())
    assert (alone.depth, alone.n_splits, alone.reached) == (0, 0, (1,))
    assert alone.predict({"age": [1, 2]}).tolist() == ["yes", "yes"]


@pytest.mark.parametrize("diagram", [SHARED, PLANES])
def test_files_give_the_same_diagram_back(diagram: Diagram, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    save(diagram, path)
    assert load(path) == diagram
    assert loads(dumps(diagram)) == diagram
    assert from_json(json.loads(json.dumps(to_json(diagram)))) == diagram


def broken(**changes: object) -> dict[str, Any]:
    return {**json.loads(dumps(SHARED)), **changes}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"format": "odtdsl.tree"}, "F204"),
        (broken(version=3), "F205"),
        (broken(extra=1), "F206"),
        (broken(layers=3), "F207"),
        (broken(entry={"node": None, "label": None, "size": 0}), "F207"),
        (broken(entry={"node": 7, "label": None, "size": 0}), "F210"),
        (broken(terminals=[]), "F207"),
        (broken(layers=[[]] * 65), "F208"),
        (broken(targets=["a", "b"]), "F207"),
    ],
)
def test_files_with_mistakes_are_refused(value: dict[str, Any], code: str) -> None:
    with pytest.raises(OdtError) as caught:
        from_json(value)
    assert code in {one.code for one in caught.value.diagnostics}


def test_diagrams_by_hand_are_checked() -> None:
    root = SHARED.layers[0][0]
    for wrong, code in (
        (replace(root, split=axis("age", math.inf)), "F209"),
        (replace(root, split=axis("nobody", 1.0)), "F210"),
        (replace(root, left=Arc(label=5)), "F210"),
        (replace(root, split=Hyperplane(weights=(), bound=1.0)), "F207"),
        (
            replace(
                root, split=Hyperplane(weights=(Weight(feature="sex", weight=1.0),), bound=1.0)
            ),
            "F207",
        ),
    ):
        diagram = replace(SHARED, layers=((wrong,), *SHARED.layers[1:]))
        with pytest.raises(OdtError) as caught:
            diagram.apply({"age": [1.0], "sex": ["f"], "pain": ["lo"], "nobody": [1.0]})
        assert code in {one.code for one in caught.value.diagnostics}


def test_text_names_every_node_once() -> None:
    text = diagram_to_text(SHARED)
    assert text.count("pain <= ") == 1
    assert '4: pain <= "lo"  (4 rows, from 2 and 3)' in text
    assert "├─ yes: 4  (3 rows, 30%)" in text
    assert "no: 5 rows, 1 error" in text
    assert "age <= 40.5  (missing: yes)" in diagram_to_text(SHARED, missing=True)
    assert "0.1 * age" in diagram_to_text(PLANES)
    assert '- 2 * [sex == "f"] + pain < 4' in diagram_to_text(PLANES)
    assert diagram_to_text(SHARED, ascii_only=True).isascii()


@pytest.mark.parametrize(("first", "says"), [(1, True), (4, True), ("No", True), (5, False)])
def test_a_class_is_no_node_and_no_answer(first: int | str, says: bool) -> None:
    """Nodes are 1 to 4; `yes: 4` would lead to a node or predict a class, `yes: no` say both."""
    text = diagram_to_text(replace(SHARED, classes=(first, 9)))
    said = "predicts " if says else ""
    assert f"├─ yes: 4  (3 rows, 30%)\n└─ no: {said}{first}  (3 rows, 30%)\n" in text
    assert text.endswith(f"\n{said}{first}: 5 rows, 1 error\n{said}9: 5 rows, 0 errors\n")


@pytest.mark.parametrize("diagram", [SHARED, PLANES])
def test_pictures_are_well_formed_and_draw_shared_nodes_once(diagram: Diagram) -> None:
    picture = to_svg(diagram)
    root = ElementTree.fromstring(picture)
    shapes = [item for item in root.iter() if item.tag.endswith("rect")]
    boxes = [item for item in shapes if item.get("class") == "box"]
    assert len(boxes) == diagram.n_splits
    paths = [item for item in root.iter() if item.tag.endswith("path")]
    assert len(paths) == 2 * diagram.n_splits
    dot = to_dot(diagram)
    assert dot.count("->") == 2 * diagram.n_splits
    assert to_svg(diagram) == picture


@pytest.mark.parametrize("diagram", [SHARED, PLANES])
def test_long_arcs_can_be_told_instead_of_drawn(diagram: Diagram) -> None:
    long = [
        diagram.classes[arc.label]
        for layer in diagram.layers[:-1]
        for node in layer
        for arc in (node.left, node.right)
        if arc.label is not None
    ]
    root = ElementTree.fromstring(to_svg(diagram, long_arcs=False))
    paths = [item.get("d") or "" for item in root.iter() if item.tag.endswith("path")]
    assert len(paths) == 2 * diagram.n_splits
    assert sum("C" not in path for path in paths) == len(long)
    said = [item.text or "" for item in root.iter() if item.tag.endswith("text")]
    told = [text.rpartition(": ")[2] for text in said if "%: " in text]
    assert sorted(told) == sorted(map(str, long))
    assert diagram.to_svg() == to_svg(diagram)
    assert (diagram.to_svg(long_arcs=False) == to_svg(diagram)) == (not long)


def test_boxes_of_a_row_do_not_overlap() -> None:
    placed = place(SHARED, {}, 20.0)
    for row, items in enumerate(placed.rows):
        xs = [placed.centers[row, item] for item in items]
        assert all(b - a >= 20.0 for a, b in pairwise(xs))


# ---- from a spec

ROWS = {
    "a": [0, 0, 0, 0, 1, 1, 1, 1] * 3,
    "b": [0, 0, 1, 1, 0, 0, 1, 1] * 3,
    "c": [0, 1, 0, 1, 0, 1, 0, 1] * 3,
    "y": ["even", "odd", "odd", "even", "odd", "even", "even", "odd"] * 3,
}
SPEC = (
    "data frame target y feature *: number diagram widths 1, 2, 2 "
    "minimize error_rate + 0.05 * splits rule r: forall split: size >= 10%"
)


def test_parity_needs_two_nodes_a_layer(tmp_path: Path) -> None:
    result = odtdsl.parse(SPEC).solve(frame=ROWS, using="greedy")
    assert result.status == "feasible"
    assert result.tree is None
    diagram = result.diagram
    assert diagram is not None
    assert result.model is diagram
    assert diagram.widths == (1, 2, 2)
    assert diagram.predict(ROWS).tolist() == ROWS["y"]
    assert result.audit is not None
    assert result.audit.holds
    assert result.to_json()["model"]["format"] == "odtdsl.diagram"
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(result.to_json()), encoding="utf-8")
    assert odtdsl.load_model(path) == diagram
    assert odtdsl.audit(path, SPEC, frame=ROWS).holds
    with pytest.raises(OdtError, match="a saved diagram"):
        odtdsl.load_tree(path)
    again = odtdsl.parse(SPEC).solve(frame=ROWS, using="greedy", start=diagram)
    assert again.objective == result.objective


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = (
        odtdsl.parse(SPEC).solve(frame=ROWS, using="greedy", seed=3).diagram for _ in range(2)
    )
    assert first == second


def test_hyperplanes_come_out_in_raw_units() -> None:
    spec = SPEC.replace("widths 1, 2, 2", "widths 1, 2, 2 splits hyperplane")
    result = odtdsl.parse(spec).solve(frame=ROWS, using="greedy")
    assert result.diagram is not None
    assert all(isinstance(node.split, Hyperplane) for node in result.diagram.nodes())
    assert result.audit is not None
    assert result.audit.holds


def test_a_diagram_is_no_answer_to_a_tree() -> None:
    diagram = odtdsl.parse(SPEC).solve(frame=ROWS, using="greedy").diagram
    assert diagram is not None
    with pytest.raises(OdtError, match="asks for a tree"):
        odtdsl.audit(diagram, SPEC.replace("diagram widths 1, 2, 2", "tree depth <= 3"), frame=ROWS)


def test_an_audit_sees_what_is_wrong() -> None:
    diagram = odtdsl.parse(SPEC).solve(frame=ROWS, using="greedy").diagram
    assert diagram is not None
    narrow = odtdsl.audit(diagram, SPEC.replace("1, 2, 2", "1, 1"), frame=ROWS)
    assert {line.rule for line in narrow.lines if not line.holds} == {
        "diagram depth",
        "diagram widths",
    }
    last = diagram.layers[-1][0]
    idle = replace(last, right=last.left)
    spoiled = replace(diagram, layers=(*diagram.layers[:-1], (idle, *diagram.layers[-1][1:])))
    found = odtdsl.audit(spoiled, SPEC, frame=ROWS)
    assert {line.rule for line in found.lines if not line.holds} == {
        "diagram reduced",
        "diagram counts",
    }
