"""What is told of a search and of its start, as one story."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.backends.base import Progress, Report

if TYPE_CHECKING:
    from odtdsl.backends.improvements import Found


class ProgressRelay:
    """Passes on progress: seconds from the beginning, and no incumbent worse than one before.

    Parameters
    ----------
    began
        The `time.monotonic()` value that seconds are counted from.
    report
        Called with what is news; None for nobody.

    Attributes
    ----------
    timeline
        All that was news.
    """

    def __init__(self, began: float, report: Report | None) -> None:
        self.began, self.report = began, report
        self.timeline: list[Progress] = []
        self._first = Progress(stage=0, incumbent=None, bound=None, seconds=0.0)
        self._found: Found | None = None

    def __call__(self, progress: Progress) -> None:
        """Note a step of a search and pass it on, with the seconds since the beginning."""
        self._found = self._model_of(progress)
        incumbent, bound = progress.incumbent, progress.bound
        if progress.stage == 0:
            # Two searches do not know of each other what is found or proven.
            incumbent = _of(min, incumbent, self._first.incumbent)
            bound = _of(max, bound, self._first.bound)
        seconds = time.monotonic() - self.began
        told = replace(
            progress, incumbent=incumbent, bound=bound, seconds=seconds, found=self._found
        )
        if told.stage == 0:
            self._first = told
        last = self.timeline[-1] if self.timeline else None
        if last is not None and last.standing == told.standing:
            if last.found is None:  # told before its model was
                self.timeline[-1] = replace(last, found=told.found)
            return
        self.timeline.append(told)
        if self.report is not None:
            self.report(told)

    def _model_of(self, told: Progress) -> Found | None:
        """The model of the best incumbent, which may be one from before."""
        if told.stage > 0:
            return self._found if told.found is None else told.found
        now, before = told.incumbent, self._first.incumbent
        if now is None or (before is not None and now > before):
            return self._found
        return self._found if now == before and told.found is None else told.found


def _of(
    which: Callable[[Fraction, Fraction], Fraction], one: Fraction | None, other: Fraction | None
) -> Fraction | None:
    """The one that is known, or what `which` takes of both."""
    return other if one is None else one if other is None else which(one, other)
