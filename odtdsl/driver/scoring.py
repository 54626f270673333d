"""How a model does on test rows, beside the best prediction that asks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from odtdsl.auditor.audit import AuditOfRows, audit_rows, values_of
from odtdsl.auditor.results import audit_to_json
from odtdsl.base.numbers import as_number
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor

if TYPE_CHECKING:
    from odtdsl.data.dataset import Dataset, Value
    from odtdsl.data.table import FloatArray
    from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputScore:
    """Predictions of several targets, or of targets under rules on outputs; rows count alike.

    Attributes
    ----------
    mse
        Mean squared error of each target, by its name.
    infeasible
        Rows whose prediction breaks a rule on outputs: 0 unless leaves are `relaxed` or
        `average`.
    feasible
        The outputs that the rules admit in words, a line per piece of the set; nothing where
        every output is admitted.
    """

    rows: int
    mse: tuple[tuple[str, float], ...]
    infeasible: int
    feasible: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Rows, errors by target, how many predictions break a rule, and the feasible set."""
        return {
            "rows": self.rows,
            "mse": {name: as_number(value) for name, value in self.mse},
            "infeasible": self.infeasible,
            "feasible": list(self.feasible),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TestScore:
    """How the model does on test rows: reported, never optimized; rows count alike.

    Attributes
    ----------
    errors
        Wrong predictions; None for number targets.
    mse, mae
        Mean squared and absolute error over rows and number targets; None for classes.
    audit
        Every rule and every stage of the objective on the test rows. Rules are kept on training
        rows: one that does not hold here is no fault of the model, but something to know.
    baseline
        The same score of the best constant: the class, or the numbers, that the objective likes
        best on the training rows where every row gets the same. Rules are not asked.
    predicts
        What such a constant predicts, a value for each target; nothing for other models.
    """

    __test__ = False

    rows: int
    errors: int | None = None
    mse: float | None = None
    mae: float | None = None
    outputs: OutputScore | None = None
    audit: AuditOfRows | None = field(default=None, compare=False, repr=False)
    baseline: TestScore | None = field(default=None, compare=False, repr=False)
    predicts: tuple[Value, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """The share of correct predictions; `None` for number targets."""
        return None if self.errors is None else 1 - self.errors / self.rows

    def to_json(self) -> dict[str, Any]:
        """Rows with errors and accuracy, or with the mean errors of number targets."""
        if self.errors is None:
            found = {
                "rows": self.rows,
                "mse": as_number(self.mse),
                "mae": as_number(self.mae),
            }
            if self.outputs is not None:
                found["outputs"] = self.outputs.to_json()
        else:
            found = {"rows": self.rows, "errors": self.errors, "accuracy": self.accuracy}
        if self.audit is not None:
            found["objective"] = [as_number(value) for value in self.audit.objective]
            found["audit"] = audit_to_json(self.audit)
        if self.baseline is not None:
            found["baseline"] = {
                "predicts": [as_number(value) for value in self.baseline.predicts],
                **self.baseline.to_json(),
            }
        return found


def output_score(model: Predictor, rows: Rows, data: Dataset) -> OutputScore | None:
    """The predictions of a model of several targets, or under rules on outputs; else None."""
    from odtdsl.auditor.outputs import kept, on_outputs
    from odtdsl.problem.outputs.feasible import feasible_lines

    target = rows.problem.target
    ruled = target.step is not None or any(on_outputs(rule) for rule in rows.problem.rules)
    if target.kind != "number" or not (ruled or len(target.names) > 1):
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


def score(model: Predictor, test: Dataset, rows: Rows | None = None) -> TestScore:
    """The predictions of a model for test rows against what they hold.

    With `rows`, those of training, also the objective and every rule on the test rows, and the
    same of the best constant.
    """
    found = _score(model, test, rows)
    if rows is None:
        return found
    constant, predicts = best_constant(model, rows)
    return replace(
        found,
        audit=audit_rows(model, rows.problem, test),
        baseline=replace(
            _score(constant, test, None),
            predicts=predicts,
            audit=audit_rows(constant, rows.problem, test),
        ),
    )


def best_constant(model: Predictor, rows: Rows) -> tuple[Predictor, tuple[Value, ...]]:
    """The model without a split that the objective likes best on the training rows.

    Its rules are not asked. Of equal ones it is the class of most weight, then the first; of
    numbers the means, then the medians.

    Returns
    -------
    constant, predicts
        The model, and what it predicts: a value for each target.
    """

    def worth(one: Predictor) -> tuple[tuple[bool, Fraction], ...]:
        return tuple(
            (value is None, Fraction(0) if value is None else (-value if falls else value))
            for value, falls in zip(values_of(one, rows.problem, rows.data), senses, strict=True)
        )

    senses = [stage.sense == "maximize" for stage in rows.problem.objective]
    constant, predicts = min(_constants(model, rows), key=lambda one: worth(one[0]))
    return constant, predicts


def _constants(model: Predictor, rows: Rows) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
    if rows.data.targets is not None:
        for outputs in _outputs(rows.data.targets.reshape(rows.n_rows, -1), rows):
            yield model.alone(Leaf(output=outputs, size=rows.n_rows)), outputs
        return
    weights = np.bincount(rows.labels, rows.weights, minlength=len(model.classes))
    for label in np.argsort(-weights, kind="stable").tolist():
        yield model.alone(Leaf(label=label, size=rows.n_rows)), (model.classes[label],)


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


def _score(model: Predictor, test: Dataset, rows: Rows | None) -> TestScore:
    if test.labels is not None:
        errors = int((model.labels(test.table) != test.labels).sum())
        return TestScore(rows=test.n_rows, errors=errors)
    assert test.targets is not None, "number targets are there"
    apart = model.outputs(test.table) - test.targets
    return TestScore(
        rows=test.n_rows,
        mse=float((apart**2).mean()),
        mae=float(np.abs(apart).mean()),
        outputs=None if rows is None else output_score(model, rows, test),
    )
