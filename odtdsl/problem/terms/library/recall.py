"""`recall`: the share of the rows of a class that get it."""

from __future__ import annotations

from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.share_of import ShareOf
from odtdsl.problem.terms.shares import group_of, label_of


class Recall(ShareOf):
    """Meaning: the weighted share, among the rows of the class (in a group), of those
    predicted as the class.

    Core forms: Linear of the model.

    Related: equal recalls are equal opportunity.

    References: Hardt, Price, Srebro 2016.
    """

    name = "recall"
    place = 110
    also = ("sensitivity", "true positive rate", "TPR", "hit rate", "recall_score")
    expresses = (
        ("false negative rate", '1 - recall("yes")'),
        ("FNR", '1 - recall("yes")'),
    )
    target = "class"
    fewer_is_better = False

    def among(self, rows: Rows, call: Apply) -> BoolArray:
        """bool (n_rows,): the rows of the group that belong to the class."""
        mask: BoolArray = rows.mask(group_of(call)) & (rows.labels == label_of(call))
        return mask
