"""Whether a raw tree is monotone in a column, over the whole feature space."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import assert_never

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.families import Family, local_gap, place
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import Core, Monotone
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, Visit
from odtdsl.problem.ir.regression import ROUNDING

OTHER = -2
"""The cell of a value that no training row has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """What a path leaves of one column: (low, high] of thresholds, or a set of codes.

    `missing` says whether missing cells remain; columns without any in training have none.
    """

    low: float = -math.inf
    high: float = math.inf
    codes: frozenset[int] | None = None
    missing: bool = False

    def meets(self, other: _Cells) -> bool:
        if self.missing and other.missing:
            return True
        if self.codes is not None and other.codes is not None:
            return bool(self.codes & other.codes)
        return max(self.low, other.low) < min(self.high, other.high)

    def below(self, other: _Cells) -> bool:
        """Whether some value here is less than some value there, the two being disjoint."""
        if self.codes is not None and other.codes is not None:
            ours, theirs = self.codes - {OTHER}, other.codes - {OTHER}
            return bool(ours) and bool(theirs) and min(ours) < max(theirs)
        return self.low < self.high and other.low < other.high and self.low < other.high


_Box = tuple[_Cells, ...]


def is_monotone(core: Core, visits: Iterable[Visit], atom: Monotone) -> bool:
    """No two leaves with points that agree but in the column predict against the direction.

    Two such leaves part at a test of that column, so that one lies wholly below the other
    where the column is split by thresholds. Labels are ordered by their index; of several
    numbers none may fall.
    """
    boxes = list(_boxes(core, visits))
    for (low, low_leaf), (high, high_leaf) in permutations(boxes, 2):
        first, second = (low_leaf, high_leaf) if atom.increasing else (high_leaf, low_leaf)
        if not _falls(first, second) or not low[atom.column].below(high[atom.column]):
            continue
        if all(low[c].meets(high[c]) for c in range(len(low)) if c != atom.column):
            return False
    return True


def _falls(first: RawLeaf, second: RawLeaf) -> bool:
    """Whether the prediction of one leaf is beyond that of another, by more than rounding."""
    if first.output is None or second.output is None:
        return first.label > second.label
    return any(
        a - b > ROUNDING * (1 + max(abs(a), abs(b)))
        for a, b in zip(first.output, second.output, strict=True)
    )


def _boxes(core: Core, visits: Iterable[Visit]) -> Iterator[tuple[_Box, RawLeaf]]:
    """The box of each leaf, from left to right."""
    whole = [_Cells()] * len(core.columns)
    for family in core.families:
        whole[family.column] = _everything(family)
    # `visits` lists each node before its children, so that boxes can be handed down.
    pending: list[_Box] = [tuple(whole)]
    for visit in visits:
        box = pending.pop()
        if isinstance(visit.node, RawLeaf):
            yield box, visit.node
        else:
            column = core.families[visit.node.family].column
            left, right = _parted(core, visit.node, visit.level, visit.rows, box[column])
            for side in (right, left):
                pending.append((*box[:column], side, *box[column + 1 :]))


def _everything(family: Family) -> _Cells:
    missing = family.missing is not None
    match family.kind:
        case "threshold":
            return _Cells(missing=missing)
        case "equals":
            return _Cells(codes=frozenset((OTHER, *range(len(family.values)))), missing=missing)
        case "bin":
            # Bins that no row is in have their place in the order too.
            return _Cells(codes=frozenset(range(len(family.values) - 1)), missing=missing)
        case _:
            assert_never(family.kind)


def _parted(
    core: Core, split: RawSplit, level: int, rows: IntArray, cells: _Cells
) -> tuple[_Cells, _Cells]:
    family = core.families[split.family]
    to_left = cells.missing and family.missing == "left"
    to_right = cells.missing and family.missing != "left"
    if cells.codes is not None:
        inside = frozenset((family.bins[split.test] if family.bins else split.test,))
        return (
            replace(cells, codes=cells.codes & inside, missing=to_left),
            replace(cells, codes=cells.codes - inside, missing=to_right),
        )
    gap = local_gap(family, split.test, family.codes[rows]) or (split.test, split.test + 1)
    cut = place(family, placing(family, core.filters, level), *gap)
    if cut is None:  # the split is broken anyway
        cut = float(family.values[split.test])
    return (
        replace(cells, high=min(cells.high, cut), missing=to_left),
        replace(cells, low=max(cells.low, cut), missing=to_right),
    )
