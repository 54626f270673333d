"""The engine called with limits and problem in one list of options."""

from __future__ import annotations

from typing import Any

from measures.sets import Array
from odtdsl.base import _engine

_OF_PROBLEM = (
    "weights",
    "costs",
    "max_leaves",
    "leaf_price",
    "min_leaf_rows",
    "column",
    "next",
    "must_column",
    "smallest",
)


def solved(
    ranks: Array, distinct: Array, labels: Array, classes: int, depth: int, **options: Any
) -> _engine.ClassAnswer:
    """Trees of classes; options are those of `ClassProblem`, of `Limits`, and `start`."""
    problem = {key: value for key, value in options.items() if key in _OF_PROBLEM}
    start = options.pop("start", None)
    limits = {key: value for key, value in options.items() if key not in _OF_PROBLEM}
    table = _engine.RankTable(ranks, distinct, limits.pop("allowed", None))
    asked = _engine.ClassProblem(table, labels, classes, depth, **problem)
    return _engine.solve(asked, _engine.Limits(**limits), start=start)
