"""The engine and its peers, each called the same way: arrays in, an `Outcome` out."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from measures.calls import solved
from measures.sets import Array, ranked_or_binary
from odtdsl.base import _engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run took and found. `value` is evaluated on the training rows.

    `answer` is the engine's, `raw` what else there is to say, `processor` the seconds of processor
    time of a peer's fit where they are taken.
    """

    seconds: float
    value: int | None
    proven: bool
    bound: int | None = None
    answer: _engine.ClassAnswer | None = None
    processor: float = 0.0
    raw: dict[str, Any] = field(default_factory=dict)


def ours(x: Array, y: Array, depth: int, **options: Any) -> Outcome:
    """The engine; sorting is part of its time. 0/1 features need none, here as for the peer."""
    start = time.perf_counter()
    ranks, distinct = ranked_or_binary(x)
    found = solved(ranks, distinct, y, int(y.max()) + 1, depth, **options)
    return Outcome(
        seconds=time.perf_counter() - start,
        value=found.objective,
        bound=found.bound,
        proven=found.status == "optimal",
        answer=found,
    )


def contree(x: Array, y: Array, depth: int, limit: float, gap: int = 0) -> Outcome:
    """pycontree; `gap` in errors, as its C++ counts it.

    Its Python class admits 0 and 1 only, so the check of that parameter is widened.
    """
    import pandas as pd
    import pycontree

    model = pycontree.ConTree(max_depth=depth, time_limit=limit, max_gap=gap, max_gap_decay=0.0)
    model._parameter_constraints = {
        key: value for key, value in model._parameter_constraints.items() if key != "max_gap"
    }
    frame, labels = pd.DataFrame(x), pd.Series(y)
    start, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it met its limit
        model.fit(frame, labels)
    seconds, processor = time.perf_counter() - start, time.process_time() - worked
    errors = int((np.asarray(model.predict(frame)) != y).sum())
    return Outcome(
        seconds=seconds,
        processor=processor,
        value=errors,
        proven=model._config.is_within_time_limit() and gap == 0,
    )


def streed(x: Array, y: Array, depth: int, limit: float) -> Outcome:
    """pystreed for errors."""
    from pystreed import STreeDClassifier

    table = 1 - np.eye(int(y.max()) + 1, dtype=np.int64)
    model = STreeDClassifier("accuracy", max_depth=depth, time_limit=limit)
    return _streed(model, x, table[y], lambda cells: model.fit(cells, y))


def streed_costs(costs: Array, x: Array, y: Array, depth: int, limit: float) -> Outcome:
    """pystreed's cost-sensitive task: costs (labels x predictions), no test costs."""
    from pystreed import STreeDCostSensitiveClassifier
    from pystreed.data import CostSpecifier, FeatureCostSpecifier

    free = [FeatureCostSpecifier(0.0, 0.0, f"group{i}", i, i) for i in range(x.shape[1])]
    specifier = CostSpecifier(costs.astype(float).tolist(), free)
    model = STreeDCostSensitiveClassifier(max_depth=depth, time_limit=limit)
    return _streed(model, x, costs[y], lambda cells: model.fit(cells, y, specifier))


def streed_rows(losses: Array, x: Array, _: Array, depth: int, limit: float) -> Outcome:
    """pystreed's instance-cost-sensitive task: losses (rows x predictions) in place of labels."""
    from pystreed import STreeDInstanceCostSensitiveClassifier

    model = STreeDInstanceCostSensitiveClassifier(max_depth=depth, time_limit=limit)
    return _streed(model, x, losses, lambda cells: model.fit(cells, losses.astype(float)))


def streed_fair(
    task: str, member: Array, x: Array, y: Array, most: float, depth: int, limit: float
) -> Outcome:
    """pystreed's fair trees; `member`: who is in the group, `most`: its discrimination limit."""
    from pystreed import STreeDGroupFairnessClassifier

    model = STreeDGroupFairnessClassifier(
        task, sensitive_feature=0, discrimination_limit=most, max_depth=depth, time_limit=limit
    )
    cells = np.column_stack([member, x])
    return _streed(model, cells, 1 - np.eye(2, dtype=np.int64)[y], lambda x: model.fit(x, y))


def _streed(model: Any, x: Array, losses: Array, fit: Callable[[Array], Any]) -> Outcome:
    cells = x.astype(np.int32)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(cells)
    seconds = time.perf_counter() - start
    if not model.is_fitted():
        return Outcome(seconds=seconds, value=None, proven=False)
    predicted = np.asarray(model.predict(cells), dtype=int)
    value = int(losses[np.arange(len(losses)), predicted].sum())
    return Outcome(seconds=seconds, value=value, proven=bool(model.fit_result.is_optimal()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Medians of runs that alternated; `other` is None without a peer."""

    mine: Outcome
    seconds: float
    other: Outcome | None
    other_seconds: float
    ratio: float
    runs: int


SHORT = 0.1
"""Seconds."""


def alternate(
    runs: int, mine: Callable[[], Outcome], peer: Callable[[], Outcome] | None, long: float = 60
) -> Paired:
    """Run both in turn, so that a busy machine slows both; once only where a run is `long`.

    Each goes first every other time. Runs under `SHORT` seconds are taken five times as often:
    the noise of a median of three is some percent there.
    """
    pairs: list[tuple[Outcome, Outcome | None]] = []
    while len(pairs) < runs:
        if peer and len(pairs) % 2:
            second = peer()
            pairs.append((mine(), second))
        else:
            pairs.append((mine(), peer() if peer else None))
        slowest = max(o.seconds for o in pairs[-1] if o is not None)
        if slowest > long:
            break
        if len(pairs) == 1 and slowest < SHORT:
            runs *= 5
    first, other = pairs[0]
    theirs = [p.seconds for _, p in pairs if p is not None]
    return Paired(
        mine=first,
        seconds=statistics.median(m.seconds for m, _ in pairs),
        other=other,
        other_seconds=statistics.median(theirs) if theirs else float("nan"),
        ratio=statistics.median(p.seconds / m.seconds for m, p in pairs if p is not None)
        if theirs
        else float("nan"),
        runs=len(pairs),
    )


def agree(name: str, mine: Outcome, other: Outcome | None, expected: int | None = None) -> None:
    """Equal optimal values where they are proven, bounds on the right side where not."""
    assert mine.value is not None, name
    assert mine.bound is not None, name
    assert mine.bound <= mine.value, (name, mine.bound, mine.value)
    assert not mine.proven or mine.bound == mine.value, (name, mine.bound, mine.value)
    known = [expected] if expected is not None else []
    if other is not None and other.proven:
        assert other.value is not None, name
        known.append(other.value)
    for value in known:
        assert mine.bound <= value <= mine.value, (name, mine.bound, value, mine.value)
    if other is not None and other.value is not None:
        assert mine.bound <= other.value, (name, mine.bound, other.value)
