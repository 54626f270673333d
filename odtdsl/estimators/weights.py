"""Weights of rows: as they are passed, as repeated rows, and kept within exact arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from odtdsl.base.back_ends import preferred
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.estimators.problems import Target
from odtdsl.interfaces.api.model import Model
from odtdsl.language import ast
from odtdsl.problem.ir.forms import Form

if TYPE_CHECKING:
    from odtdsl.problem.ir.forms import Core


def weights_of(given: Any, n_rows: int) -> FloatArray | None:
    """Row weights, None where all are 1."""
    if given is None:
        return None
    weights: FloatArray = _check_sample_weight(given, np.empty((n_rows, 1)), dtype=np.float64)
    return None if (weights == 1).all() else weights


DIGITS = (7, 6, 5, 4, 3)
"""Of the largest weight, where rules or losses multiply weights beyond what is exact."""


def with_digits(
    model: Model, table: dict[str, Any], name: str
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """The table, with its weights rounded to fewer digits if exact arithmetic requires it.

    And a warning (D209) that says so: objective, bound and audit are then of these weights.
    """
    from odtdsl.problem.terms.normalize import normalize

    weights = table[name]
    if weights.max() < 10 ** DIGITS[-1] and (weights == np.rint(weights)).all():
        return table, ()
    accepted: dict[int | None, FloatArray] = {}
    for digits in (None, *DIGITS):
        if digits is not None:
            places = digits - 1 - math.floor(math.log10(weights.max()))
            table[name] = np.maximum(np.round(weights, places), 10.0**-places)
        try:
            core = normalize(model.analyse(frame=table).rows)
        except OdtError as caught:
            if any(one.code != "R301" for one in caught.diagnostics):
                raise
            if digits == DIGITS[-1] and not accepted:
                raise
        else:
            accepted[digits] = table[name]
            if _numbers_fit(core):
                break
    else:  # no rounding helps
        digits = next(iter(accepted))
    table[name] = accepted[digits]
    if digits is None:
        return table, ()
    far = float(np.abs(table[name] - weights).max() / weights.max())
    said = Diagnostic(
        code="D209",
        severity="warning",
        message=(
            f"row weights are rounded to {digits} significant digits of the largest weight, "
            "because rules or losses multiply them beyond the range of exact arithmetic"
        ),
        notes=(
            (
                f"no weight changes by more than {far:.1g} of the largest; objective, bound and "
                "audit use the rounded weights"
            ),
        ),
        helps=("use weights with few digits, such as 3 or 0.25: they are kept exactly",),
    )
    return table, (said,)


def _numbers_fit(core: Core) -> bool:
    """Whether the first back end of `auto` that proves takes the numbers of objective and rules."""
    from odtdsl.backends.auto.backend import Kept

    first = preferred(diagrams=False)[0]
    large = (Form.OBJECTIVE_LINEAR, Form.LINEAR_MODEL)
    return not any(one.need.form in large for one in Kept(core)[first])


MOST_REPEATED = 10
"""Whole weights are repeated rows up to so many times the rows."""


def repeated(weights: FloatArray, target: Target, model: Model) -> IntArray | None:
    """The rows, each as often as it weighs, where this is the same problem; else None.

    Of trees that are equally good the search may find another one where rows weigh than where
    they stand several times. scikit-learn holds that both are one, so they are made one. Rules
    may count rows, so there must be none.
    """
    ruled = any(isinstance(one, ast.Rule | ast.Group) for one in model.spec.statements)
    if ruled or not target.labels or (weights < 0).any() or (weights != np.rint(weights)).any():
        return None
    if not 0 < weights.sum() <= MOST_REPEATED * len(weights):
        return None
    return np.repeat(np.arange(len(weights)), weights.astype(np.int64))
