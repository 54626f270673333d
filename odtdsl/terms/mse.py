"""`mse`: the mean squared error of number targets."""

from __future__ import annotations

from fractions import Fraction

from odtdsl.ir.expr import Apply, Scope
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Formula, Measure, Term, Unsupported
from odtdsl.terms.regression import OF_TARGETS, mean_loss
from odtdsl.terms.view import ModelView, View


class Mse(Term):
    """Meaning: the weighted mean over rows, and over targets unless one is named, of the
    squared error.

    Core forms: none yet; number targets are refused by every back end with this reason.
    """

    name = "mse"
    target = "number"
    scopes = (Scope.MODEL,)
    signatures = OF_TARGETS
    fewer_is_better = True

    def value(self, view: View, call: Apply) -> Fraction:
        assert isinstance(view, ModelView)
        return mean_loss(view, call, lambda y, p: (y - p) ** 2)

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        raise Unsupported("no back end grows trees on number targets yet")
