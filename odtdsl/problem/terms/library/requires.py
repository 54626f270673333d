"""`requires`: a feature is tested only below another."""

from __future__ import annotations

from dataclasses import replace

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Order
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Term
from odtdsl.problem.terms.pair import PAIR, features_of


class Requires(Term):
    """Meaning: `b requires a`: each test of b on the path has a test of a strictly above
    it; a, b, a is allowed.

    In Python: `requires("bilirubin", "age")`

    Core forms: Order on a path: no split tests b without a above it.

    References: CPTree study, section 4.
    """

    name = "requires"
    place = 290
    also = ("prerequisite",)
    scopes = (Scope.PATH,)
    signatures = (replace(PAIR[0], names=("feature", "needed")),)
    kind = Kind.CONDITION
    form = "infix"
    hint = "write `forall path: b requires a`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """No test of the first feature has the second absent above it."""
        needing, needed = features_of(call)
        atom = Order(here=needing.index, above=needed.index, absent=True)
        return Holds(atom=atom, positive=False)
