"""The audit of classes: what is predicted wrongly, and which class is higher."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.auditor.meanings import misclassified
from odtdsl.auditor.routing import DiagramOn, ModelOn, TreeOn
from odtdsl.auditor.rows import AuditRows
from odtdsl.auditor.targets import AuditPart
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.predictors.nodes import Leaf
from odtdsl.problem.ir.problem import TargetDecl


class ClassAudit(AuditPart):
    """A prediction is right or wrong."""

    def errors(self, model: TreeOn | DiagramOn) -> Fraction | None:
        """The weight of the rows whose class is another than predicted."""
        return model.rows.weight(misclassified(model))

    def lost(self, model: ModelOn, inside: BoolArray) -> Fraction:
        """The sum of weight times loss[actual class][predicted class]."""
        rows, losses = np.flatnonzero(inside), model.rows.problem.losses
        paid = np.zeros((len(losses), len(losses)), dtype=model.rows.units.dtype)
        np.add.at(paid, (model.rows.classes[rows], model.predicted[rows]), model.rows.units[rows])
        total = sum(
            (
                amount * int(paid[actual, predicted])
                for actual, amounts in enumerate(losses)
                for predicted, amount in enumerate(amounts)
            ),
            Fraction(0),
        )
        return total / model.rows.denominator

    def truth(self, rows: AuditRows) -> IntArray | FloatArray:
        """The class of each row."""
        return rows.classes

    def in_order(self, below: Leaf, above: Leaf, target: TargetDecl) -> bool:
        """The order is the declared one; of two classes the positive one is the higher."""
        assert below.label is not None, "a tree that fits the target has labels"
        assert above.label is not None, "a tree that fits the target has labels"
        if len(target.classes) == 2 and target.positive is not None:
            return above.label == target.positive or below.label != target.positive
        return below.label <= above.label


PART = ClassAudit()
