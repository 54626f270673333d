"""Nodes of decision diagrams as values: splits, arcs and terminals."""

from __future__ import annotations

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.nodes import Leaf, Side, Test


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTest:
    """A test of one feature; rows that pass go left. `missing` is the side of missing cells."""

    feature: str
    test: Test
    missing: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What a hyperplane adds for a row: `weight` times the cell.

    The cell of an ordered column counts by its rank among the levels, from 0. With `value`,
    of a category, the weight is added where the cell is this value.
    """

    feature: str
    weight: float
    value: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperplane:
    """Rows where the sum of the weights is below `bound` go left; all is in raw units.

    The sum is taken in the order of `weights`, in float64.
    """

    weights: tuple[Weight, ...]
    bound: float


Split = AxisTest | Hyperplane


def features_of(split: Split) -> tuple[str, ...]:
    """The features that a split tests, each once, in its order."""
    if isinstance(split, AxisTest):
        return (split.feature,)
    return tuple(dict.fromkeys(weight.feature for weight in split.weights))


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """Where one side of a split leads: a node of the next layer, or a class (a long arc).

    Attributes
    ----------
    node
        Position in the next layer; None for a class.
    label
        Index into the classes; None for a node.
    size
        Training rows that take the arc.
    """

    node: int | None = None
    label: int | None = None
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node: rows that its split sends left take `left`, the others `right`.

    `size` counts the training rows that reach it, over all arcs that lead to it.
    """

    split: Split
    left: Arc
    right: Arc
    size: int = 0

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the split tests, each once, in its order."""
        return features_of(self.split)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The end of all rows of one predicted class: training rows, and their weight by class."""

    size: int = 0
    class_weights: tuple[float, ...] = ()


def as_leaf(terminal: Terminal, label: int) -> Leaf:
    """A terminal as a leaf of a tree."""
    return Leaf(label=label, size=terminal.size, class_weights=terminal.class_weights)
