"""`accuracy`: the share of right predictions."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Term
from odtdsl.problem.terms.shares import OF_ROWS, described, group_of, share


class Accuracy(Term):
    """Meaning: the weighted share of the rows whose prediction is their class.

    In Python: `accuracy("women") >= accuracy - 0.05`

    Core forms: Linear of the model.

    Related: of a group with one class, the group's recall.
    """

    name = "accuracy"
    place = 70
    also = ("accuracy_score",)
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    kind = Kind.SHARE
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weights of the group's rows where the output is their class, over those of all."""
        mask = rows.mask(group_of(call))
        output = np.zeros((rows.n_rows, rows.n_classes), dtype=np.int64)
        output[np.arange(rows.n_rows), rows.labels] = np.where(mask, rows.weights, 0)
        return share(rows, mask, output, described(call))
