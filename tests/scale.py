"""How many instances the tests draw: a part of them by default, all with `--nightly`.

`ODTDSL_SCALE=1` is what `python -m tests --nightly` runs, and more than 1 goes beyond it. Instances
are drawn by seeds from 0 on, so a smaller scale tries the first of a larger one, and every run of
one scale tries the same.
"""

from __future__ import annotations

import os

SCALE = float(os.environ.get("ODTDSL_SCALE", "0.07"))


def scaled(number: int, least: int = 1, *, part: float = 1) -> int:
    """Return how many instances to try where the nightly tests try `number`.

    `least` are enough for what a test asks to be seen among them. Where one takes long, less than
    the nightly tests try is `part` of what others try by day.
    """
    return max(least, round(number * SCALE * (part if SCALE < 1 else 1)))


def blocks(number: int, size: int, *, part: float = 1) -> list[range]:
    """Return the seeds of `scaled(number)` instances in blocks of a test each."""
    most = scaled(number, part=part)
    return [range(first, min(first + size, most)) for first in range(0, most, size)]
