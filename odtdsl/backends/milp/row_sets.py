"""The sets of rows that leaves may hold, slot by slot of a perfect tree.

A set is a mask: bit x is set iff it has the rows of pattern x. Sets are told apart by their rows
alone, so that two orders of the same tests, or thresholds that part rows alike, make one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from odtdsl.backends.milp.patterns import Patterns, find_patterns, seen_by
from odtdsl.backends.milp.skeleton import Perfect
from odtdsl.backends.milp.structure import Tick, tests_by_level, usable_tests
from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.forms import Core

MOST_ENTRIES = 4_000_000
"""Patterns in all sets of all slots, each of which is a coefficient of a program."""

MOST_ROWS = 20_000
"""Of the data: with more even counting the sets takes long."""


class TooManySets(Exception):
    """They have more than `MOST_ENTRIES` entries."""


def slot_sets(
    core: Core,
    patterns: Patterns,
    levels: Sequence[Sequence[IntArray]],
    tick: Tick = lambda: None,
) -> list[list[int]]:
    """Per slot of the perfect tree of so many levels the masks that a leaf there may hold.

    Every leaf of a tree whose splits have rows on both sides is among them.

    Raises
    ------
    TooManySets
    """
    perfect = Perfect(len(levels))
    sides = [_sides(core, patterns, tests) for tests in levels]
    everything = (1 << patterns.count) - 1
    reaching: dict[int, set[int]] = {0: {everything}}
    slots: list[set[int]] = [set() for _ in range(perfect.n_leaves)]
    entries = 0
    for node in range(2 * perfect.n_branches + 1):
        here = reaching.pop(node)
        slots[perfect.slots(node)[-1]] |= here  # a leaf above the last level lives there
        entries += sum(mask.bit_count() for mask in here)
        if node >= perfect.n_branches:
            continue
        left: set[int] = set()
        right: set[int] = set()
        coming = 0.0
        for mask in here:
            known = len(left) + len(right)
            for side in sides[perfect.level(node)]:
                one = mask & side
                if one and one != mask:
                    left.add(one)
                    right.add(mask ^ one)
            coming += (len(left) + len(right) - known) * mask.bit_count() / 2  # about half each
            if entries + coming > 2 * MOST_ENTRIES:
                raise TooManySets
            tick()
        reaching[2 * node + 1], reaching[2 * node + 2] = left, right
    if entries > MOST_ENTRIES:
        raise TooManySets
    return [sorted(masks) for masks in slots]


def _sides(core: Core, patterns: Patterns, tests: Iterable[IntArray]) -> list[int]:
    """What the tests of a level send left, each set once."""
    found = {
        mask_of(family.goes_left(test)[patterns.first])
        for family, usable in zip(core.families, tests, strict=True)
        for test in usable.tolist()
    }
    return sorted(found)


def mask_of(inside: BoolArray) -> int:
    """The mask of some patterns: bool (n_patterns,)."""
    return int.from_bytes(np.packbits(inside, bitorder="little").tobytes(), "little")


def members(mask: int, count: int) -> IntArray:
    """The patterns of a mask, ascending."""
    raw = np.frombuffer(mask.to_bytes((count + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little")).astype(np.int64)


def fit(core: Core, depth: int) -> bool:
    """Whether the sets of a depth are few enough for a program."""
    levels = tests_by_level(core, depth)
    usable = usable_tests(core, levels)
    if depth and _surely_many(core, usable, depth):
        return False
    try:
        slot_sets(core, find_patterns(core, usable), levels)
    except TooManySets:
        return False
    return True


def _surely_many(core: Core, usable: Sequence[IntArray], depth: int) -> bool:
    """A quick look, with patterns told apart by a hash: each test makes two sets of all patterns
    below the root, and two levels below there are three times the square of the tests."""
    count = sum(len(tests) for tests in usable)
    if depth > 1 and 3 * count**2 > MOST_ENTRIES:
        return True
    factors = np.random.default_rng(0).integers(1, 2**62, len(usable))
    hashed = np.zeros(core.n_rows, dtype=np.int64)
    for family, tests, factor in zip(core.families, usable, factors, strict=True):
        hashed += seen_by(family, tests) * factor
    return count * len(np.unique(hashed)) > MOST_ENTRIES


def refuse(depth: int) -> None:
    """Raise B222: too many sets."""
    raise error(
        "B222",
        f"`milp` writes a column for every set of rows that a leaf of numbers may hold, and at"
        f" depth {depth} these are too many",
        helps=("write `candidates * at quantiles 5`, or a smaller depth", "use `exact`"),
    )
