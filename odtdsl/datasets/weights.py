"""Row weights as exact integers over a common denominator."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.cells import row_place
from odtdsl.datasets.dataset import Weights
from odtdsl.datasets.table import FloatArray, RawColumn
from odtdsl.datasets.typing import declare_type, encode

MAX_WEIGHT_SUM = 2**62 // 1000
"""The largest sum of numerators: measures multiply them by up to a thousand in 64 bits."""

_BITS = 40

COMPUTED, DIGITS = 1e6, 14
"""A float below this whose shortest text has so many digits was computed, not written."""

SIMPLE = 1000
"""Up to this denominator it stands for the fraction that reads as the same float, as a third."""


def encode_weights(raw: RawColumn | FloatArray) -> tuple[Weights, bool]:
    """Row weights, and whether they had to be rounded.

    A weight is the decimal that its shortest text writes: 0.1 is 1/10. One below a million of 14
    digits and more is the fraction with a denominator up to 1,000 that reads as the same float,
    if there is one: thirds, and the weights that balance classes, are exact. Where the numerators
    over the common denominator would sum beyond `MAX_WEIGHT_SUM`, weights are rounded to multiples
    of about 1/2**40 of the largest (coarser for very many rows); a positive weight stays positive.

    Parameters
    ----------
    raw
        A column, or float64 (n_rows,).

    Returns
    -------
    weights
        The exact or rounded weights.
    rounded
        True where they are rounded, which deserves a warning.

    Raises
    ------
    OdtError
        D161: a weight that is missing, negative or infinite, or too large. D162: no positive
        weight. D141: a weight that is no number.
    """
    values, subject = _values(raw)
    _check(values, subject)
    distinct, where = np.unique(values, return_inverse=True)
    exact = [_exact(x) for x in distinct.tolist()]
    counts = np.bincount(where, minlength=len(exact)).tolist()
    denominator = math.lcm(*(weight.denominator for weight in exact))
    numerators = [int(weight * denominator) for weight in exact]
    rounded = _total(numerators, counts) > MAX_WEIGHT_SUM
    if rounded:
        numerators, denominator = _rounded(exact, counts, subject)
    array = np.array(numerators, dtype=np.int64)[where]
    return Weights(numerators=array, denominator=denominator), rounded


def _values(raw: RawColumn | FloatArray) -> tuple[FloatArray, str]:
    if isinstance(raw, RawColumn):
        numbers = encode(raw, declare_type(raw, "number")).numbers
        if numbers is not None:
            return numbers, f"weight column `{raw.name}`"
    return np.asarray(raw, dtype=np.float64), "the weights"


def _exact(value: float) -> Fraction:
    """What a weight stands for."""
    written = Decimal(repr(value))
    if value < COMPUTED and len(written.normalize().as_tuple().digits) >= DIGITS:
        simple = Fraction(value).limit_denominator(SIMPLE)
        if float(simple) == value:
            return simple
    return Fraction(written)


def _check(values: FloatArray, subject: str) -> None:
    for what, wrong in (
        ("no value", np.isnan(values)),
        ("an infinite weight", np.isinf(values)),
        ("a negative weight", values < 0),
    ):
        rows = np.flatnonzero(wrong).tolist()
        if rows:
            shown = "" if what == "no value" else f", {values[rows[0]]}"
            more = f" ({len(rows)} rows in all)" if len(rows) > 1 else ""
            raise error(
                "D161",
                f"{subject}: {row_place(rows[0])} has {what}{shown}{more}",
                helps=(
                    (
                        "weights must be finite and at least 0; a row of weight 0 does not count "
                        "in measures"
                    ),
                ),
            )
    if not (values > 0).any():
        raise error("D162", f"{subject}: no row has a weight above 0")


def _total(numerators: list[int], counts: list[int]) -> int:
    return sum(x * count for x, count in zip(numerators, counts, strict=True))


def _rounded(weights: list[Fraction], counts: list[int], subject: str) -> tuple[list[int], int]:
    largest, bits = max(weights), _BITS
    while bits >= 0:
        denominator = max(1, int(Fraction(2**bits) / largest))
        numerators = [max(1, round(x * denominator)) if x else 0 for x in weights]
        total = _total(numerators, counts)
        if total <= MAX_WEIGHT_SUM:
            return numerators, denominator
        bits -= (total // MAX_WEIGHT_SUM).bit_length()
    raise error(
        "D161",
        f"{subject} are too large: their sum exceeds {MAX_WEIGHT_SUM:.2g}",
        helps=("divide all weights by a common factor; shares depend only on their ratios",),
    )
