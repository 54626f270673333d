"""All candidate tests of a core at once: what they send left, by any weights of the rows."""

from __future__ import annotations

import numpy as np

from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import Core


class Scans:
    """Sums over the rows that each test sends left, by counting codes and adding up.

    Tests are numbered through all families; a code of a family has a slot of its own, slot 0
    of a family being that of cells which always go left.

    Attributes
    ----------
    family, test, column
        int64 (n_tests,): of each test.
    work
        Cells counted so far: what growth counts its effort in, so that it does not depend on
        a clock.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.work = 0
        used = [(i, family) for i, family in enumerate(core.families) if family.n_tests]
        sizes = [max(len(f.values), f.n_tests, int(f.codes.max()) + 1) + 2 for _, f in used]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._n_slots = int(starts[-1])
        codes = [start + f.codes + 1 for start, (_, f) in zip(starts, used, strict=False)]
        self._slots = np.array(codes, dtype=np.int64).reshape(len(used), core.n_rows)
        tests = [np.arange(f.n_tests) for _, f in used]
        self.family = _joined([np.full(f.n_tests, i) for i, f in used])
        self.test = _joined(tests)
        self.column = _joined([np.full(f.n_tests, f.column) for _, f in used])
        each = list(zip(starts.tolist(), (f for _, f in used), strict=False))
        self._base = _joined([np.full(f.n_tests, start) for start, f in each])
        self._slot = _joined(
            [start + 1 + many for (start, _), many in zip(each, tests, strict=True)]
        )
        self._beyond = _joined([np.full(f.n_tests, start + 1 + len(f.values)) for start, f in each])
        self._ordered = _joined([np.full(f.n_tests, f.kind == "threshold") for _, f in used]) > 0
        self._allowed: dict[int, BoolArray] = {}

    @property
    def n_tests(self) -> int:
        """The number of tests that a scan compares."""
        return len(self.test)

    def left(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """float64 (n_tests, n_kinds): sums of the weights (len(rows), n_kinds) that go left."""
        found = np.empty((self.n_tests, weights.shape[1]))
        slots = self._slots[:, rows].ravel()
        self.work += slots.size
        for kind in range(weights.shape[1]):
            tiled = np.tile(weights[:, kind], len(self._slots))
            found[:, kind] = self._add_up(
                np.bincount(slots, tiled, self._n_slots).astype(np.float64)
            )
        return found

    def _add_up(self, sums: FloatArray) -> FloatArray:
        running = np.concatenate([[0.0], np.cumsum(sums)])
        below = running[self._slot + 1] - running[self._base]
        return np.where(self._ordered, below, sums[self._slot] + sums[self._base])

    def parting(self, rows: IntArray) -> BoolArray:
        """bool (n_tests,): the tests that send rows both ways (thresholds: present cells)."""
        slots = self._slots[:, rows].ravel()
        counts = np.bincount(slots, minlength=self._n_slots).astype(np.float64)
        left = self._add_up(counts)
        missing_left = np.where(self._ordered, counts[self._base], 0.0)
        beyond = np.minimum(self._beyond, self._n_slots - 1)
        missing_right = np.where(self._ordered, counts[beyond], 0.0)
        both: BoolArray = (left - missing_left > 0) & (len(rows) - left - missing_right > 0)
        return both

    def allowed(self, level: int) -> BoolArray:
        """bool (n_tests,): the tests that candidates and rules admit at a level."""
        if level not in self._allowed:
            filters = by_column(self.core.filters)
            masks = [
                tests_at(family, filters.get(family.column, []), level)
                for family in self.core.families
                if family.n_tests
            ]
            self._allowed[level] = np.concatenate(masks) if masks else np.zeros(0, dtype=bool)
        return self._allowed[level]


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


def entropy(weights: FloatArray) -> FloatArray:
    """Weight times entropy (in nats) along the last axis: what information gain subtracts."""
    total = weights.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(weights > 0, weights * np.log(weights), 0.0).sum(axis=-1)
        found: FloatArray = np.where(total > 0, total * np.log(total), 0.0) - logs
    return found
