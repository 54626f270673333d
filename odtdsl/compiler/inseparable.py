"""Rows that no test can tell apart although their targets differ: what no model can get right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.base.frozen import dataclass
from odtdsl.compiler.bounds import Frame, parted
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.filters import tests_at
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.problem import terms_of
from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Inseparable:
    """Training rows that all candidate tests send the same way as a row with another target.

    Attributes
    ----------
    rows
        How many.
    errors
        The weight of the errors that every model makes among them; None for numbers.
    mse
        No model has less; None for classes, and where a spec does not speak of `mse`.
    """

    rows: int
    errors: Fraction | None = None
    mse: float | None = None


def inseparable(core: Core, rows: Rows) -> Inseparable | None:
    """Those of a problem of classes or numbers; None without any, and for hyperplanes.

    Rules, depth and sizes are not looked at: a model that keeps them may do worse.
    """
    if core.skeleton.splits == "hyperplane" or (core.labels is None and core.targets is None):
        return None
    frame = Frame(
        skeleton=core.skeleton,
        n_rows=core.n_rows,
        n_columns=len(core.columns),
        families=core.families,
    )
    every = tuple(tests_at(family, (), 0) for family in core.families)
    blocks = parted(frame, every, np.zeros(len(core.columns), dtype=bool), whole=False)
    if core.labels is not None:
        return _of_classes(core.labels, blocks, rows)
    assert core.targets is not None, "classes or numbers"
    return _of_numbers(core.targets.reshape(core.n_rows, -1), blocks, rows)


def _of_classes(labels: IntArray, blocks: IntArray, rows: Rows) -> Inseparable | None:
    pairs, at = np.unique(np.stack([blocks, labels]), axis=1, return_inverse=True)
    weights = np.zeros(pairs.shape[1], dtype=object)
    np.add.at(weights, at.ravel(), rows.weights.astype(object))
    first = np.flatnonzero(np.diff(pairs[0], prepend=-1))
    mixed = np.diff(np.append(first, pairs.shape[1])) > 1
    if not mixed.any():
        return None
    lost = np.add.reduceat(weights, first) - np.maximum.reduceat(weights, first)
    return Inseparable(
        rows=int(mixed[blocks].sum()),
        errors=Fraction(int(lost.sum()), rows.weight_denominator),
    )


def _of_numbers(targets: FloatArray, blocks: IntArray, rows: Rows) -> Inseparable | None:
    order = np.argsort(blocks, kind="stable")
    first = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    there = targets[order]
    least, most = np.minimum.reduceat(there, first), np.maximum.reduceat(there, first)
    mixed: BoolArray = np.asarray((least < most).any(axis=1))
    if not mixed.any():
        return None
    told = Inseparable(rows=int(mixed[blocks].sum()))
    weights = rows.weights.astype(np.float64)
    if "mse" not in terms_of(rows.problem) or not weights.any():
        return told
    total = np.bincount(blocks, weights)[:, None]
    sums = [np.bincount(blocks, weights * column) for column in targets.T]
    means = np.stack(sums, axis=1) / np.where(total > 0, total, 1)
    off = ((targets - means[blocks]) ** 2).mean(axis=1)
    return Inseparable(rows=told.rows, mse=float(np.average(off, weights=weights)))
