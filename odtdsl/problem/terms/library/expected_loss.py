"""`expected_loss`: the loss of a row on average."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.library.loss import Loss
from odtdsl.problem.terms.shares import OF_ROWS, described, group_of, mean


class ExpectedLoss(Term):
    """Meaning: `loss` over the weight of the rows.

    Core forms: Linear of the model.
    """

    name = "expected_loss"
    place = 90
    also = ("risk", "average misclassification cost")
    target = "loss"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """`loss` over the weight of the group's rows."""
        loss = Loss().translate(rows, scope, call)
        return mean(rows, rows.mask(group_of(call)), loss, described(call))
