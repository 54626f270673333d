"""`loss`: what wrong predictions cost, by the `loss` statements."""

from __future__ import annotations

from math import lcm

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive, check_overflow
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.shares import OF_ROWS, group_of


def _matrix(rows: Rows) -> tuple[list[list[int]], int]:
    """Losses as integers, `[actual][predicted]`, and their common denominator."""
    losses = rows.problem.losses
    common = lcm(*(amount.denominator for row in losses for amount in row))
    return [[int(amount * common) for amount in row] for row in losses], common


class Loss(Term):
    """Meaning: the weighted sum over rows of `losses[class of the row][its prediction]`.

    Errors that no `loss` statement names cost 1, correct predictions 0.

    Core forms: Linear of the model.
    """

    name = "loss"
    place = 80
    also = ("misclassification cost", "cost-sensitive loss")
    target = "class"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weight of each row times the loss of its class and the output, in whole units."""
        matrix, common = _matrix(rows)
        mask = rows.mask(group_of(call))
        weights = np.where(mask, rows.weights, 0)
        largest = max(amount for row in matrix for amount in row)
        check_overflow(weights, largest * len(matrix))
        output = np.asarray(matrix, dtype=np.int64)[rows.labels] * weights[:, None]
        return Additive(output=output, denominator=rows.weight_denominator * common)
