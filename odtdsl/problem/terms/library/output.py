"""Leaf outputs: the name of a number target stands for the leaf's output of it."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Formula, Measure, Param, Signature, Term, Unsupported


class Output(Term):
    """Meaning: the leaf's output for a number target.

    In Python: `if_then(output("reading") < 50, output("writing") == 0)`

    Core forms: OutputSet, as a whole condition.

    References: OCDT study.
    """

    name = "output"
    place = 350
    target = "number"
    in_floats = True
    form = "target"
    scopes = (Scope.LEAF,)
    signatures = (Signature(params=(Param.TARGET,)),)
    hint = "write `forall leaf: price >= 0` for the output of every leaf"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        """Always raises Unsupported: rules on outputs become an `OutputSet`."""
        raise Unsupported("a leaf's output is not linear in rows: it goes into an OutputSet")
