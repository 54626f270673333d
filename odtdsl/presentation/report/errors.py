"""Where a model is right and wrong: confusion matrices by group; errors of number targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtdsl.data.dataset import Dataset
from odtdsl.data.table import BoolArray
from odtdsl.predictors.wording import label_text, rounded
from odtdsl.presentation.report.markup import Markup, Part, joined, section, table, tag
from odtdsl.presentation.report.subject import Subject
from odtdsl.problem.ir.expr import CellAnd, CellCondition, CellNot, CellOr, RowIn
from odtdsl.problem.ir.rows import holds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sample:
    """Rows under a name: their data, and which of them count."""

    name: str
    data: Dataset
    inside: BoolArray


def errors(subject: Subject) -> Markup:
    """By group, on training rows and on test rows."""
    if subject.model is None:
        return Markup("")
    samples = list(_samples(subject))
    if subject.problem.target.kind == "number":
        return section("Errors", "errors", _of_numbers(subject, samples))
    return section(
        "Confusion",
        "errors",
        _rates(subject, samples),
        tag("div", *(_matrix(subject, one) for one in samples), class_="matrices"),
    )


def _samples(subject: Subject) -> Iterator[_Sample]:
    rows, test = subject.rows, subject.result.test_rows
    for kind, data in (("training", rows.data), ("test", test)):
        if data is None or not data.n_rows:
            continue
        yield _Sample(name=f"{kind} rows", data=data, inside=np.ones(data.n_rows, dtype=bool))
        for group in rows.problem.groups:
            if data is rows.data or not _names_rows(group.condition):
                inside = holds(group.condition, data)
                yield _Sample(name=f"{kind} rows of {group.name}", data=data, inside=inside)


def _names_rows(condition: CellCondition) -> bool:
    """Whether a group is of numbered rows, which only the training rows have."""
    match condition:
        case RowIn():
            return True
        case CellNot():
            return _names_rows(condition.operand)
        case CellAnd() | CellOr():
            return any(map(_names_rows, condition.items))
        case _:
            return False


# ---- classes


def _counts(subject: Subject, sample: _Sample) -> list[list[Fraction]]:
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


def _rates(subject: Subject, samples: list[_Sample]) -> Markup:
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


def _matrix(subject: Subject, sample: _Sample) -> Markup:
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


# ---- numbers


def _of_numbers(subject: Subject, samples: list[_Sample]) -> Markup:
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
    return table("Errors by target", heads, rows, numbers=(2, 3, 4))
