"""The search under rules: one solve, from a core to an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from odtdsl.backends.base import Limits, Status
from odtdsl.backends.exact.components import HUGE
from odtdsl.backends.exact.features import Features, size_of
from odtdsl.backends.exact.packed import Packed
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.exact.ruled import Ruled, assemble
from odtdsl.backends.exact.stacked_search import Found, StackedSearch
from odtdsl.base import engine
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawTree


@dataclass(frozen=True, slots=True, kw_only=True)
class InfeasibleAnswer:
    """The answer of a search that need not begin."""

    status: Status = "infeasible"
    objective: int | None = None
    bound: int | None = None
    tree: engine.Tree | None = None
    counters: dict[str, int] = field(default_factory=dict)
    interrupted: bool = False


class RuledSearch(StackedSearch):
    """The search that carries the state of paths and sums of leaves."""

    ruled: Ruled

    @property
    def cells(self) -> Features:
        """Tests that rows tell apart, by level."""
        return self.ruled.features

    def size(self) -> tuple[tuple[str, int], ...]:
        """Rows, features and cuts."""
        return size_of(self.core)

    def asked(self, depth: int) -> Found:
        """One search at a depth, on the stacked components."""
        self.ruled = assemble(self.core, depth)
        if not self.ruled.possible:
            self._certify(None)
            return InfeasibleAnswer()
        found = engine.solve_ruled(
            self.ruled.problem(self.core),
            self.limits.of_engine(gap=len(self.core.objective) == 1),
            start=self.engine_start(),
            upper_bound=self.ruled.most,
            progress=self.told,
        )
        if found.status in ("optimal", "infeasible"):
            self._certify(found)
        return found

    def _certify(self, found: engine.RuledAnswer | None) -> None:
        """Leave the steps that show an optimum, or that there is no tree."""
        if self.limits.ledger is None:
            return
        from odtdsl.backends.exact.multipliers import certificate_of

        made = certificate_of(self.core, self.ruled, found, self.limits)
        self.limits.ledger.parts.append(made)

    def packed(self, held: engine.Plan | engine.Tree) -> Packed:
        """The tree itself."""
        return Packed(_finishing, self.depth, held)

    def unpacked(self, told: Packed) -> RawTree:
        """A tree that this search told."""
        assert isinstance(told.held, engine.Tree), "as `packed` has it"
        return to_raw(self.core, assemble(self.core, told.depth).features, told.held)

    def value_of(self, stacked: int) -> Fraction | None:
        """Of the first stage."""
        return self.ruled.first(stacked)

    def bound_of(self, stacked: int) -> Fraction | None:
        """None where nothing is known."""
        return None if stacked <= -HUGE else self.ruled.first(stacked)

    def status_of(self, found: Found) -> Status:
        """By depth a tree is proven to be best all the same."""
        status = found.status
        if not self.cut_off or (self.by_depth and status == "optimal"):
            return status
        return {"infeasible": "unknown", "optimal": "feasible"}.get(status, status)  # type: ignore[return-value]


def _finishing(core: Core) -> RuledSearch:
    """A search that is only asked to finish trees."""
    return RuledSearch(core, Limits(), None, None)
