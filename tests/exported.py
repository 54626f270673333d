"""What exports are measured by: `predict` on rows of raw cells, and how a file writes a cell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import AxisTest
from odtdsl.predictors.nodes import Branch, InBin, Leaf, Test, TreeNode
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree

Row = dict[str, Any]
Model = Predictor
REFUSED = "(refused)"
AWAY = 9e99
"""A number that is no level."""


def predicted(model: Model, rows: list[Row]) -> list[Any]:
    """What `predict` says of each row; `REFUSED` where it refuses the row."""
    try:
        return _predict(model, rows)
    except OdtError:
        if len(rows) == 1:
            return [_one(model, rows[0])]
        half = len(rows) // 2
        return predicted(model, rows[:half]) + predicted(model, rows[half:])


def _predict(model: Model, rows: list[Row]) -> list[Any]:
    names = [type_.name for type_ in model.features]
    found = model.predict({name: [row.get(name) for row in rows] for name in names})
    return [tuple(x) if isinstance(x, list) else x for x in found.tolist()]


def _one(model: Model, row: Row) -> Any:
    try:
        return _predict(model, [row])[0]
    except OdtError as failure:
        if not {d.code for d in failure.diagnostics} <= {"U204", "U208"}:
            raise
        return REFUSED


def one_by_one(model: Model, rows: list[Row]) -> list[Any]:
    """What `predict` says of each row alone: with texts in a column its numbers are texts."""
    return [_alone(model, row) for row in rows]


def _alone(model: Model, row: Row) -> Any:
    try:
        return model.predict({name: [cell] for name, cell in row.items()}).tolist()[0]
    except OdtError:
        return REFUSED


def asks(name: str, test: Any, left: int, right: int, missing: Any) -> Branch:
    """A split with two leaves of one row."""
    return Branch(
        feature=name,
        test=test,
        missing=missing,
        left=Leaf(label=left, size=1),
        right=Leaf(label=right, size=1),
    )


def renamed(tree: Tree) -> Tree:
    """A tree of one feature, called `v`; its first split sends missing cells left."""

    def named(node: TreeNode) -> TreeNode:
        if isinstance(node, Leaf):
            return node
        return replace(node, feature="v", left=named(node.left), right=named(node.right))

    root = named(tree.root)
    assert isinstance(root, Branch)
    root = replace(root, missing="left")
    return replace(tree, root=root, features=(replace(tree.features[0], name="v"),))


def tests_of(model: Model) -> list[tuple[str, Test]]:
    """Each feature with each of its tests."""
    if isinstance(model, Tree):
        return [(n.feature, n.test) for n in model.nodes() if isinstance(n, Branch)]
    assert isinstance(model, Diagram)
    splits = (n.split for n in model.nodes())
    return [(split.feature, split.test) for split in splits if isinstance(split, AxisTest)]


def edges(model: Model) -> dict[str, list[float]]:
    """Of each number column: every threshold, and its neighbours among float64."""
    kinds = {type_.name: type_.kind for type_ in model.features}
    found: dict[str, dict[float, None]] = {}
    for feature, test in tests_of(model):
        if kinds[feature] == "number":
            ends = [test.low, test.high] if isinstance(test, InBin) else [float(test.value)]
            for end in filter(math.isfinite, ends):
                near = (end, np.nextafter(end, math.inf), np.nextafter(end, -math.inf))
                found.setdefault(feature, {}).update(dict.fromkeys(map(float, near)))
    return {feature: list(values) for feature, values in found.items()}


def plain(kind: str, cell: Any) -> Any:
    """A cell of a column of floats or of texts, as most formats take it."""
    if kind == "number":
        return math.nan if cell is None else float(cell)
    return None if cell is None else str(cell)


def written(value: Value) -> str:
    """How a file writes a label or a level."""
    if isinstance(value, str | int):
        return str(value)
    return repr(value + 0.0).removesuffix(".0")


def same(cell: Any, level: Any) -> bool:
    """Whether a cell is a level, in columns whose cells are written as the levels are."""
    if isinstance(cell, str) == isinstance(level, str):
        return bool(cell == level)
    return written(cell) == written(level)


def refuses(refusing: Any, row: Row) -> bool:
    """Whether `predict` refuses a row, which people's formats do not say."""
    for column in refusing:
        cell = row.get(column.name)
        known = cell is None or any(same(cell, level) for level in column.levels)
        if (column.weighed and cell is None) or (column.ordered and not known):
            return True
    return False
