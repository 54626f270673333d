"""The best valid tree so far, judged exactly."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Generic, TypeVar

from odtdsl.backends.base import Limits, Progress, Report
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.evaluate import NotEvaluable
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawTree

M = TypeVar("M", RawTree, RawDiagram)


class Judge(Generic[M]):
    """Keeps the tree or diagram that breaks nothing and is lexicographically least.

    Attributes
    ----------
    best, values
        The model and the values of its stages; None as long as there is none.
    """

    def __init__(self, core: Core, limits: Limits, report: Report | None) -> None:
        self.core = core
        self.limits = limits
        self.report = report
        self.started = time.monotonic()
        self.best: M | None = None
        self.values: tuple[Fraction, ...] | None = None
        self.timeline: list[Progress] = []
        self.interrupted = False
        self._seen: set[M] = set()

    def stopped(self) -> bool:
        """Whether a limit is reached."""
        if not self.interrupted and self.limits.interrupted():
            self.interrupted = True
        late = self.limits.deadline is not None and time.monotonic() >= self.limits.deadline
        return self.interrupted or late

    def offer(self, model: M) -> bool:
        """Take the model if it is valid and better; whether it was taken."""
        if model in self._seen:
            return False
        self._seen.add(model)
        evaluation = evaluated(self.core, model)
        values = tuple(evaluation.stage_value(stage) for stage in self.core.objective)
        if self.values is not None and values >= self.values:
            return False
        try:
            if evaluation.violations():
                return False
        except NotEvaluable:
            return False
        self.best, self.values = model, values
        self._tell()
        return True

    def _tell(self) -> None:
        assert self.values is not None
        progress = Progress(
            stage=0,
            incumbent=self.values[0] if self.values else None,
            bound=None,
            seconds=time.monotonic() - self.started,
            found=self.best,
        )
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)
