"""Candidates: where the values of a number may be split.

Functions on the training values of one column, float64 with NaN for missing, which never counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.base.limits import look
from odtdsl.datasets.dataset import MISSING_CODE
from odtdsl.datasets.decimals import shortest
from odtdsl.datasets.table import FloatArray, IntArray

_NARROW_BIN = 1e-8
"""Bins no wider than this are merged, as scikit-learn does."""
_DIGITS = 12
"""Digits of a quantile: of 26.86 between two rows the arithmetic makes 26.859999999999996."""

_TREES = 40
_DEPTH = 2

BOOSTED_ROWS = 100_000
"""Rows that the boosting of `candidates at guessed` sees; of more, so many are drawn."""


def gaps(values: FloatArray) -> FloatArray:
    """The distinct values in rising order: `x <= t` can tell neighbours apart, nothing else."""
    found: FloatArray = np.unique(values[~np.isnan(values)])
    return found


def midpoint(low: float, high: float) -> float:
    """The float nearest to the middle of `low < high`, inside `[low, high)`.

    It is `low` where the two are neighbouring floats and rounding would give `high`, and
    finite for every pair of finite floats.
    """
    total = low + high
    middle = total / 2 if math.isfinite(total) else low / 2 + high / 2
    return middle + 0.0 if low <= middle < high else low


def short_cut(low: float, high: float) -> float:
    """The shortest decimal in `[low, high)`, of these the nearest to the middle."""
    found = shortest(low, high, midpoint(low, high))
    assert found is not None, "low < high"
    return found[1]


def quantile_cuts(values: FloatArray, count: int) -> tuple[float, ...]:
    """The `count - 1` cut points of `count` equal shares, by `numpy.quantile`'s default method.

    What its arithmetic adds is rounded away, to `_DIGITS` digits, where that parts the values
    alike. Equal cut points merge. Weights do not count.

    Raises
    ------
    OdtError
        D171: fewer than 2 shares.
    """
    _check_count(count, "quantiles")
    present = values[~np.isnan(values)]
    if not len(present):
        return ()
    cuts = _quantiles(present, np.arange(1, count) / count)
    short = np.array([float(f"{cut:.{_DIGITS}g}") for cut in cuts.tolist()])
    ordered = np.sort(present)
    alike = np.searchsorted(ordered, cuts, side="right") == np.searchsorted(
        ordered, short, side="right"
    )
    return tuple(dict.fromkeys(np.where(alike, short, cuts).tolist()))


def bin_edges(values: FloatArray, count: int) -> tuple[float, ...]:
    """The edges of `count` quantile bins, fewer where edges fall together.

    They are those of scikit-learn's `KBinsDiscretizer(count, strategy="quantile",
    quantile_method="linear", subsample=None)`: linear percentiles, an edge at most 1e-8 above
    the one before it dropped, `(-inf, inf)` for a column of one value. `linear` was
    scikit-learn's only method until 1.6 and its default until 1.8, also when the CPTree study
    used it; the default is `averaged_inverted_cdf` since 1.9. It is fixed here, so that bins
    do not depend on the version that is installed.

    Raises
    ------
    OdtError
        D171: fewer than 2 bins.
    """
    _check_count(count, "bins")
    present = values[~np.isnan(values)]
    if not len(present) or present.min() == present.max():
        return (-math.inf, math.inf)
    edges = _quantiles(present, np.linspace(0, 100, count + 1) / 100)
    return tuple(edges[np.ediff1d(edges, to_begin=np.inf) > _NARROW_BIN].tolist())


def bin_codes(values: FloatArray, edges: tuple[float, ...]) -> IntArray:
    """The bin of each value, `MISSING_CODE` where missing.

    Bin i holds `edges[i] <= x < edges[i + 1]`; the first and last reach to infinity, so that
    later values beyond the training range have a bin too.

    Returns
    -------
    codes
        int64 (n_rows,), from 0 to `len(edges) - 2`.
    """
    codes = np.searchsorted(np.array(edges[1:-1]), values, side="right").astype(np.int64)
    codes[np.isnan(values)] = MISSING_CODE
    return codes


def guessed_cuts(
    columns: Mapping[str, FloatArray], target: IntArray | FloatArray, seed: int
) -> dict[str, tuple[float, ...]]:
    """The thresholds of a small boosted ensemble (McTavish et al., AAAI 2022).

    40 trees of depth 2 (per class where there are more than two) by scikit-learn's gradient
    boosting with its other defaults. It sees the ranks of values, on which float32, which it
    computes in, is exact; a threshold stands for the shortest decimal of the gap that it falls
    into. Of more than `BOOSTED_ROWS` rows it sees a sample, drawn by the seed.
    Missing values take the middle rank. The study's removal of columns is left out: a column
    without a threshold simply gets no candidates.

    Parameters
    ----------
    columns
        float64 (n_rows,) each, NaN where missing.
    target
        Classes as int64 (n_rows,), or number targets as float64 (n_rows,) or
        (n_rows, n_targets), where thresholds of all targets are joined.
    seed
        Of the ensemble.

    Returns
    -------
    cuts
        Rising thresholds by column; none for a column that the ensemble does not ask.

    Raises
    ------
    OdtError
        B108: the limit of time was over before.
    """
    names = list(columns)
    key = (seed, tuple(names), _digest(*columns.values(), target))
    if key not in _guessed:
        found = _guess(names, columns, target, seed)
        _guessed.clear()  # analysis, search and audit ask for the same ones
        _guessed[key] = found
    return dict(_guessed[key])


_BOOSTING = "the boosting of `candidates at guessed`"

_guessed: dict[tuple[int, tuple[str, ...], bytes], dict[str, tuple[float, ...]]] = {}


def _digest(*arrays: IntArray | FloatArray) -> bytes:
    found = blake2b()
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


def _guess(
    names: list[str], columns: Mapping[str, FloatArray], target: IntArray | FloatArray, seed: int
) -> dict[str, tuple[float, ...]]:
    values = [gaps(columns[name]) for name in names]
    asked: list[set[int]] = [set() for _ in names]
    if names and len(target):
        ranks = [_ranks(columns[name], found) for name, found in zip(names, values, strict=True)]
        seen = _sample(len(target), seed)
        for tree in _ensemble(np.column_stack([one[seen] for one in ranks]), target[seen], seed):
            for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
                if feature >= 0:
                    asked[feature].add(math.floor(threshold))
    return {
        name: tuple(short_cut(float(found[i]), float(found[i + 1])) for i in sorted(indices))
        for name, found, indices in zip(names, values, asked, strict=True)
    }


def _sample(n_rows: int, seed: int) -> IntArray:
    """The rows that the boosting sees, in rising order."""
    if n_rows <= BOOSTED_ROWS:
        return np.arange(n_rows)
    drawn = np.random.default_rng(seed).choice(n_rows, BOOSTED_ROWS, replace=False)
    return np.sort(drawn).astype(np.int64)


def _ranks(column: FloatArray, distinct: FloatArray) -> FloatArray:
    look(_BOOSTING, len(column))
    ranks = np.searchsorted(distinct, column).astype(np.float64)
    ranks[np.isnan(column)] = len(distinct) // 2
    return ranks


def _ensemble(ranks: FloatArray, target: IntArray | FloatArray, seed: int) -> list[Any]:
    """The trees of the boosted ensembles, one ensemble per target that varies."""
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    trees: list[Any] = []
    for column in target.reshape(len(target), -1).T:
        if (column == column[0]).all():
            continue
        is_class = np.issubdtype(target.dtype, np.integer)
        boosting = GradientBoostingClassifier if is_class else GradientBoostingRegressor
        model = boosting(n_estimators=_TREES, max_depth=_DEPTH, random_state=seed)
        model.fit(ranks, column, monitor=_look)
        trees.extend(estimator.tree_ for estimator in model.estimators_.ravel())
    return trees


def _look(*_: object) -> bool:
    """Called by the boosting after each tree; raises when the time limit is over."""
    look(_BOOSTING)
    return False


def _quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Linear quantiles, also where the difference of two values is beyond float64."""
    if np.abs(values).max() < 1e300:
        return np.asarray(np.quantile(values, shares), dtype=np.float64)
    return np.asarray(np.quantile(values / 4, shares) * 4, dtype=np.float64)


def _check_count(count: int, what: str) -> None:
    if count < 2:
        raise error(
            "D171",
            f"`at {what} {count}` gives no threshold",
            helps=(f"use at least 2, as in `at {what} 4`",),
        )
