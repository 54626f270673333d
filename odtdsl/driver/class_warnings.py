"""The warning about classes that a model never predicts, which a small total of errors hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.data.dataset import Value
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.rows import Rows

SHOWN = 5


def unpredicted(model: Predictor, rows: Rows) -> tuple[Diagnostic, ...]:
    """One warning about all classes of training rows that the model predicts for none (O104)."""
    from odtdsl.auditor.audit import judge

    target = rows.problem.target
    if target.kind != "class":
        return ()
    n_classes = len(target.classes)
    there = np.bincount(rows.labels, minlength=n_classes)
    said = np.bincount(judge(model, rows.problem, rows.data).predicted, minlength=n_classes)
    never = np.flatnonzero((there > 0) & (said == 0)).tolist()
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
