"""Classes in the problem."""

from __future__ import annotations

from odtdsl.problem.ir.dump import value_text
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.targets import ProblemPart


class ClassProblem(ProblemPart):
    """Errors are counted, so that all values are exact."""

    def text(self, target: TargetDecl) -> str:
        """The classes, their order, and which is positive."""
        labels = ", ".join(map(value_text, target.classes))
        positive = "" if target.positive is None else f" positive {target.positive}"
        return f"{'ordered' if target.ordered else 'class'} {{{labels}}}{positive}"


PART = ClassProblem()
