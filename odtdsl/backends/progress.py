"""What is told of a search and of its start, as one story."""

from __future__ import annotations

import time
from dataclasses import replace
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
        first = self._first
        incumbent, bound, found = progress.incumbent, progress.bound, progress.found
        if progress.stage > 0:
            found = self._found if found is None else found
        else:  # two searches do not know of each other what is found or proven
            before = first.incumbent
            if incumbent is None or (before is not None and incumbent > before):
                incumbent, found = before, self._found
            elif found is None and incumbent == before:
                found = self._found
            known = first.bound
            if known is not None and known is not bound and (bound is None or known > bound):
                bound = known
        self._found = found
        told = Progress(
            stage=progress.stage,
            incumbent=incumbent,
            bound=bound,
            seconds=time.monotonic() - self.began,
            found=found,
            make=progress.make,
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
