"""Limits as people write them: `60`, `60s`, `2min`, `1h`, `1%`, `0.01`."""

from __future__ import annotations

import re
from fractions import Fraction

from odtdsl.diagnostics.model import error

_SECONDS = {"": 1, "s": 1, "min": 60, "h": 3600}


def parse_seconds(text: str) -> float:
    """Seconds of a time limit.

    Raises
    ------
    OdtError
        U305: no time limit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise error("U305", f"`{text}` is no time limit", helps=("write 60, 60s, 2min or 1h",))
    return float(match[1]) * _SECONDS[match[2]]


def parse_gap(text: str) -> Fraction:
    """A relative gap, from 0 to below 1.

    Raises
    ------
    OdtError
        U306: no gap.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if match is not None:
        gap = Fraction(match[1]) / (100 if match[2] else 1)
        if gap < 1:
            return gap
    raise error("U306", f"`{text}` is no gap", helps=("write 1%, or 0.01",))
