"""When a search has come far enough: near its bound, or without a better model for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from odtdsl.backends.base import Progress


class Patience:
    """Asks a search to end, as an interrupt would; hears of its progress to know when.

    Parameters
    ----------
    asked
        Asked first: whether the search is to end in any case.
    steady
        Seconds without a better model after which to end; None to wait for ever. They count from
        the first model.
    gap
        The distance of value and bound, in units of the first stage, at which to end; None for
        none. Heard of where the objective has one stage only, as its bound is of no other.

    Attributes
    ----------
    over
        Why the search was ended here; empty where it was not.
    """

    def __init__(
        self, asked: Callable[[], bool], steady: float | None, gap: Fraction | None
    ) -> None:
        self.asked, self.steady, self.gap = asked, steady, gap
        self.over: Literal["", "gap", "steady"] = ""
        self._best: tuple[int, Fraction] | None = None
        self._since = 0.0

    def hear(self, progress: Progress) -> None:
        """What is new; bounds alone are no better model."""
        if progress.incumbent is None:
            return
        stage, value = self._best or (-1, None)
        if value is None or progress.stage > stage:
            better = True
        else:
            better = progress.stage == stage and progress.incumbent < value
        if better:
            self._best, self._since = (progress.stage, progress.incumbent), time.monotonic()
        if self.gap is None or progress.bound is None:
            return
        if progress.incumbent - progress.bound <= self.gap:
            self.over = "gap"

    def __call__(self) -> bool:
        """Whether to end now."""
        if self.asked():
            return True
        if (
            not self.over
            and self.steady is not None
            and self._best is not None
            and time.monotonic() - self._since >= self.steady
        ):
            self.over = "steady"
        return bool(self.over)


__all__ = ["Patience"]
