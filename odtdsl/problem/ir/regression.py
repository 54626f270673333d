"""Losses of number targets on raw trees, and the leaf outputs that make them least.

Targets are floats, so these values are floats too, each the correctly rounded sum of its
terms. What follows from them holds within `TOLERANCE`, where all else is exact.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.forms import Core, LossBound, RegressionStage, TargetLoss
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

INFINITE = Fraction(10**300)
"""Stands for a loss without bound: an output of 0 where a row has more, under `poisson`."""

TOLERANCE = Fraction(1, 10**9)
"""Two values of a loss are taken for equal where they differ by this share of the larger."""

OF_COUNTS = Fraction(1, 10**13)
"""The same of deviances, as a share of the mean count."""

ROUNDING = float(TOLERANCE / 2)
"""How far an output may exceed another one by this share of their size, and be no larger."""


def allowance(bound: Fraction) -> Fraction:
    """How far a loss may exceed a bound: half of what the audit allows, so that both agree."""
    return TOLERANCE / 2 * (1 + abs(bound))


def near(a: Fraction, b: Fraction) -> bool:
    """Whether two values of one loss, computed in two ways, are the same."""
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def rounding(core: Core, loss: TargetLoss) -> Fraction:
    """How far two values of one loss may lie apart that differ by rounding only.

    A deviance is what is left of the counts, so that it may be small beside their rounding.
    """
    leaf = np.array(leaf_output(core, np.arange(core.n_rows)), dtype=np.float64)
    found = TOLERANCE * loss_of(core, loss, np.broadcast_to(leaf, (core.n_rows, len(leaf))))
    if loss.kind != "poisson":
        return found
    assert core.targets is not None, "a loss of number targets has targets"
    counts = (loss.masses[:, None] * core.targets).sum(axis=0).max()
    return max(found, OF_COUNTS * Fraction(float(counts)) / loss.total)


def loss_of(core: Core, loss: TargetLoss, predicted: FloatArray) -> Fraction:
    """The value of a loss for predictions: float64 (n_rows, n_targets)."""
    return lost(core, loss, np.arange(core.n_rows), predicted)


def lost(core: Core, loss: TargetLoss, rows: IntArray, predicted: FloatArray) -> Fraction:
    """What some rows add to a loss by their predictions: float64 (n_rows or 1, n_targets)."""
    assert core.targets is not None, "a loss of number targets has targets"
    total = Fraction(0)
    weight, masses, targets = loss.total, loss.masses[rows], core.targets[rows]
    for index, factor in enumerate(loss.factors):
        if factor:
            apart = targets[:, index] - predicted[:, index]
            if loss.kind == "poisson":
                each = deviance(targets[:, index], predicted[:, index])
            else:
                each = apart * apart if loss.kind == "squared" else np.abs(apart)
            each = np.where(masses != 0, each, 0.0)  # what weighs nothing may be infinite
            if not np.isfinite(each).all():
                return INFINITE
            total += factor * Fraction(math.fsum((masses * each).tolist())) / weight
    return total


def deviance(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Half the Poisson deviance of each row; infinite where 0 is predicted for more."""
    positive, apart = truth > 0, truth - predicted
    with np.errstate(divide="ignore", invalid="ignore"):
        share = apart / predicted
        # Of large counts that lie close a quotient has lost what parts them.
        logs = np.where(np.abs(share) < 0.5, np.log1p(share), np.log(truth / predicted))
        found: FloatArray = np.where(positive, truth * logs, 0.0) - apart
    return np.where(predicted < 0, np.inf, found)


def loss_in(core: Core) -> TargetLoss | None:
    """The loss that decides on leaf outputs: the objective's first, else that of a rule."""
    for stage in core.objective:
        if isinstance(stage, RegressionStage):
            return stage.loss
    for clause in core.clauses:
        for literal in clause.literals:
            if isinstance(literal.atom, LossBound):
                return literal.atom.loss.of_all
    return None


def leaf_output(core: Core, rows: IntArray) -> tuple[float, ...]:
    """The output that makes the loss of a leaf of these rows least.

    The weighted mean for squared errors and deviances, the lower weighted median for absolute
    ones; rows count alike where all of them weigh nothing, and where no loss is asked for (the
    mean).
    """
    assert core.targets is not None, "outputs are for number targets"
    loss = loss_in(core)
    weights = np.ones(len(rows), dtype=np.int64) if loss is None else loss.masses[rows]
    if not weights.any():
        weights = np.ones(len(rows), dtype=np.int64)
    best = median if loss is not None and loss.kind == "absolute" else mean
    return tuple(best(column, weights) for column in core.targets[rows].T)


def mean(values: FloatArray, weights: IntArray | FloatArray) -> float:
    """The weighted mean, never beyond the values."""
    found = math.fsum((values * weights).tolist()) / math.fsum(weights.tolist())
    return min(max(found, float(values.min())), float(values.max()))


def median(values: FloatArray, weights: IntArray | FloatArray) -> float:
    """The lower weighted median: the least value up to which half of the weight lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = -(-int(below[-1]) // 2)
    return float(values[order[int(np.searchsorted(below, half))]])


def fitted(core: Core, tree: RawTree) -> RawTree:
    """The tree with the best output in every leaf that holds a row; class trees as they are."""
    if core.targets is None:
        return tree
    return _fitted(core, tree, np.arange(core.n_rows))


def _fitted(core: Core, tree: RawTree, rows: IntArray) -> RawTree:
    if isinstance(tree, RawLeaf):
        return RawLeaf(output=leaf_output(core, rows)) if rows.size else tree
    assert isinstance(tree, RawSplit)
    left = core.families[tree.family].goes_left(tree.test)[rows]
    return replace(
        tree,
        left=_fitted(core, tree.left, rows[left]),
        right=_fitted(core, tree.right, rows[~left]),
    )
