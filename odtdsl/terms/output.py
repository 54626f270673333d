"""Leaf outputs: the name of a number target stands for the leaf's output of it."""

from __future__ import annotations

from fractions import Fraction

from odtdsl.ir.expr import Apply, Scope, TargetArg
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Formula, Measure, Param, Signature, Term, Unsupported
from odtdsl.terms.shares import argument
from odtdsl.terms.view import LeafView, View


class Output(Term):
    """Meaning: the leaf's output for a number target.

    Core forms: OutputSet, as a whole condition.

    References: OCDT study.
    """

    name = "output"
    target = "number"
    in_floats = True
    scopes = (Scope.LEAF,)
    signatures = (Signature(params=(Param.TARGET,)),)
    hint = "write `forall leaf: price >= 0` for the output of every leaf"

    def value(self, view: View, call: Apply) -> Fraction:
        target = argument(call, TargetArg)
        assert target is not None
        assert isinstance(view, LeafView)
        assert view.leaf.output is not None
        return Fraction(view.leaf.output[target.index])

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Measure | Formula:
        raise Unsupported("a leaf's output is not linear in rows: it goes into an OutputSet")
