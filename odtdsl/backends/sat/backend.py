"""The `sat` back end: least depth, size and errors by clauses, on a solver of python-sat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from odtdsl.backends.base import (
    Assumptions,
    BackEnd,
    Limits,
    Objection,
    RawAnswer,
    Report,
    Support,
    by_tables,
    started,
)
from odtdsl.backends.clauses.support import UNSUPPORTED
from odtdsl.backends.sat.encoding import Encoding, encoding
from odtdsl.backends.sat.solvers import DEFAULT, MAXSAT, WHOLE_CALLS, known
from odtdsl.base.diagnostics.model import error
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel

_UNSUPPORTED = {
    **UNSUPPORTED,
    Form.PATH_TOTAL: "the sum of the path costs of all rows needs too many clauses",
    Form.OBJECTIVE_PATH_SUM: "the sum of the path costs of all rows needs too many clauses",
    Form.MAXIMA_BOUND: "clauses cannot add up maxima; use `milp` or `cpsat`",
    Form.OBJECTIVE_MAX: "clauses cannot compare sums; use `exact` or `milp`",
}

_ALL_ROWS = "the formula has all rows and a counter"

_COSTLY = {
    Form.LINEAR_MODEL: f"unless the rule allows no error, {_ALL_ROWS}",
    Form.LINEAR_LEAF: f"{_ALL_ROWS} per leaf",
    Form.LINEAR_SPLIT: f"{_ALL_ROWS} per node",
    Form.OBJECTIVE_LINEAR: f"except for the number of leaves, {_ALL_ROWS}",
}


@dataclass(frozen=True, slots=True)
class Sat(BackEnd):
    """Trees and diagrams by clauses.

    Parameters
    ----------
    solver
        A name of python-sat's, such as `minisat22` or `cadical153`; `rc2` makes sums least by
        MaxSAT.
    encoding
        `ordered`: prefixes of an order of thresholds. `paper`: the study's own, for what that
        study has.

    Raises
    ------
    OdtError
        U318: an unknown solver. U302: one that the encoding has no use for.
    """

    name: ClassVar[str] = "sat"

    solver: str = DEFAULT
    encoding: str = "ordered"

    def __post_init__(self) -> None:
        known(self.solver)
        if self.solver == MAXSAT and self.clauses.plain:
            raise error(
                "U302",
                f"the encoding `{self.encoding}` has no sums for a MaxSAT solver",
                helps=(f"omit the solver `{MAXSAT}` or the encoding `{self.encoding}`",),
            )

    @property
    def clauses(self) -> Encoding:
        """The encoding of this name."""
        return encoding(self.encoding)

    def check(self, core: Core) -> None:
        """Raise B102 for what the encoding, or MaxSAT, does not express."""
        if isinstance(core.skeleton, DiagramSkeleton):
            if self.solver == MAXSAT or self.clauses.plain:
                by_solver = self.solver == MAXSAT
                option = f"solver `{MAXSAT}`" if by_solver else f"encoding `{self.encoding}`"
                raise error(
                    "B102",
                    f"`sat` cannot solve diagrams with the {option}",
                    helps=(f"omit it: `{DEFAULT}` and other SAT solvers can",),
                )
            return
        self.clauses.refuse(core)

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether clauses express a form, alone or inside a disjunction."""
        return by_tables(form, _UNSUPPORTED, _COSTLY)

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """Trees that may be deeper than perfect trees are built; on diagrams, rules on paths
        that remember too much."""
        from odtdsl.backends.clauses.lowering import MAX_FORMULA_DEPTH, deepest, depth_first
        from odtdsl.backends.needs import SKELETON

        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.clauses.diagram_rules import too_many_states

            return tuple(
                Objection(form=Form.BUDGET, origin=clause.origin, reason=reason)
                for clause, reason in too_many_states(core)
            )
        if depth_first(core) or deepest(core) <= MAX_FORMULA_DEPTH:
            return ()
        reason = (
            f"formulas are built for trees of depth at most {MAX_FORMULA_DEPTH}, and this one may"
            " be deeper; write `minimize depth then ...`, or bound the depth"
        )
        return (Objection(form=Form.TREE, origin=SKELETON, reason=reason),)

    def assuming(
        self, core: Core, limits: Limits, *, depth: int | None, leaves: int | None
    ) -> Assumptions | None:
        """One formula for all questions, where each rule has clauses of its own."""
        from odtdsl.backends.sat.assumptions import RuleAssumptions

        if not RuleAssumptions.takes(core):
            return None
        return RuleAssumptions(core, limits, depth=depth, leaves=leaves)

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the formula with all rows, at the depth that the skeleton allows (at most 3
        where the depth is for the search to find)."""
        from odtdsl.backends.clauses.lowering import deepest, depth_first

        self.check(core)
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.clauses.diagram_rules import ruled

            return ruled(core).formula.size()
        depth = min(3, deepest(core)) if depth_first(core) else deepest(core)
        lowered = self.clauses.code(core, depth)
        lowered.add_rows(range(core.n_rows))
        return (*lowered.formula.size(), ("depth", depth))

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
            B102: forms that the encoding does not express. B106: a memory limit for a solver that
            looks at none.
        """
        self.check(core)
        if self.solver in WHOLE_CALLS and limits.memory_bytes is not None:
            raise error(
                "B106",
                f"`{self.solver}` cannot be stopped during a call, to respect `memory`",
                helps=(f"omit `memory`, or use the solver `{DEFAULT}`",),
            )
        if isinstance(core.skeleton, DiagramSkeleton):
            from odtdsl.backends.sat.diagram_search import DiagramSearch

            first = start if isinstance(start, RawDiagram) else None
            return DiagramSearch(core, limits, first, report, self.solver).run()
        if self.solver == MAXSAT:
            from odtdsl.backends.sat.maxsat import MaxSatSearch

            return MaxSatSearch(core, limits, started(start), report, DEFAULT).run()
        search = self.clauses.search()
        return search(core, limits, started(start), report, self.solver).run()
