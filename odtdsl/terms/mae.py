"""`mae`: the mean absolute error of number targets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.ir.expr import Apply, Scope
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Formula, Measure, Term, Unsupported
from odtdsl.terms.regression import OF_TARGETS, mean_loss
from odtdsl.terms.view import ModelView, View


class Mae(Term):
    """Meaning: the weighted mean over rows, and over targets unless one is named, of the
    absolute error.

    Core forms: none yet; number targets are refused by every back end with this reason.
    """

    name = "mae"
    target = "number"
    scopes = (Scope.MODEL,)
    signatures = OF_TARGETS
    fewer_is_better = True

    def value(self, view: View, call: Apply) -> Fraction:
        assert isinstance(view, ModelView)
        return mean_loss(view, call, lambda y, p: np.abs(y - p))

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        raise Unsupported("no back end grows trees on number targets yet")
