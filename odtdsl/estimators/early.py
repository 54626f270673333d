"""Early stopping: of all improvements of a search, the one that does best on held-out rows.

The search never sees these rows. A model that is kept so is not the best on the rows of the fit
and is told as `feasible`, whatever the search had proven.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from odtdsl.auditor.audit import values_of
from odtdsl.backends.base import Progress
from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import BoolArray
from odtdsl.driver.result import Result
from odtdsl.estimators.new_rows import data_of
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.rows import Rows
from odtdsl.words import values

Values = tuple[Fraction, ...]
Table = dict[str, Any]


def stops_early(estimator: Any) -> bool:
    """Whether an estimator asks for it; what it says of early stopping and certificates is checked
    in any case, since a text such as `"no"` would count as true.

    Raises
    ------
    OdtError
        U401: no truth value, or no whole number of at least 1. U613: the share is none.
    """
    for name in ("early_stopping", "certify"):
        said = getattr(estimator, name, False)
        if not isinstance(said, bool | np.bool_):
            raise values.wrong(f"`{name}`", said, "give True or False")
    if not hasattr(estimator, "early_stopping"):
        return False
    patience = values.whole(estimator.n_iter_no_change, "`n_iter_no_change`")
    if patience < 1:
        raise values.wrong("`n_iter_no_change`", patience, "give a whole number of at least 1")
    _check_share(estimator.validation_fraction)
    return bool(estimator.early_stopping)


def _check_share(share: Any) -> None:
    if (
        isinstance(share, bool)
        or not isinstance(share, int | float | np.number)
        or not 0 < share < 1
    ):
        raise error(
            "U613",
            f"`validation_fraction` must be a fraction of the rows, not {share!r}",
            helps=("pass a number between 0 and 1, such as 0.1",),
        )


def parted(table: Table, target: str | None, share: Any, seed: int) -> tuple[Table, Table]:
    """The rows of the fit, and those that are held out.

    Parameters
    ----------
    table
        Columns by name.
    target
        The column of classes, of each of which the share is held out, rounded down; None for
        number targets, where it is that of all rows.
    share, seed
        What share of the rows, and how they are drawn.

    Raises
    ------
    OdtError
        U613: the share is none, or leaves no row on one side.
    """
    _check_share(share)
    n_rows = len(next(iter(table.values())))
    codes = np.zeros(n_rows, dtype=np.int64)
    if target is not None:
        codes = np.unique(np.asarray(table[target], dtype=str), return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(n_rows)
    held = np.zeros(n_rows, dtype=bool)
    for code in range(int(codes.max(initial=-1)) + 1):
        some = order[codes[order] == code]
        held[some[: int(float(share) * len(some))]] = True
    if not held.any():
        raise error(
            "U613",
            f"a fraction of {float(share):g} of {n_rows} rows holds out no row",
            helps=("raise `validation_fraction`, or turn `early_stopping` off",),
        )
    return _rows(table, ~held), _rows(table, held)


def _rows(table: Table, rows: BoolArray) -> Table:
    return {name: np.asarray(column)[rows] for name, column in table.items()}


class HeldOut:
    """Hears of improvements, and says when there were enough without a better one.

    Parameters
    ----------
    rows
        The problem with the rows of the fit.
    held
        Columns of the held-out rows.
    patience
        Improvements in a row that are no better on the held-out rows after which to stop.
    """

    def __init__(self, rows: Rows, held: Table, patience: int) -> None:
        weights = None if rows.problem.weight is None else held[rows.problem.weight]
        self.rows, self.patience = rows, patience
        self.weighed, self.data = data_of(rows, held, weights)
        self.best: Predictor | None = None
        self.values: Values | None = None
        self.idle = 0
        self._last: tuple[int, Fraction | None] = (-1, None)

    def hear(self, progress: Progress) -> None:
        """Take an improvement of the model; ignore news of the bound alone.

        A search that is asked to end goes on a little; what it still finds depends on the clock.
        """
        if self.over():
            return
        now = (progress.stage, progress.incumbent)
        model = None if now == self._last else progress.model
        if model is not None:
            self._last = now
            self.take(model)

    def take(self, model: Predictor) -> None:
        """Keep the model if it is better on the held-out rows, or the first."""
        values = self._values(model)
        if self.values is None or values < self.values:
            self.best, self.values, self.idle = model, values, 0
        else:
            self.idle += 1

    def over(self) -> bool:
        """Whether enough improvements in a row were no better on the held-out rows."""
        return self.idle >= self.patience

    def _values(self, model: Predictor) -> Values:
        """The stages of the objective on the held-out rows, less being better."""
        found = values_of(model, self.weighed.problem, self.data)
        stages = self.rows.problem.objective
        return tuple(
            Fraction(0) if value is None else value if stage.sense == "minimize" else -value
            for stage, value in zip(stages, found, strict=True)
        )

    def kept(self, result: Result) -> Result:
        """The result with the model that is best on the held-out rows: never proven."""
        from odtdsl.driver.pipeline import with_other_model

        if result.model is None:
            return result
        if not self.over():
            self.take(result.model)
        model = self.best
        assert model is not None, "the answer was taken"
        kept = with_other_model(result, model)
        return replace(kept, interrupted=False, stopped="held out")
