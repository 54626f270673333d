"""The checker's part for number targets: what every leaf's output should be.

It shares nothing with the code that made the outputs: a mean is recognised by its residuals,
a median by the weight on either side of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from odtdsl.data.table import FloatArray
from odtdsl.ir.expr import Apply
from odtdsl.ir.problem import Problem
from odtdsl.terms.evaluate import applications
from odtdsl.terms.view import LeafView, TreeView

CALLED_FOR = {"mse": "the mean of its rows", "mae": "a median of its rows"}

ROUNDING = 1e-6
"""What a residual may owe to the rounding of values far from 0, times the tolerance of audits."""


def loss_called(problem: Problem) -> str:
    """The loss that outputs are to make least: the first in objective, then rules; or `mse`."""
    said: list[Apply] = []
    for stage in problem.objective:
        said += applications(stage.measure)
    for rule in problem.rules:
        said += applications(rule.condition)
    return next((call.term for call in said if call.term in CALLED_FOR), "mse")


def worst_output(view: TreeView, loss: str) -> float:
    """The largest share by which an output is off; 0 for a leaf whose rows weigh nothing."""
    return max((off for leaf in view.leaves for off in _off(leaf, loss)), default=0.0)


def _off(leaf: LeafView, loss: str) -> Iterator[float]:
    truth = leaf.rows.data.targets
    assert truth is not None, "number targets are there"
    assert leaf.leaf.output is not None, "a tree that fits the targets has outputs"
    weights = leaf.rows.weights[leaf.inside].astype(np.float64)
    if not weights.any():
        return
    off = _off_median if loss == "mae" else _off_mean
    for values, output in zip(truth[leaf.inside].T, leaf.leaf.output, strict=True):
        yield off(values, weights, output)


def _off_mean(values: FloatArray, weights: FloatArray, output: float) -> float:
    """Of a mean the weighted residuals cancel: their sum as a share of their sizes."""
    apart = weights * (values - output)
    size = weights * np.maximum(np.abs(values), abs(output))
    spread = float(np.abs(apart).sum() + ROUNDING * size.sum())
    return abs(float(apart.sum())) / spread if spread else 0.0


def _off_median(values: FloatArray, weights: FloatArray, output: float) -> float:
    """Of a median at most half of the weight lies on either side: the share beyond half."""
    beyond = max(weights[values < output].sum(), weights[values > output].sum())
    return max(0.0, float(beyond / weights.sum()) - 0.5)
