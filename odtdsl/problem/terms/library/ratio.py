"""`ratio`: the smallest over the largest of a measure over groups."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Smallest
from odtdsl.problem.terms.over_groups import OverGroups


class RatioOver(OverGroups):
    """Meaning: the smallest over the largest value of the measure over the groups, or over
    the values of a column; 1 where the largest is 0.

    In Python: `ratio(recall("yes"), "aa", "cc") >= 0.8`

    Core forms: Linear of the model, one for every ordered pair of groups.

    References: fairlearn.metrics; EEOC Uniform Guidelines 1978.
    """

    name = "ratio"
    place = 160
    expresses = (
        ("demographic parity ratio", 'ratio(rate("yes"), sex) >= 80%'),
        ("disparate impact", 'ratio(rate("yes"), sex) >= 80%'),
        ("four-fifths rule", 'ratio(rate("yes"), sex) >= 80%'),
    )
    is_quotient = True
    fewer_is_better = False

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Smallest:
        """The smallest over the largest of the groups' measures."""
        return Smallest(of=tuple(self._measures(rows, scope, call)))
