"""Scores of choices: the mean reward."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.datasets.table import FloatArray
from odtdsl.driver.scoring import ScorePart, TestScore
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.problem import Problem
from odtdsl.problem.ir.rows import Rows


class PickScore(ScorePart):
    def score(self, model: Predictor, data: Dataset, problem: Problem | None = None) -> TestScore:
        made = model.labels(data.table)
        found = rewards(data, model.targets)[np.arange(data.n_rows), made].mean()
        return TestScore(rows=data.n_rows, measures=(("mean reward", float(found)),))

    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        for label, name in enumerate(model.classes):
            yield model.alone(Leaf(label=label, size=rows.n_rows)), (name,)

    def measure(self, words: Collection[str]) -> str:
        return "maximize picked_reward"


def rewards(data: Dataset, names: tuple[str, ...]) -> FloatArray:
    columns = [data.columns[name].numbers for name in names]
    return np.column_stack([one for one in columns if one is not None])


PART = PickScore()
