"""The engine called with all arguments in one list, as tests of it like to draw them."""

from __future__ import annotations

from typing import Any

import numpy as np

from odtdsl.base import _engine

_LIMITS = {
    "time_limit",
    "memory_limit",
    "work_limit",
    "absolute_gap",
    "relative_gap",
    "threads",
    "method",
    "isa",
    "seed",
    "beside",
    "alone",
    "interrupted",
}
_CALL = {"start", "upper_bound", "progress"}


def solve(
    ranks: Any,
    distinct: Any,
    labels: Any,
    classes: int,
    depth: int,
    *,
    allowed: Any = None,
    **options: Any,
) -> _engine.ClassAnswer:
    """Trees of classes."""
    table = _engine.RankTable(ranks, distinct, allowed)
    limits, call, rest = _parted(options)
    problem = _engine.ClassProblem(table, labels, classes, depth, **rest)
    return _engine.solve(problem, limits, **call)


def solve_regression(
    ranks: Any, distinct: Any, targets: Any, depth: int, *, allowed: Any = None, **options: Any
) -> _engine.NumberAnswer:
    """Trees of numbers."""
    table = _engine.RankTable(ranks, distinct, allowed)
    limits, call, rest = _parted(options)
    loss = "absolute" if rest.pop("absolute", False) else "squared"
    problem = _engine.NumberProblem(table, targets[:, None], depth, **{"loss": loss, **rest})
    return _engine.solve_numbers(problem, limits, **call)


def solve_outputs(
    ranks: Any,
    distinct: Any,
    targets: Any,
    factors: Any,
    space: _engine.OutputSpace,
    depth: int,
    *,
    allowed: Any = None,
    **options: Any,
) -> _engine.NumberAnswer:
    """Trees of vectors, by the search for these."""
    table = _engine.RankTable(ranks, distinct, allowed)
    limits, call, rest = _parted(options)
    problem = _engine.NumberProblem(table, targets, depth, factors=factors, space=space, **rest)
    return _engine.solve_numbers(problem, limits, vectors=True, **call)


def _parted(options: dict[str, Any]) -> tuple[_engine.Limits, dict[str, Any], dict[str, Any]]:
    """Limits, arguments of the call, and those of the problem."""
    limits = {key: value for key, value in options.items() if key in _LIMITS}
    call = {key: value for key, value in options.items() if key in _CALL}
    rest = {key: v for key, v in options.items() if key not in _LIMITS and key not in _CALL}
    return _engine.Limits(**limits), call, rest


def same_tree(one: _engine.Tree | None, other: _engine.Tree | None) -> bool:
    """Whether two trees are the same, node by node."""
    if one is None or other is None:
        return one is other
    names = ("feature", "cut", "next", "left", "right", "label", "output")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
