"""Diagrams by the clauses that `sat` shares, for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable

from odtdsl.backends.clauses.diagram_rules import ruled
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.cpsat.costs import scaled
from odtdsl.backends.cpsat.program import Cost
from odtdsl.backends.decode_diagram import canonical
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage
from odtdsl.problem.ir.raw import RawDiagram, RawModel


class Diagrams:
    """A diagram with its rules.

    Parameters
    ----------
    tick
        Called often while the formula is built; may raise to end that.
    """

    def __init__(self, core: Core, tick: Callable[[], None] = lambda: None) -> None:
        self.core = core
        self.formula = Formula(sums=True, tick=tick)
        self.rules = ruled(core, self.formula)
        self.code = self.rules.code
        self.one_of = self.code.one_of

    def cost(self, stage: int) -> tuple[Cost, int]:
        """A stage of the objective as an integer expression, and its denominator."""
        form = self.core.objective[stage]
        if isinstance(form, DepthStage):
            return Cost(terms=self.rules.stage(form)), 1
        assert isinstance(form, LinearStage), "number targets are refused before"
        return scaled(form, lambda measure: self.rules.terms(measure, Scope.MODEL, 0))

    def decode(self, true: set[int]) -> RawModel:
        """The diagram of a solution, given its true variables."""
        return self.code.decode(true)

    def point(self, model: RawModel) -> dict[int, bool]:
        """Values of variables that make a diagram; empty for other models."""
        if not isinstance(model, RawDiagram):
            return {}
        return self.code.assignment(canonical(model))
