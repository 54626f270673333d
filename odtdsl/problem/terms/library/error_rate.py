"""`error_rate`: the share of wrong predictions."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Term
from odtdsl.problem.terms.shares import OF_ROWS, described, group_of, share, when_wrong


class ErrorRate(Term):
    """Meaning: `errors` over the weight of the rows.

    Core forms: Linear of the model.
    """

    name = "error_rate"
    place = 60
    also = ("misclassification rate",)
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    kind = Kind.SHARE
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weights of the group's rows where the output is wrong, over those of all."""
        mask = rows.mask(group_of(call))
        return share(rows, mask, when_wrong(rows, mask), described(call))
