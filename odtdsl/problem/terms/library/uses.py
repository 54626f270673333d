"""`uses`: whether a feature is tested, on a path or anywhere in the model."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, FeatureArg, Scope
from odtdsl.problem.ir.forms import Used
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Param, Signature, Term
from odtdsl.problem.terms.shares import argument


class Uses(Term):
    """Meaning: some split of the path (of the model) tests the feature, with any threshold.

    In Python: `~(uses("thal") & uses("math score"))`

    Core forms: Used.

    References: CPTree study, section 4.
    """

    name = "uses"
    place = 210
    also = ("inclusion", "must use")
    expresses = (("exclusion", "not (uses(age) and uses(sex))"),)
    scopes = (Scope.MODEL, Scope.PATH)
    signatures = (Signature(params=(Param.FEATURE,)),)
    kind = Kind.CONDITION

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """A `Used` atom of the feature's column."""
        feature = argument(call, FeatureArg)
        assert feature is not None
        return Holds(atom=Used(column=feature.index))
