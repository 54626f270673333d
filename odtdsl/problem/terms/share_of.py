"""The share, among some rows, of those that get a class: base of `rate` and its kin."""

from __future__ import annotations

from abc import abstractmethod

from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply, LabelArg, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind, Term
from odtdsl.problem.terms.shares import (
    OF_CLASS,
    argument,
    described,
    label_of,
    share,
    when_predicted,
)


class ShareOf(Term):
    """The weighted share, among some rows, of those predicted as a class."""

    scopes = (Scope.MODEL,)
    signatures = OF_CLASS
    kind = Kind.SHARE

    @abstractmethod
    def among(self, rows: Rows, call: Apply) -> BoolArray:
        """bool (n_rows,): the rows that the share is of."""

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weight of the rows of `among` predicted as the class, over the weight of `among`.

        Raises EmptyDenominator if `among` weighs nothing.
        """
        mask = self.among(rows, call)
        label = argument(call, LabelArg)
        of = described(call, "" if label is None else label.text)
        return share(rows, mask, when_predicted(rows, mask, label_of(call)), of)
