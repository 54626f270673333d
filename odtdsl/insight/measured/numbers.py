"""Measures of numbers: means of errors over rows, drawn again by bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.auditor.meanings import half_deviance
from odtdsl.datasets.table import BoolArray, FloatArray, Table
from odtdsl.driver.scoring import numbers_of
from odtdsl.insight.cart import Cart, Prices
from odtdsl.insight.measured.parts import MOST_CELLS, MOST_DRAWN, Part, measured, ratio
from odtdsl.predictors.predictor import Predictor


class Numbers:
    """Rows of numbers as errors of each target; see `Classes` for the parameters."""

    def __init__(
        self,
        model: Predictor,
        table: Table,
        prices: Prices | None = None,
        weights: FloatArray | None = None,
        grown: Cart | None = None,
    ) -> None:
        self.weights, self.targets = weights, model.targets
        self.counted = prices is not None and prices.counted
        columns = [numbers_of(table.columns[name]) for name in model.targets]
        self.truth = np.stack(columns, axis=1)
        self.outputs = model.outputs(table) if grown is None else grown.outputs(table)
        self.known: BoolArray = np.asarray(~np.isnan(self.truth).any(axis=1))
        paid = None if prices is None else prices.paid(model, grown)
        self.paid: FloatArray | None = None
        if paid is not None:
            ends = model.apply(table) if grown is None else grown.ends(table, 0)[0]
            self.paid = paid[ends]

    def part(
        self, group: str | None, rows: BoolArray, draws: int, rng: np.random.Generator
    ) -> Part:
        """The measures of some rows."""
        truth, off = self.truth[rows], (self.truth - self.outputs)[rows]
        paid = np.zeros_like(off)
        if self.paid is not None:
            paid += self.paid[rows, None]
        each = [off**2, np.abs(off), truth, truth**2, paid]
        if self.counted:
            lost = half_deviance(truth, self.outputs[rows])
            unbounded = ~np.isfinite(lost)
            of_none = truth * np.log(np.where(truth > 0, truth, 1))
            each += [np.where(unbounded, 0, lost), unbounded, of_none]
        sums = np.stack(each)  # (5 or 8, rows, targets)
        n, own = len(truth), None if self.weights is None else self.weights[rows]
        draws = min(draws, max(100, MOST_DRAWN // n))
        means = np.empty((draws + 1, *sums.shape[::2]))
        means[0] = sums.mean(axis=1) if own is None else _means(own[None], sums)
        step = max(1, MOST_CELLS // n)
        for first in range(1, draws + 1, step):
            last = min(draws + 1, first + step)
            weights = rng.multinomial(n, np.full(n, 1 / n), size=last - first)
            means[first:last] = _means(weights if own is None else weights * own, sums)
        return Part(
            group=group,
            rows=n,
            measures=tuple(measured(name, v[0], v[1:]) for name, v in self._measures(means)),
        )

    def _measures(self, means: FloatArray) -> Iterator[tuple[str, FloatArray]]:
        for at, name in enumerate(self.targets):
            of = f"({name})" if len(self.targets) > 1 else ""
            squared, absolute, mean, square = means[:, :4, at].T
            yield f"mean squared error{of}", squared
            yield f"root mean squared error{of}", np.sqrt(squared)
            yield f"mean absolute error{of}", absolute
            yield f"R2{of}", 1 - ratio(squared, np.maximum(square - mean**2, 0))
            if self.counted:
                lost, unbounded, of_none = means[:, 5:, at].T
                deviance = np.where(unbounded > 0, np.inf, lost)
                alone = of_none - mean * np.log(np.where(mean > 0, mean, 1))
                yield f"half Poisson deviance{of}", deviance
                yield f"D2 (Poisson){of}", 1 - ratio(deviance, np.maximum(alone, 0))
        if self.paid is not None:
            yield "expected cost", means[:, 4, 0]


def _means(weights: npt.NDArray[Any], sums: FloatArray) -> FloatArray:
    """float64 (draws, sums, targets): the means of (sums, rows, targets) by (draws, rows)."""
    total = weights.sum(axis=1, keepdims=True)
    found: FloatArray = np.einsum("dn,snt->dst", ratio(weights, total), sums)
    return found
