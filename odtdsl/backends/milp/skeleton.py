"""The perfect tree that a model lives on, and raw trees placed on it.

Nodes are counted as in a heap: 0 is the root, the children of n are 2n + 1 and 2n + 2,
the last level holds the leaf slots. An inactive branch node sends everything right, so
that a leaf above the last level lives in the rightmost slot below its node; slots left of
an inactive node are dead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree


@dataclass(frozen=True, slots=True)
class Perfect:
    """The perfect binary tree of a depth."""

    depth: int

    @property
    def n_branches(self) -> int:
        """2^depth - 1, the number of branch nodes."""
        return int(2**self.depth - 1)

    @property
    def n_leaves(self) -> int:
        """2^depth, the number of leaf slots."""
        return int(2**self.depth)

    @property
    def leaves(self) -> range:
        """The nodes of the last level."""
        return range(self.n_branches, 2 * self.n_branches + 1)

    @property
    def ends(self) -> tuple[tuple[int, ...], ...]:
        """The branch nodes of each path, from the root down.

        One path per lowest branch node: its two slots have the same splits above them, and a
        dead slot has those of the leaf slot that takes its place. Depth 0 has one empty path.
        """
        if self.depth == 0:
            return ((),)
        last = range(2 ** (self.depth - 1) - 1, self.n_branches)
        return tuple((*self.above(node), node) for node in last)

    def level(self, node: int) -> int:
        """The level of a node; the root has number 0 and level 0."""
        return (node + 1).bit_length() - 1

    def at_level(self, level: int) -> range:
        """The nodes of a level."""
        return range(2**level - 1, 2 ** (level + 1) - 1)

    def above(self, node: int) -> tuple[int, ...]:
        """The nodes strictly above, from the root down."""
        found: list[int] = []
        while node > 0:
            node = (node - 1) // 2
            found.append(node)
        return tuple(reversed(found))

    def slots(self, node: int) -> range:
        """Positions of the leaf slots at or below a node, counted from the left."""
        width = 2 ** (self.depth - self.level(node))
        first = (node - (2 ** self.level(node) - 1)) * width
        return range(first, first + width)

    def left_slots(self, node: int) -> range:
        """The leaf slots below the left child of a node."""
        return self.slots(2 * node + 1)

    def right_slots(self, node: int) -> range:
        """The leaf slots below the right child of a node."""
        return self.slots(2 * node + 2)

    def gate(self, slot: int) -> int | None:
        """The lowest branch node of which the slot lies on the left; None for the last slot.

        The slot is alive iff that node is active.
        """
        node = self.n_branches + slot
        while node > 0:
            parent = (node - 1) // 2
            if node == 2 * parent + 1:
                return parent
            node = parent
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A raw tree on the perfect one: the splits by node, the label of each living slot."""

    splits: dict[int, RawSplit]
    labels: dict[int, int]


def place_tree(perfect: Perfect, tree: RawTree) -> Placed | None:
    """Where each node of a raw tree lives; None for a tree that is too deep."""
    splits: dict[int, RawSplit] = {}
    labels: dict[int, int] = {}
    for node, place in _places(tree, 0):
        if isinstance(node, RawSplit):
            if perfect.level(place) >= perfect.depth:
                return None
            splits[place] = node
        else:
            labels[perfect.slots(place)[-1]] = node.label
    return Placed(splits=splits, labels=labels)


def _places(tree: RawTree, place: int) -> Iterator[tuple[RawTree, int]]:
    yield tree, place
    if isinstance(tree, RawSplit):
        yield from _places(tree.left, 2 * place + 1)
        yield from _places(tree.right, 2 * place + 2)


def read_tree(
    perfect: Perfect, tests: dict[int, tuple[int, int]], labels: dict[int, int], node: int = 0
) -> RawTree:
    """The raw tree below a node, from the (family, test) of active nodes and slots' labels."""
    if node not in tests:
        return RawLeaf(label=labels[perfect.slots(node)[-1]])
    family, test = tests[node]
    return RawSplit(
        family=family,
        test=test,
        left=read_tree(perfect, tests, labels, 2 * node + 1),
        right=read_tree(perfect, tests, labels, 2 * node + 2),
    )
