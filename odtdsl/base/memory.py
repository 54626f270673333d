"""How much memory this process holds, and the limit on it that searches keep."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from odtdsl.base.diagnostics.model import Diagnostic, error

STOP_SHARE = 0.9
"""Of the limit: a search ends where the process holds more, so that what is then still done,
such as the audit, has room."""

PAUSE = 0.01
"""Seconds between two looks at the memory."""

MEGABYTE = 10**6

_STATUS = Path("/proc/self/statm")


def held_bytes() -> int | None:
    """Resident memory of this process; where only the peak is known, that; None on Windows."""
    try:
        pages = int(_STATUS.read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return _peak()
    import resource

    return pages * int(resource.getpagesize())


def _peak() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


class Guard:
    """A stop condition that also checks how near the memory limit is.

    What was met once stays met, also if memory is given back.

    Parameters
    ----------
    most
        Bytes that the whole process may hold; None for no limit.
    interrupted
        Whether the user asks to stop.

    Attributes
    ----------
    full
        Whether the limit was met.
    """

    def __init__(self, most: int | None, interrupted: Callable[[], bool]) -> None:
        self.most, self.interrupted, self.full = most, interrupted, False
        self._looked = 0.0

    def begin(self) -> None:
        """Refuse a limit that is met before anything is searched for.

        Raises
        ------
        OdtError
            B105: it is. B106: this system does not tell what a process holds.
        """
        if self.most is None:
            return
        held = held_bytes()
        if held is None:
            raise error(
                "B106",
                "`memory` needs a system that reports the memory of a process: Linux or macOS",
                helps=("omit `memory`",),
            )
        if held >= STOP_SHARE * self.most:
            raise error(
                "B105",
                (
                    f"the memory limit of {_shown(self.most)} is reached before the search: "
                    f"reading and analysis hold {_shown(held)}, and a search ends at "
                    f"{STOP_SHARE:.0%} of the limit"
                ),
                helps=(f"write `memory {_rounded(held)} MB` or more",),
            )

    def __call__(self) -> bool:
        """Whether the search is to stop: it was interrupted, or the memory limit is near."""
        return self.interrupted() or self._is_full()

    def _is_full(self) -> bool:
        if self.most is None or self.full:
            return self.full
        now = time.monotonic()
        if now - self._looked >= PAUSE:
            self._looked = now
            held = held_bytes()
            self.full = held is not None and held >= STOP_SHARE * self.most
        return self.full

    def warnings(self) -> tuple[Diagnostic, ...]:
        """A warning where the limit ended a search."""
        if not self.full or self.most is None:
            return ()
        message = f"the search ended at the memory limit of {_shown(self.most)}"
        helps = ("allow more `memory`, or make the problem smaller: fewer thresholds, less depth",)
        return (Diagnostic(code="B107", severity="warning", message=message, helps=helps),)


def _shown(amount: int) -> str:
    return f"{-(-amount // MEGABYTE):,} MB"


def _rounded(held: int) -> int:
    """Megabytes that leave a search twice what is held, to two digits."""
    wanted = 2 * held // MEGABYTE + 1
    step = int(10 ** max(0, len(str(wanted)) - 2))
    return -(-wanted // step) * step
