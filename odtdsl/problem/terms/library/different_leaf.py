"""`different_leaf`: whether two training rows are kept apart."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, RowArg, Scope
from odtdsl.problem.ir.forms import Link
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Param, Signature, Term


class DifferentLeaf(Term):
    """Meaning: the two training rows end in different leaves.

    Core forms: Link.
    """

    name = "different_leaf"
    place = 250
    also = ("cannot-link",)
    on_diagrams = False
    scopes = (Scope.MODEL,)
    signatures = (Signature(params=(Param.ROW, Param.ROW), names=("first", "second")),)
    kind = Kind.CONDITION

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """The negation of a `Link` of the two rows."""
        first, second = (arg.index for arg in call.args if isinstance(arg, RowArg))
        return Holds(atom=Link(first=first, second=second), positive=False)
