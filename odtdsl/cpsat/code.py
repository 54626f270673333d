"""What the search of `cpsat` needs of a formula: diagrams and trees."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Protocol

from odtdsl.backends.decode_diagram import canonical
from odtdsl.cpsat.program import Cost
from odtdsl.ir.expr import Scope
from odtdsl.ir.forms import Additive, Core, DepthStage, LinearStage
from odtdsl.ir.problem import DiagramSkeleton
from odtdsl.ir.raw import RawDiagram, RawModel
from odtdsl.sat.diagrams_rules import ruled
from odtdsl.sat.formula import Formula
from odtdsl.sat.sums import Terms


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


class Diagrams:
    """A diagram with its rules."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.formula = Formula(sums=True)
        self.rules = ruled(core, self.formula)
        self.code = self.rules.code
        self.one_of = self.code.one_of

    def cost(self, stage: int) -> tuple[Cost, int]:
        form = self.core.objective[stage]
        if isinstance(form, DepthStage):
            return Cost(terms=self.rules.stage(form)), 1
        assert isinstance(form, LinearStage), "number targets are refused before"
        return scaled(form, lambda measure: self.rules.terms(measure, Scope.MODEL, 0))

    def decode(self, true: set[int]) -> RawModel:
        return self.code.decode(true)

    def point(self, model: RawModel) -> dict[int, bool]:
        if not isinstance(model, RawDiagram):
            return {}
        return self.code.assignment(canonical(model))


def scaled(stage: LinearStage, terms: Callable[[Additive], Terms]) -> tuple[Cost, int]:
    """A stage over one denominator, its largest of sums included; without its sum over paths,
    whose denominator the whole one has as a factor."""
    whole = stage.measure.denominator
    if stage.path_sum is not None:
        whole = lcm(whole, stage.path_sum.whole_denominator)
    for factor, parts in stage.maxima:
        inner = lcm(*(part.denominator for part in parts))
        whole = lcm(whole, factor.denominator * inner)
    maxima: list[tuple[int, tuple[Terms, ...]]] = []
    for factor, parts in stage.maxima:
        inner = lcm(*(part.denominator for part in parts))
        times = factor * whole / inner
        assert times.denominator == 1, "`whole` is a multiple of it"
        raised = tuple(terms(part.scaled(Fraction(inner // part.denominator))) for part in parts)
        maxima.append((times.numerator, raised))
    first = terms(stage.measure.scaled(Fraction(whole // stage.measure.denominator)))
    return Cost(terms=first, maxima=tuple(maxima)), whole


def coded(core: Core, tick: Callable[[], None] = lambda: None) -> Code:
    """The formula of a problem; `tick` is called often meanwhile, and may raise to end that."""
    from odtdsl.cpsat.trees import Trees

    return Diagrams(core) if isinstance(core.skeleton, DiagramSkeleton) else Trees(core, tick)
