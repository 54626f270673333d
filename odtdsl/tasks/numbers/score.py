"""Scores of numbers: mean squared and absolute errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from odtdsl.auditor.outputs import kept, on_outputs
from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.datasets.table import FloatArray
from odtdsl.driver.scoring import OutputScore, ScorePart, TestScore
from odtdsl.predictors.nodes import Leaf, of_days
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.outputs.feasible import feasible_lines


class NumberScore(ScorePart):
    """Predictions are near or far."""

    def score(self, model: Predictor, data: Dataset, target: TargetDecl | None = None) -> TestScore:
        """Mean errors over rows and targets."""
        assert data.targets is not None, "number targets are there"
        apart = model.outputs(data.table) - data.targets
        return TestScore(
            rows=data.n_rows, mse=float((apart**2).mean()), mae=float(np.abs(apart).mean())
        )

    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        """The weighted means, then the medians."""
        assert rows.data.targets is not None, "number targets are there"
        for outputs in _outputs(rows.data.targets.reshape(rows.n_rows, -1), rows):
            said = of_days(outputs, rows.problem.days)
            yield model.alone(Leaf(output=said, size=rows.n_rows)), said

    def outputs(self, model: Predictor, rows: Rows, data: Dataset) -> OutputScore | None:
        """Of several targets, or of rules on outputs."""
        target = rows.problem.target
        ruled = target.step is not None or any(on_outputs(rule) for rule in rows.problem.rules)
        if not (ruled or len(target.names) > 1):
            return None
        assert data.targets is not None, "number targets are there"
        each = ((model.outputs(data.table) - data.targets) ** 2).mean(axis=0).tolist()
        broken = ~kept(model, rows)[model.apply(data.table)]
        return OutputScore(
            rows=data.n_rows,
            mse=tuple(zip(target.names, each, strict=True)),
            infeasible=int(broken.sum()),
            feasible=feasible_lines(rows),
        )

    def measure(self, words: Collection[str]) -> str:
        """The loss of the objective, or `mse`."""
        return next((word for word in ("mae", "poisson") if word in words), "mse")


def _outputs(targets: FloatArray, rows: Rows) -> Iterator[tuple[float, ...]]:
    """The weighted means, which `mse` and `poisson` like best, and the medians, which `mae` does.

    `targets` is float64 (n_rows, n_targets).
    """
    yield tuple(np.average(targets, axis=0, weights=rows.weights).tolist())
    medians = []
    for column in targets.T:
        order = np.argsort(column, kind="stable")
        below = np.cumsum(rows.weights[order], dtype=np.float64)
        medians.append(float(column[order][np.searchsorted(below, below[-1] / 2)]))
    yield tuple(medians)


PART = NumberScore()
