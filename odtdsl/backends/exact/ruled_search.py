"""The search under rules: one solve, from a core to an answer."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from odtdsl.backends.base import Limits, Progress, RawAnswer, Report, StageOutcome, Status
from odtdsl.backends.exact.components import HUGE
from odtdsl.backends.exact.lowering import deepest_of, from_raw, most_leaves, size_of, to_raw
from odtdsl.backends.exact.packed import Arrays, Packed
from odtdsl.backends.exact.ruled import Ruled, assemble
from odtdsl.base.engine import engine
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.raw import RawTree, depth_of


class RuledSearch:
    """A single search, or one per depth where the depth is made least."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawTree | None,
        report: Report | None,
        engine: Any,
    ) -> None:
        self.core, self.limits, self.start, self.report = core, limits, start, report
        self.engine = engine
        self.by_depth = isinstance(core.objective[0], DepthStage)
        self.timeline: list[Progress] = []

    def run(self) -> RawAnswer:
        deepest, self.cut_off = deepest_of(self.core)
        if most_leaves(self.core, deepest) < 1:
            return RawAnswer(status="infeasible", tree=None)
        for depth in range(0 if self.by_depth else deepest, deepest + 1):
            found = self._search(depth)
            if found["status"] != "infeasible":
                break
        status: Status = found["status"]
        if self.cut_off and not (self.by_depth and status == "optimal"):
            status = {"infeasible": "unknown", "optimal": "feasible"}.get(status, status)  # type: ignore[assignment]
        return self._answer(found, status, depth)

    def _search(self, depth: int) -> dict[str, Any]:
        self.ruled: Ruled = assemble(self.core, depth)
        self.depth = depth
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
            time_limit=self._left(),
            relative_gap=self._gap(),
            memory_limit=self.limits.table_bytes(),
            upper_bound=self.ruled.most,
            start=self._start(depth),
            progress=self._progress,
            interrupted=self.limits.interrupted,
            threads=self.limits.threads,
            **self.limits.of_search(),
        )
        return found

    def _left(self) -> float | None:
        if self.limits.deadline is None:
            return None
        return max(0.0, self.limits.deadline - time.monotonic())

    def _start(self, depth: int) -> Any:
        if self.start is None or depth_of(self.start) > depth:
            return None
        return from_raw(self.core, self.ruled.features, self.start)

    def _gap(self) -> float:
        """Values of several stages stand above each other: a share of them says nothing."""
        return float(self.limits.gap) if len(self.core.objective) == 1 else 0.0

    def unpacked(self, told: Packed) -> RawTree:
        """A tree that this search told."""
        return to_raw(self.core, assemble(self.core, told.depth).features, told.arrays)

    def _progress(
        self, value: int, bound: int, seconds: float, found: Arrays | None = None
    ) -> None:
        if self.by_depth:
            return
        progress = Progress(
            stage=0,
            incumbent=self.ruled.first(value),
            bound=None if bound <= -HUGE else self.ruled.first(bound),
            seconds=seconds,
            found=None if found is None else Packed(_finishing, self.depth, found),
        )
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)

    def _answer(self, found: dict[str, Any], status: Status, depth: int) -> RawAnswer:
        tree: RawTree | None = None
        if found["tree"] is not None:
            tree = to_raw(self.core, self.ruled.features, found["tree"])
        if status in ("unknown", "feasible") and self._start_is_better(tree):
            tree, status = self.start, "feasible"
        return RawAnswer(
            status=status,
            tree=tree,
            stages=self._outcomes(tree, status, found["bound"], depth),
            timeline=tuple(self.timeline),
            size=size_of(self.core),
            counters=tuple(found["counters"].items()),
            interrupted=bool(found["interrupted"]),
        )

    def _start_is_better(self, tree: RawTree | None) -> bool:
        if self.start is None or tree is None:
            return self.start is not None
        given, found = (
            tuple(Evaluation(self.core, one).stage_value(stage) for stage in self.core.objective)
            for one in (self.start, tree)
        )
        return given < found

    def _outcomes(
        self, tree: RawTree | None, status: Status, found: int | None, depth: int
    ) -> tuple[StageOutcome, ...]:
        evaluation = None if tree is None else Evaluation(self.core, tree)
        outcomes: list[StageOutcome] = []
        for index, stage in enumerate(self.core.objective):
            value = None if evaluation is None else evaluation.stage_value(stage)
            proven = status == "optimal"
            bound = value if proven else None
            if self.by_depth and index == 0 and status != "infeasible":
                bound = Fraction(depth)  # all smaller depths are refuted
                proven = value == bound
            elif bound is None and index == 0 and found is not None and status != "infeasible":
                # Of trees deeper than `DEEPEST` nothing is known.
                bound = None if self.cut_off else self.ruled.first(found)
            outcomes.append(StageOutcome(value=value, bound=bound, proven=proven))
        return tuple(outcomes)


def _finishing(core: Core) -> RuledSearch:
    """A search that is only asked to finish trees."""
    return RuledSearch(core, Limits(), None, None, engine())
