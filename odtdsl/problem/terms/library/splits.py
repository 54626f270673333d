"""`splits`: how many branch nodes a model has."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term


class Splits(Term):
    """Meaning: the number of branch nodes.

    Core forms: Linear of the model (in a tree, `leaves` - 1).

    Related: parsimony.
    """

    name = "splits"
    place = 30
    also = ("internal nodes",)
    scopes = (Scope.MODEL,)
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """Leaves minus 1; of a diagram the number of its nodes."""
        if isinstance(rows.problem.skeleton, DiagramSkeleton):
            return Additive(splits=1)
        return Additive(leaves=1, constant=-1)
