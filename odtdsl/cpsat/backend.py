"""The `cpsat` back end: clauses and sums on the CP-SAT solver of OR-tools."""

from __future__ import annotations

from importlib.util import find_spec

from odtdsl.backends.base import EXACT, Limits, Objection, RawAnswer, Report, Support
from odtdsl.diagnostics.model import OdtError, error
from odtdsl.ir.forms import Core, Form
from odtdsl.ir.raw import RawModel

MISSING = "OR-tools is not installed; it comes with the extra `cpsat`: `pip install odtdsl[cpsat]`"

_UNSUPPORTED = {
    Form.TREE: "its clauses are of diagrams; `sat` has those of trees",
    Form.TREE_UNBOUNDED: "its clauses are of diagrams; `sat` has those of trees",
    Form.HYPERPLANE: "a hyperplane has real weights, which clauses do not hold",
    Form.REGRESSION: "outputs of leaves are numbers, and clauses have labels only",
    Form.LOSS_BOUND: "outputs of leaves are numbers, and clauses have labels only",
    Form.OBJECTIVE_LOSS: "outputs of leaves are numbers, and clauses have labels only",
    Form.OUTPUT_SET: "outputs of leaves are numbers, and clauses have labels only",
    Form.MONOTONE: "thresholds would be compared over the whole feature space; use `exact`",
    Form.LINK: "a rule of leaves, and its clauses are of diagrams",
    Form.LINEAR_LEAF: "a rule of leaves, and its clauses are of diagrams",
    Form.PATH_TOTAL: "a sum over rows of what their paths cost takes clauses beyond number",
    Form.OBJECTIVE_PATH_SUM: "a sum over rows of what their paths cost takes clauses beyond number",
}


class CpSat:
    """Diagrams by clauses and sums."""

    name = "cpsat"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether clauses express a form, alone or inside a disjunction."""
        if form in _UNSUPPORTED:
            return Support(level="unsupported", reason=_UNSUPPORTED[form])
        return EXACT

    def missing(self) -> OdtError | None:
        """B104 where OR-tools is not there."""
        if installed():
            return None
        return error(
            "B104", "the back end `cpsat` needs OR-tools, which is not installed",
            helps=("`pip install odtdsl[cpsat]`, or leave the back end to `auto`",),
        )  # fmt: skip

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """OR-tools that is not installed; rules on paths that remember too much."""
        from odtdsl.backends.choice import SKELETON
        from odtdsl.sat.diagrams_rules import too_many_states

        if not installed():
            return (Objection(form=Form.DIAGRAM, origin=SKELETON, reason=MISSING),)
        return tuple(
            Objection(form=Form.BUDGET, origin=clause.origin, reason=reason)
            for clause, reason in too_many_states(core)
        )

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the formula: variables, clauses, literals, and sums that stay sums."""
        from odtdsl.cpsat.code import coded

        formula = coded(core).formula
        assert formula.bounds is not None, "sums stay sums"
        return (*formula.size(), ("sums", len(formula.bounds)))

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None = None,
        report: Report | None = None,
    ) -> RawAnswer:  # fmt: skip
        """Search until proven or a limit is met.

        Parameters
        ----------
        core
            The problem.
        limits
            Time counts from the caller's clock.
        start
            A model that keeps all rules, or None.
        report
            Called with every better value and bound.

        Raises
        ------
        OdtError
            B104: OR-tools is not installed. B220, B221: numbers with too many digits.
        """
        from odtdsl.cpsat.search import Search

        if (problem := self.missing()) is not None:
            raise problem
        return Search(core, limits, start, report).run()


def installed() -> bool:
    """Whether OR-tools is there."""
    return find_spec("ortools") is not None
