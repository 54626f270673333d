"""`nodes`: how many nodes a model has."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.library.leaves import Leaves
from odtdsl.problem.terms.library.splits import Splits


class Nodes(Term):
    """Meaning: `splits` + `leaves`.

    Core forms: Linear of the model (in a tree, 2 `leaves` - 1).
    """

    name = "nodes"
    place = 40
    scopes = (Scope.MODEL,)
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """Splits plus leaves."""
        return Splits().translate(rows, scope, call) + Leaves().translate(rows, scope, call)
