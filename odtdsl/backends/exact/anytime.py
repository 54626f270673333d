"""The `search` back end: the anytime search of `exact` without the proof beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from odtdsl.backends.base import BackEnd, Limits, Objection, RawAnswer, Report, Support
from odtdsl.backends.exact.backend import Exact
from odtdsl.backends.steps import LATE_START, START, START_OF_DIAGRAMS, Step
from odtdsl.base.back_ends import Value
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawModel

if TYPE_CHECKING:
    from odtdsl.problem.ir.problem import Options


@dataclass(frozen=True, slots=True)
class Search(BackEnd):
    """Good trees early, and no proof: `docs/explanation/exact.md`, "Before a proof".

    What it does under a seed and a limit of steps is the same on every machine.
    """

    name: ClassVar[str] = "search"

    @classmethod
    def of(cls, options: Options, given: Mapping[str, Value]) -> Search:
        """The one there is: its steps are a limit, and stand with the others."""
        return cls()

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """As `exact`, except for stages that take proofs."""
        if form is Form.OBJECTIVE_DEPTH:
            reason = "the least depth is found by refuting all smaller ones; use `exact`"
            return Support(level="unsupported", reason=reason)
        if form is Form.OBJECTIVE_QUOTIENT:
            reason = "quotients are made large by searches that prove; use `exact`"
            return Support(level="unsupported", reason=reason)
        return Exact().supports(form, inside_or=inside_or)

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """What keeps the search from this very problem."""
        return Exact().objections(core)

    def starts(self, core: Core) -> tuple[Step, ...]:
        """What it makes its own of; late where it grows trees from the first moment on."""
        if isinstance(core.skeleton, DiagramSkeleton):
            return (START_OF_DIAGRAMS,)
        return (LATE_START if Exact().grows(core) else START,)

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """As `exact` counts it."""
        return Exact().size(core)

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Search until a limit is met, or until no row is told wrong that could be told right.

        Raises
        ------
        OdtError
            X202: the native part of the package is not built.
        """
        exact = Exact()
        diagrams = exact.begin(core, limits, start, report)
        if diagrams is None:
            return exact.solve(core, replace(limits, proves=False), start, report)
        from odtdsl.backends.exact.moves import PATIENCE  # of diagrams only

        limited = limits.deadline is not None or limits.steps is not None
        answer = diagrams.by_moves(limits.deadline, patience=0 if limited else PATIENCE)
        return replace(answer, interrupted=answer.interrupted or limits.interrupted())
