"""The test rows: figures beside those of training and of the best constant, and every rule."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.driver.scoring import TestScore
from odtdsl.presentation import console
from odtdsl.presentation.report.markup import Markup, Part, section, table, tag
from odtdsl.presentation.report.measures import measures
from odtdsl.presentation.report.rules import by_group, checked
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.summary import training_errors


def held_out(subject: Subject) -> Markup:
    """What the model does on rows that no search has seen."""
    test = subject.result.test
    if test is None:
        return Markup("")
    parts = [
        table(
            "On test rows, which no search has seen",
            _heads(test),
            list(_figures(subject, test)),
            numbers=(1, 2, 3),
        )
    ]
    parts += measures(subject)
    if test.audit is not None and test.audit.lines:
        heads = ("rule", "holds", "value", "bound", "slack", "over", "rows", "condition")
        rows: list[tuple[Part, ...]] = [(line.rule, *checked(line)) for line in test.audit.lines]
        parts += [
            tag(
                "p",
                (
                    "Rules are enforced on training rows; this table shows their values on test "
                    "rows. A value over few rows changes a lot with each of them."
                ),
                class_="hint",
            ),
            table("Rules on test rows", heads, rows, numbers=(2, 3, 4, 5)),
            by_group(test.audit.lines),
        ]
    return section("Test rows", "test", *parts)


def _heads(test: TestScore) -> tuple[str, ...]:
    base = () if test.baseline is None else (console.constant_name(test.baseline),)
    return ("measure", "training rows", "test rows", *base)


def _figures(subject: Subject, test: TestScore) -> Iterator[tuple[Part, ...]]:
    """Rows, errors, and each stage of the objective that is measured on rows."""
    result, base = subject.result, test.baseline

    def row(name: str, train: str, here: str, constant: str) -> tuple[Part, ...]:
        return (name, train, here, *(() if base is None else (constant,)))

    trained = dict(training_errors(subject))
    yield row("rows", str(subject.rows.n_rows), str(test.rows), "")
    for name, of in _counts(test):
        told = "" if base is None else dict(_counts(base))[name]
        yield row(name, trained.get(name, ""), of, told)
    if test.audit is None:
        return
    plain = None if base is None or base.audit is None else base.audit.objective
    for at, stage in enumerate(result.stages):
        value = test.audit.objective[at]
        if test.audit.of_rows[at] and not console.is_in_test_line(stage.text, value, test):
            constant = "" if plain is None else console.shown(plain[at])
            yield row(stage.text, console.shown(stage.value), console.shown(value), constant)


def _counts(test: TestScore) -> list[tuple[str, str]]:
    if test.accuracy is None:
        return [(name, f"{value:.6g}") for name, value in test.figures.items()]
    return [("errors", str(test.errors)), ("accuracy", f"{test.accuracy:.2%}")]
