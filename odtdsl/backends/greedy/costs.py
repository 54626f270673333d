"""What growth goes for: one cost per row and label, from objective and rules.

The first linear stage of the objective, its maxima by the part that is largest now, and
for each rule on the whole model a multiple of the measure that it bounds (a Lagrangian).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, LinearStage, MaximaBound

MAX_GAIN_SUM = 2.0**50
"""Gains are scaled to a sum below this, so that the scanner's integers cannot wrap."""

MAX_MULTIPLIER = 2.0**40
"""Multipliers grow no further: many starts that break a rule would make them infinite."""

FARTHEST = 10**100
"""Coefficients of specs, which have up to 400 digits, count as no larger than this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PenalizedObjective:
    """Gains and prices in one unit.

    Attributes
    ----------
    gains
        int64 (n_rows, n_classes): what each label gains on each row against its worst; >= 0.
    leaf_price, column_prices
        What a leaf, and a split by its column, costs in the same unit.
    """

    gains: IntArray
    leaf_price: float
    column_prices: FloatArray
    split_price: float = 0.0
    """Only of diagrams: trees are charged by the leaf."""


class Lagrangian:
    """Multipliers of the rules, raised where a tree breaks them and lowered elsewhere."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.clauses: list[tuple[Clause, list[Linear | MaximaBound]]] = []
        for clause in core.clauses:
            if clause.scope is Scope.MODEL:
                atoms = [
                    x.atom for x in clause.literals if isinstance(x.atom, Linear | MaximaBound)
                ]
                if any(m.output is not None for atom in atoms for m in measures_of(atom)):
                    self.clauses.append((clause, atoms))
        self.multipliers = [0.0] * len(self.clauses)
        self.slopes: list[FloatArray | None] = [None] * len(self.clauses)
        stages = [s for s in core.objective if isinstance(s, LinearStage)]
        self.stage = next((s for s in stages if _has_output(s)), stages[0] if stages else None)
        self.parts = [0] * (len(self.stage.maxima) if self.stage is not None else 0)

    def learn(self, evaluation: Evaluation | DiagramEvaluation) -> None:
        """Take note of what a tree breaks and which parts of the maxima are largest."""
        for index, (clause, atoms) in enumerate(self.clauses):
            if evaluation.keeps(clause):
                self.multipliers[index] *= 0.5
                continue
            self.multipliers[index] = min(MAX_MULTIPLIER, max(1.0, self.multipliers[index] * 3))
            slopes = [_slope(evaluation, atom) for atom in atoms]
            excess = [
                near(_excess(evaluation, atom)) / (1 + _spread(slope))
                for atom, slope in zip(atoms, slopes, strict=True)
            ]
            self.slopes[index] = slopes[int(np.argmin(excess))]
        if self.stage is not None:
            for index, (_, parts) in enumerate(self.stage.maxima):
                values = [evaluation.of_model(part) / part.denominator for part in parts]
                self.parts[index] = int(np.argmax(values))

    def current(self, *, plain: bool = False) -> PenalizedObjective:
        """The objective under the present multipliers; `plain`: counts of wrong labels only."""
        core = self.core
        cost = np.zeros((core.n_rows, core.n_classes))
        leaf, split, columns = 0.0, 0.0, np.zeros(len(core.columns))
        if self.stage is not None and not plain:
            terms = [(1.0, self.stage.measure)]
            for (factor, parts), index in zip(self.stage.maxima, self.parts, strict=True):
                terms.append((near(factor), parts[index]))
            for times, measure in terms:
                share = times / near(measure.denominator)
                if measure.output is not None:
                    cost += share * measure.output
                leaf += share * near(measure.leaves)
                split += share * near(measure.splits)
                if measure.columns is not None:
                    columns += share * measure.columns
        unit = _total_gain(cost)
        for multiplier, slope in zip(self.multipliers, self.slopes, strict=True):
            push = multiplier * (unit or 1.0) / (1 + _spread(slope))
            if push > 0 and slope is not None:
                cost += push * slope
        if not _total_gain(cost) and core.labels is not None:
            cost = -np.eye(core.n_classes)[core.labels]
        return _scaled(cost, leaf, columns, split)


def near(value: Fraction | int) -> float:
    """A number of the spec, which may be beyond all floats, as one that sums stay finite with."""
    return float(max(-FARTHEST, min(FARTHEST, value)))


def _scaled(cost: FloatArray, leaf: float, columns: FloatArray, split: float) -> PenalizedObjective:
    gains = cost.max(axis=1, keepdims=True) - cost if cost.size else cost
    total = gains.max(axis=1).sum() if cost.size else 0.0
    scale = 1.0
    if total > 0:
        # Whole weights stay whole: they become exact, and equal scores stay ties.
        least = gains[gains > 0].min()
        whole = gains / least
        scale = 1 / least if np.allclose(whole, np.rint(whole)) else 2.0**30 / gains.max()
        scale = min(scale, MAX_GAIN_SUM / total)
    return PenalizedObjective(
        gains=np.ascontiguousarray(np.rint(gains * scale).astype(np.int64)),
        leaf_price=leaf * scale,
        column_prices=columns * scale,
        split_price=split * scale,
    )


def _total_gain(cost: FloatArray) -> float:
    return float((cost.max(axis=1) - cost.min(axis=1)).sum()) if cost.size else 0.0


def _spread(slope: FloatArray | None) -> float:
    return 0.0 if slope is None else _total_gain(slope)


def measures_of(atom: Linear | MaximaBound) -> tuple[Additive, ...]:
    """All measures of an atom."""
    return (atom.measure,) if isinstance(atom, Linear) else atom.measures


def _excess(
    evaluation: Evaluation | DiagramEvaluation, atom: Linear | MaximaBound
) -> Fraction | int:
    """By how much a model misses a bound, in the unit of its slope."""
    if isinstance(atom, Linear):
        return evaluation.of_model(atom.measure) - atom.at_most
    return evaluation.with_maxima(atom.measure, atom.maxima) - atom.at_most


def _slope(
    evaluation: Evaluation | DiagramEvaluation, atom: Linear | MaximaBound
) -> FloatArray | None:
    """float (n_rows, n_classes): what labels add to a sum; of maxima to those parts that are
    largest in a model."""
    if isinstance(atom, Linear):
        output = atom.measure.output
        return None if output is None else output.astype(np.float64)

    def value(part: Additive) -> Fraction:
        return Fraction(evaluation.of_model(part), part.denominator)

    terms = [(Fraction(1), atom.measure)]
    terms += [(factor, max(parts, key=value)) for factor, parts in atom.maxima]
    outputs = [
        near(factor) / near(part.denominator) * part.output
        for factor, part in terms
        if part.output is not None
    ]
    return np.asarray(np.sum(outputs, axis=0), dtype=np.float64) if outputs else None


def _has_output(stage: LinearStage) -> bool:
    parts = [part for _, of in stage.maxima for part in of]
    return any(m.output is not None and m.output.any() for m in (stage.measure, *parts))
