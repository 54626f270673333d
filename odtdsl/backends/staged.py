"""One driver for lists of objectives: stages, limits, the best so far, and what is told of it.

A search makes one stage least after the other, each with the values of those before it kept. What
it finds and proves is noted here; a limit ends it with what there is.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Generic, TypeVar

from odtdsl.backends.base import Limits, Progress, RawAnswer, Report, StageOutcome, Status
from odtdsl.backends.improvements import Found
from odtdsl.problem.ir.diagrams import DiagramEvaluation, evaluated
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.raw import RawModel

Evaluated = Evaluation | DiagramEvaluation
M = TypeVar("M", bound=RawModel)


class Stopped(Exception):
    """A limit was met."""


class SearchState(Generic[M]):
    """What one solve knows: the best model, bounds of stages, and the timeline of both.

    Attributes
    ----------
    best, values
        The model that is lexicographically least, and the values of its stages.
    lower
        Of stages, proven bounds: of models that are best in all stages before.
    """

    def __init__(self, core: Core, limits: Limits, report: Report | None) -> None:
        self.core, self.limits, self.report = core, limits, report
        self.began = time.monotonic()
        self.timeline: list[Progress] = []
        self.best: M | None = None
        self.values: tuple[Fraction, ...] = ()
        self.lower: dict[int, Fraction] = {}

    def keep(self, model: M) -> bool:
        """Keep a model if it is better; whether it is."""
        return self._keep(model, evaluated(self.core, model))

    def _keep(self, model: M, evaluation: Evaluated) -> bool:
        values = self.values_on(evaluation)
        if not self.improves(values):
            return False
        self.best, self.values = model, values
        return True

    def improves(self, values: tuple[Fraction, ...]) -> bool:
        """Whether values are lexicographically less than those of the best model."""
        return self.best is None or values < self.values

    def values_on(self, evaluation: Evaluated) -> tuple[Fraction, ...]:
        """The values of all stages."""
        return tuple(evaluation.stage_value(stage) for stage in self.core.objective)

    def take(self, model: M, stage: int = 0) -> None:
        """Keep and tell a model, if it is better.

        Raises
        ------
        RuntimeError
            It breaks a rule: the encoding is wrong.
        """
        evaluation = evaluated(self.core, model)
        if broken := evaluation.violations():
            raise RuntimeError(f"the encoding admits a model that breaks {broken[0]!r}")
        if self._keep(model, evaluation):
            self.tell(stage)

    def raise_bound(self, stage: int, bound: Fraction) -> bool:
        """Note a proven bound; whether it says more than what was known."""
        known = self.lower.get(stage)
        if known is not None and known >= bound:
            return False
        self.lower[stage] = bound
        return True

    def tell(self, stage: int, incumbent: Fraction | None = None) -> None:
        """Report where a stage stands, if that is news.

        `incumbent` is a value that is known before its model.
        """
        known = self.values[stage] if self.values else None
        incumbent = known if incumbent is None else incumbent
        self.add(
            stage=stage,
            incumbent=incumbent,
            bound=self.lower.get(stage),
            seconds=time.monotonic() - self.began,
            found=self.best if incumbent == known else None,
        )

    def add(
        self,
        *,
        stage: int = 0,
        incumbent: Fraction | None,
        bound: Fraction | None,
        seconds: float,
        found: Found | None,
    ) -> None:
        """Report progress, if it is news."""
        progress = Progress(
            stage=stage, incumbent=incumbent, bound=bound, seconds=seconds, found=found
        )
        last = self.timeline[-1] if self.timeline else None
        if last is not None and last.standing == progress.standing:
            if last.found is not None or found is None:
                return
            self.timeline.pop()
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)

    def settled(self, stage: int) -> bool:
        """Whether the best model is proven best at a stage."""
        return bool(self.values) and self.lower.get(stage) == self.values[stage]

    def outcomes(self) -> tuple[StageOutcome, ...]:
        """The stages up to the first that is open."""
        found: list[StageOutcome] = []
        for stage in range(len(self.core.objective)):
            value, settled = self.values[stage] if self.values else None, self.settled(stage)
            outcome = StageOutcome(value=value, bound=self.lower.get(stage), proven=settled)
            found.append(outcome)
            if not settled:
                break
        return tuple(found)


class StagedSearch(SearchState[M], ABC):
    """One solve, stage by stage: a back end says how one of them is made least."""

    poll = 0.0
    """Seconds between two questions whether to end, while something is built."""

    def __init__(self, core: Core, limits: Limits, report: Report | None) -> None:
        super().__init__(core, limits, report)
        self.depth: int | None = None
        self.interrupted = False
        self._polled = 0.0

    # ---- what a back end says

    @abstractmethod
    def minimize(self, stage: int) -> bool:
        """Make a stage least, those before it kept; False where there is no model at all.

        What is proven is noted by `raise_bound`. A search that is ended before leaves it open.
        """

    def possible(self) -> bool:
        """Whether some model may keep the rules, at a glance."""
        return True

    def close(self) -> None:
        """Let go of what the search held."""

    def size(self) -> tuple[tuple[str, int], ...]:
        """Of the last encoding, as `RawAnswer.size`."""
        return ()

    def counters(self) -> tuple[tuple[str, int], ...]:
        """What was done, as `RawAnswer.counters`."""
        return ()

    # ---- the course

    def run(self) -> RawAnswer:
        """Search until all stages are proven or a limit is met."""
        status: Status | None = None
        try:
            status = self._course() if self.possible() else "infeasible"
        except Stopped:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.close()
        return self._answer(status or ("unknown" if self.best is None else "feasible"))

    def _course(self) -> Status | None:
        """One stage after the other; None where one is left open."""
        return self._stages(0)

    def _stages(self, first: int) -> Status | None:
        """All stages from one on; None where one is left open."""
        for stage in range(first, len(self.core.objective)):
            if not self.minimize(stage):
                if stage > first:
                    raise RuntimeError(f"stage {stage + 1} of the objective lost all models")
                return "infeasible"
            if not self.settled(stage):
                self._must_be_open(stage)
                return None
        return "optimal"

    def _must_be_open(self, stage: int) -> None:
        bound = self.lower.get(stage)
        if self.values and bound is not None and bound > self.values[stage]:
            value = self.values[stage]
            raise RuntimeError(f"stage {stage + 1}: a bound of {bound} above a model of {value}")

    # ---- limits

    def tick(self) -> None:
        """Asked often while something is built.

        Raises
        ------
        Stopped
            A limit is met.
        """
        now = time.monotonic()
        if self.limits.deadline is not None and now >= self.limits.deadline:
            raise Stopped
        if now - self._polled >= self.poll:
            self._polled = now
            if self.limits.interrupted():
                raise Stopped

    def _answer(self, status: Status) -> RawAnswer:
        model: RawModel | None = None if status == "infeasible" else self.best
        closed = status in ("optimal", "infeasible")
        return RawAnswer(
            status=status,
            model=model,
            stages=() if status == "infeasible" else self.outcomes(),
            timeline=tuple(self.timeline),
            size=self.size(),
            counters=self.counters(),
            interrupted=not closed and (self.interrupted or self.limits.interrupted()),
        )


class UpwardSearch(StagedSearch[M]):
    """Where the first stage is the depth, the least one that has a model is looked for upwards.

    The other stages are made least at that depth.
    """

    deepest_built = 0
    """The deepest that the search goes."""

    @abstractmethod
    def feasible_at(self, depth: int) -> bool:
        """Whether some model has the depth, where those below have none."""

    @abstractmethod
    def deepest(self) -> int:
        """The depth that no model exceeds."""

    def _course(self) -> Status | None:
        if isinstance(self.core.objective[0], DepthStage):
            return self._by_depth()
        return self._stages(0)

    def _by_depth(self) -> Status | None:
        """The least depth that has a model, then the other stages; None where it is open."""
        cap = self.deepest()
        for depth in range(min(cap, self.deepest_built) + 1):
            self._deeper_than(depth - 1)
            self.depth = depth
            if self.feasible_at(depth):
                return self._stages(1)
        if cap <= self.deepest_built:
            return "infeasible"
        self._deeper_than(self.deepest_built)
        return None

    def _deeper_than(self, depth: int) -> None:
        """No model has the depth; bounds of later stages were those of models that have it."""
        self.lower = {0: Fraction(depth + 1)}
        self.tell(0)
