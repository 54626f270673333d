"""A curve as an SVG picture: the objective over the bound of a rule, as steps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from odtdsl.base.theme import Theme
from odtdsl.predictors.wording import printable
from odtdsl.presentation.charts.axes import Axis, Colours, document
from odtdsl.presentation.pictures.lettering import FONT, text_width, wrapped
from odtdsl.problem.ir.expr import Scope

if TYPE_CHECKING:
    from odtdsl.insight.explanations.curves import Curve, Point

WIDTH, HEIGHT = 640.0, 418.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 24.0, 62.0, 62.0


def to_svg(curve: Curve, *, title: str = "", theme: Theme = "auto") -> str:
    """The curve as a standalone SVG document; of several stages the first is drawn.

    Every point is a tree, with its values as tooltip: full where it is proven, hollow where a
    limit left a better one possible. Where no tree is tight enough, the ground is shaded.
    """
    measured = [point for point in curve.points if point.measure is not None]
    name = title or f"{_stage(curve)} against {curve.rule.text}"
    body = _Plot(curve, measured).parts() if measured else [_nothing()]
    return document(
        printable(name),
        WIDTH,
        HEIGHT,
        theme,
        _rules,
        {"none": "#f1f3f5"},
        {"none": "#161b22"},
        body,
    )


def _nothing() -> str:
    return (
        f'<text x="{WIDTH / 2:g}" y="{HEIGHT / 2:g}" text-anchor="middle">no tree was found</text>'
    )


def _stage(curve: Curve) -> str:
    return curve.stages[0].partition(" ")[2]


class _Plot:
    """One picture, drawn from the ground up."""

    def __init__(self, curve: Curve, points: list[Point]) -> None:
        self.curve, self.points = curve, points
        bound = float(curve.rule.bound)
        self.x = Axis(
            [bound, *(_x(point) for point in points)], LEFT, WIDTH - RIGHT, curve.units[-1]
        )
        self.y = Axis([_y(p) for p in points], HEIGHT - BOTTOM, TOP, curve.units[0])
        self.upwards = curve.rule.op == "<="
        """Whether larger bounds are looser."""

    def parts(self) -> Iterator[str]:
        yield from self._ground()
        yield from self._frame()
        yield from self._spec_line()
        yield self._steps()
        yield from map(self._marker, self.points)
        yield from self._at_the_spec()

    def _ground(self) -> Iterator[str]:
        """Bounds that no tree keeps."""
        last = self.x(_x(self.points[-1]))
        edge = LEFT if self.upwards else WIDTH - RIGHT
        left, width = min(last, edge), abs(last - edge)
        keeps_all = self.curve.points[-1].measure is None
        if self.curve.ended != "tightest" or keeps_all or width < 1:
            return
        yield (
            f'<rect class="none" x="{left:.1f}" y="{TOP:g}" width="{width:.1f}" '
            f'height="{HEIGHT - BOTTOM - TOP:g}"><title>no tree keeps such a bound</title></rect>'
        )
        if width > text_width("no tree"):
            yield (
                f'<text class="quiet" x="{left + width / 2:.1f}" y="{HEIGHT - BOTTOM - 8:g}" '
                'text-anchor="middle">no tree</text>'
            )

    def _frame(self) -> Iterator[str]:
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for value, text in self.x.ticks():
            x = self.x(value)
            yield f'<path class="grid" d="M{x:.1f} {TOP:g}V{bottom:g}"/>'
            yield (
                f'<text class="quiet" x="{x:.1f}" y="{bottom + 18:g}" '
                f'text-anchor="middle">{text}</text>'
            )
        for value, text in self.y.ticks():
            y = self.y(value)
            yield f'<path class="grid" d="M{LEFT:g} {y:.1f}H{right:g}"/>'
            yield (
                f'<text class="quiet" x="{LEFT - 8:g}" y="{y + 4:.1f}" '
                f'text-anchor="end">{text}</text>'
            )
        yield f'<path class="axis" d="M{LEFT:g} {TOP:g}V{bottom:g}H{right:g}"/>'
        most = "at most" if self.upwards else "at least"
        scope = self.curve.rule.rule.scope
        measure = self.curve.rule.text
        if scope is not Scope.MODEL:
            measure += f" of every {scope.value}"
        across = _with_unit(f"{measure}, {most}", self.curve.units[-1])
        up = _with_unit(_stage(self.curve), self.curve.units[0])
        middle = (LEFT + right) / 2
        yield (
            f'<text x="{middle:g}" y="{HEIGHT - 16:g}" text-anchor="middle">'
            f"{escape(wrapped(printable(across), WIDTH - 40, 1)[0])}</text>"
        )
        yield f'<text x="12" y="22">{escape(wrapped(printable(up), WIDTH - 30, 1)[0])}</text>'

    def _steps(self) -> str:
        """Along a value until its tree is too loose, then on to the next."""
        edge = WIDTH - RIGHT if self.upwards else LEFT
        path = [f"M{edge:g} {self.y(_y(self.points[0])):.1f}"]
        for point in self.points:
            path.append(f"V{self.y(_y(point)):.1f}H{self.x(_x(point)):.1f}")
        last = self.curve.points[-1]
        if last.measure is None:  # it keeps every bound
            path.append(f"V{self.y(_y(last)):.1f}H{LEFT if self.upwards else WIDTH - RIGHT:g}")
        return f'<path class="curve" d="{"".join(path)}"/>'

    def _marker(self, point: Point) -> str:
        assert point.measure is not None, "points without a measure have no place"
        kind = "point" if point.proven else "open"
        says = f"{_shown(point.objective[0], self.curve.units[0])} at {self._bound(point.measure)}"
        proof = "" if point.proven else ", not proven"
        return (
            f'<circle class="{kind}" cx="{self.x(_x(point)):.1f}" cy="{self.y(_y(point)):.1f}" '
            f'r="3.2"><title>{escape(printable(says + proof))}</title></circle>'
        )

    def _bound(self, value: Fraction) -> str:
        return _shown(value, self.curve.units[-1])

    def _spec_line(self) -> Iterator[str]:
        x = self.x(float(self.curve.rule.bound))
        text = f"spec: {self._bound(self.curve.rule.bound)}"
        yield f'<path class="spec" d="M{x:.1f} {TOP - 6:g}V{HEIGHT - BOTTOM:g}"/>'
        half = text_width(text) / 2
        at = min(max(x, LEFT + half), WIDTH - RIGHT - half)
        yield (
            f'<text class="mark" x="{at:.1f}" y="{TOP - 10:g}" text-anchor="middle">{text}</text>'
        )

    def _at_the_spec(self) -> Iterator[str]:
        """The value under the bound of the spec."""
        point = self.curve.at()
        if point is None:
            return
        x, y = self.x(float(self.curve.rule.bound)), self.y(_y(point))
        text = _shown(point.objective[0], self.curve.units[0])
        yield f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
        # Values are better towards looser bounds: there one side of the curve is free, on the
        # other side of the ring the other one.
        above, wide = self.curve.stages[0].startswith("minimize"), text_width(text) + 14
        right = self.upwards
        if not LEFT < (x + wide if right else x - wide) < WIDTH - RIGHT:
            right, above = not right, not above
        above = above or y + 22 > HEIGHT - BOTTOM
        yield (
            f'<text class="mark" x="{x + (10 if right else -10):.1f}" '
            f'y="{y - 9 if above else y + 18:.1f}" '
            f'text-anchor="{"start" if right else "end"}">{text}</text>'
        )


def _x(point: Point) -> float:
    assert point.measure is not None, "points without a measure have no place"
    return float(point.measure)


def _y(point: Point) -> float:
    return float(point.objective[0])


def _with_unit(text: str, unit: str) -> str:
    return f"{text} ({unit})" if unit and unit != "%" else text


def _shown(value: Fraction, unit: str) -> str:
    if unit == "%":
        return f"{float(value) * 100:.4g}%"
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6g}"


def _rules(colours: Colours) -> str:
    return (
        f"text{{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;"
        f"font-size:{FONT:g}px;fill:{colours['text']}}}"
        f".quiet{{font-size:{FONT - 1:g}px;fill:{colours['quiet']}}}"
        f".mark{{fill:{colours['spec']};font-weight:600;"
        f"stroke:{colours['page']};stroke-width:3px;paint-order:stroke}}"
        f".page{{fill:{colours['page']}}}.none{{fill:{colours['none']}}}"
        f".grid{{fill:none;stroke:{colours['grid']}}}"
        f".axis{{fill:none;stroke:{colours['axis']}}}"
        f".curve{{fill:none;stroke:{colours['data']};stroke-width:1.75}}"
        f".point{{fill:{colours['data']}}}"
        f".open{{fill:{colours['page']};stroke:{colours['data']};stroke-width:1.5}}"
        f".spec{{fill:none;stroke:{colours['spec']};stroke-dasharray:5 4}}"
        f".ring{{fill:none;stroke:{colours['spec']};stroke-width:2}}"
    )
