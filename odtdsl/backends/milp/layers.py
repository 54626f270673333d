"""The nodes of a diagram skeleton: layer by layer, each followed by the classes' terminals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from odtdsl.problem.ir.forms import Core, Depth, demanded

MOST_PATHS = 3_000
"""Sequences of nodes that a model has columns for, where a rule speaks of paths."""


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The places of nodes. Node 0 is the root, the others follow layer by layer.

    Attributes
    ----------
    widths
        Nodes per layer, from the root down.
    n_leaves
        Terminals, one per class. They are counted after the nodes: the terminal of class c is
        target `n_branches + c` of an arc.
    tree
        Nodes have children of their own: layers are twice as wide as the one above, and node i
        of a layer leads to nodes 2i, by its left arc, and 2i + 1 of the next.
    """

    widths: tuple[int, ...]
    n_leaves: int
    tree: bool = False

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.widths)

    @property
    def n_branches(self) -> int:
        """The number of nodes of all layers."""
        return sum(self.widths)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The layer of each node."""
        return tuple(level for level, width in enumerate(self.widths) for _ in range(width))

    def at_level(self, level: int) -> range:
        """The nodes of a layer, numbered layer by layer."""
        first = sum(self.widths[:level])
        return range(first, first + self.widths[level])

    def targets(self, node: int) -> tuple[int, ...]:
        """Where the arcs of a node may lead: nodes of the next layer, then terminals."""
        level = self.levels[node]
        below = self.at_level(level + 1) if level + 1 < self.depth else range(0)
        if self.tree and below:
            own = 2 * (node - self.at_level(level)[0])
            below = below[own : own + 2]
        return (*below, *range(self.n_branches, self.n_branches + self.n_leaves))

    def above(self, node: int) -> range:
        """The nodes whose arcs may lead to a node that is not the root."""
        level = self.levels[node]
        above = self.at_level(level - 1)
        if self.tree:
            own = (node - self.at_level(level)[0]) // 2
            above = above[own : own + 1]
        return above

    def slots(self, node: int) -> range:
        """The terminals below a node: all."""
        return range(self.n_leaves)

    @cached_property
    def ends(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each path from the root: the empty one, then by length."""
        found: list[tuple[int, ...]] = [()]
        here: list[tuple[int, ...]] = [(0,)] if self.widths else []
        for level in range(self.depth):
            found += here
            if level + 1 < self.depth:
                below = self.at_level(level + 1)
                here = [
                    (*path, node)
                    for path in here
                    for node in self.targets(path[-1])
                    if node in below
                ]
        return tuple(found)

    @property
    def n_paths(self) -> int:
        """How many `ends` there are, without making them."""
        if self.tree:
            return 1 + self.n_branches
        total, here = 1, 1
        for width in self.widths:
            here *= width
            total += here
        return total


def layers_of(core: Core) -> Layers:
    """The places that a diagram of the problem may use.

    Layers are no wider than twice the one above, and no deeper than a rule on the depth of
    the whole diagram allows.
    """
    depth = min(
        [
            len(core.diagram.widths),
            *(max(0, rule.at_most) for rule in demanded(core.clauses, Depth)),
        ]
    )
    widths: list[int] = []
    for width in core.diagram.widths[:depth]:
        widths.append(min(width, 2 * widths[-1] if widths else 1))
    return Layers(widths=tuple(widths), n_leaves=core.n_classes, tree=core.diagram.tree)
