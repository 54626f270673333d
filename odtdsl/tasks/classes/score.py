"""Scores of classes: errors, and the warning about classes that a model never predicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from odtdsl.auditor.audit import model_on_data
from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.datasets.dataset import Dataset, Value
from odtdsl.driver.scoring import ScorePart, TestScore, row_weights
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.problem import Problem
from odtdsl.problem.ir.rows import Rows

SHOWN = 5


class ClassScore(ScorePart):
    """Predictions are right or wrong."""

    def score(self, model: Predictor, data: Dataset, problem: Problem | None = None) -> TestScore:
        """Wrong predictions."""
        assert data.labels is not None, "class targets have labels"
        wrong = model.labels(data.table) != data.labels
        share = float(np.average(wrong, weights=row_weights(data)))
        return TestScore(rows=data.n_rows, errors=int(wrong.sum()), wrong=share)

    def constants(
        self, model: Predictor, rows: Rows
    ) -> Iterator[tuple[Predictor, tuple[Value, ...]]]:
        """Each class, those of more weight first."""
        weights = np.bincount(rows.labels, rows.weights, minlength=len(model.classes))
        for label in np.argsort(-weights, kind="stable").tolist():
            yield model.alone(Leaf(label=label, size=rows.n_rows)), (model.classes[label],)

    def warnings(
        self, model: Predictor, rows: Rows, *, counted: bool = False
    ) -> tuple[Diagnostic, ...]:
        """Classes that are never predicted (O104), which a small total of errors hides."""
        return _unpredicted(rows, _ends(model) if counted else _predicted(model, rows))

    def measure(self, words: Collection[str]) -> str:
        """Wrong predictions, or their cost if the spec declares losses."""
        return "expected_loss" if {"loss", "expected_loss"} & set(words) else "error_rate"


def _predicted(model: Predictor, rows: Rows) -> set[int]:
    """The classes that rows get."""
    return set(model_on_data(model, rows.problem, rows.data).predicted.tolist())


def _ends(model: Predictor) -> set[int]:
    """The same by what a model says of its rows."""
    if isinstance(model, Diagram):
        return {label for label, end in enumerate(model.terminals) if end.size}
    assert isinstance(model, Tree), "a model is a tree or a diagram"
    return {leaf.label for leaf in model.leaves if leaf.size and leaf.label is not None}


def _unpredicted(rows: Rows, said: set[int]) -> tuple[Diagnostic, ...]:
    """One warning about all classes of training rows that the model says of none (O104)."""
    target = rows.problem.target
    n_classes = len(target.classes)
    there = np.bincount(rows.labels, minlength=n_classes)
    never = [label for label in np.flatnonzero(there).tolist() if label not in said]
    if not never:
        return ()
    rarest = min(never, key=lambda at: (int(there[at]), at))
    example = _value(target.classes[rarest])
    notes = [
        f"{there[at]} of {rows.n_rows} training rows {'has' if there[at] == 1 else 'have'}"
        f" {_value(target.classes[at])}"
        for at in never[:SHOWN]
    ]
    if len(never) > SHOWN:
        notes.append(f"and {len(never) - SHOWN} more classes")
    spans = [stage.span for stage in rows.problem.objective[:1]]
    names = [_value(target.classes[at]) for at in never]
    return (
        Diagnostic(
            code="O104",
            severity="warning",
            message=f"the model never predicts {_listed(names)}",
            labels=tuple(Label(span=span) for span in spans if span.start >= 0),
            notes=tuple(notes),
            source=rows.problem.source,
            helps=(
                f"to have it predicted, write a rule: `rule found: recall({example}) >= 50%`",
                (
                    f"or make its errors more expensive: `{_losses(target.classes, rarest)}` "
                    "and `minimize expected_loss`"
                ),
            ),
        ),
    )


def _losses(classes: Sequence[Value], at: int) -> str:
    """What makes every error on the class dear, or the first few of them."""
    others = [_value(one) for place, one in enumerate(classes) if place != at]
    said = [f"loss predict {one} when {_value(classes[at])} = 10" for one in others[:SHOWN]]
    return " ".join([*said, *(["..."] if len(others) > SHOWN else [])])


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:SHOWN])
    last = f"{len(names) - SHOWN} more classes" if len(names) > SHOWN else shown.pop()
    return f"{', '.join(shown)} or {last}" if shown else last


def _value(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


PART = ClassScore()
