"""`threshold`: where a feature is split."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Kind, Measure, Param, Signature, Term, Unsupported


class Threshold(Term):
    """Meaning: the threshold t of a split `f <= t`. A rule with `threshold(f)` ranges over
    the splits that test f. A split is allowed if some t between its neighbouring values
    u <= t < v satisfies all rules on thresholds; the shortest such decimal is chosen.

    In Python: `threshold("age").between(20, 80) & threshold("age").multiple_of(5)`

    Core forms: SplitFilter.

    References: CPTree study, section 4 (feature bounds).
    """

    name = "threshold"
    place = 360
    scopes = (Scope.SPLIT,)
    signatures = (Signature(params=(Param.FEATURE,)),)
    kind = Kind.THRESHOLD
    hint = "write `forall split: threshold(age) in [20, 80]`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        """Always raises Unsupported: comparisons with constants become a `SplitFilter`."""
        raise Unsupported("a threshold can be compared only with constants")
