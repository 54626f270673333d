"""Progress of a search while one waits: a live line on a terminal, else a line at times."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from fractions import Fraction
from types import TracebackType

from odtdsl.backends.base import Progress, relative_gap
from odtdsl.base.printing import printable
from odtdsl.presentation.console import shown

FIRST = 10.0
"""Seconds until the first line where output is no terminal; each next one is twice as late."""

HINT = "; Ctrl-C stops it with the best so far"
"""Said from `FIRST` on: in the first line, and on a live one that has room for it."""

REFRESH = 0.2
"""Seconds between two looks at the clock, and two states of a live line."""


class Waiting:
    """The progress of a command on standard error; the clock runs even if a search reports nothing.

    A log or an editor that shows what is printed gets few lines: after 10 s, 20 s, 40 s.
    Programs that ask for JSON get none.

    Parameters
    ----------
    quiet
        Print nothing but the live line of a terminal.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.live = sys.stderr.isatty()
        self.on = self.live or not quiet
        self.began, self.due = time.monotonic(), FIRST
        self.text, self.width = "", 0
        self._done = threading.Event()
        self._clock = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Waiting:
        if self.on:
            self._clock.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self.on:
            self._clock.join()
        self.clear()

    def clear(self) -> None:
        """Take the live line away, until it is drawn again."""
        if self.width:
            self._write("\r" + " " * self.width + "\r")
            self.width = 0

    def tell(self, text: str) -> None:
        """What is done now."""
        self.text = printable(text)

    def __call__(self, progress: Progress) -> None:
        """Show the progress that a back end reports."""
        stage = f"stage {progress.stage + 1}, " if progress.stage else ""
        gap = relative_gap(progress.incumbent, progress.bound)
        told = "" if gap is None else f", gap {float(gap):.1%}"
        self.text = f"{stage}best {shown(progress.incumbent)}, bound {shown(progress.bound)}{told}"

    def runs(self, done: int, asked: int) -> None:
        """How many of several runs are done."""
        self.text = f"{done} of {asked} runs are done"

    def _watch(self) -> None:
        while not self._done.wait(REFRESH):
            seconds = time.monotonic() - self.began
            if self.live:
                self._redraw(seconds)
            elif seconds >= self.due:
                # In one piece, so that lines of other processes do not come between.
                about = f": {self.text}" if self.text else ""
                hint = HINT if self.due == FIRST else ""
                self._write(f"still searching after {_clock(self.due)}{about}{hint}\n")
                self.due *= 2

    def _redraw(self, seconds: float) -> None:
        if not self.text:
            return
        # A line that wraps could not be drawn over.
        room = max(shutil.get_terminal_size().columns - 1, 20)
        text = f"{seconds:6.1f} s  {self.text}"[:room]
        if seconds >= FIRST and len(text) + len(HINT) <= room:
            text += HINT
        self._write("\r" + text.ljust(self.width))
        self.width = max(self.width, len(text))

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):  # whoever read it is gone: the search is not to end by that
            self._done.set()


class Telling(Waiting):
    """Progress for programs: each improvement as a line of JSON on standard error.

    `{"seconds": ..., "stage": 0, "incumbent": ..., "bound": ..., "gap": ..., "model": {...}}`; the
    values are those of the stage, less is better, and null where there is none. The model is told
    when it is another, at most every `REFRESH` seconds: the last one is in the answer.
    """

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.on, self.drawn = False, 0.0
        self.last: Fraction | None = None

    def __call__(self, progress: Progress) -> None:
        """Write the progress that a back end reports."""
        from odtdsl.predictors.saving import to_json

        now = time.monotonic()
        model = None
        if progress.incumbent != self.last and now - self.drawn >= REFRESH:
            model = progress.model
            self.drawn, self.last = now, progress.incumbent
        gap = relative_gap(progress.incumbent, progress.bound)
        told = {
            "seconds": round(progress.seconds, 3),
            "stage": progress.stage,
            "incumbent": _plain(progress.incumbent),
            "bound": _plain(progress.bound),
            "gap": _plain(gap),
            "model": None if model is None else to_json(model),
        }
        self._write(json.dumps(told) + "\n")


def _plain(value: Fraction | None) -> float | int | None:
    if value is None:
        return None
    return int(value) if value.denominator == 1 else float(value)


def _clock(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


__all__ = ["Telling", "Waiting"]
