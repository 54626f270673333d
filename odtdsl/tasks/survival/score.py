"""Scores of survival: how well hazards order rows, and curves tell who survives."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

import numpy as np

from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.driver.scoring import ScorePart, TestScore
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.survival import concordance, integrated_brier
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.tasks.survival.problem import PART as PROBLEM
from odtdsl.tasks.survival.problem import hazards, observed, of_columns


class SurvivalScore(ScorePart):
    """Harrell's C and the integrated Brier score."""

    of_training: ClassVar = True

    def score(self, model: Predictor, data: Dataset, target: TargetDecl | None = None) -> TestScore:
        """Both, where some pair of rows has an order, and times some span."""
        time, event = model.targets
        times, events = of_columns(data.columns[time], data.columns[event])
        ends = model.apply(data.table)
        risk = model.predict(data.table)
        brier = integrated_brier(times, events, [leaf.curve for leaf in model.ends], ends)
        found = (("concordance", concordance(times, events, risk)), ("brier", brier))
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

    def measure(self, words: Collection[str]) -> str:
        """The loss."""
        return "survival_loss"


PART = SurvivalScore()
