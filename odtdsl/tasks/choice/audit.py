"""The audit of choices: rewards and losses, from the cells as they were read."""

from __future__ import annotations

import math
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np

from odtdsl.auditor.meanings import NO_ROW, means, rate, whole
from odtdsl.auditor.routing import ModelOn
from odtdsl.auditor.rows import AuditRows, NoValue
from odtdsl.auditor.targets import AuditPart
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.predictors.nodes import Leaf
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.problem import TargetDecl

DIGITS = 14
"""Beyond so many, what rows are worth in sum is rounded on training rows."""

_KNOWN: WeakKeyDictionary[AuditRows, list[list[Fraction]]] = WeakKeyDictionary()


@means("reward", over=whole)
def reward(model: ModelOn, call: Apply) -> Fraction:
    """The sum over the rows of the group of weight times the reward of the choice made."""
    return _made(model, whole(model, call))


@means("expected_reward", over=whole)
def expected_reward(model: ModelOn, call: Apply) -> Fraction:
    """`reward` over the weight of the group's rows; `NoValue` without any."""
    weight = model.rows.weight(whole(model, call))
    if not weight:
        raise NoValue(NO_ROW)
    return reward(model, call) / weight


@means("share", over=whole)
def share(model: ModelOn, call: Apply) -> Fraction:
    """The share, by weight, of the group's rows for which the choice is made."""
    return rate(model, call)


def _made(model: ModelOn, inside: BoolArray) -> Fraction:
    """What the choices made for some rows are worth."""
    worth, made = _worth(model.rows), model.predicted.tolist()
    each = [worth[row][made[row]] for row in np.flatnonzero(inside).tolist()]
    under = math.lcm(*{one.denominator for one in each})
    return Fraction(sum(one.numerator * (under // one.denominator) for one in each), under)


def _worth(rows: AuditRows) -> list[list[Fraction]]:
    """Weight times cell by row and choice; on training rows rounded where digits are too many.

    They are where the largest of each row, over their common denominator, sum beyond 14 digits.
    The decimals are as many as keep that sum within, and a half goes to the even digit.
    """
    if rows in _KNOWN:
        return _KNOWN[rows]
    weights = [Fraction(int(unit), rows.denominator) for unit in rows.units]
    written = {cell: Fraction(repr(cell)) for cell in np.unique(rows.truth).tolist()}
    worth = [
        [weight * written[cell] for cell in cells]
        for weight, cells in zip(weights, rows.truth.tolist(), strict=True)
    ]
    if rows.training and worth:
        total = sum((max(map(abs, row)) for row in worth), Fraction(0))
        under = math.lcm(*{one.denominator for row in worth for one in row})
        if total * under > 10**DIGITS:
            places = 0
            while total * 10 ** (places + 1) <= 10**DIGITS:
                places += 1
            worth = [[round(one, places) for one in row] for row in worth]
    _KNOWN[rows] = worth
    return worth


class ChoiceAudit(AuditPart):
    """A choice is worth what its cell says."""

    def lost(self, model: ModelOn, inside: BoolArray) -> Fraction:
        """The sum of weight times the loss of the choice made."""
        return _made(model, inside)

    def truth(self, rows: AuditRows) -> IntArray | FloatArray:
        """The best choice of each row, the first of equal ones."""
        cells = rows.truth if rows.problem.target.by == "reward" else -rows.truth
        best: IntArray = np.argmax(cells, axis=1).astype(np.int64)
        return best

    def in_order(self, below: Leaf, above: Leaf, target: TargetDecl) -> bool:
        """Choices have no order, so no rule asks."""
        raise AssertionError("analysis refuses directions of choices (T228)")


PART = ChoiceAudit()
