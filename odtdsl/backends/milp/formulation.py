"""How a problem is written as a program: one formulation per name of `--model`.

`pattern` is the class below. Another is a subclass that says what it changes, in a file that is
loaded when it is asked for; `_HOMES` names it. Those of studies stand in `replicas`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from odtdsl.backends.base import Support
from odtdsl.backends.milp.stage_choice import FIRST, StageChoice
from odtdsl.backends.milp.support import flow_supports
from odtdsl.backends.needs import needs
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.problem.ir.forms import Core, Form, LinearStage

if TYPE_CHECKING:
    from odtdsl.backends.milp.flows import Flows
    from odtdsl.backends.milp.lowering import Lowered
    from odtdsl.backends.milp.structure import Tick

_HOMES = {
    "pattern": "formulation:Formulation",
    "subtrees": "subtrees:WholeSubtrees",
    "cptree": "replicas.cptree:CpTreeStudy",
    "odd": "replicas.odd:OddStudy",
}


def no_tick() -> None:
    """Nothing stops the writing."""


class Formulation:
    """Pattern flow with ordered thresholds; of hyperplanes, weights with a margin.

    Imports inside methods keep the programs' code from being loaded where only `supports` is asked.
    """

    name: ClassVar[str] = "pattern"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether it expresses a form, alone or inside a disjunction."""
        return flow_supports(form, inside_or=inside_or)

    def beyond(self, core: Core) -> list[tuple[str, str]]:
        """What it cannot express although the forms are supported: what, and why."""
        return []

    def refuse(self, core: Core) -> None:
        """Raise B102 for all of a problem that it does not express."""
        found = self.beyond(core)
        for need in needs(core):
            support = self.supports(need.form, inside_or=need.inside_or)
            if support.level == "unsupported":
                found.append((f"`{need.origin.rule}` ({need.form.value})", support.reason))
        if found:
            start = f"`milp` ({self.name}) cannot express"
            raise OdtError(
                [Diagnostic(code="B102", message=f"{start} {w}", notes=(why,)) for w, why in found]
            )

    def same_as_default(self, core: Core) -> str:
        """Why it writes what `pattern` writes; empty where it does not."""
        return ""

    def lower(
        self, core: Core, depth: int, choice: StageChoice = FIRST, tick: Tick = no_tick
    ) -> Lowered:
        """The program of a problem with trees.

        Parameters
        ----------
        core
            The problem; its own depth is not read.
        depth
            Of the perfect tree.
        choice
            The stage to minimize.
        tick
            Called often; may raise to stop.

        Raises
        ------
        OdtError
            B220, B221 numbers that spread too far for a solver with floats.
        """
        from odtdsl.backends.milp.lookahead import add_lookahead
        from odtdsl.backends.milp.lowering import measures_in, ruled
        from odtdsl.backends.milp.monotone import FlowRules
        from odtdsl.backends.milp.number_flow import NumberFlow, NumberRules
        from odtdsl.backends.milp.pattern_flow import PatternFlow

        if core.targets is not None:
            numbers = NumberFlow(core, depth, measures_in(core, choice), tick)
            return ruled(core, numbers, NumberRules(numbers, core.n_classes, tick), choice)
        flow = PatternFlow(core, depth, measures_in(core, choice), tick)
        lowered = ruled(core, flow, FlowRules(flow, core.n_classes, tick), choice)
        for index, _ in choice.kept:
            earlier = core.objective[index]
            if isinstance(earlier, LinearStage):
                add_lookahead(flow, earlier.measure, tick)
        if choice.stage is None or not choice.lookahead:
            return lowered
        form = core.objective[choice.stage]
        hint = add_lookahead(flow, form.measure, tick) if isinstance(form, LinearStage) else None
        return replace(lowered, hint=hint)

    def has_margins(self, core: Core) -> bool:
        """Whether diagrams are only those whose splits leave a margin between the rows."""
        return core.skeleton.splits == "hyperplane"

    def flows(self, core: Core, tick: Tick = no_tick) -> Flows:
        """The structure of a diagram."""
        from odtdsl.backends.milp.diagram_flow import DiagramFlow
        from odtdsl.backends.milp.diagram_planes import PlaneFlow

        return PlaneFlow(core, tick) if self.has_margins(core) else DiagramFlow(core, tick)

    def places(self, depth: int) -> tuple[str, ...]:
        """What names of nodes and leaves stand for in files, for trees of a depth."""
        first = 2**depth - 1
        return (
            "n0 is the root, the children of n(k) are n(2k+1), left, and n(2k+2), right; "
            f"n{first} to n{2 * first} are slots, which predict",
            "a node that is no split sends all rows right",
        )

    def comments(self, core: Core) -> list[str]:
        """Lines for files of the program, besides those that all formulations have."""
        return []


PATTERN = Formulation()


def formulation(name: str) -> Formulation:
    """A formulation by the name of `--model`."""
    module, _, kind = _HOMES[name].partition(":")
    made: Formulation = getattr(import_module(f"odtdsl.backends.milp.{module}"), kind)()
    return made
