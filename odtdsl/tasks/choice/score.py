"""Scores of choices: the mean reward or loss."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.datasets.table import FloatArray, IntArray, Table
from odtdsl.driver.scoring import Resampled, ScorePart, TestScore, numbers_of, row_weights
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.wording import label_text
from odtdsl.problem.ir.problem import Problem
from odtdsl.problem.ir.rows import Rows
from odtdsl.tasks.choice.problem import columns


class ChoiceScore(ScorePart):
    """Choices are worth something."""

    def score(self, model: Predictor, data: Dataset, problem: Problem | None = None) -> TestScore:
        """The mean of the cells of the choices made."""
        made = columns(data, model.targets)[np.arange(data.n_rows), model.labels(data.table)]
        mean = float(np.average(made, weights=row_weights(data)))
        name = "mean of the choices" if problem is None else f"mean {problem.target.by}"
        return TestScore(rows=data.n_rows, measures=((name, mean),))

    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        """Each choice for everybody."""
        for label, name in enumerate(model.classes):
            yield model.alone(Leaf(label=label, size=rows.n_rows)), (name,)

    def resampled(self, model: Predictor, table: Table, weights: FloatArray) -> Resampled:
        """The mean of the choices made, and of each choice for everybody."""
        cells = np.column_stack([numbers_of(table.columns[name]) for name in model.targets])
        made = cells[np.arange(table.n_rows), model.labels(table)]
        names = [f"always {label_text(label)}" for label in model.classes]

        def measures(rows: IntArray) -> dict[str, float]:
            own = weights[rows]
            if not own.any():
                return dict.fromkeys(["mean of the choices", *names], np.nan)
            each = np.average(cells[rows], axis=0, weights=own).tolist()
            mean = float(np.average(made[rows], weights=own))
            return {"mean of the choices": mean, **dict(zip(names, each, strict=True))}

        return Resampled(known=np.asarray(~np.isnan(cells).any(axis=1)), measures=measures)

    def measure(self, words: Collection[str]) -> str:
        """The mean loss where the objective speaks of losses, else the mean reward."""
        losses = {"loss", "expected_loss"} & set(words)
        return "expected_loss" if losses else "maximize expected_reward"


PART = ChoiceScore()
