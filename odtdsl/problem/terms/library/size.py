"""`size`: how many rows a leaf or a split holds."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Term
from odtdsl.problem.terms.shares import OF_ROWS, group_of


class Size(Term):
    """Meaning: the number of training rows (of a group) in the leaf, or that reach the
    split, unweighted.

    In Python: `size("women") >= 5`

    Core forms: Linear of a leaf; Linear of a split.
    """

    name = "size"
    place = 320
    also = ("min_samples_leaf", "min_samples_split", "samples", "n_samples", "support", "stability")
    on_diagrams = False
    scopes = (Scope.LEAF, Scope.SPLIT)
    signatures = OF_ROWS
    kind = Kind.ROW_COUNT
    hint = "write `forall leaf: size >= 5`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """Each row of the group counts 1."""
        return Additive(rows=rows.mask(group_of(call)).astype(np.int64))
