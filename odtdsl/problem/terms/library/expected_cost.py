"""`expected_cost`: what the tests cost for a row on average."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import PathSum
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.library.cost import Cost
from odtdsl.problem.terms.shares import described, nonzero


class ExpectedCost(Term):
    """Meaning: the weighted mean over rows of the `cost` of the row's path.

    Core forms: expected cost (a sum over rows of a path measure).

    References: Turney 1995.
    """

    name = "expected_cost"
    place = 170
    scopes = (Scope.MODEL,)
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> PathSum:
        """The sum of weight times path cost, over the weight of all rows."""
        total = nonzero(rows, rows.mask(None), described(call))
        measure = Cost().translate(rows, Scope.PATH, call)
        return PathSum(weights=rows.weights, measure=measure, denominator=total)
