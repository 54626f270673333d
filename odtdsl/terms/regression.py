"""Losses of number targets: their value on a finished tree, and their core form."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from odtdsl.data.table import FloatArray
from odtdsl.ir.expr import Apply, TargetArg
from odtdsl.ir.forms import LossKind, TargetLoss
from odtdsl.ir.rows import Rows
from odtdsl.terms.base import Param, Signature, Unsupported
from odtdsl.terms.shares import argument, nonzero
from odtdsl.terms.view import TreeView

OF_TARGETS = (Signature(), Signature(params=(Param.TARGET,)))
"""Signatures of a loss over all targets or of one."""

INFINITE = Fraction(10**300)
"""Stands for a loss without bound: `poisson` where 0 is predicted for more."""

LARGEST = 1e300
"""Sums over rows of weighted losses stay below this."""


def mean_loss(
    view: TreeView, call: Apply, loss: Callable[[FloatArray, FloatArray], FloatArray]
) -> Fraction:
    """The weighted mean over rows and targets of a loss of (true, predicted) float64 values."""
    truth = view.rows.data.targets
    assert truth is not None, "analysis demands number targets"
    outputs = np.asarray([leaf.output for leaf in view.tree.leaves], dtype=np.float64)
    predicted = outputs[view.leaf_of]
    target = argument(call, TargetArg)
    if target is not None:
        truth, predicted = truth[:, [target.index]], predicted[:, [target.index]]
    weights = view.rows.weights
    lost = np.where(weights[:, None] > 0, loss(truth, predicted), 0.0)  # not 0 times infinite
    per_row = lost.mean(axis=1)
    value = float((per_row * weights).sum() / weights.sum())
    return Fraction(value) if np.isfinite(value) else INFINITE


def target_loss(rows: Rows, call: Apply, kind: LossKind) -> TargetLoss:
    """The core form of a mean loss over all targets or of one.

    Raises
    ------
    Unsupported
        Targets so large that sums of the loss are beyond floats, or below 0 under `poisson`.
    EmptyDenominator
        Rows that all have weight 0.
    """
    truth = rows.data.targets
    assert truth is not None, "analysis demands number targets"
    n_targets = truth.shape[1]
    chosen = argument(call, TargetArg)
    factors = [Fraction(1, n_targets)] * n_targets
    if chosen is not None:
        factors = [Fraction(int(index == chosen.index)) for index in range(n_targets)]
    total = nonzero(rows, rows.mask(None), f"`{call.term}`")
    widest = float(np.abs(truth).max())
    if widest > LARGEST / total or (kind == "squared" and widest > (LARGEST / total) ** 0.5):
        raise Unsupported(f"targets as large as {widest:g} have losses beyond floats", code="R301")
    below = truth[:, [bool(factor) for factor in factors]].min()
    if kind == "poisson" and below < 0:
        raise Unsupported(f"`poisson` is for counts: a target holds {below:g}", code="R301")
    return TargetLoss(kind=kind, factors=tuple(factors), weights=rows.weights)
