"""The raw answer of a search: a tree or diagram of tests, before it becomes a predictor."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RawLeaf:
    """A leaf: the index of a class, or (with label -1) the output vector of number targets."""

    label: int = -1
    output: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSplit:
    """Rows that the test of the family sends left go to `left`, the others to `right`."""

    family: int
    test: int
    left: RawTree
    right: RawTree


RawTree = RawLeaf | RawSplit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visit:
    """A node, its level, the ascending rows that reach it, and the columns tested above it."""

    node: RawTree
    level: int
    rows: IntArray
    above: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTest:
    """A test of one feature: of a family of the core, by its number."""

    family: int
    test: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPlane:
    """A hyperplane in raw units: `sum of weight * value < bound` goes left.

    `weights` are pairs of a column of `problem.ir.planes` and a weight that is not 0, columns
    ascending; the sum is taken in this order, in float64, as the predictor takes it.
    """

    weights: tuple[tuple[int, float], ...]
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RawNode:
    """A node of a diagram. An arc (`left`, `right`) is the position of a node in the next
    layer, or `~label` for the terminal of a class."""

    split: RawTest | RawPlane
    left: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDiagram:
    """A diagram: its layers from the root down. `entry` is 0, or `~label` without a split."""

    entry: int = 0
    layers: tuple[tuple[RawNode, ...], ...] = ()


RawModel = RawTree | RawDiagram


def walk(tree: RawTree, level: int = 0) -> Iterator[tuple[RawTree, int]]:
    """All nodes with their levels, each before its children, left before right."""
    yield tree, level
    if isinstance(tree, RawSplit):
        yield from walk(tree.left, level + 1)
        yield from walk(tree.right, level + 1)


def depth_of(tree: RawTree) -> int:
    """The number of splits on the longest path; 0 for a leaf."""
    return max(level for _, level in walk(tree))
