"""`balanced_accuracy`: the mean of the recalls of all classes."""

from __future__ import annotations

from fractions import Fraction

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import EmptyDenominator, Kind, Term
from odtdsl.problem.terms.shares import OF_ROWS, described, group_of, share, when_predicted


class BalancedAccuracy(Term):
    """Meaning: the mean, over the classes that the rows (of a group) belong to, of the weighted
    share of their rows that are predicted as them: each class counts alike, however rare it is.

    In Python: `balanced_accuracy >= 0.8`

    Core forms: Linear of the model.

    Related: the mean of `recall` over the classes.

    References: Brodersen, Ong, Stephan, Buhmann 2010.
    """

    name = "balanced_accuracy"
    place = 72
    also = ("macro recall", "average recall", "balanced_accuracy_score")
    expresses = (
        ("balanced error rate", "1 - balanced_accuracy"),
        ("informedness", "2 * balanced_accuracy - 1"),
        ("Youden's J", "2 * balanced_accuracy - 1"),
    )
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    kind = Kind.SHARE
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The sum of the classes' recalls over the number of classes."""
        mask = rows.mask(group_of(call))
        classes = [mask & (rows.labels == label) for label in range(rows.n_classes)]
        present = [label for label, own in enumerate(classes) if rows.total_weight(own)]
        if not present:
            raise EmptyDenominator(f"{described(call)} is a share of no training row")
        total = Additive()
        for label in present:
            right = when_predicted(rows, classes[label], label)
            total += share(rows, classes[label], right, described(call))
        return total.scaled(Fraction(1, len(present)))
