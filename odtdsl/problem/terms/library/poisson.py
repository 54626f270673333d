"""`poisson`: half the mean Poisson deviance of number targets."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.regression import OF_TARGETS, target_loss


class Poisson(Term):
    """Meaning: the weighted mean over rows, and over targets unless one is named, of
    y log(y / p) - y + p, which is half the Poisson deviance; also of a group.

    Core forms: a loss of number targets in the objective, or a bound on one (of a
    group only this). As the objective it
    makes a leaf's output the weighted mean of its rows. Targets are at least 0.
    """

    name = "poisson"
    place = 200
    target = "number"
    in_floats = True
    scopes = (Scope.MODEL,)
    signatures = OF_TARGETS
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> TargetLoss:
        """The mean half Poisson deviance of one target or all, by weight."""
        return target_loss(rows, call, "poisson")
