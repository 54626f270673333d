"""The best valid model so far, for searches that offer whole models and prove nothing."""

from __future__ import annotations

import time
from typing import TypeVar

from odtdsl.backends.base import Limits, RawAnswer, Report, StageOutcome
from odtdsl.backends.staged import SearchState
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.evaluate import NotEvaluable
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawTree

M = TypeVar("M", RawTree, RawDiagram)


class Incumbent(SearchState[M]):
    """Keeps the tree or diagram that breaks nothing and is lexicographically least.

    A search `offer`s models, valid or not, until it is `stopped`, and gives the `answer`.
    """

    def __init__(self, core: Core, limits: Limits, report: Report | None) -> None:
        super().__init__(core, limits, report)
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
        try:
            # Most that are offered before a first valid one break a rule, which is soon seen.
            if self.best is None and not all(map(evaluation.keeps, self.core.clauses)):
                return False
            values = self.values_on(evaluation)
            if not self.improves(values) or evaluation.violations():
                return False
        except NotEvaluable:
            return False
        self.best, self.values = model, values
        self.tell(0)
        return True

    def answer(self, model: M | None) -> RawAnswer:
        """The best model, or what was made of it, as an answer that proves nothing."""
        if model is not None:
            self.best, self.values = model, self.values_on(evaluated(self.core, model))
        return RawAnswer(
            status="unknown" if model is None else "feasible",
            model=model,
            stages=tuple(StageOutcome(value=one, bound=None, proven=False) for one in self.values),
            timeline=tuple(self.timeline),
            interrupted=self.interrupted,
        )
