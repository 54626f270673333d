"""All trees of depth one, then two, where they are few: what growth may have missed."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

FEW = 5000
"""Trees of a depth are enumerated up to this many."""


def small_trees(core: Core, depth: int) -> Iterator[RawTree]:
    """Every labelled tree of one test, then of up to three, unless there are too many."""
    labels = [RawLeaf(label=label) for label in range(core.n_classes)]
    tests = [(f, t) for f, family in enumerate(core.families) for t in range(family.n_tests)]
    below: list[RawTree] = [*labels]
    for _ in range(min(depth, 2)):
        if len(tests) * len(below) ** 2 > FEW:
            return
        found: list[RawTree] = [
            RawSplit(family=family, test=test, left=left, right=right)
            for family, test in tests
            for left in below
            for right in below
        ]
        yield from found
        below = [*labels, *found]
