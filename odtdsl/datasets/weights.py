"""Row weights as exact integers over a common denominator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.datasets.cells import number_of, row_place
from odtdsl.datasets.dataset import Weights
from odtdsl.datasets.table import FloatArray, IntArray, RawColumn
from odtdsl.datasets.typing import declare_type, encode

MAX_WEIGHT_SUM = 2**62 // 1000
"""The largest sum of numerators: measures multiply them by up to a thousand in 64 bits."""

_BITS = 40

COMPUTED, DIGITS = 1e6, 14
"""A float below this whose shortest text has so many digits was computed, not written."""

SIMPLE = 1000
"""Up to this denominator it stands for the fraction that reads as the same float, as a third."""

_OTHER = "otherwise name a column of numbers after `weight`"
_ALLOWED = "weights must be finite and at least 0; a row of weight 0 does not count in measures"


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


def wrong_cells(raw: RawColumn) -> tuple[Diagnostic, ...]:
    """All that is wrong with the cells of a column of weights that are not missing: D141, D161."""
    texts: tuple[Diagnostic, ...] = ()
    if raw.numbers is not None:
        numbers = raw.numbers
    else:
        try:
            encode(raw, declare_type(raw, "number"))
        except OdtError as caught:
            texts = tuple(
                replace(one, helps=(*one.helps[:-1], _OTHER)) for one in caught.diagnostics
            )
        plain = (raw.numerals.plain(text or "") for text in raw.texts.tolist())
        read = (None if text is None else number_of(text) for text in plain)
        numbers = np.array([np.nan if one is None else one for one in read], dtype=np.float64)
        numbers[np.isinf(numbers)] = np.nan  # D141 told of it
    rows = np.arange(len(numbers)) if raw.places is None else raw.places
    return (*texts, *_wrong(numbers[~raw.missing], rows[~raw.missing], _named(raw)))


def _named(raw: RawColumn) -> str:
    return f"weight column `{raw.name}`"


def _values(raw: RawColumn | FloatArray) -> tuple[FloatArray, str]:
    if not isinstance(raw, RawColumn):
        return np.asarray(raw, dtype=np.float64), "the weights"
    if wrong := wrong_cells(raw):
        raise OdtError(wrong)
    numbers = encode(raw, declare_type(raw, "number")).numbers
    assert numbers is not None, "a column of numbers has numbers"
    return numbers, _named(raw)


def _exact(value: float) -> Fraction:
    """What a weight stands for."""
    written = Decimal(repr(value))
    if value < COMPUTED and len(written.normalize().as_tuple().digits) >= DIGITS:
        simple = Fraction(value).limit_denominator(SIMPLE)
        if float(simple) == value:
            return simple
    return Fraction(written)


def _check(values: FloatArray, subject: str) -> None:
    rows = np.arange(len(values))
    absent = np.flatnonzero(np.isnan(values))
    wrong = [*_told(absent, "no value", subject), *_wrong(values, rows, subject)]
    if wrong:
        raise OdtError(wrong)
    if not (values > 0).any():
        raise error("D162", f"{subject}: no row has a weight above 0")


def _wrong(values: FloatArray, rows: IntArray, subject: str) -> Iterator[Diagnostic]:
    """What is wrong with the numbers of these rows; NaN is not."""
    for what, wrong in (
        ("an infinite weight", np.isinf(values)),
        ("a negative weight", np.isfinite(values) & (values < 0)),
    ):
        if wrong.any():
            yield from _told(rows[wrong], f"{what}, {values[wrong][0]}", subject)


def _told(rows: IntArray, what: str, subject: str) -> tuple[Diagnostic, ...]:
    if not len(rows):
        return ()
    more = f" ({len(rows)} rows in all)" if len(rows) > 1 else ""
    return error(
        "D161", f"{subject}: {row_place(int(rows[0]))} has {what}{more}", helps=(_ALLOWED,)
    ).diagnostics


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
