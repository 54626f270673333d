"""Losses of number targets: their core form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from odtdsl.problem.ir.expr import Apply, TargetArg
from odtdsl.problem.ir.forms import LossKind, TargetLoss, check_overflow
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Param, Signature, Unsupported
from odtdsl.problem.terms.shares import argument, described, group_of, nonzero

OF_TARGETS = (
    Signature(),
    Signature(params=(Param.TARGET,)),
    Signature(params=(Param.GROUP,)),
    Signature(params=(Param.TARGET, Param.GROUP)),
)
"""Signatures of a loss over all targets or of one, of all rows or of a group."""

MAX_TARGET_LOSS = 1e300
"""Sums over rows of weighted losses stay below this."""

MIN_TARGET = 1e-270
"""Targets other than 0, and the square of the largest where it counts, are at least this: losses
below 1e-290 are nothing to searches, and floats near 1e-308 lose their digits."""


def target_loss(rows: Rows, call: Apply, kind: LossKind) -> TargetLoss:
    """The core form of a mean loss over all targets or of one, of all rows or of a group.

    Raises
    ------
    Unsupported
        Targets so large or so near 0 that floats do not hold their loss, or below 0 under
        `poisson`.
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
    group = group_of(call)
    mask = rows.mask(group)
    total = nonzero(rows, mask, described(call))
    sizes = np.abs(truth)
    widest = float(sizes.max())
    if widest > MAX_TARGET_LOSS / total or (
        kind == "squared" and widest > (MAX_TARGET_LOSS / total) ** 0.5
    ):
        raise Unsupported(
            f"targets as large as {widest:g} have losses too large for floating-point numbers",
            code="R301",
        )
    nearest = float(sizes[sizes > 0].min(initial=np.inf))
    if nearest < MIN_TARGET:
        raise Unsupported(
            f"a target is {nearest:g}, so near 0 that its losses are too small for floating-point "
            "numbers: write 0, or multiply all by a common factor",
            code="R301",
        )
    if kind == "squared" and 0 < widest < MIN_TARGET**0.5:
        raise Unsupported(
            f"targets of at most {widest:g} have squares too small for floating-point numbers: "
            "multiply all by a common factor",
            code="R301",
        )
    below = truth[:, [bool(factor) for factor in factors]].min()
    if kind == "poisson" and below < 0:
        raise Unsupported(f"`poisson` is for counts, but a target contains {below:g}", code="R301")
    if group is None:
        return TargetLoss(kind=kind, factors=tuple(factors), weights=rows.weights)
    weights = np.where(mask, rows.weights, 0)
    return TargetLoss(kind=kind, factors=tuple(factors), weights=weights, everyone=rows.weights)


def sum_of(losses: Sequence[TargetLoss]) -> TargetLoss | None:
    """The sum of losses as one; None where they differ in kind, or in both targets and rows."""
    first = losses[0]
    if any(loss.kind != first.kind for loss in losses):
        return None
    if all(_same_rows(loss, first) for loss in losses):
        factors = map(sum, zip(*(loss.factors for loss in losses), strict=True))
        return replace(first, factors=tuple(Fraction(factor) for factor in factors))
    base = tuple(abs(factor) for factor in first.factors)
    shares = [_multiple(loss.factors, base) for loss in losses]
    known = [share for share in shares if share is not None]
    if len(known) < len(losses):
        return None
    over = lcm(*(loss.total * share.denominator for loss, share in zip(losses, known, strict=True)))
    weights = np.zeros(len(first.weights), dtype=np.int64)
    for loss, share in zip(losses, known, strict=True):
        factor = int(share * over / loss.total)
        check_overflow(loss.weights, factor)
        weights = weights + loss.weights * factor
        check_overflow(weights)
    everyone = first.of_all.weights
    return replace(first, factors=base, weights=weights, everyone=everyone, over=over)


def _same_rows(one: TargetLoss, other: TargetLoss) -> bool:
    return one.total == other.total and np.array_equal(one.weights, other.weights)


def _multiple(of: tuple[Fraction, ...], base: tuple[Fraction, ...]) -> Fraction | None:
    """What `base` is to be multiplied by, to become `of`."""
    factor = next((a / b for a, b in zip(of, base, strict=True) if b), Fraction(0))
    return factor if [factor * b for b in base] == list(of) else None
