"""The terms of choices."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term


class PickedReward(Term):
    """Meaning: the sum over rows of the reward of the choice that is made for them.

    Core forms: Linear of the model.
    """

    name = "picked_reward"
    place = 1000
    target = "pick"
    scopes = (Scope.MODEL,)
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        columns = [rows.data.columns[name].numbers for name in rows.problem.target.names]
        rewards = np.rint(np.column_stack([one for one in columns if one is not None]))
        weighed = rewards.astype(np.int64) * rows.weights[:, None]
        return Additive(output=weighed, denominator=rows.weight_denominator)
