"""`gap`: the largest difference of a measure over groups."""

from __future__ import annotations

from fractions import Fraction

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Largest
from odtdsl.problem.terms.over_groups import OverGroups
from odtdsl.problem.terms.regression import sum_of


class Gap(OverGroups):
    """Meaning: the largest minus the smallest value of the measure over the groups, or over
    the values of a column.

    In Python: `gap(rate("yes"), "race") <= 0.05`

    Core forms: Linear of the model, one for every ordered pair of groups.

    Related: of `rate` the demographic parity difference, of `recall` the equal opportunity
    difference.

    References: fairlearn.metrics.
    """

    name = "gap"
    place = 150
    also = ("difference",)
    expresses = (
        ("demographic parity", 'gap(rate("yes"), sex) <= 5%'),
        ("statistical parity", 'gap(rate("yes"), sex) <= 5%'),
        ("group fairness", 'gap(rate("yes"), sex) <= 5%'),
        ("equal opportunity", 'gap(recall("yes"), sex) <= 5%'),
        ("predictive equality", 'gap(false_positive_rate("yes"), sex) <= 5%'),
        ("accuracy parity", "gap(accuracy, sex) <= 5%"),
    )
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Largest:
        """The largest of all differences of two groups' measures."""
        losses = self._losses(rows, scope, call)
        minus = Fraction(-1)
        if losses is not None:
            apart = [sum_of((a, b.scaled(minus))) for a in losses for b in losses if a is not b]
            return Largest(of=tuple(loss for loss in apart if loss is not None))
        each = self._measures(rows, scope, call)
        pairs = [
            a + b.scaled(minus) for i, a in enumerate(each) for j, b in enumerate(each) if i != j
        ]
        return Largest(of=tuple(pairs) or (Additive(),))
