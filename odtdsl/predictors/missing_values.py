"""Where missing cells go at each split, and how many of the training rows had one there.

A row without the value that a split asks for goes to a side all the same. Where many do, what
the split says of its two sides is not only about the value: pictures tell it.
"""

from __future__ import annotations

from collections.abc import Collection

from odtdsl.datasets.table import Table
from odtdsl.predictors.diagram_nodes import AxisTest
from odtdsl.predictors.graph import Joint
from odtdsl.predictors.nodes import Side
from odtdsl.predictors.predictor import Predictor

MissingShown = bool | Collection[str]
"""The features whose missing cells a text tells of: all, none, or the named ones."""

_ANSWER: dict[Side, str] = {"left": "yes", "right": "no"}


def missing_text(feature: str, side: Side, asked: MissingShown) -> str:
    """What a line of text says behind a split: the answer of missing cells, or nothing."""
    return f"  (missing: {_ANSWER[side]})" if _told(feature, asked) else ""


def missing_sides(model: Predictor, asked: MissingShown = True) -> dict[int, tuple[str, ...]]:
    """A line for each split of one of these features, by its number, without known rows."""
    return {
        joint.number: (_line(joint.split),)
        for joint in model.graph().joints
        if isinstance(joint.split, AxisTest) and _told(joint.split.feature, asked)
    }


def _told(feature: str, asked: MissingShown) -> bool:
    return asked if isinstance(asked, bool) else feature in asked


def missing_notes(
    model: Predictor, table: Table, names: Collection[str]
) -> dict[int, tuple[str, ...]]:
    """A line for each split of a feature of `names`, by the number of its node.

    Parameters
    ----------
    model
        The model.
    table
        The training rows, of which those with a missing cell are counted at each split.
    names
        The features of which a cell can be missing, as `Rows.may_miss` has them.
    """
    graph = model.graph()
    if not any(set(joint.features) & set(names) for joint in graph.joints):
        return {}
    found: dict[int, tuple[str, ...]] = {}
    for node, inside in zip(graph.nodes, model.rows_of_nodes(table), strict=True):
        if not isinstance(node, Joint) or not isinstance(node.split, AxisTest):
            continue
        if node.split.feature in names:
            absent = int(table.columns[node.split.feature].missing[inside].sum())
            counts = f", {absent} of {len(inside)}" if absent else ""
            found[node.number] = (_line(node.split) + counts,)
    return found


def _line(split: AxisTest) -> str:
    return f"missing: {_ANSWER[split.missing]}"
