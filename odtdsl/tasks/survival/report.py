"""Survival in reports: how well leaves order rows, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.survival import (
    Curve,
    concordance,
    event_steps,
    integrated_brier,
    median,
    survival,
)
from odtdsl.predictors.wording import rounded
from odtdsl.presentation.charts.chart import Axis, Plot, chart, fitting, label
from odtdsl.presentation.pictures.colours import class_colour
from odtdsl.presentation.pictures.lettering import px
from odtdsl.presentation.report.markup import Markup, Part, section, table, tag
from odtdsl.presentation.report.model import node_links
from odtdsl.presentation.report.node_facts import Facts, NodeFacts
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart, Sample
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.tasks.survival.problem import observed

WIDTH, HEIGHT = 640.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 24.0, 16.0, 44.0


class SurvivalReport(ReportPart):
    """Scores, and the course of the rows of each leaf."""

    spread_head: ClassVar = "events"

    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        """Harrell's C and the integrated Brier score."""
        model, target = subject.model, subject.problem.target
        assert model is not None, "asked only with one"
        curves = [leaf.curve for leaf in model.ends]
        rows = []
        for one in samples:
            times, events = (column[one.inside] for column in observed(one.data, target))
            if not len(times):
                continue
            ends = model.apply(one.data.table)[one.inside]
            risk = model.predict(one.data.table)[one.inside]
            scores = concordance(times, events, risk), integrated_brier(times, events, curves, ends)
            said = ("-" if score is None else rounded(score) for score in scores)
            rows.append((one.name, str(len(times)), str(int(events.sum())), *said))
        heads = ("rows", "count", "events", "Harrell's C", "integrated Brier score")
        said_of = "Harrell's C: 0.5 is chance, 1 a perfect order; the Brier score: less is better"
        return section("Scores", "errors", table(said_of, heads, rows, numbers=range(1, 5)))

    def outputs(self, subject: Subject) -> Markup:
        """The Kaplan-Meier curve of each leaf, and what it says in numbers."""
        facts = subject.facts
        if subject.model is None or facts is None:
            return Markup("")
        rows: list[tuple[Part, ...]] = []
        for at, end in enumerate(facts.graph.ends):
            half = median(end.leaf.curve)
            events = sum(events for _, _, events in end.leaf.curve)
            rows.append(
                (
                    node_links((end.number,)),
                    _square(at),
                    str(end.size),
                    rounded(events),
                    rounded((end.leaf.output or (1.0,))[0]),
                    "not reached" if half is None else rounded(half),
                )
            )
        heads = ("leaf", "colour", "rows", "events", "hazard ratio", "median")
        curves = [end.leaf.curve for end in facts.graph.ends]
        return section(
            "Survival",
            "outputs",
            _chart(curves, subject.problem.target.names[0]),
            table("Survival by leaf", heads, rows, numbers=range(2, 6)),
        )

    def spread(self, one: NodeFacts, facts: Facts) -> str:
        """Events among the rows at a node."""
        _, events = observed(facts.rows.data, facts.rows.problem.target)
        return f"{int(events[one.inside].sum())} of {len(one.inside)}"

    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        """The time, and whether the event came."""
        times, events = observed(data, target)
        return [
            f"{rounded(time)}{'' if event else ' (censored)'}"
            for time, event in zip(times[at].tolist(), events[at].tolist(), strict=True)
        ]


def _square(at: int) -> Markup:
    square = f'<rect width="12" height="12" fill="{class_colour(at)}"/>'
    return Markup(f'<svg class="chart" width="12" height="12" role="presentation">{square}</svg>')


def _chart(curves: Sequence[Curve], time: str) -> Markup:
    """The share that survives, over time, leaf by leaf."""
    last = max((curve[-1][0] for curve in curves if curve), default=0.0)
    if not last:
        return Markup("")
    x = Axis([0.0, last], LEFT, WIDTH - RIGHT, whole=False)
    y = Axis([0.0, 1.0], HEIGHT - BOTTOM, TOP, unit="%")
    x.low, x.high, y.low, y.high = 0.0, last, 0.0, 1.0
    parts = [
        *Plot(x, TOP, HEIGHT - BOTTOM, y).frame(),
        label(WIDTH - RIGHT, HEIGHT - 6, fitting(printable(time), WIDTH / 2), at="end"),
    ]
    for at, curve in enumerate(curves):
        if not curve:
            continue
        times = np.array([when for when, _, _ in event_steps(curve)])
        left = survival(curve, times)
        down = "".join(
            f"H{px(x(when))}V{px(y(share))}"
            for when, share in zip(times.tolist(), left.tolist(), strict=True)
        )
        path = f"M{px(x(0.0))} {px(y(1.0))}{down}H{px(x(curve[-1][0]))}"
        parts.append(f'<path d="{path}" fill="none" stroke="{class_colour(at)}" stroke-width="2"/>')
    name = "Kaplan-Meier curves of the leaves: the share that survives, over time"
    drawn = chart(name, WIDTH, HEIGHT, parts, head='class="chart" ')
    return tag("figure", Markup(drawn), tag("figcaption", name))


PART = SurvivalReport()
