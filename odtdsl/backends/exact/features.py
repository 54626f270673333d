"""The tests of a core as features with ranks: what the engine's searches cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from odtdsl.base import engine
from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.families import LEFT_CODE, Family
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import Core, SplitFilter
from odtdsl.problem.ir.intervals import FULL


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Features:
    """The tests of all families as features with ranks: `rank <= cut` goes left.

    Attributes
    ----------
    ranks
        uint32 (n_features, n_rows), dense from 0.
    distinct
        uint32 (n_features,): ranks of each feature.
    allowed
        Per feature None, or bool (distinct,): where a cut may stand.
    tests
        Per feature its family, and its test where the family's tests are features of their
        own (equality, bins); -1 for thresholds, whose test is the cut.
    by_level
        Per level as `allowed`, where rules tell levels apart; else empty.
    cuts
        Per feature None, or int64 (distinct - 1,): the cuts between its ranks, where ranks
        stand for several values (`merged`); else empty.
    """

    ranks: npt.NDArray[np.uint32]
    distinct: npt.NDArray[np.uint32]
    allowed: tuple[BoolArray | None, ...]
    tests: tuple[tuple[int, int], ...]
    by_level: tuple[tuple[BoolArray | None, ...], ...] = ()
    cuts: tuple[IntArray | None, ...] = ()

    def table(self) -> engine.RankTable:
        """Ranks and allowed cuts, for the engine."""
        return engine.RankTable(self.ranks, self.distinct, self.allowed)


def features(core: Core) -> Features:
    """Tests that the rules on splits refuse everywhere are left out."""
    return ruled_features(core, 1)


def ruled_features(core: Core, depth: int) -> Features:
    """The tests that may stand at any of the first levels.

    Missing cells of a threshold that go left have the least rank, those that go right the
    largest.
    """
    by_levels = any(rule.levels is not None for rule in core.filters)
    levels = range(max(1, depth) if by_levels else 1)
    filters = by_column(core.filters)
    admitted: list[tuple[int, list[BoolArray] | None]] = []
    tests: list[tuple[int, int]] = []
    for index, family in enumerate(core.families):
        here = filters.get(family.column, [])
        if asks_nothing(family, here):
            if family.n_tests:
                admitted.append((index, None))
                tests.append((index, -1))
            continue
        each = [tests_at(family, here, at) for at in levels]
        asked = each[0] if len(each) == 1 else np.any(each, axis=0)
        if not asked.any():
            continue
        admitted.append((index, each))
        if family.kind == "threshold":
            tests.append((index, -1))
        else:
            tests += [(index, test) for test in np.flatnonzero(asked).tolist()]
    # One column without a cut where there is none: the search wants a feature.
    ranks = np.zeros((max(1, len(tests)), core.n_rows), dtype=np.uint32)
    distinct = np.full(len(ranks), 2 if tests else 1, dtype=np.uint32)
    by_level: list[list[BoolArray | None]] = [[] if tests else [None] for _ in levels]
    at = 0
    for index, flags in admitted:
        family = core.families[index]
        if flags is None:
            ranks[at] = family.codes
            distinct[at] = len(family.values)
            for level in by_level:
                level.append(None)
            at += 1
        elif family.kind == "threshold":
            before, after = int(family.missing == "left"), int(family.missing == "right")
            ranks[at] = family.codes + before
            distinct[at] = len(family.values) + before + after
            for level, allowed in zip(by_level, flags, strict=True):
                everywhere = not (before or after) and allowed.all()
                level.append(None if everywhere else np.pad(allowed, (before, 1 + after)))
            at += 1
        else:
            asked = np.flatnonzero(np.any(flags, axis=0))
            _fill_equals(ranks[at : at + len(asked)], family, asked)
            for level, allowed in zip(by_level, flags, strict=True):
                level += [None if allowed[test] else _NOWHERE for test in asked]
            at += len(asked)
    anywhere = tuple(_either([level[f] for level in by_level]) for f in range(len(ranks)))
    return Features(
        ranks=ranks,
        distinct=distinct,
        allowed=anywhere,
        tests=tuple(tests),
        by_level=tuple(tuple(level) for level in by_level) if len(levels) > 1 else (),
    )


def asks_nothing(family: Family, filters: Sequence[SplitFilter]) -> bool:
    """Whether all thresholds of a column without missing cells may stand at all levels.

    `filters`: those of its column.
    """
    numbers = family.kind == "threshold" and not family.whole and family.missing is None
    return numbers and family.domain is FULL and not filters


_NOWHERE = np.zeros(2, dtype=bool)
"""Where the cut of a 0/1 feature may stand at a level that does not admit it."""


def _fill_equals(ranks: npt.NDArray[np.uint32], family: Family, tests: IntArray) -> None:
    """Rank 0 where a test sends a row left, in place: a category may have thousands of levels."""
    ranks[:] = 1
    ranks[:, family.codes == LEFT_CODE] = 0
    found = np.searchsorted(tests, family.codes)
    found[found == len(tests)] = 0
    rows = np.flatnonzero(tests[found] == family.codes)
    ranks[found[rows], rows] = 0


def merged(found: Features) -> Features:
    """The same partitions with one rank for all values between two cuts that may stand.

    No test parts such values, and the search scans fewer of them. The ranks of `found`, which
    may be gigabytes, are replaced where they are.
    """
    if all(allowed is None for allowed in found.allowed):
        return found
    ranks, distinct = found.ranks, found.distinct.copy()
    cuts: list[IntArray | None] = []
    for feature, allowed in enumerate(found.allowed):
        if allowed is None:
            cuts.append(None)
            continue
        kept = allowed[:-1].nonzero()[0]
        below = np.zeros(len(allowed), dtype=np.uint32)
        allowed[:-1].cumsum(out=below[1:])
        ranks[feature] = below[ranks[feature]]
        distinct[feature] = len(kept) + 1
        cuts.append(kept)
    return replace(
        found, ranks=ranks, distinct=distinct, allowed=(None,) * len(cuts), cuts=tuple(cuts)
    )


def kinds_of_rows(ranks: npt.NDArray[np.uint32]) -> IntArray:
    """int64 (n_rows,): rows of equal ranks (n_features, n_rows) have one number, from 0 without a
    gap and in their order, the first feature first.

    Where the first features tell all rows apart, as numbers soon do, the others are not looked at.
    """
    kinds: IntArray = np.zeros(ranks.shape[1], dtype=np.int64)
    for feature in ranks:
        pairs = kinds * (int(feature.max(initial=0)) + 1) + feature
        found, kinds = np.unique(pairs, return_inverse=True)
        if len(found) == len(kinds):
            break
    return kinds


def size_of(core: Core, found: Features | None = None) -> tuple[tuple[str, int], ...]:
    """Rows, columns that splits test, and their tests: thresholds and values, once per side of
    missing cells."""
    found = features(core) if found is None else found
    cuts = sum(
        int(distinct) - 1 if allowed is None else int(allowed.sum())
        for distinct, allowed in zip(found.distinct, found.allowed, strict=True)
    )
    columns = {core.families[family].column for family, _ in found.tests}
    return (("rows", core.n_rows), ("features", len(columns)), ("cuts", cuts))


def _either(flags: list[BoolArray | None]) -> BoolArray | None:
    if len(flags) == 1:
        return flags[0]
    known = [flag for flag in flags if flag is not None]
    return np.any(known, axis=0) if len(known) == len(flags) else None
