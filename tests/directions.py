"""Whether a `tiny_tables.Model` is monotone in a column, by probes of the whole feature space."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

from tiny_tables import LEVELS, Leaf, Model, Split, TinyTable


def monotone(
    tiny: TinyTable,
    model: Model,
    column: int,
    rising: bool,
    value: Callable[[Leaf], Any] | None = None,
) -> bool:
    """No two points that agree but in the column are predicted against the direction.

    `value` is what leaves are compared by, in place of their labels.

    Per leaf and column, the probes that reach it: all cells that no test tells apart have
    one. Two leaves share a point of the other columns iff every one of these has a probe.
    """
    probes = [_probes(tiny, model, c) for c in range(len(tiny.columns))]
    reach = [
        (
            tiny.predicted(leaf) if value is None else [value(leaf)],
            [
                {i for i, x in enumerate(of) if _arrives(tiny, leaf, c, x)}
                for c, of in enumerate(probes)
            ],
        )
        for leaf in model.leaves
    ]
    for (low, here), (high, there) in permutations(reach, 2):
        first, second = (low, high) if rising else (high, low)
        falls = any(a > b for a, b in zip(first, second, strict=True))
        ours = [probes[column][i] for i in here[column] if probes[column][i] is not None]
        theirs = [probes[column][i] for i in there[column] if probes[column][i] is not None]
        if not falls or not ours or not theirs or min(ours) >= max(theirs):  # type: ignore[type-var]
            continue
        if all(a & b for c, (a, b) in enumerate(zip(here, there, strict=True)) if c != column):
            return False
    return True


def _probes(tiny: TinyTable, model: Model, index: int) -> list[Any]:
    """Cells of a column in rising order, one at least for each set that no test tells apart."""
    column = tiny.columns[index]
    missing: list[Any] = [None] if None in column.cells else []
    if column.kind == "ordered":
        return [*map(Fraction, range(len(LEVELS))), *missing]
    if column.kind != "number":
        return [*sorted({x for x in column.cells if x is not None}, key=str), "?", *missing]
    cuts = {Fraction(x) for x in column.edges} | {
        at
        for split in model.splits
        if split.test.column == index and (at := _placed(tiny, split)) is not None
    }
    ends = sorted(cuts) or [Fraction(0)]
    between = [(a + b) / 2 for a, b in pairwise(ends)]
    return [*sorted([ends[0] - 1, *ends, *between, ends[-1] + 1]), *missing]


def _placed(tiny: TinyTable, split: Split) -> Fraction | None:
    """Where a ranked split stands; `RuleChecker` has found it, under the rules on thresholds."""
    return tiny.placed[split] if split.test.kind == "<=" else None


def _arrives(tiny: TinyTable, leaf: Leaf, column: int, cell: object) -> bool:
    """Whether a cell passes all tests of its column on the way to a leaf."""
    for split, left in leaf.above:
        if split.test.column == column:
            goes = (
                split.test.missing_left
                if cell is None
                else split.test.passes(cell, _placed(tiny, split))
            )
            if bool(goes) != left:
                return False
    return True
