"""`feature in {...}`: which features a split may test."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Kind, Measure, Param, Signature, Term, Unsupported


class Feature(Term):
    """Meaning: `feature in {a, b}`: the split tests one of the features.

    In Python: `feature.isin(["age", "sex"]) | (level > 0)`

    Core forms: SplitFilter.
    """

    name = "feature"
    place = 370
    scopes = (Scope.SPLIT,)
    signatures = (Signature(params=(Param.FEATURE,), repeat=True),)
    kind = Kind.COLUMN
    hint = "write `forall split: feature in {age, sex}`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        """Always raises Unsupported: rules on features of splits become a `SplitFilter`."""
        raise Unsupported("a split's feature goes into a SplitFilter")
