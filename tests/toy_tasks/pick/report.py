"""Picks in reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from odtdsl.tasks.pick.score import PART as SCORE  # type: ignore[import-not-found,import-untyped]
from odtdsl.tasks.pick.score import rewards

from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.wording import rounded
from odtdsl.presentation.report.markup import Markup, section, table
from odtdsl.presentation.report.node_facts import Facts, NodeFacts
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.problem import TargetDecl


class PickReport(ReportPart):
    spread_head: ClassVar = "rewards"

    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        assert subject.model is not None
        rows = []
        for one in samples:
            for name, value in SCORE.score(subject.model, one.data).measures:
                rows.append((one.name, name, rounded(value)))
        return section("Rewards", "errors", table("By rows", ("rows", "measure", "value"), rows))

    def spread(self, one: NodeFacts, facts: Facts) -> str:
        names = facts.rows.problem.target.names
        sums = rewards(facts.rows.data, names)[one.inside].sum(axis=0).tolist()
        pairs = zip(names, sums, strict=True)
        return " · ".join(f"{name} {rounded(value)}" for name, value in pairs)

    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        return [", ".join(map(rounded, row)) for row in rewards(data, target.names)[at].tolist()]


PART = PickReport()
