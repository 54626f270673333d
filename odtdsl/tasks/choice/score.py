"""Scores of choices: the mean reward or loss."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.driver.scoring import ScorePart, TestScore
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.tasks.choice.problem import columns


class ChoiceScore(ScorePart):
    """Choices are worth something."""

    def score(self, model: Predictor, data: Dataset, target: TargetDecl | None = None) -> TestScore:
        """The mean of the cells of the choices made."""
        made = model.labels(data.table)
        mean = columns(data, model.targets)[np.arange(data.n_rows), made].mean()
        name = "mean of the choices" if target is None else f"mean {target.by}"
        return TestScore(rows=data.n_rows, measures=((name, float(mean)),))

    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        """Each choice for everybody."""
        for label, name in enumerate(model.classes):
            yield model.alone(Leaf(label=label, size=rows.n_rows)), (name,)

    def measure(self, words: Collection[str]) -> str:
        """The mean loss where the objective speaks of losses, else the mean reward."""
        losses = {"loss", "expected_loss"} & set(words)
        return "expected_loss" if losses else "maximize expected_reward"


PART = ChoiceScore()
