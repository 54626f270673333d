"""The audit of choices: the reward by the cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.auditor.meanings import means
from odtdsl.auditor.routing import ModelOn
from odtdsl.auditor.rows import AuditRows
from odtdsl.auditor.targets import AuditPart
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.predictors.nodes import Leaf
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.problem import TargetDecl


@means("picked_reward")
def picked_reward(model: ModelOn, call: Apply) -> Fraction:
    made = model.rows.truth[np.arange(model.rows.n_rows), model.predicted]
    each = zip(made.tolist(), model.rows.units.tolist(), strict=True)
    return sum((Fraction(r) * unit for r, unit in each), Fraction(0)) / model.rows.denominator


class PickAudit(AuditPart):
    def truth(self, rows: AuditRows) -> IntArray | FloatArray:
        return rows.truth

    def in_order(self, below: Leaf, above: Leaf, target: TargetDecl) -> bool:
        raise AssertionError("picks have no order")


PART = PickAudit()
