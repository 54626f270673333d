"""The terms of choices: what they are worth, and how many rows get one."""

from __future__ import annotations

import numpy as np

from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term
from odtdsl.problem.terms.share_of import ShareOf
from odtdsl.problem.terms.shares import OF_ROWS, described, group_of, mean
from odtdsl.tasks.choice.problem import worths


class Reward(Term):
    """Meaning: the weighted sum over rows (of a group) of the reward of the choice that is made
    for the row.

    Rewards are the decimals of their cells, and sums are exact. Where they need more than 14
    digits, weight times reward is rounded to as many decimals as fit (D226).

    In Python: `reward("women") >= 100`

    Core forms: Linear of the model.

    Related: of scores of causal effects, the value of a policy.

    References: Athey and Wager 2021; Zhou, Athey and Wager 2023.
    """

    name = "reward"
    place = 92
    also = ("welfare", "policy value", "total reward", "outcome")
    target = "reward"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """The weight of each row times its reward for the output, in whole units."""
        numerators, denominator, _ = worths(rows)
        mask = rows.mask(group_of(call))
        return Additive(output=np.where(mask[:, None], numerators, 0), denominator=denominator)


class ExpectedReward(Term):
    """Meaning: `reward` over the weight of the rows.

    In Python: `gap(expected_reward, "sex") <= 0.5`

    Core forms: Linear of the model.
    """

    name = "expected_reward"
    place = 94
    also = ("mean reward", "average reward", "average outcome", "average policy value")
    target = "reward"
    scopes = (Scope.MODEL,)
    signatures = OF_ROWS
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """`reward` over the weight of the group's rows."""
        reward = Reward().translate(rows, scope, call)
        return mean(rows, rows.mask(group_of(call)), reward, described(call))


class Share(ShareOf):
    """Meaning: the weighted share of the rows (of a group) for which the choice is made: `rate`,
    under the name that budgets of treatments have.

    In Python: `share("drug_a") <= 0.3`

    Core forms: Linear of the model.
    """

    name = "share"
    place = 105
    also = ("treated share", "treatment rate", "budget", "capacity")
    target = "choice"

    def among(self, rows: Rows, call: Apply) -> BoolArray:
        """bool (n_rows,): the rows of the group."""
        return rows.mask(group_of(call))
