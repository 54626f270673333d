"""`feature in {...}`: which features a split may test."""

from __future__ import annotations

from odtdsl.ir.expr import Apply, FeatureArg, Scope
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Formula, Kind, Measure, Param, Signature, Term, Unsupported
from odtdsl.terms.view import SplitView, View


class Feature(Term):
    """Meaning: `feature in {a, b}`: the split tests one of the features.

    Core forms: SplitFilter.
    """

    name = "feature"
    scopes = (Scope.SPLIT,)
    signatures = (Signature(params=(Param.FEATURE,), repeat=True),)
    kind = Kind.COLUMN
    hint = "write `forall split: feature in {age, sex}`"

    def value(self, view: View, call: Apply) -> bool:
        assert isinstance(view, SplitView)
        names = {a.name for a in call.args if isinstance(a, FeatureArg)}
        return names.issuperset(view.features)

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        raise Unsupported("a split's feature goes into a SplitFilter")
