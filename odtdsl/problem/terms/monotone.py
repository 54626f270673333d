"""The order of classes under rules on directions."""

from __future__ import annotations

from odtdsl.problem.ir.problem import TargetDecl


def rises_with_index(target: TargetDecl) -> bool:
    """Whether a higher class is one of a higher index: of two, `positive` is the higher."""
    return not (len(target.classes) == 2 and target.positive == 0)
