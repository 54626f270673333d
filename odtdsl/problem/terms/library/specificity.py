"""`specificity`: the share of the rows of other classes that do not get a class."""

from __future__ import annotations

from fractions import Fraction

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.library.false_positive_rate import FalsePositiveRate


class Specificity(FalsePositiveRate):
    """Meaning: the weighted share, among the rows of other classes (in a group), of those
    not predicted as the class: 1 - `false_positive_rate`.

    In Python: `specificity("yes") >= 0.9`

    Core forms: Linear of the model.

    Related: of two classes, the recall of the other.

    References: Yerushalmy 1947.
    """

    name = "specificity"
    place = 135
    also = ("true negative rate", "TNR", "selectivity")
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """1 minus the share of other classes' rows predicted as the class."""
        predicted_so = super().translate(rows, scope, call)
        return Additive(constant=1) + predicted_so.scaled(Fraction(-1))
