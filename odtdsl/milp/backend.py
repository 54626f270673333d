"""The `milp` back end: a Pyomo model by pattern flow (or by the CPTree study), solved by HiGHS."""

from __future__ import annotations

from odtdsl.backends.base import Limits, RawAnswer, Report, Support
from odtdsl.diagnostics.model import Diagnostic, OdtError
from odtdsl.ir.forms import Core, Form
from odtdsl.ir.raw import RawTree
from odtdsl.milp.support import flow_supports, forms_of


class MilpBackEnd:
    """Trees by mixed-integer programming with pattern flow and ordered thresholds."""

    name = "milp"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        return flow_supports(form, inside_or=inside_or)

    def solve(
        self, core: Core, limits: Limits, start: RawTree | None = None,
        report: Report | None = None,
    ) -> RawAnswer:  # fmt: skip
        """Search until proven or a limit is met.

        Raises
        ------
        OdtError
            B201 forms that the model does not express; B220, B221 numbers that spread too far
            for a solver with floats; B222 a depth beyond the largest that is built.
        """
        from odtdsl.milp.search import Search

        refuse(self, core)
        return Search(core, limits, start, report).run()


def refuse(backend: MilpBackEnd, core: Core) -> None:
    """Raise for every form of the problem that the back end does not express."""
    found: list[Diagnostic] = []
    for form, inside, rule in forms_of(core):
        support = backend.supports(form, inside_or=inside)
        if support.level == "unsupported":
            message = f"`milp` cannot express `{rule}` ({form.value})"
            found.append(Diagnostic(code="B201", message=message, notes=(support.reason,)))
    if found:
        raise OdtError(found)
