"""The subject of a report: a result, and the explanations requested with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from odtdsl.driver.result import Result
from odtdsl.presentation.report.node_facts import Facts, facts_of

if TYPE_CHECKING:
    from odtdsl.insight.explanations import Explanation
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.problem.ir.problem import Problem
    from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a report is of.

    Attributes
    ----------
    result
        With its training rows.
    title
        Of the page; default the name of the spec.
    explanation
        The prices of rules, or the conflict.
    untold
        Why there is no explanation although one was asked for.
    with_rows
        Whether the page may hold training rows, to follow.
    claim
        What is said of the status, where it is not a search's own.
    """

    result: Result
    title: str = ""
    explanation: Explanation | None = None
    other_warnings: str = ""
    with_rows: bool = True
    claim: str | None = None

    @property
    def rows(self) -> Rows:
        """The training rows of the result."""
        assert self.result.rows is not None, "a report needs a result with rows"
        return self.result.rows

    @property
    def problem(self) -> Problem:
        """The analysed problem of the result."""
        return self.rows.problem

    @property
    def model(self) -> Predictor | None:
        """The tree or diagram of the result, `None` without one."""
        return self.result.model

    @cached_property
    def facts(self) -> Facts | None:
        """The model's nodes; None without a model."""
        return None if self.model is None else facts_of(self.model, self.rows)

    @property
    def name(self) -> str:
        """The title of the page."""
        source = self.problem.source
        named = source is not None and not source.name.startswith("<")
        return self.title or (source.name.rsplit("/", 1)[-1] if source and named else "A report")
