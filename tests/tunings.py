"""A spec and rows to be tuned, and what a tuning says but for times."""

from __future__ import annotations

import random
from typing import Any

import pytest

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.insight.tuning.result import Tuning

SPEC = """
data frame
target y
let alpha = 0
tree depth <= 2
minimize error_rate + alpha * leaves
"""


def made(n: int, seed: int = 1, classes: str = "ab") -> dict[str, list[Any]]:
    """Rows with a weak signal, so that deeper trees fit noise."""
    draw = random.Random(seed)
    rows: dict[str, list[Any]] = {"x": [], "z": [], "k": [], "y": []}
    for _ in range(n):
        x, z = draw.randrange(8), draw.randrange(8)
        noise = draw.random() < 0.25
        at = (x + z > 7) ^ noise if len(classes) == 2 else draw.randrange(len(classes))
        for name, cell in zip(rows, (x, z, draw.choice("uv"), classes[int(at)]), strict=True):
            rows[name].append(cell)
    return rows


TIMED = ("seconds", "resumed", "timeline", "primal_integral")


def said(found: Tuning) -> Any:
    """All of a tuning but times and where its runs came from."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if k not in TIMED}
            return {key: clean(item) for key, item in kept.items()}
        return [clean(item) for item in value] if isinstance(value, list) else value

    return clean(found.to_json())


def code(failure: pytest.ExceptionInfo[OdtError]) -> str:
    return failure.value.diagnostics[0].code
