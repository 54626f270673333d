"""Pictures of what a model's probabilities are worth on rows: ROC curve and calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator

from odtdsl.base.printing import printable
from odtdsl.insight.measured.parts import LEVEL, Part
from odtdsl.presentation import evaluation
from odtdsl.presentation.charts.chart import Axis, Plot, chart, fitting, label, line, mark
from odtdsl.presentation.report.markup import Markup, tag

SIZE = 340.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 20.0, 20.0, 48.0
_Z = 1.959964
"""Of the normal distribution, what 95% lie within."""


def curves(part: Part, classes: tuple[str, ...]) -> Iterator[Markup]:
    """The pictures that there are rows for; of two classes they are of the second."""
    drawn = [*_roc(part, classes), *_calibration(part, classes)]
    if drawn:
        yield tag("div", *drawn, class_="matrices")


def _roc(part: Part, classes: tuple[str, ...]) -> Iterator[Markup]:
    if not part.roc:
        return
    negative, positive = classes
    area = next(one for one in part.measures if one.name == "ROC AUC")
    plot = _square()
    places = [(plot.x(x), _up(plot, y)) for x, y, _ in part.roc]
    body = [
        *plot.frame(),
        _diagonal(plot),
        line("found", ("M", *places[0]), *(("L", *place) for place in places[1:])),
        *(
            mark("point", x, y, 3.5, printable(_roc_point(classes, *said)))
            for (x, y), said in zip(places, part.roc, strict=True)
        ),
        *_axes(f"{negative} told {positive}", f"{positive} told {positive}"),
    ]
    told = f"ROC curve of {positive}; area {evaluation.value_text(area.value)}"
    caption = f"{told}, {LEVEL:.0%} interval {evaluation.interval_text(area)}"
    yield _figure(caption, body)


def _roc_point(classes: tuple[str, ...], x: float, y: float, least: float) -> str:
    leaves = "no leaf" if math.isinf(least) else f"leaves with a share of {least:.1%} or more"
    return f"{leaves}: {y:.1%} of {classes[1]}, {x:.1%} of {classes[0]}"


def _calibration(part: Part, classes: tuple[str, ...]) -> Iterator[Markup]:
    if not part.calibration:
        return
    of = classes[1] if len(classes) == 2 else "the predicted class"
    plot = _square()
    most = max(n for _, n, _, _, _ in part.calibration)
    body = [*plot.frame(), _diagonal(plot)]
    for leaf, n, name, expected, observed in part.calibration:
        if len(classes) == 2 and name != of:
            expected, observed = 1 - expected, 1 - observed
        low, high = _wilson(observed, n)
        x = plot.x(expected)
        told = f"leaf {leaf}, {of}: {expected:.1%} in training, {observed:.1%} of {n} rows here"
        body += [
            line("found", ("M", x, _up(plot, low)), ("V", _up(plot, high))),
            mark("point", x, _up(plot, observed), 3 + 6 * math.sqrt(n / most), printable(told)),
        ]
    body += _axes("share in training", "share here")
    yield _figure(f"Shares of {of}: a circle for each leaf, larger with more rows", body)


def _wilson(share: float, n: int) -> tuple[float, float]:
    """The score interval of a share of n rows (Wilson 1927)."""
    middle = share + _Z**2 / (2 * n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return (middle - half) / (1 + _Z**2 / n), (middle + half) / (1 + _Z**2 / n)


def _square() -> Plot:
    x = Axis([0.0, 1.0], LEFT, SIZE - RIGHT, unit="%")
    y = Axis([0.0, 1.0], SIZE - BOTTOM, TOP, unit="%")
    x.low, x.high, y.low, y.high = 0.0, 1.0, 0.0, 1.0
    return Plot(x, TOP, SIZE - BOTTOM, y)


def _up(plot: Plot, value: float) -> float:
    assert plot.y is not None, "a square has both axes"
    return plot.y(value)


def _diagonal(plot: Plot) -> str:
    return line("even", ("M", plot.left, plot.bottom), ("L", plot.right, plot.top))


def _axes(across: str, upwards: str) -> list[str]:
    said = [fitting(printable(text), SIZE - RIGHT - 4) for text in (across, upwards)]
    return [label(SIZE - RIGHT, SIZE - 8, said[0], at="end"), label(4, TOP - 7, said[1])]


def _figure(caption: str, body: list[str]) -> Markup:
    drawn = chart(printable(caption), SIZE, SIZE, body, head='class="chart" ')
    return tag("figure", Markup(drawn), tag("figcaption", caption))
