"""Trees as values: routing against a naive loop, JSON round trips, counts, collapsing."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.typing import encode
from odtdsl.predictors.encoding import encode_cells
from odtdsl.predictors.json import dumps, from_json, loads, to_json
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold, TreeNode
from odtdsl.predictors.routing import paths, reach, route
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.validation import check_tree

AGE = ColumnType(name="age", kind="number")
DOSE = ColumnType(name="dose (mg)", kind="number")
SIZE = ColumnType(name="size", kind="ordered", levels=("small", "middle", "large"))
GRADE = ColumnType(name="grade", kind="ordered", levels=(3, 1, 2))
CITY = ColumnType(name="city", kind="category", levels=("Köln", "Zürich", "a b"))
WARD = ColumnType(name="ward", kind="category", levels=(1, 2.5, "icu", "04"))
SEX = ColumnType(name="sex", kind="binary", levels=("f", "m"))
FEATURES = (AGE, DOSE, SIZE, GRADE, CITY, WARD, SEX)
NUMBERS = (-1.5, 0, 0.1, 1, 2, 2.5, 3)
UNSEEN = {"city": ["Bern"], "ward": [7, 4, "er"], "sex": ["x"]}
"""Cells that are no level, but 4, which is the level "04" by its number."""


def asks_of(type_: ColumnType) -> st.SearchStrategy[Test]:
    if type_.kind == "number":
        cut = st.sampled_from(NUMBERS)
        low, high = (st.sampled_from((*NUMBERS, end)) for end in (-math.inf, math.inf))
        bins = st.builds(lambda a, b, c: InBin(low=a, high=b, closed=c), low, high, st.booleans())
        bins = bins.filter(lambda test: test.low <= test.high)
        return st.one_of(
            st.builds(lambda v: Threshold(value=v), cut),
            st.builds(lambda v: Equals(value=v), cut),
            bins,
        )
    level = st.sampled_from(type_.levels)
    equals = st.builds(lambda v: Equals(value=v), level)
    if type_.kind == "category":
        return equals
    return equals | st.builds(lambda v: Threshold(value=v), level)


@st.composite
def trees(draw: st.DrawFn, features: tuple[ColumnType, ...] = FEATURES, depth: int = 3) -> Tree:
    weights = st.floats(0, 1e9)

    def node(room: int) -> TreeNode:
        if room == 0 or draw(st.integers(0, 3)) == 0:
            return Leaf(
                label=draw(st.integers(0, 2)),
                size=draw(st.integers(0, 99)),
                class_weights=tuple(draw(weights) for _ in range(3)),
            )
        type_ = draw(st.sampled_from(features))
        return Branch(
            feature=type_.name,
            test=draw(asks_of(type_)),
            left=node(room - 1),
            right=node(room - 1),
            missing=draw(st.sampled_from(("left", "right"))),
            size=draw(st.integers(0, 99)),
        )

    return Tree(root=node(depth), features=features, targets=("y",), classes=("no", "yes", "?"))


def cells_of(type_: ColumnType) -> st.SearchStrategy[Any]:
    known = NUMBERS if type_.kind == "number" else type_.levels
    return st.sampled_from([None, *known, *UNSEEN.get(type_.name, [])])  # type: ignore[misc]


@st.composite
def frames(draw: st.DrawFn, features: tuple[ColumnType, ...] = FEATURES) -> dict[str, list[Any]]:
    n = draw(st.integers(1, 8))
    return {
        type_.name: draw(st.lists(cells_of(type_), min_size=n, max_size=n)) for type_ in features
    }


def naive_leaf(tree: Tree, row: dict[str, Any]) -> int:
    """The leaf of one row, cell by cell, in plain Python on the values themselves."""
    types = {type_.name: type_ for type_ in tree.features}

    def walk(node: TreeNode, first: int) -> int:
        if isinstance(node, Leaf):
            return first
        if goes_left(node, types[node.feature], row[node.feature]):
            return walk(node.left, first)
        return walk(node.right, first + len(leaves_below(node.left)))

    return walk(tree.root, 0)


def leaves_below(node: TreeNode) -> list[Leaf]:
    if isinstance(node, Leaf):
        return [node]
    return leaves_below(node.left) + leaves_below(node.right)


def goes_left(node: Branch, type_: ColumnType, cell: Any) -> bool:
    if cell is None:
        return node.missing == "left"
    match node.test:
        case Equals(value=value):
            written = str(value)  # a text is the level of that text, also where levels are numbers
            return bool(cell in (value, written) or (cell == 4 and value == "04"))
        case InBin(low=low, high=high, closed=closed):
            return low <= cell < high or (closed and cell == high)
        case Threshold(value=value):
            if type_.kind == "number":
                return bool(cell <= value)
            order = list(type_.levels)
            return cell in order and order.index(cell) <= order.index(value)


@given(trees(), frames())
def test_route_agrees_with_a_loop_over_rows(tree: Tree, frame: dict[str, list[Any]]) -> None:
    table = read_frame(frame)
    # Numbers among texts are read as texts.
    textual = {name for name, cells in frame.items() if any(isinstance(c, str) for c in cells)}
    rows = [
        {n: str(c[i]) if n in textual and c[i] is not None else c[i] for n, c in frame.items()}
        for i in range(table.n_rows)
    ]
    expected = [naive_leaf(tree, row) for row in rows]
    positions = route(tree, table)
    assert positions.dtype == np.int64
    assert positions.tolist() == expected
    assert tree.apply(frame).tolist() == expected
    labels = [tree.classes[tree.leaves[leaf].label or 0] for leaf in expected]
    assert tree.predict(frame).tolist() == labels


@pytest.mark.parametrize(
    ("test", "cell", "left"),
    [
        (InBin(low=1, high=2, closed=False), 1, True),
        (InBin(low=1, high=2, closed=False), 2, False),
        (InBin(low=1, high=2, closed=True), 2, True),
        (InBin(low=1, high=2, closed=True), 0.5, False),
        (InBin(low=-math.inf, high=2, closed=False), -1e300, True),
        (InBin(low=1, high=math.inf, closed=False), 1e300, True),
        (Threshold(value=0.1), 0.1, True),
        (Threshold(value=0.1), 0.1 + 2**-56, False),
    ],
)
def test_the_edges_of_tests(test: Test, cell: float, left: bool) -> None:
    root = Branch(feature="age", test=test, left=leaf_of(0), right=leaf_of(1), missing="right")
    assert class_tree(root).apply({"age": [cell]}).tolist() == [0 if left else 1]


@given(trees(), frames())
def test_reach_splits_the_rows_of_every_branch(tree: Tree, frame: dict[str, list[Any]]) -> None:
    table = read_frame(frame)
    reached = reach(tree, table)
    assert [node for node, _ in reached] == list(tree.nodes())
    assert reached[0][1].tolist() == list(range(table.n_rows))
    at_leaves = [rows for node, rows in reached if isinstance(node, Leaf)]
    positions = route(tree, table)
    assert [rows.tolist() for rows in at_leaves] == [
        np.flatnonzero(positions == leaf).tolist() for leaf in range(tree.n_leaves)
    ]


@given(frames())
def test_cells_are_encoded_as_training_encodes_them(frame: dict[str, list[Any]]) -> None:
    """Prediction has its own encoding, which shares nothing with that of training."""
    table = read_frame(frame)
    for type_ in FEATURES:
        ours = encode_cells(table.columns[type_.name], type_)
        theirs = encode(table.columns[type_.name], type_)
        if theirs.numbers is not None:
            assert ours.numbers is not None
            assert np.array_equal(ours.numbers, theirs.numbers, equal_nan=True)
        else:
            assert ours.codes is not None
            assert theirs.codes is not None
            assert ours.codes.tolist() == theirs.codes.tolist()


@given(trees())
def test_paths_lead_from_the_root_to_each_leaf(tree: Tree) -> None:
    found = paths(tree)
    assert len(found) == tree.n_leaves
    assert max(map(len, found)) == tree.depth
    for path, leaf in zip(found, tree.leaves, strict=True):
        node = tree.root
        for branch, side in path:
            assert branch is node
            node = branch.left if side == "left" else branch.right
        assert node is leaf


@given(trees())
def test_trees_come_back_from_json_pickle_and_hash_alike(tree: Tree) -> None:
    assert check_tree(tree) == ()
    for copy in (
        loads(dumps(tree)),
        from_json(to_json(tree)),
        pickle.loads(pickle.dumps(tree)),
    ):
        assert copy == tree
        assert hash(copy) == hash(tree)
    assert dumps(loads(dumps(tree))) == dumps(tree)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_json_keeps_every_float_and_every_name(cut: float, name: str, output: float) -> None:
    leaf = Leaf(output=(output, -output), size=3)
    tree = Tree(
        root=Branch(
            feature=name, test=Threshold(value=cut), left=leaf, right=leaf, missing="right"
        ),
        features=(ColumnType(name=name, kind="number"),),
        targets=(name, name + "2"),
    )
    copy = loads(dumps(tree).encode())
    assert copy == tree
    assert isinstance(copy.root, Branch)
    assert isinstance(copy.root.test, Threshold)
    assert float(copy.root.test.value).hex() == cut.hex()


def test_json_keeps_the_type_of_a_number() -> None:
    tree = Tree(root=Leaf(label=0), features=(), targets=("y",), classes=(1, 2.0, "3"))
    assert [type(label) for label in loads(dumps(tree)).classes] == [int, float, str]
    numpy_made = replace(tree, classes=(np.int64(1), np.float64(2.0), "3"))  # type: ignore[arg-type]
    assert json.loads(dumps(numpy_made)) == json.loads(dumps(tree))


def test_trees_do_not_change() -> None:
    tree = Tree(root=Leaf(label=0), features=(), targets=("y",), classes=("a",))
    with pytest.raises(FrozenInstanceError):
        tree.root = Leaf(label=1)  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        tree.extra = 1  # type: ignore[attr-defined]


def split(name: str, cut: float, left: TreeNode, right: TreeNode) -> Branch:
    return Branch(
        feature=name, test=Threshold(value=cut), left=left, right=right, missing="left", size=0
    )


def class_tree(root: TreeNode) -> Tree:
    return Tree(root=root, features=FEATURES, targets=("y",), classes=("no", "yes", "?"))


def leaf_of(label: int, size: int = 1) -> Leaf:
    weights = [0.0, 0.0, 0.0]
    weights[label] = float(size)
    return Leaf(label=label, size=size, class_weights=tuple(weights))


@pytest.mark.parametrize(
    ("root", "code"),
    [
        (split("nobody", 1, Leaf(label=0), Leaf(label=0)), "F210"),
        (split("age", math.nan, Leaf(label=0), Leaf(label=0)), "F209"),
        (split("city", 1, Leaf(label=0), Leaf(label=0)), "F207"),
        (split("grade", 9, Leaf(label=0), Leaf(label=0)), "F210"),
        (Leaf(label=3), "F210"),
        (Leaf(label=-1), "F210"),
        (Leaf(), "F207"),
        (Leaf(label=0, output=(1.0,)), "F207"),
        (Leaf(label=0, class_weights=(1.0,)), "F207"),
        (Leaf(label=0, class_weights=(1.0, math.inf, 0.0)), "F209"),
        (Leaf(label=0, class_weights=(1.0, -1.0, 0.0)), "F207"),
    ],
)
def test_a_tree_that_cannot_predict_says_why(root: TreeNode, code: str) -> None:
    with pytest.raises(OdtError) as caught:
        route(class_tree(root), read_frame({"age": [1], "city": ["a b"], "grade": [1]}))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_size_properties() -> None:
    tree = class_tree(split("age", 2, split("city", 0, leaf_of(0), leaf_of(1)), leaf_of(2)))
    assert (tree.depth, tree.n_leaves, tree.n_splits) == (2, 3, 2)
    assert tree.tested == ("age", "city")
    assert class_tree(leaf_of(0)).depth == 0
