"""`mae`: the mean absolute error of number targets."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.regression import OF_TARGETS, target_loss


class Mae(Term):
    """Meaning: the weighted mean over rows, and over targets unless one is named, of the
    absolute error; also of a group.

    Core forms: a loss of number targets in the objective, or a bound on one (of a
    group only this). As the objective, it
    makes a leaf's output the weighted median of its rows.
    """

    name = "mae"
    place = 190
    also = ("absolute error", "mean absolute error")
    target = "number"
    in_floats = True
    scopes = (Scope.MODEL,)
    signatures = OF_TARGETS
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> TargetLoss:
        """The mean absolute error of one target or all, by weight."""
        return target_loss(rows, call, "absolute")
