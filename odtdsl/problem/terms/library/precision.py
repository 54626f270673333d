"""`precision`: how often a predicted class is right."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Quotient, Term
from odtdsl.problem.terms.shares import OF_CLASS, group_of, label_of, when_predicted


class Precision(Term):
    """Meaning: the weighted share, among the rows (of a group) predicted as the class, of
    those that belong to it. Can be compared only with a constant b, as TP >= b * predicted,
    which holds if no row is predicted as the class (the audit says "vacuous"). It can be
    maximized, alone in its stage; of no predicted row it is then 0.

    Core forms: Linear of the model; as an objective, a quotient made large by linear ones.

    Related: equal precisions are predictive parity.
    """

    name = "precision"
    place = 120
    also = ("positive predictive value", "PPV", "precision_score")
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_CLASS
    kind = Kind.SHARE
    is_quotient = True
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Quotient:
        """The weight predicted rightly as the class, over all weight predicted as the class."""
        label, mask = label_of(call), rows.mask(group_of(call))
        right = mask & (rows.labels == label)
        return Quotient(
            over=Additive(output=when_predicted(rows, right, label)),
            under=Additive(output=when_predicted(rows, mask, label)),
        )
