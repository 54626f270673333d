"""The `cpsat` back end: trees and diagrams by clauses and sums on CP-SAT of OR-tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from odtdsl.backends.base import BackEnd, Limits, Objection, RawAnswer, Report, Support, by_tables
from odtdsl.backends.clauses.support import UNSUPPORTED
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawModel

MAX_CPSAT_DEPTH = 8
"""The deepest perfect tree that a formula is built on: 256 slots, each with all kinds of rows."""

INSTALL = '`pip install "odtdsl[cpsat]"`'
MISSING = f"OR-tools is not installed; it comes with the extra `cpsat`: {INSTALL}"

_PATHS = "a literal per kind of rows, node and price; not for diagrams"

_COSTLY = {
    Form.PATH_TOTAL: _PATHS,
    Form.OBJECTIVE_PATH_SUM: _PATHS,
    Form.TREE_UNBOUNDED: "a perfect tree as deep as the rows and leaves allow, at most"
    f" {MAX_CPSAT_DEPTH}",
}


@dataclass(frozen=True, slots=True)
class CpSat(BackEnd):
    """Trees and diagrams by clauses and sums."""

    name: ClassVar[str] = "cpsat"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether clauses express a form, alone or inside a disjunction."""
        return by_tables(form, UNSUPPORTED, _COSTLY)

    def missing(self) -> OdtError | None:
        """B104 where OR-tools is not there."""
        if installed():
            return None
        return error(
            "B104",
            "the back end `cpsat` needs OR-tools, which is not installed",
            helps=(f"{INSTALL}, or leave the back end to `auto`",),
        )

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """OR-tools that is not installed; trees that may be deeper than perfect trees are built;
        on diagrams, rules on paths that remember too much."""
        from odtdsl.backends.clauses.lowering import deepest
        from odtdsl.backends.needs import SKELETON

        asked = isinstance(core.skeleton, DiagramSkeleton)
        if not installed():
            form = Form.DIAGRAM if asked else Form.TREE
            return (Objection(form=form, origin=SKELETON, reason=MISSING),)
        if not asked:
            reason = (
                f"builds trees of depth at most {MAX_CPSAT_DEPTH}, and this one may be"
                f" deeper; write `tree depth <= {MAX_CPSAT_DEPTH}` or less"
            )
            deep = deepest(core) > MAX_CPSAT_DEPTH
            return (Objection(form=Form.TREE, origin=SKELETON, reason=reason),) if deep else ()
        from odtdsl.backends.clauses.diagram_rules import too_many_states

        states = (
            Objection(form=Form.BUDGET, origin=clause.origin, reason=reason)
            for clause, reason in too_many_states(core)
        )
        return (*states, *_of_paths(core))

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the formula: variables, clauses, literals, and sums that stay sums."""
        from odtdsl.backends.cpsat.code import coded

        formula = coded(core).formula
        assert formula.bounds is not None, "sums stay sums"
        return (*formula.size(), ("sums", len(formula.bounds)))

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
            B104: OR-tools is not installed. B220, B221: numbers with too many digits.
        """
        from odtdsl.backends.cpsat.search import Search

        if (problem := self.missing()) is not None:
            raise problem
        return Search(core, limits, start, report).run()


def _of_paths(core: Core) -> Iterator[Objection]:
    """What diagrams do not have: sums over rows of what their paths cost."""
    from odtdsl.backends.needs import needs

    reason = "the sum of the path costs of all rows needs too many clauses for diagrams"
    for need in needs(core):
        if need.form in (Form.PATH_TOTAL, Form.OBJECTIVE_PATH_SUM):
            yield Objection(form=need.form, origin=need.origin, reason=reason)


def installed() -> bool:
    """Whether OR-tools is there; looked for again only while it is not."""
    if not _found and find_spec("ortools") is not None:
        _found.append("ortools")
    return bool(_found)


_found: list[str] = []
