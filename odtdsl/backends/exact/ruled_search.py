"""The search under rules: one solve, from a core to an answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from odtdsl.backends.base import Limits, Status
from odtdsl.backends.exact.components import HUGE
from odtdsl.backends.exact.lowering import Features, most_leaves, size_of, to_raw
from odtdsl.backends.exact.packed import Arrays, Packed
from odtdsl.backends.exact.ruled import Ruled, assemble
from odtdsl.backends.exact.stacked_search import StackedSearch
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawTree


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

    def asked(self, depth: int) -> dict[str, Any]:
        """One search at a depth, on the stacked components."""
        self.ruled = assemble(self.core, depth)
        if not self.ruled.possible:
            return {
                "status": "infeasible",
                "tree": None,
                "bound": None,
                "counters": {},
                "interrupted": False,
            }
        found: dict[str, Any] = self.engine.solve_ruled(
            self.ruled.features.ranks,
            self.ruled.features.distinct,
            self.core.n_classes,
            depth,
            self.ruled.rules,
            allowed=list(self.ruled.features.allowed),
            max_leaves=most_leaves(self.core, depth),
            upper_bound=self.ruled.most,
            **self.limited(gap=len(self.core.objective) == 1),
        )
        return found

    def packed(self, arrays: Arrays) -> Packed:
        """The tree itself."""
        return Packed(_finishing, self.depth, arrays)

    def unpacked(self, told: Packed) -> RawTree:
        """A tree that this search told."""
        return to_raw(self.core, assemble(self.core, told.depth).features, told.arrays)

    def value_of(self, stacked: int) -> Fraction | None:
        """Of the first stage."""
        return self.ruled.first(stacked)

    def bound_of(self, stacked: int) -> Fraction | None:
        """None where nothing is known."""
        return None if stacked <= -HUGE else self.ruled.first(stacked)

    def status_of(self, found: dict[str, Any]) -> Status:
        """By depth a tree is proven to be best all the same."""
        status: Status = found["status"]
        if not self.cut_off or (self.by_depth and status == "optimal"):
            return status
        return {"infeasible": "unknown", "optimal": "feasible"}.get(status, status)  # type: ignore[return-value]


def _finishing(core: Core) -> RuledSearch:
    """A search that is only asked to finish trees."""
    return RuledSearch(core, Limits(), None, None)
