"""Nodes of decision trees as values: tests, branches and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.dataset import Day, Value

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """`x <= value` goes left. For an ordered column `value` is a level, compared by rank."""

    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """`x == value` goes left; an unseen category goes right."""

    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class InBin:
    """`low <= x < high` goes left (`<=` where `high` is the last edge); ends may be infinite."""

    low: float
    high: float
    closed: bool
    """Whether `high` itself belongs to the bin."""


Test = Threshold | Equals | InBin


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A leaf.

    Attributes
    ----------
    label
        Index into the tree's classes; None for number targets.
    output
        The output vector for number targets; None for classes.
    size
        Training rows in the leaf.
    class_weights
        Training weight per class (as floats, for display); empty for number targets.
    curve
        Where rows have a course in time: each time of an event, the training weight at risk
        just before it, and the weight of its events, by ascending time.
    """

    label: int | None = None
    output: tuple[float, ...] | None = None
    size: int = 0
    class_weights: tuple[float, ...] = ()
    curve: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch node: rows that pass the test go to `left`, the others to `right`.

    `missing` is the side of rows where the feature is missing. `size` counts training rows.
    """

    feature: str
    test: Test
    left: TreeNode
    right: TreeNode
    missing: Side
    size: int = 0


TreeNode = Leaf | Branch


def of_days(output: tuple[float, ...], days: Sequence[bool]) -> tuple[float, ...]:
    """The outputs of a leaf, where `days` says so as `Day`, which is shown as a date."""
    if not any(days):
        return output
    return tuple(Day(x) if day else x for x, day in zip(output, days, strict=False))
