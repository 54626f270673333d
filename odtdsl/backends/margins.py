"""The hyperplane that parts two sets of rows with the largest margin, in raw units.

A solver's own weights part the rows only up to its tolerances: replayed on raw cells they
flip some. So weights are taken from the routing alone, by a small linear program, and the
bound is placed between the sums of the two sets as the predictor computes them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from odtdsl.backends.quiet_highs import quiet_highs
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.planes import Planes, planes
from odtdsl.problem.ir.raw import RawPlane

MIN_MARGIN = 1e-9
"""Margins below this, on columns scaled to [0, 1], are none: floats cannot be trusted so far."""
DIGITS = (2, 3, 4, 6, 9, 12, 15)
"""Weights get as few significant digits as leave `KEPT` of the margin."""
KEPT = 0.9

TURNED = 4
"""A plane that must weigh further features is turned by at most this part of its margin."""


def widest_plane(
    core: Core,
    left: IntArray,
    right: IntArray,
    columns: Collection[int] | None = None,
    weighed: Collection[int] = (),
) -> RawPlane | None:
    """The plane with all rows of `left` below it and all rows of `right` not.

    Of the planes with the largest margin (weights in [-1, 1] on columns scaled to [0, 1]) one
    with the least sum of sizes of weights, which is sparse where ties allow.

    Parameters
    ----------
    core
        A core with hyperplane splits.
    left, right
        int64, rows; neither is empty.
    columns
        Indices of the features that may be weighed; None for all.
    weighed
        Those of them that must be: where the widest plane leaves one out, it is turned by a part of
        its margin.

    Returns
    -------
    RawPlane or None
        None where no plane parts the rows, or none by more than rounding.
    """
    of = planes(core)
    usable = [
        index
        for index, column in enumerate(of.columns)
        if columns is None or column.column in columns
    ]
    sides = (of.scaled[left][:, usable], of.scaled[right][:, usable])
    weights = _weights(*sides)
    if weights is None:
        return None
    _turn(weights, sides, [of.columns[index].column for index in usable], weighed)
    spans = np.array([of.columns[index].span for index in usable])
    found: RawPlane | None = None
    full = _margin(of, usable, weights / spans, left, right)[0]
    for digits in DIGITS:
        rounded = np.array([float(f"{w:.{digits}g}") for w in (weights / spans).tolist()])
        margin, plane = _margin(of, usable, rounded, left, right)
        if plane is not None and (found is None or margin >= KEPT * full):
            found = plane
            if margin >= KEPT * full:
                break
    return found


def _weights(left: FloatArray, right: FloatArray) -> FloatArray | None:
    """The weights of the widest plane on scaled columns; None without one."""
    left, right = np.unique(left, axis=0), np.unique(right, axis=0)
    n = left.shape[1]
    if not n:
        return None
    # Columns: positive parts, negative parts, bound, margin. left: a.x - b + m <= 0;
    # right: -a.x + b + m <= 0.
    ones = np.ones((len(left), 1))
    other = np.ones((len(right), 1))
    matrix = np.vstack(
        [np.hstack([left, -left, -ones, ones]), np.hstack([-right, right, other, other])]
    )
    wide = _least(matrix, np.array([*[0.0] * (2 * n + 1), -1.0]), least_margin=0.0)
    if wide is None or wide[-1] <= MIN_MARGIN:
        return None
    sparse = _least(
        matrix, np.array([*[1.0] * (2 * n), 0.0, 0.0]), least_margin=float(wide[-1]) * (1 - 1e-7)
    )
    best = wide if sparse is None else sparse
    weights: FloatArray = best[:n] - best[n : 2 * n]
    weights[np.abs(weights) < MIN_MARGIN] = 0.0
    return weights


def _turn(
    weights: FloatArray,
    sides: tuple[FloatArray, FloatArray],
    features: list[int],
    weighed: Collection[int],
) -> None:
    """Give every feature of `weighed` a weight, in place; cells are at most 1, so a part of the
    margin stays.
    """
    done = {feature for feature, weight in zip(features, weights.tolist(), strict=True) if weight}
    absent = sorted((set(weighed) & set(features)) - done)
    if absent:
        low, high = (cells @ weights for cells in sides)
        places = [features.index(feature) for feature in absent]
        weights[places] = (high.min() - low.max()) / (TURNED * len(absent))


def _least(matrix: FloatArray, costs: FloatArray, *, least_margin: float) -> FloatArray | None:
    """min costs.x with matrix.x <= 0, parts in [0, 1], bound free, margin at least as given."""
    import highspy

    rows, columns = matrix.shape
    n = (columns - 2) // 2
    solver = quiet_highs()
    lp: Any = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_ = costs
    lp.col_lower_ = np.array([*[0.0] * (2 * n), -highspy.kHighsInf, least_margin])
    lp.col_upper_ = np.array([*[1.0] * (2 * n), highspy.kHighsInf, highspy.kHighsInf])
    lp.row_lower_ = np.full(rows, -highspy.kHighsInf)
    lp.row_upper_ = np.zeros(rows)
    at, index = np.nonzero(matrix)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(at, np.arange(rows + 1)).astype(np.int32)
    lp.a_matrix_.index_ = index.astype(np.int32)
    lp.a_matrix_.value_ = matrix[at, index]
    solver.passModel(lp)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.asarray(solver.getSolution().col_value)


def _margin(
    of: Planes, usable: list[int], weights: FloatArray, left: IntArray, right: IntArray
) -> tuple[float, RawPlane | None]:
    """How far the sums of the two sets are apart, and the plane in the middle between them."""
    pairs = tuple(
        (index, weight) for index, weight in zip(usable, weights.tolist(), strict=True) if weight
    )
    sums = of.sums(pairs, np.concatenate([left, right]))
    low, high = float(sums[: len(left)].max()), float(sums[len(left) :].min())
    if not low < high or not pairs:
        return high - low, None
    bound = low / 2 + high / 2
    if not low < bound <= high:
        bound = high
    short = next(
        (
            b
            for d in range(1, 18)
            if low < (b := float(f"{bound:.{d}g}")) <= high
            and abs(b - bound) <= 0.05 * (high - low)
        ),
        bound,
    )
    return high - low, RawPlane(weights=pairs, bound=short)
