"""Scores of numbers: mean squared and absolute errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from odtdsl.auditor.meanings import half_deviance
from odtdsl.auditor.outputs import kept, on_outputs
from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.datasets.table import FloatArray
from odtdsl.driver.scoring import OutputScore, ScorePart, TestScore, row_weights
from odtdsl.predictors.nodes import Leaf, of_days
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.problem import Problem, terms_of
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.outputs.feasible import feasible_lines


class NumberScore(ScorePart):
    """Predictions are near or far."""

    def score(self, model: Predictor, data: Dataset, problem: Problem | None = None) -> TestScore:
        """Mean errors over rows and targets; the deviance where the spec speaks of `poisson`."""
        assert data.targets is not None, "number targets are there"
        truth = data.targets.reshape(data.n_rows, -1)
        outputs, weights = model.outputs(data.table).reshape(truth.shape), row_weights(data)

        def mean(lost: FloatArray) -> float:
            kept = np.where(weights > 0, lost.mean(axis=1), 0.0)  # not 0 times infinite
            return float(np.average(kept, weights=weights))

        apart = truth - outputs
        counted = problem is not None and "poisson" in terms_of(problem)
        deviance = (("poisson", mean(half_deviance(truth, outputs))),) if counted else ()
        return TestScore(
            rows=data.n_rows, mse=mean(apart**2), mae=mean(np.abs(apart)), measures=deviance
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
        lost = (model.outputs(data.table) - data.targets) ** 2
        each = np.average(lost, axis=0, weights=row_weights(data)).tolist()
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
