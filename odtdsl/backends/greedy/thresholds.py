"""Where thresholds may stand at a node, of all its columns at once.

Growth asks this at thousands of nodes of few rows, where the calls of numpy cost more than what
they do: one call takes the candidates of all columns, each in its own segment of one array.
"""

from __future__ import annotations

import numpy as np

from odtdsl.backends.greedy.tables import Node, Tables
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.forms import Core


class Thresholds:
    """Ranks are codes + 1: 0 for a missing cell, and one more than the values for another one."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self.tables = tables
        codes = [family.codes for family in core.families]
        self.ranks = np.column_stack([*codes, np.zeros(core.n_rows, dtype=np.int64)]) + 1
        self._padded: dict[int, list[BoolArray]] = {}

    def cuts(self, node: Node, families: list[int]) -> dict[int, tuple[IntArray, BoolArray]]:
        """Of families where a cut may stand: ranks of the node's rows, and the cuts.

        Each side of a cut holds a present value, and enough of what rules on leaves count.

        Parameters
        ----------
        node
            Its rows, and the level that filters of tests speak of.
        families
            Threshold families by their number.

        Returns
        -------
        dict
            By family: int64 (n_rows,) and bool (n_values + 2,), by ranks.
        """
        if not families:
            return {}
        padded = self._by_rank(node.level)
        widths = np.array([len(padded[index]) for index in families])
        ends = np.cumsum(widths)
        starts = ends - widths
        ranks = self.ranks[np.ix_(node.rows, np.array(families))]
        places = (ranks + starts).ravel()
        counts = np.bincount(places, minlength=ends[-1])
        counts[starts] = counts[ends - 1] = 0  # of missing cells
        below, total = _running(counts, starts, ends, widths)
        cuts = np.concatenate([padded[index] for index in families])
        cuts &= (below > 0) & (below < total)
        for bounded, least in zip(self.tables.bounded.T, self.tables.minima, strict=True):
            sums = np.zeros(ends[-1], dtype=np.int64)
            np.add.at(sums, places, np.repeat(bounded[node.rows], len(families)))
            left, total = _running(sums, starts, ends, widths)
            cuts &= (left >= least) & (total - left >= least)
        some = np.logical_or.reduceat(cuts, starts)
        return {
            index: (ranks[:, at], cuts[starts[at] : ends[at]])
            for at, index in enumerate(families)
            if some[at]
        }

    def _by_rank(self, level: int) -> list[BoolArray]:
        """For each family, the tests that may stand, by ranks."""
        if level not in self._padded:
            self._padded[level] = [
                np.concatenate(([False], open_, [False, False]))
                for open_ in self.tables.admitted(level)
            ]
        return self._padded[level]


def _running(
    sums: IntArray, starts: IntArray, ends: IntArray, widths: IntArray
) -> tuple[IntArray, IntArray]:
    """Running sums within each segment, and each segment's total, both by place."""
    running = np.cumsum(sums)
    before = running[starts] - sums[starts]
    return running - np.repeat(before, widths), np.repeat(running[ends - 1] - before, widths)


__all__ = ["Thresholds"]
