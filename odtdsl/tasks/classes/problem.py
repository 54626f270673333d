"""Classes in the problem."""

from __future__ import annotations

from math import lcm

import numpy as np

from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.dump import value_text
from odtdsl.problem.ir.forms import check_overflow
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart


class ClassProblem(ProblemPart):
    """Errors are counted, so that all values are exact."""

    def text(self, target: TargetDecl) -> str:
        """The classes, their order, and which is positive."""
        labels = ", ".join(map(value_text, target.classes))
        positive = "" if target.positive is None else f" positive {target.positive}"
        return f"{'ordered' if target.ordered else 'class'} {{{labels}}}{positive}"

    def losses(self, rows: Rows) -> tuple[IntArray, int]:
        """The weight of each row times the loss of its class and the label, in whole units."""
        losses = rows.problem.losses
        common = lcm(*(amount.denominator for row in losses for amount in row))
        matrix = [[int(amount * common) for amount in row] for row in losses]
        check_overflow(rows.weights, max(map(max, matrix)) * len(matrix))
        output = np.asarray(matrix, dtype=np.int64)[rows.labels] * rows.weights[:, None]
        return output, rows.weight_denominator * common


PART = ClassProblem()
