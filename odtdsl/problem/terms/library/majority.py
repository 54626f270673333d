"""`majority`: whether a leaf has the label of most of its rows."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive, Linear
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import AllOf, Formula, Holds, Kind, Term


class Majority(Term):
    """Meaning: no class has more weight among the leaf's rows than the leaf's label.

    Core forms: Linear of a leaf, one per class.

    References: CPTree study, equation 18.
    """

    name = "majority"
    place = 340
    also = ("plurality label",)
    target = "class"
    on_diagrams = False
    scopes = (Scope.LEAF,)
    kind = Kind.CONDITION
    hint = "write `forall leaf: majority`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """For every class a linear bound: its weight in the leaf is at most that of the label."""

        def beats(label: int) -> Formula:
            output = np.zeros((rows.n_rows, rows.n_classes), dtype=np.int64)
            output[np.arange(rows.n_rows), rows.labels] = -rows.weights
            output += np.where(rows.labels == label, rows.weights, 0)[:, None]
            return Holds(atom=Linear(measure=Additive(output=output), at_most=0))

        return AllOf(items=tuple(beats(label) for label in range(rows.n_classes)))
