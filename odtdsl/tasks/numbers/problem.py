"""Numbers in the problem."""

from __future__ import annotations

from typing import ClassVar

from odtdsl.problem.ir.dump import number_text
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.targets import ProblemPart


class NumberProblem(ProblemPart):
    """Losses are sums of floats."""

    in_floats: ClassVar = True

    def text(self, target: TargetDecl) -> str:
        """That they are numbers, and their grid."""
        return "number" + ("" if target.step is None else f" step {number_text(target.step)}")


PART = NumberProblem()
