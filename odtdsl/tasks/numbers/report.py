"""Numbers in reports: errors of each target, the outputs of leaves, and what they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from odtdsl.auditor.outputs import kept as outputs_kept
from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import rounded
from odtdsl.presentation.report.markup import Markup, Part, section, table, tag
from odtdsl.presentation.report.model import node_links
from odtdsl.presentation.report.node_facts import Facts, NodeFacts
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.outputs.feasible import feasible_set
from odtdsl.problem.terms.normalize import normalize


class NumberReport(ReportPart):
    """Errors and outputs, target by target."""

    spread_head: ClassVar = "spread"

    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        """Mean squared and absolute error of each target; rows count alike."""
        model = subject.model
        assert model is not None, "errors are of a model"
        rows = []
        for one in samples:
            assert one.data.targets is not None, "number targets are there"
            apart = (model.outputs(one.data.table) - one.data.targets)[one.inside]
            if not len(apart):
                continue
            for target, each in zip(subject.problem.target.names, apart.T, strict=True):
                squared, absolute = float((each**2).mean()), float(np.abs(each).mean())
                rows.append((one.name, target, str(len(each)), rounded(squared), rounded(absolute)))
        heads = ("rows", "target", "count", "mse", "mae")
        said = table("Errors by target", heads, rows, numbers=(2, 3, 4))
        return section("Errors", "errors", said)

    def outputs(self, subject: Subject) -> Markup:
        """The outputs that the rules admit, and those of the leaves."""
        tree, facts = subject.model, subject.facts
        if not isinstance(tree, Tree) or facts is None:
            return Markup("")
        words = _feasible(subject)
        names = subject.problem.target.names
        heads: list[Part] = ["leaf", "rows", *names]
        kept = None
        if words is not None:
            kept = outputs_kept(tree, subject.rows).tolist()
            heads.append("feasible")
        rows: list[tuple[Part, ...]] = []
        for at, end in enumerate(facts.graph.ends):
            values = (rounded(value) for value in end.leaf.output or ())
            last = () if kept is None else ("yes" if kept[at] else "NO",)
            rows.append((node_links((end.number,)), str(end.size), *values, *last))
        said = table("Outputs of leaves", heads, rows, numbers=range(1, 2 + len(names)))
        return section("Outputs", "outputs", words, said)

    def spread(self, one: NodeFacts, facts: Facts) -> str:
        """The range of each target."""
        rows, here = facts.rows, one.inside
        assert rows.data.targets is not None, "number targets are there"
        if not len(here):
            return ""
        each = rows.data.targets[here]
        return " · ".join(
            f"{printable(name)} {rounded(float(low))} to {rounded(float(high))}"
            for name, low, high in zip(
                rows.problem.target.names, each.min(axis=0), each.max(axis=0), strict=True
            )
        )

    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        """The numbers of each row."""
        assert data.targets is not None, "number targets are there"
        return [", ".join(map(rounded, row)) for row in data.targets[at].tolist()]


def _feasible(subject: Subject) -> Markup | None:
    """The feasible set in words; None where every output is admitted."""
    found = feasible_set(normalize(subject.rows))
    if found is None:
        return None
    lines = found.lines(subject.problem.target.names)
    head = "The feasible set: every output satisfies all of these."
    if len(lines) > 1:
        head = f"The feasible set has {len(lines)} parts: every output lies in one of them."
    return tag("div", tag("p", head), tag("ul", *(tag("li", line) for line in lines)))


PART = NumberReport()
