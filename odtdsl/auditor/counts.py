"""The audit of what a model says of its rows: counted again, node by node.

A saved model holds the rows of each node and the classes of each leaf, which probabilities are
made of; types of columns, by which it reads later cells; and sides for missing cells that no
training row decided. Each is compared with the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import DiagramOn, LeafOn, SplitOn, TreeOn
from odtdsl.auditor.rows import AuditRows
from odtdsl.base import numbers
from odtdsl.datasets.dataset import ColumnType
from odtdsl.datasets.levels import level_text
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.diagram_nodes import Arc
from odtdsl.problem.ir.expr import applications

SHOWN = 5

FLOATS = Fraction(1, 10**9)
"""Class weights are saved as floats: what they may be off, as a share."""


def counted(model: TreeOn | DiagramOn) -> Iterator[AuditLine]:
    """Lines on what a model says wrongly of its rows, of its columns and of missing cells.

    A model that says nothing of its rows, as one that is built by hand, says nothing wrong.
    """
    counts = list(_of_diagram(model) if isinstance(model, DiagramOn) else _of_tree(model))
    nodes = len(model.leaves) + len(model.splits)
    wrong = [one.difference for one in counts if one.differs]
    if wrong and any(one.said for one in counts):
        yield _broken(model, "counts", "node sizes and class weights match the rows", wrong, nodes)
    if wrong := _columns(model):
        said = "features, their order, types and levels match the spec"
        yield _broken(model, "columns", said, wrong, len(model.rows.problem.features))
    if wrong := _missing(model):
        said = "missing cells go to the side that the spec names, or to the larger side"
        yield _broken(model, "missing", said, wrong, len(model.splits))


def _broken(
    model: TreeOn | DiagramOn, part: str, text: str, wrong: list[str], instances: int
) -> AuditLine:
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return AuditLine(
        rule=f"{model.kind} {part}",
        text=text,
        holds=False,
        instances=instances,
        note="; ".join(wrong[:SHOWN]) + more,
    )


# ---- sizes and class weights


class _Count:
    """A count that a model says, and the one that the rows give."""

    def __init__(self, where: str, said: float, found: Fraction | int) -> None:
        self.where, self.said, self.found = where, said, found

    @property
    def differs(self) -> bool:
        """Whether they are different counts."""
        if self.said == self.found:
            return False
        return abs(Fraction(self.said) - self.found) > FLOATS * self.found

    @property
    def difference(self) -> str:
        """Both, for the note of a line."""
        return f"{self.where} {_shown(self.said)}, counted {_shown(float(self.found))}"


def _shown(number: float) -> str:
    return f"{number:.6g}" if number != int(number) else str(int(number))


def _of_tree(model: TreeOn) -> Iterator[_Count]:
    for place, leaf in enumerate(model.leaves):
        yield from _of_end(leaf.leaf.size, leaf.leaf.class_weights, f"leaf {place}", leaf)
    yield from _of_splits(model.splits)


def _of_splits(splits: tuple[SplitOn, ...]) -> Iterator[_Count]:
    for place, split in enumerate(splits):
        yield _Count(f"split {place}: size", split.size, len(split.left) + len(split.right))


def _of_end(
    size: int, class_weights: tuple[float, ...], name: str, leaf: LeafOn
) -> Iterator[_Count]:
    yield _Count(f"{name}: size", size, len(leaf.inside))
    names = leaf.rows.problem.target.classes
    for label, said in enumerate(class_weights):
        found = leaf.rows.weight(leaf.inside[leaf.rows.classes[leaf.inside] == label])
        yield _Count(f"{name}: weight of {names[label]}", said, found)


def _of_diagram(model: DiagramOn) -> Iterator[_Count]:
    ends = {leaf.leaf.label: leaf for leaf in model.leaves}
    nobody: IntArray = np.zeros(0, dtype=np.int64)
    some = model.leaves[0]
    names = model.rows.problem.target.classes
    for label, terminal in enumerate(model.diagram.terminals):
        leaf = ends.get(label, replace(some, inside=nobody))
        yield from _of_end(terminal.size, terminal.class_weights, f"class {names[label]}", leaf)
    yield from _of_splits(model.splits)
    yield _Count("entry: size", model.diagram.entry.size, model.rows.n_rows)
    for place, (node, split) in enumerate(zip(model.diagram.nodes(), model.splits, strict=True)):
        yield _arc(f"split {place}, left: size", node.left, split.left)
        yield _arc(f"split {place}, right: size", node.right, split.right)


def _arc(name: str, arc: Arc, rows: IntArray) -> _Count:
    return _Count(name, arc.size, len(rows))


# ---- columns and missing cells


def _columns(model: TreeOn | DiagramOn) -> list[str]:
    """What differs between the features of the model and those of the spec.

    An array of later rows is read by their order, an ordered cell by the order of levels.
    """
    said = (model.tree if isinstance(model, TreeOn) else model.diagram).features
    asked = tuple(feature.type for feature in model.rows.problem.features)
    if len(said) != len(asked):
        return [f"{numbers.counted(len(said), 'feature')}, but the spec has {len(asked)}"]
    return [
        mine.name for mine, theirs in zip(said, asked, strict=True) if _key(mine) != _key(theirs)
    ]


def _key(type_: ColumnType) -> tuple[object, ...]:
    return type_.name, type_.kind, type_.step, tuple(map(level_text, type_.levels))


def _missing(model: TreeOn | DiagramOn) -> list[str]:
    """Splits whose missing cells go neither where the spec says nor where most rows do.

    A side that a row with a missing cell, or a rule on directions, has decided is free.
    """
    rows = model.rows
    policies = {feature.name: feature.missing for feature in rows.problem.features}
    directions = any(
        call.term in ("increasing", "decreasing")
        for rule in rows.problem.rules
        for call in applications(rule.condition)
    )
    apart = []
    for place, split in enumerate(model.splits):
        if split.missing is None or split.features[0] not in policies:
            continue
        policy = policies[split.features[0]]
        if policy in ("left", "right"):
            right = policy == split.missing
        elif policy == "branch" and (directions or _any_missing(rows, split)):
            right = True
        else:
            right = rows.weight(split.left) >= rows.weight(split.right)
            right = right == (split.missing == "left")
        if not right:
            apart.append(f"split {place} ({split.features[0]})")
    return apart


def _any_missing(rows: AuditRows, split: SplitOn) -> bool:
    return bool(rows.missing(split.features[0])[split.inside].any())
