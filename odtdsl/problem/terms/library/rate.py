"""`rate`: the share of rows that get a class."""

from __future__ import annotations

from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.share_of import ShareOf
from odtdsl.problem.terms.shares import group_of


class Rate(ShareOf):
    """Meaning: the weighted share of the rows (of a group) that are predicted as the class.

    In Python: `rate("yes", "women") >= 0.8 * rate("yes")`

    Core forms: Linear of the model.

    Related: equal rates are demographic (statistical) parity, a ratio of at least 80% the
    four-fifths rule.

    References: Dwork et al. 2012; EEOC Uniform Guidelines 1978.
    """

    name = "rate"
    place = 100
    also = ("selection rate",)
    target = "label"

    def among(self, rows: Rows, call: Apply) -> BoolArray:
        """bool (n_rows,): the rows of the group."""
        return rows.mask(group_of(call))
