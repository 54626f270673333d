"""Survival in reports: how well leaves order rows, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.survival import concordance, integrated_brier
from odtdsl.predictors.wording import rounded
from odtdsl.presentation.report.markup import Markup, section, table
from odtdsl.presentation.report.node_facts import Facts, NodeFacts
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.tasks.survival.problem import observed


class SurvivalReport(ReportPart):
    """Scores, and the course of the rows of each leaf."""

    spread_head: ClassVar = "events"

    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        """Harrell's C and the integrated Brier score."""
        model, target = subject.model, subject.problem.target
        assert model is not None, "asked only with one"
        curves = [leaf.curve for leaf in model.ends]
        rows = []
        for one in samples:
            times, events = (column[one.inside] for column in observed(one.data, target))
            if not len(times):
                continue
            ends = model.apply(one.data.table)[one.inside]
            risk = model.predict(one.data.table)[one.inside]
            scores = concordance(times, events, risk), integrated_brier(times, events, curves, ends)
            said = ("-" if score is None else rounded(score) for score in scores)
            rows.append((one.name, str(len(times)), str(int(events.sum())), *said))
        heads = ("rows", "count", "events", "Harrell's C", "integrated Brier score")
        said_of = "Harrell's C: 0.5 is chance, 1 a perfect order; the Brier score: less is better"
        return section("Scores", "errors", table(said_of, heads, rows, numbers=range(1, 5)))

    def spread(self, one: NodeFacts, facts: Facts) -> str:
        """Events among the rows at a node."""
        _, events = observed(facts.rows.data, facts.rows.problem.target)
        return f"{int(events[one.inside].sum())} of {len(one.inside)}"

    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        """The time, and whether the event came."""
        times, events = observed(data, target)
        return [
            f"{rounded(time)}{'' if event else ' (censored)'}"
            for time, event in zip(times[at].tolist(), events[at].tolist(), strict=True)
        ]


PART = SurvivalReport()
