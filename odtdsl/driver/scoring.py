"""How a model does on test rows, beside the best prediction that asks nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from odtdsl.auditor.audit import AuditOfRows, audit_rows, values_of
from odtdsl.auditor.results import audit_to_json
from odtdsl.base.diagnostics.model import Diagnostic, error, shortened
from odtdsl.base.frozen import dataclass
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number, as_value
from odtdsl.base.tasks import Part
from odtdsl.datasets.cells import row_place
from odtdsl.predictors.encoding import about_number, no_numbers
from odtdsl.predictors.predictor import Predictor

if TYPE_CHECKING:
    from odtdsl.datasets.dataset import Dataset, Value
    from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, RawColumn, Table
    from odtdsl.problem.ir.problem import Problem
    from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputScore:
    """Predictions of several targets, or of targets under rules on outputs.

    Attributes
    ----------
    mse
        Mean squared error of each target, by its name; rows count by their weights.
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
    """How the model does on test rows: reported, never optimized; rows count by their weights.

    Attributes
    ----------
    errors
        How many predictions are wrong, without weights; None for number targets.
    wrong
        The share of the weight of these rows; None for number targets.
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
    measures
        Further measures by name: those of other tasks, and `poisson` where the spec speaks of it.
    weighted
        Whether the rows have different weights.
    """

    __test__ = False

    rows: int
    errors: int | None = None
    wrong: float | None = None
    mse: float | None = None
    mae: float | None = None
    outputs: OutputScore | None = None
    audit: AuditOfRows | None = field(default=None, compare=False, repr=False)
    baseline: TestScore | None = field(default=None, compare=False, repr=False)
    predicts: tuple[Value, ...] = ()
    measures: tuple[tuple[str, float], ...] = ()
    weighted: bool = False

    def __str__(self) -> str:
        """The measures, those of the best constant, and the table of the rules."""
        return cast(str, method("TestScore.__str__")(self))

    @property
    def accuracy(self) -> float | None:
        """The share of correct predictions, by weight; `None` for number targets."""
        return None if self.wrong is None else 1 - self.wrong

    @property
    def figures(self) -> dict[str, float]:
        """All measures by name: errors and accuracy, `mse` and `mae`, or those of the task."""
        said = {
            "errors": self.errors,
            "accuracy": self.accuracy,
            "mse": self.mse,
            "mae": self.mae,
            **dict(self.measures),
        }
        return {name: value for name, value in said.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        """Rows and the `figures`; where they are asked for, also objective, rules, baseline."""
        found: dict[str, Any] = {"rows": self.rows}
        if self.weighted:
            found["weighted"] = True
        found |= {name: as_number(value) for name, value in self.figures.items()}
        if self.outputs is not None:
            found["outputs"] = self.outputs.to_json()
        if self.audit is not None:
            found["objective"] = [as_value(value) for value in self.audit.objective]
            found["audit"] = audit_to_json(self.audit)
        if self.baseline is not None:
            found["baseline"] = {
                "predicts": [as_number(value) for value in self.baseline.predicts],
                **self.baseline.to_json(),
            }
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """What a task measures on samples of rows.

    Attributes
    ----------
    known
        bool (n_rows,): whose truth is known.
    measures
        Of the rows at these places, which may repeat; NaN for what is undefined.
    """

    known: BoolArray
    measures: Callable[[IntArray], dict[str, float]]


class ScorePart(Part):
    """The scores of a task."""

    module: ClassVar = "score"

    of_training: ClassVar[bool] = False
    """Whether the scores say something of training rows that objective and errors do not."""

    @abstractmethod
    def score(self, model: Predictor, data: Dataset, problem: Problem | None = None) -> TestScore:
        """How a model does on some rows, by their weights; `problem` where the spec is known."""

    @abstractmethod
    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        """Models without a split, the likeliest first, and what each predicts for each target."""

    def outputs(self, model: Predictor, rows: Rows, data: Dataset) -> OutputScore | None:
        """The outputs target by target, where there are several or rules on them."""
        return None

    def warnings(
        self, model: Predictor, rows: Rows, *, counted: bool = False
    ) -> tuple[Diagnostic, ...]:
        """What is doubtful about a model on its training rows; `counted` as in `model_warnings`."""
        return ()

    def resampled(self, model: Predictor, table: Table, weights: FloatArray) -> Resampled | None:
        """The measures of any sample of rows as read; None where they come from counts alone.

        `weights` are those of the rows, float64 (n_rows,).

        Raises
        ------
        OdtError
            U217: a truth that the task cannot read.
        """
        return None

    @abstractmethod
    def measure(self, words: Collection[str]) -> str:
        """The measure of held-out rows, where none is asked for; `words` are of the objective."""


def numbers_of(column: RawColumn) -> FloatArray:
    """A truth that is a number; NaN where it is missing. U217 where a cell is something else."""
    if column.numbers is None:
        row, text = next(iter(no_numbers(column)), (0, ""))
        raise error(
            "U217",
            f"the truth `{column.name}` is not a column of numbers",
            notes=(f"{row_place(row)} contains `{shortened(text)}`",),
            helps=(about_number(text),),
        )
    return column.numbers


def row_weights(data: Dataset) -> FloatArray:
    """What each row counts in measures, float64 (n_rows,): its weight; 1 where all are 0."""
    weights = data.weights.numerators
    found: FloatArray = np.asarray(weights if weights.any() else np.ones_like(weights), np.float64)
    return found


def output_score(model: Predictor, rows: Rows, data: Dataset) -> OutputScore | None:
    """The predictions of a model of several targets, or under rules on outputs; else None."""
    return ScorePart.of(rows.problem.target.kind).outputs(model, rows, data)


def training_score(model: Predictor, rows: Rows) -> TestScore | None:
    """The scores of a model on its training rows, for tasks where they add something."""
    part = ScorePart.of(rows.problem.target.kind)
    return part.score(model, rows.data, rows.problem) if part.of_training else None


def model_warnings(
    model: Predictor, rows: Rows, *, counted: bool = False
) -> tuple[Diagnostic, ...]:
    """What is doubtful about a model on its training rows.

    Parameters
    ----------
    model, rows
        The model, and the problem with its rows.
    counted
        Whether an audit showed that the model counts its rows rightly, so that none is routed here.
    """
    return ScorePart.of(rows.problem.target.kind).warnings(model, rows, counted=counted)


def score(model: Predictor, test: Dataset, rows: Rows | None = None) -> TestScore:
    """The predictions of a model for test rows against what they hold.

    With `rows`, those of training, also the objective and every rule on the test rows, and the
    same of the best constant.
    """
    part = ScorePart.of(model.target_kind)
    weights = row_weights(test)
    found = part.score(model, test, None if rows is None else rows.problem)
    found = replace(found, weighted=bool((weights != weights[:1]).any()))
    if rows is None:
        return found
    constant, predicts = _best_constant(model, rows)
    return replace(
        found,
        outputs=part.outputs(model, rows, test),
        audit=audit_rows(model, rows.problem, test),
        baseline=replace(
            part.score(constant, test, rows.problem),
            predicts=predicts,
            audit=audit_rows(constant, rows.problem, test),
        ),
    )


def _best_constant(model: Predictor, rows: Rows) -> tuple[Predictor, tuple[Value, ...]]:
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
    constant, predicts = min(
        ScorePart.of(model.target_kind).constants(model, rows), key=lambda one: worth(one[0])
    )
    return constant, predicts
