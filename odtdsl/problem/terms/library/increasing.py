"""`increasing`: predictions do not fall as a feature grows."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, FeatureArg, Scope
from odtdsl.problem.ir.forms import Monotone
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Param, Signature, Term
from odtdsl.problem.terms.monotone import rises_with_index
from odtdsl.problem.terms.shares import argument


class Increasing(Term):
    """Meaning: for any two points of the feature space that differ only in f, the prediction does
    not fall as f grows. The classes need an order; with two, `positive` is the higher. Of several
    numbers none falls; of survival the hazard does not.

    Core forms: Monotone.

    Related: a monotonicity constraint.
    """

    name = "increasing"
    place = 260
    also = ("monotonic", "monotone")
    on_diagrams = False
    scopes = (Scope.MODEL,)
    signatures = (Signature(params=(Param.FEATURE,)),)
    kind = Kind.CONDITION

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """A `Monotone` atom, turned where class indices fall as the order of classes rises."""
        feature = argument(call, FeatureArg)
        assert feature is not None
        upwards = rises_with_index(rows.problem.target)
        return Holds(atom=Monotone(column=feature.index, increasing=upwards))
