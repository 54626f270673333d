"""Survival: curves, what follows from them, and how well predictions fit what came.

A curve has a step for each time of an event or of censoring: the time, the weight at risk just
before it, and the weight of the events. A leaf of a survival tree holds one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.datasets.table import BoolArray, FloatArray, IntArray

Curve = tuple[tuple[float, float, float], ...]
EVEN = 1e-12
"""Shares of survival that differ by less are rounded alike."""


def survival(curve: Curve, times: FloatArray) -> FloatArray:
    """The Kaplan-Meier estimate at some times, float64 (n_times,): of surviving beyond them.

    References
    ----------
    Kaplan and Meier, Journal of the American Statistical Association 1958.
    """
    at, risk, events = _columns(curve)
    left = np.cumprod(1 - events / risk).astype(np.float64)
    return _at(at, left, times, 1.0)


def cumulative_hazard(curve: Curve, times: FloatArray) -> FloatArray:
    """The Nelson-Aalen estimate at some times, float64 (n_times,).

    References
    ----------
    Aalen, Annals of Statistics 1978.
    """
    at, risk, events = _columns(curve)
    return _at(at, np.cumsum(events / risk), times, 0.0)


def median(curve: Curve) -> float | None:
    """The first time at which half or less survive; None where more than half survive all."""
    at, risk, events = _columns(curve)
    below = np.flatnonzero(np.cumprod(1 - events / risk) <= 0.5 + EVEN)
    return float(at[below[0]]) if below.size else None


def event_steps(curve: Curve) -> Curve:
    """The steps at which events came."""
    return tuple(step for step in curve if step[2] > 0)


def censoring(curve: Curve) -> Curve:
    """The curve of being censored: events of that time come first and are at risk no more."""
    risks = [risk for _, risk, _ in curve[1:]] + [0.0]
    steps = []
    for (time, risk, events), after in zip(curve, risks, strict=True):
        left = risk - events
        if left > EVEN * risk:
            steps.append((time, left, min(max(left - after, 0.0), left)))
    return tuple(steps)


def total(curves: tuple[Curve, ...]) -> Curve:
    """The curve of the rows of several curves together."""
    times = np.unique([time for curve in curves for time, _, _ in curve])
    risk, events = np.zeros(len(times)), np.zeros(len(times))
    for curve in curves:
        if curve:
            at, own_risk, own_events = _columns(curve)
            risk += np.append(own_risk, 0.0)[np.searchsorted(at, times)]
            events[np.searchsorted(times, at)] += own_events
    return tuple(zip(times.tolist(), risk.tolist(), events.tolist(), strict=True))


def _columns(curve: Curve) -> tuple[FloatArray, FloatArray, FloatArray]:
    steps: FloatArray = np.array(curve, dtype=np.float64).reshape(-1, 3)
    return steps[:, 0], steps[:, 1], steps[:, 2]


def _at(at: FloatArray, values: FloatArray, times: FloatArray, before: float) -> FloatArray:
    """A step function at some times; `before` holds ahead of its first step."""
    found: FloatArray = np.append(before, values)[np.searchsorted(at, times, side="right")]
    return found


def concordance(
    times: FloatArray, events: FloatArray, risk: FloatArray, weights: FloatArray | None = None
) -> float | None:
    """Harrell's C: of pairs whose order in time is known, the share whose order of risk agrees.

    The row of the earlier event should have the higher risk; equal risks count half. A row
    censored at the time of another's event outlived it, and two events at one time have no order.

    Parameters
    ----------
    times, events, risk
        float64 (n_rows,) each; events are 0 or 1.
    weights
        float64 (n_rows,): a pair counts as the product of those of its rows; by default 1.

    Returns
    -------
    float or None
        None where the order of no pair is known.

    References
    ----------
    Harrell, Lee and Mark, Statistics in Medicine 1996.
    """
    levels, level = np.unique(risk, return_inverse=True)
    own = np.ones(len(times)) if weights is None else weights
    of_event = [_sorted(times, own, (level == k) & (events > 0)) for k in range(len(levels))]
    censored = [_sorted(times, own, (level == k) & (events <= 0)) for k in range(len(levels))]
    agree = known = 0.0
    for high, (early, counts, _) in enumerate(of_event):
        for low in range(len(levels)):
            at, _, after = of_event[low]
            later = after[np.searchsorted(at, early, side="right")]
            at, _, after = censored[low]
            outlived = after[np.searchsorted(at, early, side="left")]
            pairs = float((counts * (later + outlived)).sum())
            known += pairs
            agree += pairs * (1.0 if low < high else 0.5 if low == high else 0.0)
    return agree / known if known else None


def _sorted(
    times: FloatArray, weights: FloatArray, rows: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Some rows by their times: these, the weights, and the weight from each place to the end."""
    order = np.argsort(times[rows], kind="stable")
    own = weights[rows][order]
    after: FloatArray = np.append(np.cumsum(own[::-1])[::-1], 0.0)
    return times[rows][order], own, after


def integrated_brier(
    times: FloatArray,
    events: FloatArray,
    curves: Sequence[Curve],
    ends: IntArray,
    weights: FloatArray | None = None,
) -> float | None:
    """The Brier score of survival, integrated over time by trapezoids and divided by its span.

    At a time, rows known to have had their event or not are weighted by the inverse
    probability of having been watched until then. That is estimated by all curves together: those
    of the training rows. Times are those of events among the rows, where some row is watched for
    longer and that probability is above 0.

    Parameters
    ----------
    times, events
        float64 (n_rows,) each; events are 0 or 1.
    curves, ends
        The curve of each leaf, and int64 (n_rows,): the leaf of each row.
    weights
        float64 (n_rows,): those of the rows; by default 1.

    Returns
    -------
    float or None
        None with fewer than two such times.

    References
    ----------
    Graf, Schmoor, Sauerbrei and Schumacher, Statistics in Medicine 1999.
    """
    if weights is not None and not weights.all():
        kept = weights > 0
        return integrated_brier(times[kept], events[kept], curves, ends[kept], weights[kept])
    watched = censoring(total(tuple(curves)))
    at = np.unique(times[(events > 0) & (times < times.max(initial=0.0))])
    at = at[survival(watched, at) > 0]
    counts = np.ones(len(times)) if weights is None else weights
    if len(at) < 2:
        return None
    own = survival(watched, times)
    gone = np.where((events > 0) & (own > 0), counts / np.where(own > 0, own, 1.0), 0.0)
    still = 1 / survival(watched, at)
    scores = np.zeros(len(at))
    for end, curve in enumerate(curves):
        here = ends == end
        if not here.any():
            continue
        share = survival(curve, at)
        order = np.argsort(times[here], kind="stable")
        before = np.append(0.0, np.cumsum(gone[here][order]))
        _, _, after = _sorted(times, counts, here)
        until = np.searchsorted(times[here][order], at, side="right")
        scores += share**2 * before[until] + (1 - share) ** 2 * still * after[until]
    scores /= counts.sum()
    area = float((np.diff(at) * (scores[1:] + scores[:-1]) / 2).sum())
    return area / float(at[-1] - at[0])
