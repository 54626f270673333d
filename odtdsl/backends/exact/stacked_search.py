"""One solve by a search that takes all stages at once, as one stacked value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from odtdsl.backends.base import Limits, RawAnswer, Report, StageOutcome, Status
from odtdsl.backends.exact.features import Features
from odtdsl.backends.exact.lowering import deepest_of, most_leaves
from odtdsl.backends.exact.packed import Packed
from odtdsl.backends.exact.raw_trees import from_raw, to_raw
from odtdsl.backends.staged import SearchState
from odtdsl.base import engine
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.raw import RawTree, depth_of


class Found(Protocol):
    """What the engine's searches for classes answer, with and without rules."""

    @property
    def status(self) -> Status:
        """How the search ended."""

    @property
    def objective(self) -> int | None:
        """The least value found, in the engine's units; None without a tree."""

    @property
    def bound(self) -> int | None:
        """What no tree is below, in the engine's units; None where nothing is proven."""

    @property
    def tree(self) -> engine.Tree | None:
        """The best tree; None without one."""

    @property
    def counters(self) -> Mapping[str, int]:
        """Statistics of the search by name."""

    @property
    def interrupted(self) -> bool:
        """Whether the user ended the search."""


class StackedSearch(SearchState[RawTree], ABC):
    """A single search, or one per depth where the depth is made least.

    The driver of `odtdsl.backends.staged` would make one stage least after the other; the engine
    proves all of them in one search.
    """

    least_stacked: int | None = None
    """The least stacked value of all, which is the bound where deeper trees were not looked at."""

    def __init__(
        self, core: Core, limits: Limits, start: RawTree | None, report: Report | None
    ) -> None:
        super().__init__(core, limits, report)
        self.start = start
        self.by_depth = isinstance(core.objective[0], DepthStage)
        self.depth = 0
        self.cut_off = False
        self._bound: tuple[int, Fraction | None] | None = None

    # ---- what a search says

    @property
    @abstractmethod
    def cells(self) -> Features:
        """What the engine reads of the rows."""

    @abstractmethod
    def asked(self, depth: int) -> Found:
        """The engine's answer at a depth."""

    @abstractmethod
    def value_of(self, stacked: int) -> Fraction | None:
        """A stacked value as one of the first stage but for the depth; None where it is none."""

    @abstractmethod
    def bound_of(self, stacked: int) -> Fraction | None:
        """The same of a bound."""

    @abstractmethod
    def status_of(self, found: Found) -> Status:
        """What is proven of all trees: those deeper than are built were not looked at."""

    @abstractmethod
    def packed(self, held: engine.Plan | engine.Tree) -> Packed:
        """A tree that the engine told."""

    @abstractmethod
    def size(self) -> tuple[tuple[str, int], ...]:
        """As `RawAnswer.size`."""

    # ---- the course

    def run(self) -> RawAnswer:
        """Search until proven or a limit is met."""
        deepest, self.cut_off = deepest_of(self.core)
        if most_leaves(self.core, deepest) < 1:
            return RawAnswer(status="infeasible")
        return self.course(deepest)

    def course(self, deepest: int) -> RawAnswer:
        """Depth upwards, if it is made least."""
        for depth in range(0 if self.by_depth else deepest, deepest + 1):
            self.depth = depth
            found = self.asked(depth)
            if found.status != "infeasible":
                break
        return self.answer(found)

    def engine_start(self) -> engine.Tree | None:
        """The start, where it is no deeper than what is asked."""
        if self.start is None or depth_of(self.start) > self.depth:
            return None
        return from_raw(self.core, self.cells, self.start)

    def told(
        self, value: int, bound: int, seconds: float, found: engine.Plan | engine.Tree | None
    ) -> None:
        """Pass on what the engine tells."""
        if self.by_depth:
            return
        incumbent = self.value_of(value)
        if self._bound is None or self._bound[0] != bound:  # mostly it is as before
            self._bound = bound, self.bound_of(bound)
        self.add(
            incumbent=incumbent,
            bound=self._bound[1],
            seconds=seconds,
            found=None if found is None or incumbent is None else self.packed(found),
        )

    # ---- the answer

    def answer(self, found: Found) -> RawAnswer:
        """The engine's answer, or the start where that is better and nothing is proven."""
        status = self.status_of(found)
        if found.tree is not None:
            self.keep(to_raw(self.core, self.cells, found.tree))
        if status in ("unknown", "feasible") and self.start is not None:
            self.keep(self.start)
            status = "feasible"
        return RawAnswer(
            status=status,
            model=self.best,
            stages=self._outcomes(status, found),
            timeline=tuple(self.timeline),
            size=self.size(),
            counters=tuple(found.counters.items()),
            interrupted=found.interrupted,
        )

    def _outcomes(self, status: Status, found: Found) -> tuple[StageOutcome, ...]:
        outcomes: list[StageOutcome] = []
        for index in range(len(self.core.objective)):
            value = self.values[index] if self.values else None
            proven = status == "optimal"
            bound = value if proven else None
            if self.by_depth and index == 0 and status != "infeasible":
                bound = Fraction(self.depth)  # all smaller depths are refuted
                proven = value == bound
            elif bound is None and index == 0 and status != "infeasible":
                stacked = self.least_stacked if self.cut_off else found.bound
                bound = None if stacked is None else self.bound_of(stacked)
            outcomes.append(StageOutcome(value=value, bound=bound, proven=proven))
        return tuple(outcomes)
