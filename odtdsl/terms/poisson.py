"""`poisson`: half the mean Poisson deviance of number targets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.data.table import FloatArray
from odtdsl.ir.expr import Apply, Scope
from odtdsl.ir.forms import TargetLoss
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Term
from odtdsl.terms.regression import OF_TARGETS, mean_loss, target_loss
from odtdsl.terms.view import TreeView, View


class Poisson(Term):
    """Meaning: the weighted mean over rows, and over targets unless one is named, of
    y log(y / p) - y + p, which is half the Poisson deviance.

    Core forms: a loss of number targets in the objective, or a bound on one. As the objective it
    makes a leaf's output the weighted mean of its rows. Targets are at least 0.
    """

    name = "poisson"
    target = "number"
    in_floats = True
    scopes = (Scope.MODEL,)
    signatures = OF_TARGETS
    fewer_is_better = True

    def value(self, view: View, call: Apply) -> Fraction:
        assert isinstance(view, TreeView)
        return mean_loss(view, call, _half_deviance)

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> TargetLoss:
        return target_loss(rows, call, "poisson")


def _half_deviance(y: FloatArray, p: FloatArray) -> FloatArray:
    """y log(y / p) - y + p; the logarithm counts only where there is something."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(y > 0, np.log(np.where(y > 0, y, 1) / p), 0)
    found: FloatArray = y * logs - y + p
    return found
