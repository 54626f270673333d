"""What `odt evaluate` says of the test rows: measures with intervals, curves and leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.presentation.evaluation import interval_text, value_text
from odtdsl.presentation.report.curves import curves
from odtdsl.presentation.report.markup import Markup, Part, table, tag
from odtdsl.presentation.report.subject import Subject

if TYPE_CHECKING:
    from odtdsl.insight.evaluation import Evaluation
    from odtdsl.insight.measured.parts import Part as EvaluationPart

DRAWS = 1000


def measures(subject: Subject) -> Iterator[Markup]:
    """The measures, what they are, and what the leaves are worth; nothing without test rows."""
    found = _evaluated(subject)
    if found is None:
        return
    part = found.parts[0]
    yield _compared(found)
    yield tag("p", " ".join(_hints(found)), class_="hint")
    if found.groups:
        yield _by_group(found.groups)
    yield from curves(part, found.classes)
    if part.calibration:
        leaves: list[tuple[Part, ...]] = [
            (str(leaf), label, str(n), f"{expected:.1%}", f"{observed:.1%}")
            for leaf, n, label, expected, observed in part.calibration
        ]
        heads = ("leaf", "predicts", "test rows", "its share in training", "its share here")
        yield table("What the leaves say, and what came", heads, leaves, numbers=(2, 3, 4))


def _evaluated(subject: Subject) -> Evaluation | None:
    from odtdsl.compiler import Analysis
    from odtdsl.insight.evaluation import evaluate_under

    data, model, rows = subject.result.test_rows, subject.model, subject.rows
    if data is None or model is None or not data.n_rows:
        return None
    analysis = Analysis(
        problem=subject.problem, rows=rows, test=data, table=rows.data.table, warnings=()
    )
    try:
        return evaluate_under(analysis, model, data.table, draws=DRAWS)
    except OdtError:  # no row has a class that the model knows, or a truth that it reads
        return None


def _compared(found: Evaluation) -> Markup:
    """Each measure with its interval, and that of the trees beside."""
    from odtdsl.insight.measured.parts import LEVEL

    others = [part for _, part in found.beside]
    rows: list[tuple[Part, ...]] = [
        (
            own.name,
            value_text(own.value),
            interval_text(own),
            *(f"{value_text(one.value)} {interval_text(one)}" for one in beside),
        )
        for own, *beside in zip(
            found.parts[0].measures, *(part.measures for part in others), strict=True
        )
    ]
    heads = ("measure", "value", f"{LEVEL:.0%} interval", *(name for name, _ in found.beside))
    return table("Measures on test rows", heads, rows, numbers=(1,))


def _by_group(groups: Sequence[EvaluationPart]) -> Markup:
    """Each measure of each group of the spec, with its interval."""
    rows: list[tuple[Part, ...]] = [("test rows", *(str(part.rows) for part in groups))]
    for same in zip(*(part.measures for part in groups), strict=True):
        said = (f"{value_text(one.value)} {interval_text(one)}" for one in same)
        rows.append((same[0].name, *said))
    heads = ("measure", *(part.group or "" for part in groups))
    return table("Measures by group, on test rows", heads, rows)


def _hints(found: Evaluation) -> Iterator[str]:
    yield f"The intervals are those of {DRAWS:,} bootstrap samples of the test rows."
    said = {
        "greedy tree": "The greedy tree is grown from the same training rows under the same rules.",
        "CART": "CART is scikit-learn's, from the same training rows; it knows no rules.",
    }
    yield from (said[name] for name, _ in found.beside)
    if found.left_beside:
        yield (
            "No greedy tree and CART stand beside, as they take long on so many training rows; "
            "odt evaluate --beside grows them."
        )
    if found.parts[0].calibration:
        yield (
            "Probabilities are the shares of the classes among the training rows of a leaf; lines "
            "through the circles are score intervals of what came there."
        )
