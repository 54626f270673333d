"""Where a model is right and wrong, by group, as its task defines it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from odtdsl.presentation.report.markup import Markup
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.expr import CellAnd, CellCondition, CellNot, CellOr, RowIn
from odtdsl.problem.ir.rows import holds


def errors(subject: Subject) -> Markup:
    """By group, on training rows and on test rows."""
    if subject.model is None:
        return Markup("")
    samples = list(_samples(subject))
    return ReportPart.of(subject.problem.target.kind).errors(subject, samples)


def outputs(subject: Subject) -> Markup:
    """What leaves may predict and do predict, if the task has outputs."""
    return ReportPart.of(subject.problem.target.kind).outputs(subject)


def _samples(subject: Subject) -> Iterator[Sample]:
    rows, test = subject.rows, subject.result.test_rows
    for kind, data in (("training", rows.data), ("test", test)):
        if data is None or not data.n_rows:
            continue
        yield Sample(name=f"{kind} rows", data=data, inside=np.ones(data.n_rows, dtype=bool))
        for group in rows.problem.groups:
            if data is rows.data or not _names_rows(group.condition):
                inside = holds(group.condition, data)
                yield Sample(name=f"{kind} rows of {group.name}", data=data, inside=inside)


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
