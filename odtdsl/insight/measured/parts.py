"""Measures of some rows with their intervals, and what computes any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from odtdsl.base.numbers import as_number
from odtdsl.datasets.table import FloatArray

LEVEL = 0.95
MOST_CELLS = 2**26
"""Of numbers drawn at a time."""
MOST_DRAWN = 2 * 10**8
"""Of numbers: fewer draws are made of more rows, whose intervals are narrow anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure on some rows.

    Attributes
    ----------
    name
        Such as `accuracy` or `recall(yes)`.
    value
        NaN where it is a share of no row.
    low, high
        The 2.5% and the 97.5% quantile over bootstrap draws of the rows, of those draws in which it
        is defined; NaN where it is in none.
    """

    name: str
    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """Name, value and interval; None for what is undefined."""
        values = {"value": self.value, "low": self.low, "high": self.high}
        return {
            "measure": self.name,
            **{k: None if np.isnan(v) else as_number(v) for k, v in values.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The measures of all rows, or of those of one group.

    Attributes
    ----------
    group
        The value of the column that rows are grouped by, or the name of a group of the spec; None
        for all rows.
    confusion
        Rows, without weights, by true class (first) and predicted class; empty for numbers.
    calibration
        For each leaf that rows reach: its number, the rows, the class that it predicts, the share
        of that class in training (what `predict_proba` says) and here; empty for numbers.
    roc
        Of two classes, for the second: the false and the true positive rate, and the least share at
        a leaf that counts as positive, infinite at first; empty where only one class is among the
        rows.
    """

    group: str | None
    rows: int
    measures: tuple[Measure, ...]
    confusion: tuple[tuple[int, ...], ...] = ()
    calibration: tuple[tuple[int, int, str, float, float], ...] = ()
    roc: tuple[tuple[float, float, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it as values of JSON."""
        return {
            "group": self.group,
            "rows": self.rows,
            "measures": [measure.to_json() for measure in self.measures],
            "confusion": [list(line) for line in self.confusion],
            "calibration": [
                {"leaf": leaf, "rows": rows, "predicts": label, "expected": p, "observed": q}
                for leaf, rows, label, p, q in self.calibration
            ],
            "roc": [
                {"false_positive_rate": x, "true_positive_rate": y, "least_share": as_number(least)}
                for x, y, least in self.roc
            ],
        }


def measured(name: str, value: float, drawn: FloatArray) -> Measure:
    """Return a measure with quantiles of its bootstrap draws, float64 (draws,).

    Draws in which it is undefined are NaN.
    """
    defined = drawn[~np.isnan(drawn)]
    low, high = (np.nan, np.nan)
    if len(defined) and not np.isnan(value):
        # between infinite values nothing can be interpolated
        how: Literal["linear", "nearest"] = "linear" if np.isfinite(defined).all() else "nearest"
        low, high = np.quantile(defined, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), method=how)
    return Measure(name=name, value=float(value), low=float(low), high=float(high))


def ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> FloatArray:
    """Return the quotients of two arrays; NaN for a share of nothing."""
    out = np.full(np.broadcast(above, below).shape, np.nan)
    found: FloatArray = np.divide(above, below, out=out, where=below != 0)
    return found
