"""A tuning as an SVG picture: a line per setting, with its score and one standard error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from odtdsl.base.printing import printable
from odtdsl.base.theme import Theme
from odtdsl.presentation.charts.chart import Axis, Plot, document, fitting, label, line, mark
from odtdsl.presentation.pictures.lettering import text_width

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
    return document(name, picture.width, picture.height, theme, picture.parts())


class _Picture(Plot):
    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self.names = [fitting(self.called(trial), WIDEST_NAME) for trial in tuning.trials]
        left = MARGIN + max(map(text_width, self.names)) + 12
        ends = [end for trial in tuning.trials for end in _ends(trial)]
        estimate = tuning.estimate
        if estimate is not None:
            ends += [estimate[0] - estimate[1], estimate[0] + estimate[1]]
        x = Axis(ends or [0.0, 1.0], left, left + PLOT, whole=False)
        super().__init__(x, TOP, TOP + ROW * len(tuning.trials))
        self.width = self.right + text_width("splits") + 2 * MARGIN
        self.height = self.bottom + BOTTOM

    def called(self, trial: Trial) -> str:
        return printable(self.tuning.called(trial.setting))

    def parts(self) -> Iterator[str]:
        yield from self._near()
        yield from self.frame()
        yield from self._names()
        for at, trial in enumerate(self.tuning.trials):
            yield from self._row(at, trial)
        yield from self._estimate()

    def _near(self) -> Iterator[str]:
        """Where scores are as good as the best."""
        limit = self.tuning.limit
        if limit is None or self.tuning.rule == "best":
            return
        end = self.right if self.tuning.maximizes else self.left
        at = min(max(self.x(limit), self.left), self.right)
        yield self.shade("near", at, end, "within one standard error of the best")

    def _names(self) -> Iterator[str]:
        folds = f"{self.tuning.cv} folds"
        if self.tuning.repeats > 1:
            folds += f" x {self.tuning.repeats}"
        head = printable(f"{self.tuning.measure}: mean and standard error over {folds}")
        yield label(MARGIN, 24, fitting(head, self.width - 2 * MARGIN))
        yield label(self.width - MARGIN, TOP - 8, "splits", "quiet", at="end")

    def _row(self, at: int, trial: Trial) -> Iterator[str]:
        y = TOP + ROW * (at + 0.5)
        chosen = at == self.tuning.chosen
        yield label(self.left - 8, y + 4, self.names[at], "chosen" if chosen else "", at="end")
        if trial.mean is None or trial.error is None:
            yield label(self.left + 8, y + 4, fitting(printable(trial.reason), PLOT - 16), "quiet")
            return
        x = self.x(trial.mean)
        low, high = (self.x(end) for end in _ends(trial))
        yield line("line", ("M", low, y), ("H", high))
        text = f"{self.called(trial)}: {trial.mean:.4g} ± {trial.error:.2g}"
        yield mark("point", x, y, 3.5, text)
        if chosen:
            yield mark("ring", x, y, 7)
        if trial.splits is not None:
            yield label(self.width - MARGIN, y + 4, f"{trial.splits:.3g}", "quiet", at="end")

    def _estimate(self) -> Iterator[str]:
        """The score of the whole procedure, choice included."""
        estimate = self.tuning.estimate
        if estimate is None:
            return
        mean, error = estimate
        x = self.x(mean)
        text = f"nested: {mean:.4g}"
        half = text_width(text) / 2
        at = min(max(x, self.left + half), self.right - half)
        folds = f"on {len(self.tuning.outer)} folds not used to choose"
        yield line("spec", ("M", x, TOP), ("V", self.bottom))
        title = f"{folds}: {mean:.4g} ± {error:.2g}"
        yield label(at, TOP - 8, text, "told", at="middle", title=title)


def _ends(trial: Trial) -> tuple[float, ...]:
    if trial.mean is None or trial.error is None:
        return ()
    return trial.mean - trial.error, trial.mean + trial.error
