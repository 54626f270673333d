"""Limits as people write them: `60`, `60s`, `2min`, `1h`, `1%`, `0.01`; and what keeps that of
time before a search."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

from odtdsl.base.diagnostics.model import error

SECONDS = {"s": 1, "min": 60, "h": 3600}
BYTES = {"MB": 10**6, "GB": 10**9}
DECIMAL = r"\d{1,18}(?:\.\d{1,18})?"
"""A number of an option, as a pattern: Python reads no integers of thousands of digits."""


def parse_seconds(text: str) -> float:
    """Seconds of a time limit.

    Raises
    ------
    OdtError
        U305: no time limit.
    """
    match = re.fullmatch(rf"\s*({DECIMAL})\s*(s|min|h|)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise error("U305", f"`{text}` is not a time limit", helps=("write 60, 60s, 2min or 1h",))
    return float(match[1]) * SECONDS[match[2] or "s"]


def parse_gap(text: str) -> Fraction:
    """A gap: below 1 it is relative, else in the units of the objective.

    Raises
    ------
    OdtError
        U306: no gap.
    """
    match = re.fullmatch(rf"\s*({DECIMAL})\s*(%?)\s*", text)
    if match is not None:
        gap = Fraction(match[1])
        if not match[2]:
            return gap
        if gap < 100:
            return gap / 100
    raise error("U306", f"`{text}` is not a gap", helps=("write 1%, 0.01, or 18 for 18 errors",))


def parse_until(text: str) -> tuple[Literal["gap"], Fraction] | tuple[Literal["steady"], float]:
    """What ends a search before its limit: a gap, or seconds without a better model.

    Raises
    ------
    OdtError
        U323: neither. U305, U306: no time, no gap.
    """
    kind, _, amount = text.strip().partition(" ")
    if amount and kind == "gap":
        return "gap", parse_gap(amount)
    if amount and kind == "steady":
        return "steady", parse_seconds(amount)
    raise error(
        "U323",
        f"`{text}` does not say when to end the search",
        helps=('write `--until "steady 10s"` or `--until "gap 1%"`',),
    )


def parse_memory(text: str) -> int:
    """Bytes of a memory limit.

    Raises
    ------
    OdtError
        U324: no memory limit, or one below 1 MB.
    """
    match = re.fullmatch(rf"\s*({DECIMAL})\s*(MB|GB)\s*", text)
    amount = 0 if match is None else int(Fraction(match[1]) * BYTES[match[2]])
    if not BYTES["MB"] <= amount < 10**18:
        raise error(
            "U324",
            f"`{text}` is not a memory limit of at least 1 MB",
            helps=("write 4GB or 500MB",),
        )
    return amount


BLOCK = 1_000_000
"""Cells that are read or analysed between two looks at the clock: less is done in a moment, and
no limit is a reason to refuse it."""

LEAST = 10.0
"""Seconds that reading and analysis have in any case, whatever the limit: what comes after them is
an answer, if only the first tree, and before them there is none."""


READING = "reading the data"
ANALYSIS = "the analysis of the data"
"""What takes the time, as messages name it."""


@dataclass(slots=True)
class _Counting:
    """What time counts from, the limit in seconds, and the cells since the last look."""

    began: float
    seconds: float | None
    cells: int = 0


_counting: ContextVar[_Counting | None] = ContextVar("counting", default=None)


@contextmanager
def counting(began: float, seconds: float | None) -> Iterator[None]:
    """Time counts from `began`, a `time.monotonic()` value, for what is read and analysed inside.

    Without `seconds` the limit is that of the spec, which `allow` tells once it is read.
    """
    token = _counting.set(_Counting(began, seconds))
    try:
        yield
    finally:
        _counting.reset(token)


def allow(seconds: float | None) -> None:
    """The limit of the spec, where time counts and none was given before."""
    if (now := _counting.get()) is not None and now.seconds is None:
        now.seconds = seconds


def looking(what: str) -> Callable[[int], None]:
    """`look` for many small numbers of cells: nothing to call where no time counts."""
    now = _counting.get()
    return _unseen if now is None or now.seconds is None else partial(look, what)


def _unseen(_cells: int) -> None:
    """What looks at nothing."""


def look(what: str, cells: int = BLOCK) -> None:
    """End where the limit is over before the search, and so are `LEAST` seconds.

    Parameters
    ----------
    what
        What takes the time, as messages name it.
    cells
        How many cells were read or analysed since the last look. The clock is looked at once they
        are `BLOCK`.

    Raises
    ------
    OdtError
        B108: it is.
    """
    now = _counting.get()
    if now is None or now.seconds is None:
        return
    now.cells += cells
    if now.cells < BLOCK:
        return
    now.cells = 0
    if time.monotonic() > now.began + max(now.seconds, LEAST):
        raise error(
            "B108",
            f"the time limit of {now.seconds:g} s ended before the search: {what} takes longer",
            helps=("allow more time (`within`)",),
        )
