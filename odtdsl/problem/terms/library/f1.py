"""`f1`: the harmonic mean of a class's precision and recall."""

from __future__ import annotations

from fractions import Fraction

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Quotient, Term
from odtdsl.problem.terms.shares import OF_CLASS, group_of, label_of, when_predicted


class F1(Term):
    """Meaning: 2 TP / (2 TP + FP + FN) of a class, by weight, over all rows or those of a
    group: the harmonic mean of `precision` and `recall`. Can be compared only with a constant b,
    as 2 TP >= b * (predicted + belonging), which holds if no row is predicted as the class or
    belongs to it (the audit says "vacuous"). It can be maximized, alone in its stage; of nothing
    it is then 0.

    In Python: `f1("yes") >= 0.7`

    Core forms: Linear of the model; as an objective, a quotient made large by linear ones.

    References: van Rijsbergen 1979; Dinkelbach 1967.
    """

    name = "f1"
    place = 122
    also = ("F-score", "F-measure", "f1_score", "Dice coefficient")
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_CLASS
    kind = Kind.SHARE
    is_quotient = True
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Quotient:
        """Twice the weight predicted rightly as the class, over all predicted so and all of it."""
        label, mask = label_of(call), rows.mask(group_of(call))
        own = mask & (rows.labels == label)
        right = Additive(output=when_predicted(rows, own, label))
        predicted = Additive(output=when_predicted(rows, mask, label))
        return Quotient(
            over=right.scaled(Fraction(2)),
            under=predicted + Additive(constant=rows.total_weight(own)),
        )
