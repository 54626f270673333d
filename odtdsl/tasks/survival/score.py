"""Scores of survival: how well hazards order rows, and curves tell who survives."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

import numpy as np

from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.datasets.table import FloatArray, IntArray, RawColumn, Table
from odtdsl.driver.scoring import Resampled, ScorePart, TestScore, numbers_of, row_weights
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.survival import concordance, integrated_brier
from odtdsl.problem.ir.problem import Problem
from odtdsl.problem.ir.rows import Rows
from odtdsl.tasks.survival.problem import CAME, DID_NOT, hazards, observed, of_columns
from odtdsl.tasks.survival.problem import PART as PROBLEM


class SurvivalScore(ScorePart):
    """Harrell's C and the integrated Brier score."""

    of_training: ClassVar = True

    def score(self, model: Predictor, data: Dataset, problem: Problem | None = None) -> TestScore:
        """Both, where some pair of rows has an order, and times some span."""
        time, event = model.targets
        times, events = of_columns(data.columns[time], data.columns[event])
        ends = model.apply(data.table)
        risk, weights = model.predict(data.table), row_weights(data)
        curves = [leaf.curve for leaf in model.ends]
        brier = integrated_brier(times, events, curves, ends, weights)
        found = (("concordance", concordance(times, events, risk, weights)), ("brier", brier))
        measures = tuple((name, value) for name, value in found if value is not None)
        return TestScore(rows=data.n_rows, measures=measures)

    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        """The curve of all rows."""
        _, events = observed(rows.data, rows.problem.target)
        exposed = float(rows.weights @ hazards(rows))
        ratio = float(rows.weights @ events) / exposed if exposed else 1.0
        (ratio,), curve = PROBLEM.estimate(rows, np.arange(rows.n_rows), (ratio,))
        yield model.alone(Leaf(output=(ratio,), size=rows.n_rows, curve=curve)), (ratio,)

    def resampled(self, model: Predictor, table: Table, weights: FloatArray) -> Resampled:
        """Harrell's C and the integrated Brier score of the rows' times and events."""
        time, event = (table.columns[name] for name in model.targets)
        times, events = numbers_of(time), _events(event)
        ends, risk = model.apply(table), np.asarray(model.predict(table), dtype=np.float64)
        curves = [leaf.curve for leaf in model.ends]

        def measures(rows: IntArray) -> dict[str, float]:
            of, own = (times[rows], events[rows]), weights[rows]
            found = {
                "concordance": concordance(*of, risk[rows], own),
                "integrated Brier score": integrated_brier(*of, curves, ends[rows], own),
            }
            return {name: np.nan if value is None else value for name, value in found.items()}

        return Resampled(known=~(np.isnan(times) | np.isnan(events)), measures=measures)

    def measure(self, words: Collection[str]) -> str:
        """The loss."""
        return "survival_loss"


def _events(column: RawColumn) -> FloatArray:
    """1 where the event came, 0 where it did not; NaN where that is not known."""
    if column.numbers is not None:
        return np.where(np.isin(column.numbers, (0, 1)), column.numbers, np.nan)
    words, places = column.distinct
    said = {**dict.fromkeys(CAME, 1.0), **dict.fromkeys(DID_NOT, 0.0)}
    codes = [said.get(word.casefold(), np.nan) for word in words]
    found: FloatArray = np.array([*codes, np.nan])[places]
    return found


PART = SurvivalScore()
