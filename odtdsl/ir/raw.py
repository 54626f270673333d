"""The raw answer of a search: a tree of family tests, before it becomes a predictor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


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


def walk(tree: RawTree, level: int = 0) -> Iterator[tuple[RawTree, int]]:
    """All nodes with their levels, each before its children, left before right."""
    yield tree, level
    if isinstance(tree, RawSplit):
        yield from walk(tree.left, level + 1)
        yield from walk(tree.right, level + 1)


def depth_of(tree: RawTree) -> int:
    return max(level for _, level in walk(tree))
