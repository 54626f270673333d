"""A curve as an SVG picture: the objective over the bound of a rule, as steps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.base.printing import printable
from odtdsl.base.theme import Theme
from odtdsl.presentation.charts.chart import Axis, Plot, document, fitting, label, line, mark
from odtdsl.presentation.pictures.lettering import text_width
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
    if measured:
        body = list(_Picture(curve, measured).parts())
    else:
        body = [label(WIDTH / 2, HEIGHT / 2, "no tree was found", at="middle")]
    return document(printable(name), WIDTH, HEIGHT, theme, body)


def _stage(curve: Curve) -> str:
    return curve.stages[0].partition(" ")[2]


class _Picture(Plot):
    """One picture, drawn from the ground up."""

    def __init__(self, curve: Curve, points: list[Point]) -> None:
        self.curve, self.points = curve, points
        bounds = [float(curve.rule.bound), *map(_measure, points)]
        x = Axis(bounds, LEFT, WIDTH - RIGHT, unit=curve.units[-1])
        self.up = Axis([_value(p) for p in points], HEIGHT - BOTTOM, TOP, unit=curve.units[0])
        super().__init__(x, TOP, HEIGHT - BOTTOM, self.up)
        self.upwards = curve.rule.op == "<="
        """Whether larger bounds are looser."""
        self.loosest, self.tightest = (
            (self.right, self.left) if self.upwards else (self.left, self.right)
        )

    def parts(self) -> Iterator[str]:
        yield from self._ground()
        yield from self.frame()
        yield from self._names()
        yield from self._spec_line()
        yield self._steps()
        yield from map(self._marker, self.points)
        yield from self._at_the_spec()

    def place(self, point: Point) -> tuple[float, float]:
        return self.x(_measure(point)), self.up(_value(point))

    def _ground(self) -> Iterator[str]:
        """Bounds that no tree keeps."""
        last = self.place(self.points[-1])[0]
        width = abs(last - self.tightest)
        keeps_all = self.curve.points[-1].measure is None
        if self.curve.ended != "tightest" or keeps_all or width < 1:
            return
        yield self.shade("none", last, self.tightest, "no tree satisfies such a bound")
        if width > text_width("no tree"):
            middle = (last + self.tightest) / 2
            yield label(middle, self.bottom - 8, "no tree", "quiet", at="middle")

    def _names(self) -> Iterator[str]:
        most = "at most" if self.upwards else "at least"
        scope = self.curve.rule.rule.scope
        measure = self.curve.rule.text
        if scope is not Scope.MODEL:
            measure += f" of every {scope.value}"
        across = printable(_with_unit(f"{measure}, {most}", self.curve.units[-1]))
        up = printable(_with_unit(_stage(self.curve), self.curve.units[0]))
        middle = (self.left + self.right) / 2
        yield label(middle, HEIGHT - 16, fitting(across, WIDTH - 40), at="middle")
        yield label(12, 22, fitting(up, WIDTH - 30))

    def _steps(self) -> str:
        """Along a value until its tree is too loose, then on to the next."""
        path = [("M", self.loosest, self.up(_value(self.points[0])))]
        places = [self.place(point) for point in self.points]
        last = self.curve.points[-1]
        if last.measure is None:  # it satisfies every bound
            places.append((self.tightest, self.up(_value(last))))
        steps = (step for x, y in places for step in (("V", y), ("H", x)))
        return line("line", *path, *steps)

    def _marker(self, point: Point) -> str:
        assert point.measure is not None, "points without a measure have no position"
        text = f"{_shown(point.objective[0], self.curve.units[0])} at {self._bound(point.measure)}"
        proof = "" if point.proven else ", not proven"
        kind = "point" if point.proven else "open"
        return mark(kind, *self.place(point), 3.2, printable(text + proof))

    def _bound(self, value: Fraction) -> str:
        return _shown(value, self.curve.units[-1])

    def _spec_line(self) -> Iterator[str]:
        x = self.x(float(self.curve.rule.bound))
        text = f"spec: {self._bound(self.curve.rule.bound)}"
        yield line("spec", ("M", x, self.top - 6), ("V", self.bottom))
        half = text_width(text) / 2
        at = min(max(x, self.left + half), self.right - half)
        yield label(at, self.top - 10, text, "mark", at="middle")

    def _at_the_spec(self) -> Iterator[str]:
        """The value under the bound of the spec."""
        point = self.curve.at()
        if point is None:
            return
        x, y = self.x(float(self.curve.rule.bound)), self.up(_value(point))
        text = _shown(point.objective[0], self.curve.units[0])
        yield mark("ring", x, y, 6)
        # Values are better towards looser bounds: there one side of the curve is free, on the
        # other side of the ring the other one.
        above, wide = self.curve.stages[0].startswith("minimize"), text_width(text) + 14
        right = self.upwards
        if not self.left < (x + wide if right else x - wide) < self.right:
            right, above = not right, not above
        above = above or y + 22 > self.bottom
        x, y = x + (10 if right else -10), y - 9 if above else y + 18
        yield label(x, y, text, "mark", at="" if right else "end")


def _measure(point: Point) -> float:
    assert point.measure is not None, "points without a measure have no position"
    return float(point.measure)


def _value(point: Point) -> float:
    return float(point.objective[0])


def _with_unit(text: str, unit: str) -> str:
    return f"{text} ({unit})" if unit and unit != "%" else text


def _shown(value: Fraction, unit: str) -> str:
    if unit == "%":
        return f"{float(value) * 100:.4g}%"
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6g}"
