"""Losses of number targets: their core form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from odtdsl.problem.ir.expr import Apply, TargetArg
from odtdsl.problem.ir.forms import LossKind, TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Param, Signature, Unsupported
from odtdsl.problem.terms.shares import argument, nonzero

OF_TARGETS = (Signature(), Signature(params=(Param.TARGET,)))
"""Signatures of a loss over all targets or of one."""

MAX_TARGET_LOSS = 1e300
"""Sums over rows of weighted losses stay below this."""


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
    if widest > MAX_TARGET_LOSS / total or (
        kind == "squared" and widest > (MAX_TARGET_LOSS / total) ** 0.5
    ):
        raise Unsupported(
            f"targets as large as {widest:g} have losses too large for floating-point numbers",
            code="R301",
        )
    below = truth[:, [bool(factor) for factor in factors]].min()
    if kind == "poisson" and below < 0:
        raise Unsupported(f"`poisson` is for counts, but a target contains {below:g}", code="R301")
    return TargetLoss(kind=kind, factors=tuple(factors), weights=rows.weights)
