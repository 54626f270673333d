"""Losses of number targets on a finished tree."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from odtdsl.data.table import FloatArray
from odtdsl.ir.expr import Apply, TargetArg
from odtdsl.terms.base import Param, Signature
from odtdsl.terms.shares import argument
from odtdsl.terms.view import ModelView

OF_TARGETS = (Signature(), Signature(params=(Param.TARGET,)))
"""Signatures of a loss over all targets or of one."""


def mean_loss(
    view: ModelView, call: Apply, loss: Callable[[FloatArray, FloatArray], FloatArray]
) -> Fraction:
    """The weighted mean over rows and targets of a loss of (true, predicted) float64 values."""
    truth = view.rows.data.targets
    assert truth is not None, "analysis demands number targets"
    outputs = np.asarray([leaf.output for leaf in view.tree.leaves], dtype=np.float64)
    predicted = outputs[view.leaf_of]
    target = argument(call, TargetArg)
    if target is not None:
        truth, predicted = truth[:, [target.index]], predicted[:, [target.index]]
    per_row = loss(truth, predicted).mean(axis=1)
    weights = view.rows.weights
    return Fraction(float((per_row * weights).sum() / weights.sum()))
