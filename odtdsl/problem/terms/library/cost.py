"""`cost`: what the tests of a path cost."""

from __future__ import annotations

from math import lcm

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import PathMeasure, Shared
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term


class Cost(Term):
    """Meaning: the cost of the features tested on the path. Each feature counts once, however
    often it is tested; each shared cost counts once if any feature of its set is tested.

    Core forms: Budget on a path.

    Related: a shared amount is a group discount.

    References: Turney 1995; CPTree study, section 4 (there charged per test).
    """

    name = "cost"
    place = 300
    also = ("test cost", "measurement cost")
    scopes = (Scope.PATH,)
    hint = "write `forall path: cost <= 150`, or `expected_cost` for the average over rows"

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> PathMeasure:
        """Each feature's price once per path, and shared prices once per set, in whole units."""
        costs = rows.problem.costs
        common = lcm(
            *(price.denominator for price in costs.features),
            *(shared.amount.denominator for shared in costs.shared),
        )
        return PathMeasure(
            per_test=(0,) * len(costs.features),
            once=tuple(int(price * common) for price in costs.features),
            shared=tuple(
                Shared(columns=shared.features, amount=int(shared.amount * common))
                for shared in costs.shared
            ),
            denominator=common,
        )
