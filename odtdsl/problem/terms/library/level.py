"""`level`: how deep a split stands."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Measure, Term, Unsupported


class Level(Term):
    """Meaning: the number of splits above this one: 0 at the root; in a diagram, the layer.

    Core forms: SplitFilter.
    """

    name = "level"
    place = 380
    scopes = (Scope.SPLIT,)
    hint = "write `forall split: if level = 0 then feature in {age, sex}`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        """Always raises Unsupported: rules on levels become a `SplitFilter`."""
        raise Unsupported("a split's level goes into a SplitFilter")
