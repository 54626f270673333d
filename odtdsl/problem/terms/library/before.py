"""`before`: a feature is tested before another."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Order
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Holds, Kind, Term
from odtdsl.problem.terms.pair import PAIR, features_of


class Before(Term):
    """Meaning: `a before b`: on the path each test of a is strictly above each test of
    b. A path with only one of them is allowed; a, b, a is not.

    In Python: `before("age", "chol")`

    Core forms: Order on a path: no split tests a with b above it.

    References: CPTree study, section 4.
    """

    name = "before"
    place = 280
    also = ("precedence", "ordering", "order")
    scopes = (Scope.PATH,)
    signatures = PAIR
    kind = Kind.CONDITION
    form = "infix"
    hint = "write `forall path: a before b`"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Formula:
        """No test of the first feature has one of the second above it."""
        first, second = features_of(call)
        return Holds(atom=Order(here=first.index, above=second.index), positive=False)
