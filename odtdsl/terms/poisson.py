"""`poisson`: half the mean Poisson deviance of number targets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.ir.expr import Apply, Scope
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Formula, Measure, Term, Unsupported
from odtdsl.terms.regression import OF_TARGETS, mean_loss
from odtdsl.terms.view import TreeView, View


class Poisson(Term):
    """Meaning: the weighted mean over rows, and over targets unless one is named, of
    y log(y / p) - y + p, which is half the Poisson deviance.

    Core forms: none yet; it is refused with this reason.
    """

    name = "poisson"
    target = "number"
    in_floats = True
    scopes = (Scope.MODEL,)
    signatures = OF_TARGETS
    fewer_is_better = True

    def value(self, view: View, call: Apply) -> Fraction:
        assert isinstance(view, TreeView)
        return mean_loss(
            view,
            call,
            lambda y, p: np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / p), 0) - y + p,
        )

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        raise Unsupported(
            "no back end minimizes the Poisson deviance yet; there are `mse` and `mae`"
        )
