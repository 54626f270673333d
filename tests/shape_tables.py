"""Tables of ranks and losses for the search by shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from odtdsl.base import _engine

NO_LIMITS = _engine.Limits()


def engine_of(ranks: Any, losses: Any) -> _engine.Layered:
    distinct = ranks.max(axis=1).astype(np.uint32) + 1
    return _engine.Layered(_engine.RankTable(np.ascontiguousarray(ranks), distinct), losses)
