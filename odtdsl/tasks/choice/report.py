"""Choices in reports: the value of the policy beside that of simpler ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.wording import label_text, rounded
from odtdsl.presentation.report.markup import Markup, section, table
from odtdsl.presentation.report.node_facts import Facts, NodeFacts
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.tasks.choice.problem import best_choices, columns


class ChoiceReport(ReportPart):
    """Means of rewards or losses, and how often each choice is made."""

    spread_head: ClassVar = "mean by choice"

    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        """The mean of the policy, of each choice for everybody, and of the best of each row."""
        assert subject.model is not None, "asked only with one"
        target = subject.problem.target
        choices = [label_text(name) for name in target.classes]
        means, shares = [], []
        for one in samples:
            many = int(one.inside.sum())
            if not many:
                continue
            cells = columns(one.data, target.names)[one.inside]
            made = subject.model.labels(one.data.table)[one.inside]
            best = best_choices(one.data, target)[one.inside]
            each = np.arange(many)
            values = [cells[each, made].mean(), *cells.mean(axis=0), cells[each, best].mean()]
            means.append((one.name, str(many), *(rounded(float(value)) for value in values)))
            counts = np.bincount(made, minlength=len(choices))
            shares.append((one.name, str(many), *(f"{count / many:.1%}" for count in counts)))
        heads = ("rows", "count", "this tree", *(f"all {name}" for name in choices))
        return section(
            f"Mean {target.by}",
            "errors",
            table(
                f"Mean {target.by}, unweighted; the last column chooses for every row in hindsight",
                (*heads, "best of each row"),
                means,
                numbers=range(1, 4 + len(choices)),
            ),
            table(
                "Share of rows by choice",
                ("rows", "count", *choices),
                shares,
                numbers=range(1, 2 + len(choices)),
            ),
        )

    def spread(self, one: NodeFacts, facts: Facts) -> str:
        """The mean of each choice's column."""
        names = facts.rows.problem.target.names
        if not len(one.inside):
            return ""
        means = columns(facts.rows.data, names)[one.inside].mean(axis=0).tolist()
        pairs = zip(names, means, strict=True)
        return " · ".join(f"{printable(name)} {rounded(value)}" for name, value in pairs)

    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        """The reward or loss of each choice."""
        return [", ".join(map(rounded, row)) for row in columns(data, target.names)[at].tolist()]


PART = ChoiceReport()
