"""The term of survival: its loss."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.shares import OF_ROWS, described, group_of, nonzero
from odtdsl.tasks.survival.problem import hazards


class SurvivalLoss(Term):
    """Meaning: the weighted mean over rows (of a group) of h r - d log(h r) - d: d is 1 where the
    event came and else 0, h the cumulative hazard of all training rows at the time of the row, and
    r the hazard ratio of its leaf.

    It is half the deviance of proportional hazards, and 0 for what says of each row exactly what
    came. As the objective it makes the ratio of a leaf its events over the sum of h, by weight;
    a leaf without events loses nothing, as its likelihood is greatest at a ratio of 0. h is the
    Nelson-Aalen estimate; before the first event it is 1 over the number of rows plus one.

    Core forms: a loss of number targets in the objective, or a bound on one (of a group only this).

    References: LeBlanc and Crowley 1992; Huisman, van der Linden and Demirovic 2024.
    """

    name = "survival_loss"
    place = 205
    also = ("log-likelihood", "exponential log-likelihood", "deviance", "negative log-likelihood")
    target = "survival"
    in_floats = True
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> TargetLoss:
        """Half the Poisson deviance of events under cumulative hazards as exposure."""
        group = group_of(call)
        mask = rows.mask(group)
        nonzero(rows, mask, described(call))
        return TargetLoss(
            kind="poisson",
            factors=(Fraction(1),),
            weights=rows.weights if group is None else np.where(mask, rows.weights, 0),
            everyone=None if group is None else rows.weights,
            exposure=hazards(rows),
        )
