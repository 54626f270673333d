"""Folds: every row is held out once, and each fold is like the whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.base.numbers import counted
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.rows import Rows


def deal(
    rows: Rows,
    chosen: IntArray,
    count: int,
    seed: Sequence[int],
    groups: IntArray | None = None,
) -> list[IntArray]:
    """Divide some training rows into folds of equal size, give or take one row.

    Classes are dealt one after the other, each from where the last one ended, so that each fold
    has its share of every class, give or take one row. Of a number target, rows of neighbouring
    values are dealt to different folds. With groups, those are dealt, the largest first, each to
    the fold with the fewest rows; classes fall as they may.

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
    groups
        int64: the group of each row of the table as read; rows of one group share a fold.

    Returns
    -------
    list of int64 arrays
        The rows of each fold as such positions, in rising order.

    Raises
    ------
    OdtError
        U343: fewer than two folds, or fewer rows, or groups, than folds.
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
    if groups is not None:
        return _dealt_groups(chosen, groups[chosen], count, draw)
    at = np.searchsorted(rows.data.row_numbers, chosen)
    order = draw.permutation(len(chosen))
    targets = rows.data.targets
    if rows.data.labels is not None:
        order = order[np.argsort(rows.data.labels[at][order], kind="stable")]
    elif targets is not None and targets.shape[1] == 1:
        order = order[np.argsort(targets[at, 0][order], kind="stable")]
        order = _shuffled_in_blocks(order, count, draw)
    return [np.sort(chosen[order[fold::count]]) for fold in range(count)]


def _dealt_groups(
    chosen: IntArray, groups: IntArray, count: int, draw: np.random.Generator
) -> list[IntArray]:
    """Rows of one group in one fold, and folds as even as that allows."""
    _, at, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < count:
        raise error(
            "U343",
            f"rows of {counted(len(sizes), 'group')} cannot be divided into {count} folds",
            notes=("the rows of a group stay together",),
            helps=(f"use at most {len(sizes)} folds",) if len(sizes) > 1 else (),
        )
    order = draw.permutation(len(sizes))
    fold_of, filled = np.zeros(len(sizes), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for group in order[np.argsort(-sizes[order], kind="stable")].tolist():
        fold_of[group] = fold = int(filled.argmin())
        filled[fold] += sizes[group]
    return [np.sort(chosen[fold_of[at] == fold]) for fold in range(count)]


def _shuffled_in_blocks(order: IntArray, count: int, draw: np.random.Generator) -> IntArray:
    """Else the first fold would have the smallest value of each block."""
    blocks = [draw.permutation(order[at : at + count]) for at in range(0, len(order), count)]
    return np.concatenate(blocks)


__all__ = ["deal"]
