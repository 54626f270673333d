"""A target of choices: the columns with their rewards."""

from __future__ import annotations

from typing import ClassVar

from odtdsl.compiler.columns import Columns
from odtdsl.compiler.targets import TargetPart
from odtdsl.language import ast
from odtdsl.problem.ir.problem import TargetDecl


class PickTarget(TargetPart):
    called: ClassVar = "a pick"
    terms: ClassVar = frozenset({"pick"})

    def declare(
        self, columns: Columns, statement: ast.Target, names: tuple[str, ...]
    ) -> TargetDecl:
        return TargetDecl(names=names, kind="pick", classes=names)

    def other_terms(self, word: str, target: TargetDecl) -> tuple[str, ...]:
        return ("for a pick use `picked_reward`",)


PART = PickTarget()
