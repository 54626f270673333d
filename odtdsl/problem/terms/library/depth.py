"""`depth`: the length of the longest path."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import DepthMeasure
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term


class Depth(Term):
    """Meaning: the number of splits on the longest root-to-leaf path; 0 without a split.

    Core forms: Depth; alone in its stage of the objective.
    """

    name = "depth"
    place = 10
    also = ("height", "max_depth")
    scopes = (Scope.MODEL,)
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> DepthMeasure:
        """The depth of the model."""
        return DepthMeasure()
