"""Bound and incumbent over time, as a picture and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odtdsl.backends.base import Progress
from odtdsl.presentation import console
from odtdsl.presentation.charts.axes import Axis
from odtdsl.presentation.pictures.lettering import attr, px
from odtdsl.presentation.report.markup import Markup, Part, section, table, tag, text
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
        "Timeline", "timeline", *parts, tag("details", tag("summary", "in numbers"), steps)
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
    x = Axis([0.0, end or 1e-3], LEFT, WIDTH - RIGHT, "")
    x.low = 0.0
    y = Axis([float(v) for _, v in (*found, *bound)], HEIGHT - BOTTOM, TOP, "")
    says = f"{name}: best found and bound over {end:.2f} seconds"
    parts = [
        f'<svg class="chart" viewBox="0 0 {px(WIDTH)} {px(HEIGHT)}" width="{px(WIDTH)}" '
        f'height="{px(HEIGHT)}" role="img" aria-label="{attr(text(says))}">',
        f"<title>{text(says)}</title>",
        *_frame(x, y),
        *_steps(bound, "bound", "bound", x, y, end, found),
        *_steps(found, "found", "best found", x, y, end, bound),
        "</svg>",
    ]
    return tag("figure", Markup("\n".join(parts)), tag("figcaption", name))


def _frame(x: Axis, y: Axis) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value, says in x.ticks():
        at = px(x(value))
        yield f'<path class="grid" d="M{at} {px(TOP)}V{px(bottom)}"/>'
        yield f'<text x="{at}" y="{px(bottom + 17)}" text-anchor="middle">{says}</text>'
    for value, says in y.ticks():
        up = y(value)
        yield f'<path class="grid" d="M{px(LEFT)} {px(up)}H{px(right)}"/>'
        yield f'<text x="{px(LEFT - 8)}" y="{px(up + 4)}" text-anchor="end">{says}</text>'
    yield f'<path class="axis" d="M{px(LEFT)} {px(TOP)}V{px(bottom)}H{px(right)}"/>'
    yield f'<text x="{px(right)}" y="{px(HEIGHT - 6)}" text-anchor="end">seconds</text>'


def _steps(
    points: Points, kind: str, says: str, x: Axis, y: Axis, end: float, others: Points
) -> Iterator[str]:
    """A value holds until the next; its name stands at the end, clear of the other's."""
    if not points:
        return
    path = [f"M{px(x(points[0][0]))} {px(y(float(points[0][1])))}"]
    path += [f"H{px(x(at))}V{px(y(float(value)))}" for at, value in points[1:]]
    yield f'<path class="{kind}" d="{"".join(path)}H{px(x(end))}"/>'
    height = y(float(points[-1][1]))
    if others:
        other = y(float(others[-1][1]))
        close = 14 - abs(height - other)
        up = kind == "found" if close > 12 else height < other
        height += max(close, 0) / 2 * (-1 if up else 1)
    yield (f'<text class="{kind}" x="{px(x(end) + 8)}" y="{px(height + 4)}">{text(says)}</text>')
