"""The `milp` back end: a Pyomo model by pattern flow (or of the studies), solved by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from odtdsl.backends.base import (
    BackEnd,
    Limits,
    Objection,
    ProgramWriter,
    RawAnswer,
    Report,
    Support,
    started,
)
from odtdsl.backends.milp.formulation import Formulation, formulation
from odtdsl.backends.milp.stage_choice import StageChoice
from odtdsl.backends.programs import Handover
from odtdsl.base.back_ends import Variant
from odtdsl.problem.ir.forms import Core, DepthStage, Form
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel

if TYPE_CHECKING:
    from pyomo.core.base import ConcreteModel

    from odtdsl.base.diagnostics.model import OdtError

SHOWN_DEPTH = 3
"""`size` of a tree without a depth is told at this one."""


@dataclass(frozen=True, slots=True)
class Milp(BackEnd, ProgramWriter):
    """Trees and diagrams by mixed-integer programming.

    Parameters
    ----------
    model
        The formulation. `pattern`: pattern flow with ordered thresholds. `cptree`: the CPTree
        study's first one, repaired and tightened, for what that study has. `subtrees`: one column
        per subtree below the root, of trees up to depth 2 with few candidates; else `pattern`.
        `odd`: diagrams by the ODD study's formulation.
    mip
        The solver: `highs`, or another that Pyomo reaches, see `outside`.
    """

    name: ClassVar[str] = "milp"
    refutes_by_bounds: ClassVar[bool] = True
    for_questions: ClassVar[Variant] = Variant((("model", "subtrees"),))

    model: str = "pattern"
    mip: str = "highs"

    @property
    def formulation(self) -> Formulation:
        """The formulation of this name."""
        return formulation(self.model)

    def check(self, core: Core) -> None:
        """Raise B102 for what the formulation does not express, B104 without the solver."""
        self.formulation.refuse(core)
        if (problem := self.missing()) is not None:
            raise problem

    def missing(self) -> OdtError | None:
        """B104 where the solver is not there."""
        from odtdsl.backends.milp.outside import missing

        return missing(self.mip)

    def same_as_default(self, core: Core) -> str:
        """As the formulation says."""
        return self.formulation.same_as_default(core)

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether the formulation expresses a form, alone or inside a disjunction."""
        return self.formulation.supports(form, inside_or=inside_or)

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """Orders of predictions over more thresholds than a model may have columns for, and what
        hyperplanes and numbers do not have."""
        from odtdsl.backends.milp import support

        return (
            *support.too_many_gaps(core),
            *support.too_many_paths(core),
            *support.beyond_planes(core),
            *support.beyond_numbers(core),
        )

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the encoding at the depth that the skeleton allows (at most `SHOWN_DEPTH`
        where the depth is for the search to find)."""
        self.formulation.refuse(core)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.milp.diagram_search import lower_diagram

            widths = ("nodes", sum(core.skeleton.widths))
            lowered = lower_diagram(core, formulation=self.formulation)
            return (widths, *lowered.program.size())
        from odtdsl.backends.milp.lowering import deepest

        first = core.objective[0]
        depth = min(deepest(core), SHOWN_DEPTH) if isinstance(first, DepthStage) else deepest(core)
        program = self.formulation.lower(core, depth, StageChoice(lookahead=False)).program
        return (("depth", depth), *program.size())

    def hand_over(
        self, core: Core, *, kept: Sequence[Fraction] = (), weighted: bool = False
    ) -> Handover:
        """The program of a stage, or of all that are left."""
        from odtdsl.backends.milp.writer import hand_over

        return hand_over(core, self.formulation, kept=kept, weighted=weighted)

    def to_pyomo(self, handed: Handover) -> ConcreteModel:
        """A program as a Pyomo model."""
        from odtdsl.backends.milp.pyomo_model import build, finished

        return build(finished(handed)).model

    def solve(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None = None,
        report: Report | None = None,
    ) -> RawAnswer:
        """As in `BackEnd`.

        Raises
        ------
        OdtError
            B102 forms that the formulation does not express; B220, B221 numbers that spread too
            far for a solver with floats; B222 a depth beyond the largest that is built; B104 a
            solver that is not installed, B226 one that fails.
        """
        self.check(core)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.milp.diagram_search import DiagramSearch

            return DiagramSearch(
                core,
                limits,
                start if isinstance(start, RawDiagram) else None,
                report,
                self.formulation,
                self.mip,
            ).run()
        from odtdsl.backends.milp.search import Search

        return Search(core, limits, started(start), report, self.formulation, self.mip).run()
