"""Which rows train and which test: a share as `test 33%` draws it, or as it is given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.numbers import counted
from odtdsl.datasets.cells import row_place
from odtdsl.datasets.table import IntArray, RawColumn, Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Division:
    """Rows that were read and divided before, instead of what the `data` statement says.

    Attributes
    ----------
    table
        All rows as read; types and classes come from all of them.
    train, test
        int64: disjoint positions in the table, in rising order; `test` may be empty.
    """

    table: Table
    train: IntArray
    test: IntArray


def split_rows(
    n_rows: int, share: Fraction, labels: IntArray | None, seed: int
) -> tuple[IntArray, IntArray]:
    """Training and test rows, the ones that scikit-learn draws.

    They are those of `sklearn.model_selection.train_test_split(rows, test_size=share,
    random_state=seed, stratify=labels)`, so that a split can be had again elsewhere; the
    test rows number `ceil(share * n_rows)`. Unlike there, both stand in rising order. The draw is
    made here, since importing scikit-learn takes longer than most small problems.

    Parameters
    ----------
    n_rows
        The number of rows to divide.
    share
        The share of test rows, above 0 and below 1.
    labels
        int64 (n_rows,) to keep the shares of the classes on both sides; None for a plain draw.
    seed
        Of the draw, from 0 to 2**32 - 1.

    Returns
    -------
    train, test
        int64 arrays, disjoint, together all rows.

    Raises
    ------
    OdtError
        D151: a share, a seed or classes for which there is no such split.
    """
    n_test = _test_count(n_rows, share, seed, "rows")
    n_train = n_rows - n_test
    if labels is not None:
        _check_classes(labels, n_train, n_test)
    draw = np.random.RandomState(seed)
    if labels is None:
        test = draw.permutation(n_rows)[:n_test]
    else:
        test = _stratified(labels, n_train, n_test, draw)
    is_test = np.zeros(n_rows, dtype=np.bool_)
    is_test[test] = True
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def split_groups(column: RawColumn, share: Fraction, seed: int) -> tuple[IntArray, IntArray]:
    """Training and test rows such that rows with one value of a column are on one side.

    The share is of the values, not of the rows: they are those of
    `sklearn.model_selection.GroupShuffleSplit(test_size=share, random_state=seed)`, where values
    are numbers if all cells are, and texts otherwise.

    Returns
    -------
    train, test
        int64 arrays in rising order, disjoint, together all rows.

    Raises
    ------
    OdtError
        D151: a share or a seed for which there is no such split, or a cell without a value.
    """
    groups = groups_of(column)
    n_groups = int(groups.max(initial=-1)) + 1
    n_test = _test_count(n_groups, share, seed, f"values of `{column.name}`")
    chosen = np.random.RandomState(seed).permutation(n_groups)[:n_test]
    is_test = np.isin(groups, chosen)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def groups_of(column: RawColumn) -> IntArray:
    """int64 (n_rows,): the place of each row's value among those of the column, in their order.

    Raises
    ------
    OdtError
        D151: a cell without a value.
    """
    if column.missing.any():
        row = int(np.flatnonzero(column.missing)[0])
        raise error(
            "D151",
            f"{counted(int(column.missing.sum()), 'row')} cannot be kept together: no "
            f"`{column.name}`",
            notes=(f"the first is {row_place(row)}",),
            helps=("fill the column, or leave these rows out of the file",),
        )
    if column.numbers is not None:
        return np.unique(column.numbers, return_inverse=True)[1].astype(np.int64)
    words, places = column.distinct
    order = np.argsort(np.argsort(np.array(words, dtype=object)))
    found: IntArray = order[places].astype(np.int64)
    return found


def _test_count(n: int, share: Fraction, seed: int, what: str) -> int:
    """How many of n rows, or of n values, are for testing: at least one on each side."""
    if not 0 < share < 1:
        raise error(
            "D151",
            f"a test share of {float(share):.6g} leaves no rows on one side",
            helps=("use a share between 0% and 100%, such as `test 33%`",),
        )
    if not 0 <= seed < 2**32:
        raise error("D151", f"the seed of a split must be from 0 to 4294967295, not {seed}")
    n_test = math.ceil(float(share) * n)
    if n - n_test <= 0 or n_test == 0:
        raise error(
            "D151",
            f"a test share of {float(share):.6g} of {n} {what} leaves {n - n_test} for training",
            helps=("use a smaller share, or give a test file",),
        )
    return n_test


def _stratified(
    labels: IntArray, n_train: int, n_test: int, draw: np.random.RandomState
) -> IntArray:
    """The test rows of a draw that gives each class its share of both sides."""
    counts = np.unique(labels, return_counts=True)[1]
    by_class = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
    train = _shares(counts, n_train, draw)
    test = _shares(counts - train, n_test, draw)
    return np.concatenate(
        [
            rows[draw.permutation(len(rows))][first : first + most]
            for rows, first, most in zip(by_class, train, test, strict=True)
        ]
    )


def _shares(counts: IntArray, n: int, draw: np.random.RandomState) -> IntArray:
    """How many of each class n rows hold: in proportion, rounded by the largest remainders."""
    exact = counts / counts.sum() * n
    found = np.floor(exact)
    more = int(n - found.sum())
    remainders = exact - found
    for value in np.unique(remainders)[::-1]:
        if more <= 0:
            break
        tied = np.flatnonzero(remainders == value)
        chosen = draw.choice(tied, size=min(len(tied), more), replace=False)
        found[chosen] += 1
        more -= len(chosen)
    whole: IntArray = found.astype(np.int64)
    return whole


def _check_classes(labels: IntArray, n_train: int, n_test: int) -> None:
    counts = np.unique(labels, return_counts=True)[1]
    if counts.min() < 2:
        raise _not_stratified(
            "a class has a single row, which cannot be both in the training and in the test rows"
        )
    if min(n_train, n_test) < len(counts):
        raise _not_stratified(
            f"{n_train} training rows and {n_test} test rows cannot both contain "
            f"{len(counts)} classes"
        )


def _not_stratified(reason: str) -> OdtError:
    return error(
        "D151",
        "the rows cannot be divided with equal shares of the classes",
        notes=(reason,),
        helps=("remove `stratified`, or use another share",),
    )
