"""What is told of a search and of its start, as one story."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import Progress, Report


class Told:
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

    def __call__(self, progress: Progress) -> None:
        told = replace(progress, seconds=time.monotonic() - self.began)
        if told.stage == 0:
            # Two searches do not know of each other what is found or proven.
            told = self._first = replace(
                told, incumbent=_of(min, told.incumbent, self._first.incumbent),
                bound=_of(max, told.bound, self._first.bound),
            )  # fmt: skip
        if self.timeline and replace(self.timeline[-1], seconds=told.seconds) == told:
            return
        self.timeline.append(told)
        if self.report is not None:
            self.report(told)


def _of(
    which: Callable[[Fraction, Fraction], Fraction], one: Fraction | None, other: Fraction | None
) -> Fraction | None:
    """The one that is known, or what `which` takes of both."""
    return other if one is None else one if other is None else which(one, other)
