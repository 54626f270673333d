"""`false_positive_rate`: the share of the rows of other classes that get a class."""

from __future__ import annotations

from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.share_of import ShareOf
from odtdsl.problem.terms.shares import group_of, label_of


class FalsePositiveRate(ShareOf):
    """Meaning: the weighted share, among the rows of other classes (in a group), of those
    predicted as the class.

    Core forms: Linear of the model.

    Related: equal false positive rates are predictive equality, together with equal recalls
    equalized odds.

    References: Hardt, Price, Srebro 2016; Corbett-Davies et al. 2017.
    """

    name = "false_positive_rate"
    place = 130
    also: tuple[str, ...] = ("fall-out", "FPR")
    target = "class"
    fewer_is_better = True

    def among(self, rows: Rows, call: Apply) -> BoolArray:
        """bool (n_rows,): the rows of the group that do not belong to the class."""
        mask: BoolArray = rows.mask(group_of(call)) & (rows.labels != label_of(call))
        return mask
