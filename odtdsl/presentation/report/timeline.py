"""Bound and incumbent over time, as a picture and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odtdsl.backends.base import Progress
from odtdsl.base.printing import printable
from odtdsl.presentation import console
from odtdsl.presentation.charts.chart import Axis, Plot, chart, label, line
from odtdsl.presentation.report.markup import Markup, Part, section, table, tag
from odtdsl.presentation.report.subject import Subject

WIDTH, HEIGHT = 640.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 96.0, 16.0, 40.0

Points = list[tuple[float, Fraction]]


def timeline(subject: Subject) -> Markup:
    """A chart for each stage of the objective that took steps, and all steps in numbers."""
    result = subject.result
    if not result.timeline:
        return Markup("")
    parts = [_chart(subject, at) for at in range(len(result.stages))]
    heads = ("seconds", "stage", "best found", "bound")
    rows = [_row(one) for one in result.timeline]
    steps = table("Steps", heads, rows, numbers=range(4))
    return section(
        "Timeline", "timeline", *parts, tag("details", tag("summary", "as a table"), steps)
    )


def _row(one: Progress) -> tuple[Part, ...]:
    values = (console.shown(one.incumbent), console.shown(one.bound))
    return f"{one.seconds:.3f}", str(one.stage + 1), *values


def _chart(subject: Subject, stage: int) -> Markup:
    """Steps of the best value found and of its bound, to the end of the search."""
    result = subject.result
    steps = [one for one in result.timeline if one.stage == stage]
    found = [(one.seconds, one.incumbent) for one in steps if one.incumbent is not None]
    bound = [(one.seconds, one.bound) for one in steps if one.bound is not None]
    if len({*found, *bound}) < 2:
        return Markup("")
    later = [one.seconds for one in result.timeline if one.stage > stage]
    last = result.stages[stage]
    end = max([one.seconds for one in steps] + ([] if later else [result.seconds]))
    bound = _closed(bound, last.bound if last.bound is not None else None, end)
    return _drawn(last.text, found, bound, end)


def _closed(points: Points, value: Fraction | None, end: float) -> Points:
    """The last bound may be known only with the answer."""
    if value is None or (points and points[-1][1] == value):
        return points
    return [*points, (end, value)]


def _drawn(name: str, found: Points, bound: Points, end: float) -> Markup:
    x = Axis([0.0, end or 1e-3], LEFT, WIDTH - RIGHT)
    x.low = 0.0
    y = Axis([float(v) for _, v in (*found, *bound)], HEIGHT - BOTTOM, TOP)
    plot = Plot(x, TOP, HEIGHT - BOTTOM, y)
    parts = [
        *plot.frame(),
        label(plot.right, HEIGHT - 6, "seconds", at="end"),
        *_steps(bound, "bound", "bound", x, y, end, found),
        *_steps(found, "found", "best found", x, y, end, bound),
    ]
    text = f"{name}: best found and bound over {end:.2f} seconds"
    drawn = chart(printable(text), WIDTH, HEIGHT, parts, head='class="chart" ')
    return tag("figure", Markup(drawn), tag("figcaption", name))


def _steps(
    points: Points, kind: str, text: str, x: Axis, y: Axis, end: float, others: Points
) -> Iterator[str]:
    """A value holds until the next one; its name is drawn at the end, clear of the other's."""
    if not points:
        return
    places = [(x(at), y(float(value))) for at, value in points]
    steps = (step for across, up in places[1:] for step in (("H", across), ("V", up)))
    yield line(kind, ("M", *places[0]), *steps, ("H", x(end)))
    height = places[-1][1]
    if others:
        other = y(float(others[-1][1]))
        close = 14 - abs(height - other)
        up = kind == "found" if close > 12 else height < other
        height += max(close, 0) / 2 * (-1 if up else 1)
    yield label(x(end) + 8, height + 4, text, kind)
