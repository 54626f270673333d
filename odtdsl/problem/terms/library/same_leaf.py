"""`same_leaf`: whether two training rows share a leaf."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, RowArg, Scope
from odtdsl.problem.ir.forms import Link
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Param, Signature, Term


class SameLeaf(Term):
    """Meaning: the two training rows end in the same leaf.

    In Python: `same_leaf(3, 17)`

    Core forms: Link.
    """

    name = "same_leaf"
    place = 240
    also = ("must-link",)
    on_diagrams = False
    scopes = (Scope.MODEL,)
    signatures = (Signature(params=(Param.ROW, Param.ROW), names=("first", "second")),)
    kind = Kind.CONDITION

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """A `Link` of the two rows."""
        first, second = (arg.index for arg in call.args if isinstance(arg, RowArg))
        return Holds(atom=Link(first=first, second=second))
