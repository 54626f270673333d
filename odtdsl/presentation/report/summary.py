"""The head of a report: the answer in a few lines, the objective, warnings, and the search."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.base.diagnostics.render import render_text
from odtdsl.base.numbers import counted
from odtdsl.driver.result import Stage
from odtdsl.presentation import console
from odtdsl.presentation.report.markup import Markup, Part, block, section, table, tag
from odtdsl.presentation.report.subject import Subject


def head(subject: Subject) -> Markup:
    """Title, status, and the facts that a reader wants first."""
    result = subject.result
    claim = subject.claim or console.status_line(result)
    kept = result.audit is None or result.audit.holds
    status = result.status if kept else "broken"
    facts = [(name, said) for name, said in _facts(subject) if said]
    return tag(
        "header",
        tag("p", "odtdsl report", class_="kind"),
        tag("h1", subject.name),
        tag(
            "p", claim + (" (interrupted)" if result.interrupted else ""), class_=f"status {status}"
        ),
        *([] if kept else [tag("p", "The model breaks rules: see the audit.", class_="broken")]),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", said)) for name, said in facts)),
    )


def _facts(subject: Subject) -> Iterator[tuple[str, str]]:
    result, rows = subject.result, subject.rows
    target = ", ".join(rows.problem.target.names)
    yield "target", target
    yield "training rows", str(rows.n_rows)
    if result.model is not None:
        yield "model", console.size_line(result).split(", ")[0] + ", " + _size(subject)
    if told := dict(training_errors(subject)):
        yield "training errors", f"{told['errors']} (accuracy {told['accuracy']})"
    if result.test is not None:
        yield "test", console.test_line(result.test).removeprefix("test: ")
    yield "back end", f"{result.by}, {result.seconds:.2f} s, seed {result.seed}"
    if result.certificate is not None:
        yield "certificate", str(result.certificate)
    yield "data digest", result.digest[:16]


def training_errors(subject: Subject) -> Iterator[tuple[str, str]]:
    """Weight of the wrong predictions for training rows, and the accuracy; of classes only."""
    audit, rows = subject.result.audit, subject.rows
    if audit is not None and audit.errors is not None:
        total = rows.total_weight(rows.mask(None)) / rows.weight_denominator
        yield "errors", console.shown(audit.errors)
        yield "accuracy", f"{1 - float(audit.errors) / total if total else 0.0:.2%}"


def _size(subject: Subject) -> str:
    model = subject.model
    assert model is not None, "there is a model"
    leaves = counted(model.n_leaves, "leaf", "leaves")
    return f"{counted(model.n_splits, 'split')}, {leaves}"


def objective(subject: Subject) -> Markup:
    """The stages, their values and what is proven."""
    stages = subject.result.stages
    if all(stage.value is None and stage.bound is None for stage in stages):
        return Markup("")
    searched = subject.result.backend != "saved"  # else no search told of this problem
    rows = [_stage(stage, searched) for stage in stages]
    heads = ("stage", "value", "bound", "gap", "proven")
    return section(
        "Objective",
        "objective",
        table("Objective stages, in order of priority", heads, rows, numbers=(1, 2, 3)),
    )


def _stage(stage: Stage, searched: bool) -> tuple[Part, ...]:
    gap = "-" if stage.gap is None else f"{float(stage.gap):.2%}"
    proven = "yes" if stage.proven else "no" if searched else "not told"
    return stage.text, console.shown(stage.value), console.shown(stage.bound), gap, proven


def warnings(subject: Subject) -> Markup:
    """What the analysis and the search warned of."""
    said = (tag("pre", block(render_text(one))) for one in subject.result.warnings)
    return section("Warnings", "warnings", *said)


def search(subject: Subject) -> Markup:
    """What the encoding and the search amounted to."""
    result = subject.result
    parts = [
        table(name, ("what", "count"), [(k, str(v)) for k, v in counts], numbers=(1,))
        for name, counts in (("Encoding", result.size), ("Counters", result.counters))
        if counts
    ]
    if not parts:
        return Markup("")
    inside = tag("details", tag("summary", "size of the encoding, and search statistics"), *parts)
    return section("Search", "search", inside)
