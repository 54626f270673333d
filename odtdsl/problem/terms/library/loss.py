"""`loss`: what wrong predictions cost, by the `loss` statements."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.shares import OF_ROWS, group_of


class Loss(Term):
    """Meaning: the weighted sum over rows of `losses[class of the row][its prediction]`.

    Errors that no `loss` statement names cost 1, correct predictions 0.

    Core forms: Linear of the model.
    """

    name = "loss"
    place = 80
    also = ("misclassification cost", "cost-sensitive loss")
    target = "loss"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weight of each row times the loss of its class and the output, in whole units."""
        numerators, denominator = ProblemPart.of(rows.problem.target.kind).losses(rows)
        mask = rows.mask(group_of(call))
        return Additive(output=np.where(mask[:, None], numerators, 0), denominator=denominator)
