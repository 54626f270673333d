"""The audit of survival: hazards, ratios and curves, from the cells as they were read."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np

from odtdsl.auditor.meanings import INFINITE, NO_ROW, means, whole
from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import LeafOn, TreeOn
from odtdsl.auditor.rows import AuditRows, NoValue
from odtdsl.auditor.targets import AuditPart
from odtdsl.auditor.values import FLOAT_TOLERANCE
from odtdsl.base.numbers import counted
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.predictors.nodes import Leaf
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.problem import TargetDecl

NEAR = float(FLOAT_TOLERANCE)

_HAZARDS: WeakKeyDictionary[AuditRows, list[float]] = WeakKeyDictionary()


@means("survival_loss", over=whole, in_floats=True)
def survival_loss(model: TreeOn, call: Apply) -> Fraction:
    """The mean by weight of h r - d log(h r) - d; a leaf without an event has no loss of its own.

    On other rows than those of training, h is what the curves of the leaves say of these, and
    the ratio of a leaf without events is what it predicts.
    """
    inside = np.flatnonzero(whole(model, call)).tolist()
    rows = model.rows
    weights = _weights(rows)
    total = math.fsum(weights[row] for row in inside)
    if not total:
        raise NoValue(NO_ROW)
    came = _events(rows)
    if rows.training:
        hazards = _hazards(rows)
        ratios = [_taken(leaf, came, weights) for leaf in model.leaves]
    else:
        hazards = _hazards_by_curves([leaf.leaf for leaf in model.leaves], _times(rows))
        ratios = [_ratio(leaf.leaf) for leaf in model.leaves]
    lost = []
    for row in inside:
        if not weights[row]:
            continue
        expected = hazards[row] * ratios[model.leaf_of[row]]
        if came[row] and not expected:
            return INFINITE
        each = expected - (math.log(expected) + 1 if came[row] else 0.0)
        lost.append(weights[row] * each)
    return Fraction(math.fsum(lost) / total)


def _ratio(leaf: Leaf) -> float:
    assert leaf.output is not None, "a survival tree has outputs"
    return leaf.output[0]


def _taken(leaf: LeafOn, came: list[bool], weights: list[float]) -> float:
    """The ratio that the loss takes: 0 of a leaf without events."""
    some = any(came[row] and weights[row] for row in leaf.inside.tolist())
    return _ratio(leaf.leaf) if some else 0.0


def _times(rows: AuditRows) -> list[float]:
    found: list[float] = rows.numbers(rows.problem.target.names[0]).tolist()
    return found


def _events(rows: AuditRows) -> list[bool]:
    column = rows.table.columns[rows.problem.target.names[1]]
    if column.numbers is not None:
        return [value == 1 for value in column.numbers.tolist()]
    return [str(text).casefold() in ("true", "yes") for text in column.texts.tolist()]


def _weights(rows: AuditRows) -> list[float]:
    return [int(unit) / rows.denominator for unit in rows.units]


def _hazards(rows: AuditRows) -> list[float]:
    """The cumulative hazard of the training rows at the time of each."""
    if rows not in _HAZARDS:
        times, weights = _times(rows), _weights(rows)
        at_risk: dict[float, list[float]] = {}
        came: dict[float, list[float]] = {}
        for time, event, weight in zip(times, _events(rows), weights, strict=True):
            at_risk.setdefault(time, []).append(weight)
            if event:
                came.setdefault(time, []).append(weight)
        left = math.fsum(weights)
        steps: list[tuple[float, float, float]] = []
        for time in sorted(at_risk):
            steps.append((time, left, math.fsum(came.get(time, ()))))
            left -= math.fsum(at_risk[time])
        _HAZARDS[rows] = _summed(steps, len(times), times)
    return _HAZARDS[rows]


def _summed(
    steps: list[tuple[float, float, float]], n_rows: int, times: list[float]
) -> list[float]:
    """The cumulative hazard of steps (time, risk, events) at some times."""
    at: list[float] = []
    values: list[float] = []
    total = 0.0
    for time, risk, events in steps:
        if events:
            total += events / risk
            at.append(time)
            values.append(total)
    early = min(1 / (n_rows + 1), *values[:1])
    known = [early, *values]
    return [known[bisect_right(at, time)] for time in times]


def _hazards_by_curves(leaves: list[Leaf], times: list[float]) -> list[float]:
    """The cumulative hazard of the training rows, which the leaves remember, at other times."""
    steps = []
    for time in sorted({time for leaf in leaves for time, _, events in leaf.curve if events}):
        risk = events = 0.0
        for leaf in leaves:
            place = bisect_left(leaf.curve, (time,))
            if place < len(leaf.curve):
                own, at_risk, came = leaf.curve[place]
                risk += at_risk
                events += came if own == time else 0.0
        steps.append((time, risk, events))
    return _summed(steps, sum(leaf.size for leaf in leaves), times)


class SurvivalAudit(AuditPart):
    """Ratios are events over hazards, and curves those of the rows."""

    def lines(self, model: TreeOn, backend: str | None) -> Iterator[AuditLine]:
        """Whether each leaf has the ratio and the curve of its rows."""
        if not model.rows.training:
            return
        rows = model.rows
        times, weights, came = _times(rows), _weights(rows), _events(rows)
        hazards = _hazards(rows)
        ratios = curves = 0
        for leaf in model.leaves:
            inside = leaf.inside.tolist()
            exposed = math.fsum(weights[row] * hazards[row] for row in inside)
            events = math.fsum(weights[row] for row in inside if came[row])
            wanted = 1.0
            if exposed:
                wanted = (events or 0.5 * math.fsum(weights) / len(weights)) / exposed
            ratios += abs(_ratio(leaf.leaf) - wanted) > NEAR * (1 + wanted)
            curves += not _is_curve(leaf.leaf, inside, times, weights, came)
        yield AuditLine(
            rule="tree outputs",
            text="every leaf's hazard ratio is its events over the hazards of its rows",
            holds=not ratios,
            instances=len(model.leaves),
            note=f"broken in {counted(ratios, 'leaf', 'leaves')}" if ratios else "",
        )
        yield AuditLine(
            rule="tree curves",
            text="every leaf's curve is that of its rows",
            holds=not curves,
            instances=len(model.leaves),
            note=f"broken in {counted(curves, 'leaf', 'leaves')}" if curves else "",
        )

    def truth(self, rows: AuditRows) -> IntArray | FloatArray:
        """The time and the event of each row."""
        return np.column_stack([_times(rows), np.array(_events(rows), dtype=np.float64)])

    def in_order(self, below: Leaf, above: Leaf, target: TargetDecl) -> bool:
        """The hazard does not fall; it is 0 where no event came to rows that weigh something."""
        low, high = (
            _ratio(leaf) if not leaf.curve or any(events for _, _, events in leaf.curve) else 0.0
            for leaf in (below, above)
        )
        return low - high <= NEAR * (1 + max(low, high))


def _is_curve(
    leaf: Leaf, inside: list[int], times: list[float], weights: list[float], came: list[bool]
) -> bool:
    """Whether a curve counts the rows of a leaf, each time by itself."""
    inside = [row for row in inside if weights[row]]
    if sorted({times[row] for row in inside}) != [time for time, _, _ in leaf.curve]:
        return False
    size = math.fsum(weights[row] for row in inside)
    order = sorted(inside, key=times.__getitem__)
    left, place = size, 0
    for time, risk, events in leaf.curve:
        here = []
        while place < len(order) and times[order[place]] == time:
            here.append(order[place])
            place += 1
        if abs(risk - left) > NEAR * size:
            return False
        if abs(events - math.fsum(weights[row] for row in here if came[row])) > NEAR * size:
            return False
        left -= math.fsum(weights[row] for row in here)
    return True


PART = SurvivalAudit()
