"""Back ends that answer wrongly, each in its own way: `compare` has to notice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import Limits, RawAnswer, Report
from odtdsl.backends.sat.backend import Sat
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawModel


class Faultless(Sat):
    """No fault."""

    def wrong(self, answer: RawAnswer) -> RawAnswer:
        return answer

    def solve(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None = None,
        report: Report | None = None,
    ) -> RawAnswer:
        return self.wrong(super().solve(core, limits, start, report))


class AlwaysInfeasible(Faultless):
    """It says that no model satisfies the rules."""

    def wrong(self, answer: RawAnswer) -> RawAnswer:
        return RawAnswer(status="infeasible")


class ProvesItsStart(Faultless):
    """It calls what it was given the best."""

    def solve(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None = None,
        report: Report | None = None,
    ) -> RawAnswer:
        from odtdsl.problem.ir.diagrams import evaluated
        from odtdsl.problem.ir.raw import RawDiagram, RawLeaf

        asked_for_diagram = type(core.skeleton).__name__ == "DiagramSkeleton"
        model: RawModel = RawDiagram(entry=~0) if asked_for_diagram else RawLeaf(label=0)
        value = evaluated(core, model).stage_value(core.objective[0])
        answer = super().solve(core, limits, start, report)
        stage = replace(answer.stages[0], value=value, bound=value, proven=True)
        return replace(answer, stages=(stage,), model=model)


class BoundTooHigh(Faultless):
    """It found nothing, and says that there is nothing as good as there is."""

    def wrong(self, answer: RawAnswer) -> RawAnswer:
        (stage,) = answer.stages
        assert stage.value is not None
        high = replace(stage, value=None, bound=stage.value + Fraction(1, 1000), proven=False)
        return replace(answer, status="unknown", model=None, stages=(high,))
