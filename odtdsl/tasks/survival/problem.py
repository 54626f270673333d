"""Survival in the problem: events as counts, cumulative hazards as exposure.

The full likelihood of proportional hazards, with the cumulative hazard of all training rows
in place of the unknown one, is that of Poisson counts: events with the hazard of each row as
exposure (LeBlanc and Crowley 1992). So the outputs of leaves are means of rates, events by hazard,
under weights times hazard, and the loss is half the Poisson deviance.
"""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from odtdsl.datasets.dataset import Column, Dataset
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import Curve, ProblemPart

CAME = ("true", "yes")
DID_NOT = ("false", "no")
"""What a column of texts may say of events, in any case."""

_KNOWN: WeakKeyDictionary[Dataset, tuple[tuple[str, ...], FloatArray]] = WeakKeyDictionary()


class SurvivalProblem(ProblemPart):
    """Losses are sums of floats."""

    in_floats: ClassVar = True

    def text(self, target: TargetDecl) -> str:
        """Which column has the events."""
        return f"survival {target.names[0]} event {target.names[1]}"

    def estimated(self, rows: Rows) -> FloatArray:
        """Events by cumulative hazard, 1 of rows that weigh nothing: float64 (n_rows, 1)."""
        _, events = observed(rows.data, rows.problem.target)
        rates: FloatArray = np.where(rows.weights != 0, events / hazards(rows), 1.0)[:, None]
        return rates

    def estimate(
        self, rows: Rows, inside: IntArray, output: tuple[float, ...]
    ) -> tuple[tuple[float, ...], Curve]:
        """The hazard ratio and the curve of a leaf. Without events, half of one is taken to have
        come, so that no row has a hazard of nothing (LeBlanc and Crowley 1992, p. 416)."""
        times, events = (column[inside] for column in observed(rows.data, rows.problem.target))
        weights = rows.weights[inside] / rows.weight_denominator
        exposed = float(weights @ hazards(rows)[inside])
        ratio = output[0]
        if exposed <= 0:
            ratio = 1.0
        elif not weights @ events:
            ratio = 0.5 * float(rows.weights.mean()) / rows.weight_denominator / exposed
        return (ratio,), course(times, events, weights)

    def guide(self, data: Dataset, target: TargetDecl) -> FloatArray:
        """Times and events: float64 (n_rows, 2)."""
        return np.column_stack(observed(data, target))


def observed(data: Dataset, target: TargetDecl) -> tuple[FloatArray, FloatArray]:
    """The times and the events of rows, float64 (n_rows,) each; an event is 0 or 1."""
    return of_columns(*(data.columns[name] for name in target.names))


def of_columns(time: Column, event: Column) -> tuple[FloatArray, FloatArray]:
    """The same of typed columns."""
    assert time.numbers is not None, "times are numbers"
    if event.numbers is not None:
        return time.numbers, event.numbers
    assert event.codes is not None, "a column holds numbers or codes"
    came = [said_of(level) for level in event.type.levels]
    return time.numbers, np.array([*came, None], np.float64)[event.codes]


def said_of(level: object) -> bool | None:
    """Whether a text says that the event came; None where it says neither."""
    text = str(level).casefold()
    return text in CAME if text in (*CAME, *DID_NOT) else None


def hazards(rows: Rows) -> FloatArray:
    """The cumulative hazard of all training rows at the time of each, above 0: float64 (n_rows,).

    The Nelson-Aalen estimate. Before the first event it is 1 / (n_rows + 1), or what it is there
    if that is less: not 0, as in SurTree (Huisman, van der Linden and Demirovic, AAAI 2024).
    """
    names = rows.problem.target.names
    known = _KNOWN.get(rows.data)
    if known is None or known[0] != names:
        times, events = observed(rows.data, rows.problem.target)
        weights = rows.weights / rows.weight_denominator
        _KNOWN[rows.data] = known = (names, cumulative_hazards(times, events, weights))
    return known[1]


def cumulative_hazards(times: FloatArray, events: FloatArray, weights: FloatArray) -> FloatArray:
    """As `hazards`, of times, events and weights of rows."""
    at, where, risk, came = _steps(times, events, weights)
    steps = np.divide(came, risk, out=np.zeros(len(at)), where=risk > 0)
    summed = np.cumsum(steps)
    least = min([1 / (len(times) + 1), *summed[summed > 0][:1]])
    found: FloatArray = np.maximum(summed, least)[where]
    return found


def course(times: FloatArray, events: FloatArray, weights: FloatArray) -> Curve:
    """The time, the weight at risk before it, and the weight of events, at each time of a row.

    Rows that weigh nothing are left out.
    """
    there = weights > 0
    at, _, risk, came = _steps(times[there], events[there], weights[there])
    return tuple(zip(at.tolist(), risk.tolist(), came.tolist(), strict=True))


def _steps(
    times: FloatArray, events: FloatArray, weights: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """The times and which each row has; the weight at risk before each, that of its events."""
    at, where = np.unique(times, return_inverse=True)
    weight = np.bincount(where, weights, len(at))
    came = np.bincount(where, weights * events, len(at))
    risk: FloatArray = np.cumsum(weight[::-1].astype(np.float64))[::-1]
    return at, where, risk, np.minimum(came, risk)


PART = SurvivalProblem()
