"""Picks in the problem."""

from __future__ import annotations

from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.targets import ProblemPart


class PickProblem(ProblemPart):
    def text(self, target: TargetDecl) -> str:
        return "pick"


PART = PickProblem()
