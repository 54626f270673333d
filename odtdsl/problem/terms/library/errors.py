"""`errors`: the weight of wrong predictions."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Term
from odtdsl.problem.terms.shares import OF_ROWS, group_of, when_wrong


class Errors(Term):
    """Meaning: the weight of the rows whose prediction is not their class.

    Core forms: Linear of the model.
    """

    name = "errors"
    place = 50
    also = ("misclassifications", "misclassification", "misclassification count", "0-1 loss")
    expresses = (
        ("false negatives", 'group sick = y = "yes" rule few: errors(sick) <= 5'),
        ("FN", 'group sick = y = "yes" rule few: errors(sick) <= 5'),
        ("false positives", 'group well = y = "no" rule few: errors(well) <= 5'),
        ("FP", 'group well = y = "no" rule few: errors(well) <= 5'),
    )
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    kind = Kind.ROW_COUNT
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weights of the group's rows, where the output is not the row's class."""
        mask = rows.mask(group_of(call))
        return Additive(output=when_wrong(rows, mask), denominator=rows.weight_denominator)
