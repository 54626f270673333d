"""`negative_predictive_value`: how often it is right not to predict a class."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Quotient, Term
from odtdsl.problem.terms.shares import OF_CLASS, group_of, label_of, when_not_predicted


class NegativePredictiveValue(Term):
    """Meaning: the weighted share, among the rows (of a group) not predicted as the class, of
    those that do not belong to it. Can be compared only with a constant b, as TN >= b * not
    predicted, which holds if every row is predicted as the class (the audit says "vacuous").

    In Python: `negative_predictive_value("yes") >= 0.9`

    Core forms: Linear of the model.

    Related: of two classes, the precision of the other.
    """

    name = "negative_predictive_value"
    place = 125
    also = ("NPV",)
    expresses = (("false omission rate", '1 - negative_predictive_value("yes")'),)
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_CLASS
    kind = Kind.SHARE
    is_quotient = True
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Quotient:
        """The weight rightly not predicted as the class, over all weight not predicted as it."""
        label, mask = label_of(call), rows.mask(group_of(call))
        right = mask & (rows.labels != label)
        return Quotient(
            over=Additive(output=when_not_predicted(rows, right, label)),
            under=Additive(output=when_not_predicted(rows, mask, label)),
        )
