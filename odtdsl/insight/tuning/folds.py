"""Folds: every row is held out once, and each fold is like the whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.base.numbers import counted
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.rows import Rows


def deal(rows: Rows, chosen: IntArray, count: int, seed: Sequence[int]) -> list[IntArray]:
    """Divide some training rows into folds of equal size, give or take one row.

    Classes are dealt one after the other, each from where the last one ended, so that each fold
    has its share of every class, give or take one row. Of a number target, rows of neighbouring
    values are dealt to different folds.

    Parameters
    ----------
    rows
        The problem with its training rows.
    chosen
        int64: those to divide, as positions in the table as read.
    count
        How many folds.
    seed
        Of the shuffling; other numbers, other folds.

    Returns
    -------
    list of int64 arrays
        The rows of each fold as such positions, in rising order.

    Raises
    ------
    OdtError
        U343: fewer than two folds, or fewer rows than folds.
    """
    if count < 2:
        raise error(
            "U343",
            f"{counted(count, 'fold')} cannot hold out rows",
            helps=("use at least 2",),
        )
    if len(chosen) < count:
        raise error(
            "U343",
            f"{counted(len(chosen), 'row')} cannot be divided into {count} folds",
            helps=(f"use at most {len(chosen)} folds",) if len(chosen) > 1 else (),
        )
    draw = np.random.Generator(np.random.PCG64(seed))
    at = np.searchsorted(rows.data.row_numbers, chosen)
    order = draw.permutation(len(chosen))
    targets = rows.data.targets
    if rows.data.labels is not None:
        order = order[np.argsort(rows.data.labels[at][order], kind="stable")]
    elif targets is not None and targets.shape[1] == 1:
        order = order[np.argsort(targets[at, 0][order], kind="stable")]
        order = _shuffled_in_blocks(order, count, draw)
    return [np.sort(chosen[order[fold::count]]) for fold in range(count)]


def _shuffled_in_blocks(order: IntArray, count: int, draw: np.random.Generator) -> IntArray:
    """Else the first fold would have the smallest value of each block."""
    blocks = [draw.permutation(order[at : at + count]) for at in range(0, len(order), count)]
    return np.concatenate(blocks)


__all__ = ["deal"]
