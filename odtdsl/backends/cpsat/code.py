"""What the search of `cpsat` needs of a formula: diagrams and trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.cpsat.diagrams import Diagrams
from odtdsl.backends.cpsat.program import Cost
from odtdsl.backends.cpsat.trees import Trees
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawModel


class Code(Protocol):
    """A problem as a formula with sums, all rows in it."""

    formula: Formula
    one_of: list[tuple[int, ...]]

    def cost(self, stage: int) -> tuple[Cost, int]:
        """A stage of the objective as an integer, and what that is over."""
        ...

    def decode(self, true: set[int]) -> RawModel:
        """The model of a solution."""
        ...

    def point(self, model: RawModel) -> dict[int, bool]:
        """Values of variables in a model, to begin with; empty where none are known."""
        ...


def coded(core: Core, tick: Callable[[], None] = lambda: None) -> Code:
    """The formula of a problem; `tick` is called often meanwhile, and may raise to end that."""
    return (Diagrams if isinstance(core.skeleton, DiagramSkeleton) else Trees)(core, tick)
