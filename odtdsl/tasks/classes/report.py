"""Classes in reports: confusion matrices by group, and the weight of each class."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.wording import label_text, rounded
from odtdsl.presentation.report.markup import Markup, Part, joined, section, table, tag
from odtdsl.presentation.report.node_facts import Facts, NodeFacts
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.problem import TargetDecl


class ClassReport(ReportPart):
    """Rates and confusion matrices."""

    spread_head: ClassVar = "classes"

    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        """Rates side by side, and a matrix for each sample."""
        return section(
            "Confusion",
            "errors",
            _rates(subject, samples),
            tag("div", *(_matrix(subject, one) for one in samples), class_="matrices"),
        )

    def spread(self, one: NodeFacts, facts: Facts) -> str:
        """The weight of each class."""
        rows, here = facts.rows, one.inside
        parts = []
        for index, label in enumerate(rows.problem.target.classes):
            weight = int(rows.weights[here][rows.labels[here] == index].sum())
            if weight:
                parts.append(f"{label_text(label)} {rounded(weight / rows.weight_denominator)}")
        return " · ".join(parts)

    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        """The label of each row."""
        assert data.labels is not None, "class targets have labels"
        return [label_text(target.classes[label]) for label in data.labels[at].tolist()]


def _counts(subject: Subject, sample: Sample) -> list[list[Fraction]]:
    """Weight by actual and predicted class."""
    model = subject.model
    assert model is not None, "asked only with one"
    labels = sample.data.labels
    assert labels is not None, "class targets have labels"
    predicted = model.labels(sample.data.table)
    n = len(subject.problem.target.classes)
    weights = sample.data.weights
    return [
        [
            Fraction(
                int(weights.numerators[sample.inside & (labels == a) & (predicted == p)].sum()),
                weights.denominator,
            )
            for p in range(n)
        ]
        for a in range(n)
    ]


def _rates(subject: Subject, samples: Sequence[Sample]) -> Markup:
    """Accuracy, and how often each class is predicted, side by side."""
    classes = [label_text(label) for label in subject.problem.target.classes]
    rows = []
    for one in samples:
        counts = _counts(subject, one)
        total = sum(map(sum, counts))
        right = sum(counts[i][i] for i in range(len(classes)))
        said: list[Part] = [one.name, str(int(one.inside.sum())), _number(total - right)]
        said.append(_share(right, total))
        said += [_share(sum(row[p] for row in counts), total) for p in range(len(classes))]
        rows.append(said)
    heads = ["rows", "count", "errors", "accuracy", *(f"predicted {name}" for name in classes)]
    return table("Rates", heads, rows, numbers=range(1, 4 + len(classes)))


def _matrix(subject: Subject, sample: Sample) -> Markup:
    counts = _counts(subject, sample)
    classes = [label_text(label) for label in subject.problem.target.classes]
    rows: list[tuple[Part, ...]] = []
    for a, name in enumerate(classes):
        each = (
            tag("span", _number(n), class_="hit" if a == p else "miss" if n else None)
            for p, n in enumerate(counts[a])
        )
        rows.append((name, *each, _share(counts[a][a], sum(counts[a]))))
    columns = [sum(row[p] for row in counts) for p in range(len(classes))]
    precision = (_share(counts[p][p], columns[p]) for p in range(len(classes)))
    rows.append(("precision", *precision, ""))
    heads = (joined(("actual ", tag("span", "\\ predicted"))), *classes, "recall")
    return table(f"Confusion, {sample.name}", heads, rows, numbers=range(1, 2 + len(classes)))


def _number(value: Fraction | int) -> str:
    return rounded(float(value))


def _share(part: Fraction | int, whole: Fraction | int) -> str:
    return f"{float(part / Fraction(whole)):.1%}" if whole else "-"


PART = ClassReport()
