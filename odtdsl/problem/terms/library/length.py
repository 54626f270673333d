"""`length`: the number of splits on a path."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import PathMeasure
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term


class Length(Term):
    """Meaning: the number of splits on the path.

    Core forms: Budget on a path.
    """

    name = "length"
    place = 310
    scopes = (Scope.PATH,)
    hint = "write `forall path: length <= 3`, or `depth` for the longest path"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> PathMeasure:
        """1 per test of a path; 1 per split where splits are hyperplanes."""
        n = len(rows.problem.features)
        if rows.problem.skeleton.splits == "hyperplane":
            return PathMeasure(per_test=(0,) * n, once=(0,) * n, per_split=1)
        return PathMeasure(per_test=(1,) * n, once=(0,) * n)
