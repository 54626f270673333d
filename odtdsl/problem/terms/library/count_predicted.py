"""`count_predicted`: how many rows get a class."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Term
from odtdsl.problem.terms.shares import OF_CLASS, group_of, label_of


class CountPredicted(Term):
    """Meaning: the number of rows (of a group) that are predicted as the class, unweighted.

    Core forms: Linear of the model.
    """

    name = "count_predicted"
    place = 140
    target = "label"
    scopes = (Scope.MODEL,)
    signatures = OF_CLASS
    kind = Kind.ROW_COUNT

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """Each row of the group counts 1 where the output is the class."""
        output = np.zeros((rows.n_rows, rows.n_classes), dtype=np.int64)
        output[:, label_of(call)] = rows.mask(group_of(call))
        return Additive(output=output)
