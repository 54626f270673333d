"""A model as a treelite model: one tree of float64 thresholds and float64 leaves."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from odtdsl.base.diagnostics.model import error
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.plan import (
    MOST_SPLITS,
    AtMost,
    CellTest,
    Column,
    Condition,
    End,
    Item,
    OneOf,
    Plan,
    Plane,
    described,
)

NEVER = 0.5
"""No code of a level."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison of treelite, and whether missing cells pass it."""

    feature: int
    operator: str
    value: float
    missing: bool
    left: Any
    right: Any


def to_treelite(plan: Plan, name: str | None = None) -> bytes:
    """The bytes of a serialized model, for `treelite.Model.deserialize_bytes` or a file.

    Its rows have all features, in their order, as float64; NaN is missing. Columns of texts
    hold the position of the level among the known ones, from 0, and any other number for an
    unseen one; the attributes of the model list them. Class trees give each class a score, 1
    for the predicted one; number trees their outputs. Rows that `predict` refuses, of a level
    that is not known in an ordered column, are not told apart.

    Parameters
    ----------
    plan
        The model.
    name
        Not used: such models have no name.

    Raises
    ------
    OdtError
        U371: a hyperplane; U372: bins and sets of numbers take several nodes, and these are
        too many.
    """
    if any(isinstance(fork.question, Plane) for fork in plan.forks()):
        raise error(
            "U371",
            "treelite tests one feature per node, but this model has hyperplanes",
            helps=("export to onnx, pmml, sql, python or c",),
        )
    root = _tests(plan, plan.root)
    nodes = list(_numbered(root))
    if len(nodes) > 2 * MOST_SPLITS + 1:
        raise error(
            "U372",
            (
                f"a model of {len(nodes):,} nodes is too large to export; bins and sets of "
                "numbers take several nodes each"
            ),
            helps=("export to onnx, sql, python or c",),
        )
    return _built(plan, nodes)


FORMAT = Format(
    what="a serialized treelite model",
    suffixes=(".treelite", ".tl"),
    begins=rb'.{0,1024}"odtdsl": \{',
    write=to_treelite,
    binary=True,
    package="treelite",
)


def _tests(plan: Plan, item: Item) -> Any:
    """The model in treelite's own comparisons; an end is its leaf's position."""
    if isinstance(item, End):
        return item.leaf
    ask = item.question
    assert isinstance(ask, CellTest), "hyperplanes are refused"
    column = plan.columns[ask.column]
    left, right = _tests(plan, item.left), _tests(plan, item.right)
    return _asked(column, ask.condition, ask.missing, left, right)


def _asked(column: Column, asked: Condition, missing: bool, left: Any, right: Any) -> Any:
    def test(operator: str, value: float, left: Any = left, right: Any = right) -> _Test:
        return _Test(column.position, operator, value, missing, left, right)

    if isinstance(asked, AtMost):
        return test("<=", asked.value)
    if isinstance(asked, OneOf):
        values = _values(column, asked)
        if column.kind == "text" and column.ordered and len(values) > 1:
            return test("<=", values[-1])  # a threshold: the first levels
        found = right
        for value in reversed(values or [NEVER]):
            found = test("==", value, right=found)
        return found
    low, high = asked.low, asked.high
    above = test("<=" if asked.closed else "<", min(high, sys.float_info.max))
    return above if math.isinf(low) else test(">=", low, left=above)


def _values(column: Column, asked: OneOf) -> list[float]:
    """The numbers that stand for the cells: themselves, or the positions of texts."""
    if column.kind == "number":
        return [float(value) for value in asked.values]
    return [float(i) for i, level in enumerate(column.levels) if level in asked.values]


def _numbered(root: Any) -> Iterator[tuple[Any, int, int]]:
    """Each node before its children, with their numbers; stops where there are too many."""
    waiting, made = [root], 1
    at = 0
    while at < len(waiting) and made <= 2 * MOST_SPLITS + 2:
        node = waiting[at]
        at += 1
        if isinstance(node, _Test):
            waiting += [node.left, node.right]
            yield node, made, made + 1
            made += 2
        else:
            yield node, -1, -1


def _built(plan: Plan, nodes: list[tuple[Any, int, int]]) -> bytes:
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    classes, targets = len(plan.classes), len(plan.targets)
    metadata = Metadata(
        num_feature=max(len(plan.features), 1),
        average_tree_output=False,
        task_type="kMultiClf" if classes else "kRegressor",
        num_target=1 if classes else targets,
        num_class=[classes] if classes else [1] * targets,
        leaf_vector_shape=(1, classes) if classes else (targets, 1),
    )
    builder = ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=metadata,
        tree_annotation=TreeAnnotation(
            num_tree=1,
            target_id=[0 if classes or targets == 1 else -1],
            class_id=[-1 if classes else 0],
        ),
        postprocessor=PostProcessorFunc(name="identity_multiclass" if classes else "identity"),
        base_scores=[0.0] * (classes or targets),
        attributes={"odtdsl": described(plan)},
    )
    builder.start_tree()
    for key, (node, left, right) in enumerate(nodes):
        builder.start_node(key)
        if isinstance(node, _Test):
            builder.numerical_test(
                node.feature,
                node.value,
                default_left=node.missing,
                opname=node.operator,
                left_child_key=left,
                right_child_key=right,
            )
        else:
            builder.leaf(_said(plan, node))
        builder.end_node()
    builder.end_tree()
    found: bytes = builder.commit().serialize_bytes()
    return found


def _said(plan: Plan, leaf: int) -> float | list[float]:
    found = plan.leaves[leaf]
    if found.label is not None:
        return [float(i == found.label) for i in range(len(plan.classes))]
    assert found.output is not None, "check_tree: a leaf says something"
    return list(found.output) if len(found.output) > 1 else found.output[0]
