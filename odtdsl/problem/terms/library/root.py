"""`root in {...}`: which features the root may test."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, FeatureArg, Scope
from odtdsl.problem.ir.forms import Root as RootAtom
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Param, Signature, Term


class Root(Term):
    """Meaning: `root in {a, b}`: the root tests one of the features, or the model has no
    split.

    In Python: `root.isin(["age", "sex"])`

    Core forms: Root.
    """

    name = "root"
    place = 230
    scopes = (Scope.MODEL,)
    signatures = (Signature(params=(Param.FEATURE,), repeat=True),)
    kind = Kind.COLUMN
    hint = "write `root in {age, sex}`, without `forall`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """An atom on the columns that the root may test."""
        columns = sorted({arg.index for arg in call.args if isinstance(arg, FeatureArg)})
        return Holds(atom=RootAtom(columns=tuple(columns)))
