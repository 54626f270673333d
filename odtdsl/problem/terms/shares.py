"""Shared arithmetic of row measures: weighted sums over rows of a value per (row, label)."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TypeVar

import numpy as np

from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import Apply, GroupArg, LabelArg
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import EmptyDenominator, Param, Signature

OF_ROWS = (Signature(), Signature(params=(Param.GROUP,)))
"""Signatures of a measure of all rows or of a group."""

OF_CLASS = (Signature(params=(Param.LABEL,)), Signature(params=(Param.LABEL, Param.GROUP)))
"""Signatures of a measure of one class against the rest, of all rows or of a group."""

A = TypeVar("A")


def argument(call: Apply, kind: type[A]) -> A | None:
    """The first argument of a kind, or None."""
    return next((arg for arg in call.args if isinstance(arg, kind)), None)


def group_of(call: Apply) -> GroupArg | None:
    """The group among the arguments of a term; None for all rows."""
    return argument(call, GroupArg)


def label_of(call: Apply) -> int:
    """The index of the class among the arguments of a term."""
    label = argument(call, LabelArg)
    assert label is not None, "the signature demands a class"
    return label.index


def weighed(rows: Rows, mask: BoolArray) -> Fraction:
    """The weight of some rows."""
    return Fraction(rows.total_weight(mask), rows.weight_denominator)


def when_predicted(rows: Rows, mask: BoolArray, label: int) -> IntArray:
    """int64 (n_rows, n_classes): the weight of a row of `mask` where it gets `label`."""
    output = np.zeros((rows.n_rows, rows.n_classes), dtype=np.int64)
    output[:, label] = np.where(mask, rows.weights, 0)
    return output


def when_not_predicted(rows: Rows, mask: BoolArray, label: int) -> IntArray:
    """int64 (n_rows, n_classes): the weight of a row of `mask` where it gets another label."""
    output = np.repeat(np.where(mask, rows.weights, 0)[:, None], rows.n_classes, axis=1)
    output[:, label] = 0
    return output


def when_wrong(rows: Rows, mask: BoolArray) -> IntArray:
    """int64 (n_rows, n_classes): the weight of a row of `mask` where its label is not its class."""
    output = np.repeat(np.where(mask, rows.weights, 0)[:, None], rows.n_classes, axis=1)
    output[np.arange(rows.n_rows), rows.labels] = 0
    return output


def share(rows: Rows, mask: BoolArray, output: IntArray, of: str) -> Additive:
    """A sum over rows as a share of the weight of `mask`.

    What is common to all weights is divided out, so that rules that multiply shares of several
    groups stay exact where each row weighs a third, or a million.
    """
    total = nonzero(rows, mask, of)
    common = gcd(total, int(np.gcd.reduce(output, axis=None)))
    return Additive(output=output // common, denominator=total // common)


def mean(rows: Rows, mask: BoolArray, of_rows: Additive, of: str) -> Additive:
    """A sum over the rows of `mask` over their weight, without what is common to both."""
    assert of_rows.output is not None, "a sum over rows by their labels"
    whole = share(rows, mask, of_rows.output, of)
    return whole.scaled(Fraction(rows.weight_denominator, of_rows.denominator))


def nonzero(rows: Rows, mask: BoolArray, of: str) -> int:
    """Numerator of the weight of `mask`; an `EmptyDenominator` where it is 0."""
    total = rows.total_weight(mask)
    if total == 0:
        raise EmptyDenominator(f"{of} is a share of no training row")
    return total


def described(call: Apply, label: str = "") -> str:
    """The term with its arguments, for messages."""
    shown = [label] if label else []
    group = group_of(call)
    shown += [group.name] if group else []
    return f"`{call.term}({', '.join(shown)})`" if shown else f"`{call.term}`"
