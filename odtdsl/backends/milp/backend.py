"""The `milp` back end: a Pyomo model by pattern flow (or of the studies), solved by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from odtdsl.backends.base import (
    BackEnd,
    Limits,
    Objection,
    RawAnswer,
    Report,
    Support,
    started,
)
from odtdsl.backends.milp.support import Formulation, cptree_supports, flow_supports
from odtdsl.backends.needs import needs
from odtdsl.base.back_ends import Variant
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.problem.ir.forms import Core, DepthStage, Form
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel

SHOWN_DEPTH = 3
"""`size` of a tree without a depth is told at this one."""


@dataclass(frozen=True, slots=True)
class Milp(BackEnd):
    """Trees and diagrams by mixed-integer programming.

    Parameters
    ----------
    model
        The formulation. `pattern`: pattern flow with ordered thresholds. `cptree`: the CPTree
        study's first one, repaired and tightened, for what that study has. `subtrees`: one column
        per subtree below the root, of trees up to depth 2 with few candidates; else `pattern`.
        `odd`: diagrams by the ODD study's formulation.
    """

    name: ClassVar[str] = "milp"
    refutes_by_bounds: ClassVar[bool] = True
    for_questions: ClassVar[Variant] = Variant((("model", "subtrees"),))

    model: Formulation = "pattern"

    def check(self, core: Core) -> None:
        """Raise B102 for what the formulation does not express."""
        refuse(core, self.model)

    def same_as_default(self, core: Core) -> str:
        """Whole subtrees are left to pattern flow where they are too many."""
        if self.model != "subtrees":
            return ""
        from odtdsl.backends.milp.search import deepest
        from odtdsl.backends.milp.subtrees import fits

        if fits(core, deepest(core)):
            return ""
        return (
            "whole subtrees are for trees of depth 1 or 2 with few candidates;"
            " `milp` is then the same by pattern flow"
        )

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether the formulation expresses a form, alone or inside a disjunction."""
        return supports(form, inside_or=inside_or, formulation=self.model)

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """Orders of predictions over more thresholds than a model may have columns for."""
        from odtdsl.backends.milp.support import beyond_planes, too_many_gaps, too_many_paths

        return (*too_many_gaps(core), *too_many_paths(core), *beyond_planes(core))

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the encoding at the depth that the skeleton allows (at most `SHOWN_DEPTH`
        where the depth is for the search to find)."""
        from odtdsl.backends.milp.search import deepest, lower

        refuse(core, self.model)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.milp.diagram_search import lower_diagram

            widths = ("nodes", sum(core.skeleton.widths))
            return (widths, *lower_diagram(core, 0, formulation=self.model).program.size())
        first = core.objective[0]
        depth = min(deepest(core), SHOWN_DEPTH) if isinstance(first, DepthStage) else deepest(core)
        lowered = lower(core, depth, 0, formulation=self.model, lookahead=False)
        return (("depth", depth), *lowered.program.size())

    def solve(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None = None,
        report: Report | None = None,
    ) -> RawAnswer:
        """Search until proven or a limit is met.

        Parameters
        ----------
        core
            The problem.
        limits
            Time counts from the caller's clock, so that compiling is part of it.
        start
            A tree or diagram that keeps all rules, or None.
        report
            Called with every better tree and bound.

        Raises
        ------
        OdtError
            B102 forms that the formulation does not express; B220, B221 numbers that spread too
            far for a solver with floats; B222 a depth beyond the largest that is built.
        """
        from odtdsl.backends.milp.search import Search

        refuse(core, self.model)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.milp.diagram_search import DiagramSearch

            return DiagramSearch(
                core,
                limits,
                start if isinstance(start, RawDiagram) else None,
                report,
                self.model,
            ).run()
        return Search(core, limits, started(start), report, self.model).run()


def supports(form: Form, *, inside_or: bool, formulation: Formulation) -> Support:
    """Whether a formulation expresses a form."""
    if formulation == "subtrees" and form is Form.DIAGRAM:
        return Support(level="unsupported", reason="whole subtrees are columns for trees only")
    table = cptree_supports if formulation == "cptree" else flow_supports
    return table(form, inside_or=inside_or)


def refuse(core: Core, formulation: Formulation) -> None:
    """Raise for every form of the problem that the formulation does not express."""
    found: list[Diagnostic] = []
    if formulation in ("cptree", "odd"):
        from odtdsl.backends.milp.support import beyond_cptree, beyond_odd

        found += [
            Diagnostic(
                code="B102", message=f"`milp` ({formulation}) cannot express {what}", notes=(why,)
            )
            for what, why in (beyond_cptree if formulation == "cptree" else beyond_odd)(core)
        ]
    for need in needs(core):
        support = supports(need.form, inside_or=need.inside_or, formulation=formulation)
        if support.level == "unsupported":
            what = f"`milp` ({formulation}) cannot express `{need.origin.rule}` ({need.form.value})"
            found.append(Diagnostic(code="B102", message=what, notes=(support.reason,)))
    if found:
        raise OdtError(found)
