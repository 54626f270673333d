"""`purity`: how much of a leaf has the leaf's label."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Quotient, Term


class Purity(Term):
    """Meaning: the weighted share of the leaf's rows that have the leaf's label. Can be
    compared only with a constant b, as right >= b * all.

    Core forms: Linear of a leaf.
    """

    name = "purity"
    place = 330
    also = ("leaf accuracy", "confidence")
    target = "class"
    on_diagrams = False
    scopes = (Scope.LEAF,)
    kind = Kind.SHARE
    is_quotient = True
    hint = "write `forall leaf: purity >= 80%`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Quotient:
        """The weight of the label's rows in the leaf, over the weight of the leaf."""
        output = np.zeros((rows.n_rows, rows.n_classes), dtype=np.int64)
        output[np.arange(rows.n_rows), rows.labels] = rows.weights
        return Quotient(over=Additive(output=output), under=Additive(rows=rows.weights))
