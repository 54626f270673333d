"""A tuning as an SVG picture: a line per setting, with its score and one standard error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from odtdsl.base.theme import Theme
from odtdsl.predictors.wording import printable
from odtdsl.presentation.charts.axes import Colours, document
from odtdsl.presentation.pictures.lettering import FONT, text_width, wrapped

if TYPE_CHECKING:
    from odtdsl.insight.tuning.result import Trial, Tuning

ROW, TOP, BOTTOM, PLOT, MARGIN = 22.0, 62.0, 44.0, 380.0, 16.0
WIDEST_NAME = 260.0


def to_svg(tuning: Tuning, *, title: str = "", theme: Theme = "auto") -> str:
    """The settings as a standalone SVG document, in the order of the grid.

    The ground is shaded where scores are as good as the best one, up to its standard error. The
    chosen setting has a ring. At the right stands the mean number of splits.
    """
    picture = _Picture(tuning)
    name = printable(title or f"{tuning.measure} of each setting on held-out rows")
    return document(
        name,
        picture.width,
        picture.height,
        theme,
        _rules,
        {"near": "#eaf3fa"},
        {"near": "#12263a"},
        picture.parts(),
    )


class _Picture:
    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self.names = [wrapped(self.called(trial), WIDEST_NAME, 1)[0] for trial in tuning.trials]
        self.left = MARGIN + max(map(text_width, self.names)) + 12
        self.right = self.left + PLOT
        self.width = self.right + text_width("splits") + 2 * MARGIN
        self.bottom = TOP + ROW * len(tuning.trials)
        self.height = self.bottom + BOTTOM
        ends = [end for trial in tuning.trials for end in _ends(trial)]
        estimate = tuning.estimate
        if estimate is not None:
            ends += [estimate[0] - estimate[1], estimate[0] + estimate[1]]
        self.low, self.high = (min(ends), max(ends)) if ends else (0.0, 1.0)
        room = 0.05 * (self.high - self.low) or 0.05 * abs(self.high) or 0.5
        self.low, self.high = self.low - room, self.high + room

    def called(self, trial: Trial) -> str:
        return printable(self.tuning.called(trial.setting))

    def x(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.left + share * PLOT

    def parts(self) -> Iterator[str]:
        yield from self._near()
        yield from self._frame()
        for at, trial in enumerate(self.tuning.trials):
            yield from self._row(at, trial)
        yield from self._estimate()

    def _near(self) -> Iterator[str]:
        """Where scores are as good as the best."""
        limit = self.tuning.limit
        if limit is None or self.tuning.rule == "best":
            return
        at = self.x(limit)
        start, end = (at, self.right) if self.tuning.maximizes else (self.left, at)
        yield (
            f'<rect class="near" x="{start:.1f}" y="{TOP:g}" width="{max(0.0, end - start):.1f}" '
            f'height="{self.bottom - TOP:g}"><title>within one standard error of the best</title>'
            "</rect>"
        )

    def _frame(self) -> Iterator[str]:
        for value, text in self._ticks():
            x = self.x(value)
            yield f'<path class="grid" d="M{x:.1f} {TOP:g}V{self.bottom:g}"/>'
            yield (
                f'<text class="quiet" x="{x:.1f}" y="{self.bottom + 18:g}" '
                f'text-anchor="middle">{text}</text>'
            )
        yield f'<path class="axis" d="M{self.left:g} {TOP:g}V{self.bottom:g}H{self.right:g}"/>'
        folds = f"{self.tuning.cv} folds"
        if self.tuning.repeats > 1:
            folds += f" x {self.tuning.repeats}"
        head = f"{self.tuning.measure}, mean of {folds} and standard error"
        fits = wrapped(printable(head), self.width - 2 * MARGIN, 1)[0]
        yield f'<text x="{MARGIN:g}" y="24">{escape(fits)}</text>'
        yield (
            f'<text class="quiet" x="{self.width - MARGIN:g}" y="{TOP - 8:g}" '
            'text-anchor="end">splits</text>'
        )

    def _ticks(self) -> Iterator[tuple[float, str]]:
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        for at in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
            yield at * step, f"{at * step:.{digits}f}"

    def _row(self, at: int, trial: Trial) -> Iterator[str]:
        y = TOP + ROW * (at + 0.5)
        chosen = at == self.tuning.chosen
        kind = ' class="chosen"' if chosen else ""
        yield (
            f'<text{kind} x="{self.left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(self.names[at])}</text>"
        )
        if trial.mean is None or trial.error is None:
            fits = wrapped(printable(trial.reason), PLOT - 16, 1)[0]
            yield (
                f'<text class="quiet" x="{self.left + 8:.1f}" y="{y + 4:.1f}">{escape(fits)}</text>'
            )
            return
        x = self.x(trial.mean)
        says = f"{trial.mean:.4g} ± {trial.error:.2g}"
        low, high = (self.x(end) for end in _ends(trial))
        yield f'<path class="error" d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
        yield (
            f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{escape(self.called(trial))}: {says}</title></circle>"
        )
        if chosen:
            yield f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="7"/>'
        if trial.splits is not None:
            yield (
                f'<text class="quiet" x="{self.width - MARGIN:g}" y="{y + 4:.1f}" '
                f'text-anchor="end">{trial.splits:.3g}</text>'
            )

    def _estimate(self) -> Iterator[str]:
        """The score of the whole procedure, choice included."""
        estimate = self.tuning.estimate
        if estimate is None:
            return
        mean, error = estimate
        x, y = self.x(mean), TOP - 8
        text = f"nested: {mean:.4g}"
        half = text_width(text) / 2
        at = min(max(x, self.left + half), self.right - half)
        yield f'<path class="spec" d="M{x:.1f} {TOP:g}V{self.bottom:g}"/>'
        yield (
            f'<text class="told" x="{at:.1f}" y="{y:g}" text-anchor="middle">{text}'
            f"<title>on {len(self.tuning.outer)} folds that no choice has seen: "
            f"{mean:.4g} ± {error:.2g}</title></text>"
        )


def _ends(trial: Trial) -> tuple[float, ...]:
    if trial.mean is None or trial.error is None:
        return ()
    return trial.mean - trial.error, trial.mean + trial.error


def _rules(colours: Colours) -> str:
    return (
        "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;"
        f"font-size:{FONT:g}px;fill:{colours['text']}}}"
        f".quiet{{font-size:{FONT - 1:g}px;fill:{colours['quiet']}}}"
        f".chosen{{font-weight:600}}"
        f".told{{font-size:{FONT - 1:g}px;fill:{colours['spec']};font-weight:600}}"
        f".page{{fill:{colours['page']}}}.near{{fill:{colours['near']}}}"
        f".grid{{fill:none;stroke:{colours['grid']}}}"
        f".axis{{fill:none;stroke:{colours['axis']}}}"
        f".error{{fill:none;stroke:{colours['data']};stroke-width:1.75}}"
        f".point{{fill:{colours['data']}}}"
        f".spec{{fill:none;stroke:{colours['spec']};stroke-dasharray:5 4}}"
        f".ring{{fill:none;stroke:{colours['spec']};stroke-width:2}}"
    )


__all__ = ["to_svg"]
