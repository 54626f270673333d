"""Tables: columns as they were read, before a spec gives them types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from odtdsl.base import engine
from odtdsl.datasets.numerals import PLAIN, Numerals

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
ObjectArray = npt.NDArray[np.object_]
T = TypeVar("T", bound=np.generic)


def distinct(values: npt.NDArray[T]) -> npt.NDArray[T]:
    """The different values, ascending.

    `np.unique` without counts would first import numpy's masked arrays, which takes longer than
    much of a small solve.
    """
    found: npt.NDArray[T] = np.unique(values, return_counts=True)[0]
    return found


def ranked(numbers: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different numbers, ascending, and the place of each cell among them.

    Returns
    -------
    values
        float64, without NaN.
    places
        int64 (n_rows,); that of NaN is behind all others.
    """
    return engine.ranked(numbers)


class Writing(Protocol):
    """How the cells of a column are written; nothing here knows which of them are missing."""

    def texts(self) -> ObjectArray:
        """object (n_rows,): each cell as text."""

    def distinct(self) -> tuple[ObjectArray, IntArray]:
        """The different texts, and int64 (n_rows,): the place of each cell among them.

        A text may be there that no cell has, and places of missing cells mean nothing.
        """

    def take(self, rows: IntArray) -> Writing:
        """The cells of the given rows."""

    def has_long_numbers(self) -> bool:
        """Whether a cell may have more digits than float64 tells apart; quick, may be too careful.

        Cells of at most 15 significant digits never need more.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class RawColumn:
    """A column as read.

    Attributes
    ----------
    numbers
        float64, shape (n_rows,), NaN where missing, if every cell that is not missing is
        a finite number; else None. A column without any value counts as numbers.
    writing
        The cells as text, made when they are asked for: see `texts` and `distinct`.
    missing
        bool, shape (n_rows,).
    levels
        The values in the order that the source itself declares (a nominal ARFF attribute,
        a categorical frame column), as text; else None.
    ordered
        Whether the source says that the order of `levels` means something.
    by_value
        Whether cells came as numbers (Parquet, frames) and so have no writing of their own;
        `texts` has the shortest one that reads back equal, without `.0` for integers.
    blanks
        Texts that stand in the column with different blanks around them, which are dropped.
    marked
        Texts that are missing because they read as the number of an `na` mark (`09` under `9`).
    numerals
        How its source writes numbers.
    places
        int64, shape (n_rows,): which rows of the source these are; None for all of them.
    """

    name: str
    numbers: FloatArray | None
    writing: Writing
    missing: BoolArray
    levels: tuple[str, ...] | None = None
    ordered: bool = False
    by_value: bool = False
    blanks: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    numerals: Numerals = PLAIN
    places: IntArray | None = None

    def place(self, row: int) -> int:
        """Which row of the source it is."""
        return row if self.places is None else int(self.places[row])

    @cached_property
    def texts(self) -> ObjectArray:
        """object, shape (n_rows,): each cell as text, `None` where missing."""
        texts = self.writing.texts()
        texts[self.missing] = None
        return texts

    @cached_property
    def distinct(self) -> tuple[tuple[str, ...], IntArray]:
        """The different texts of cells that are not missing, and the place of each cell among
        them, int64 (n_rows,), -1 where missing."""
        texts, places = self.writing.distinct()
        if not self.missing.any() and np.bincount(places, minlength=len(texts)).all():
            return tuple(texts.tolist()), places  # the usual case
        used = np.zeros(len(texts), dtype=np.bool_)
        used[places[~self.missing]] = True
        shift = np.cumsum(used) - 1
        found = np.where(self.missing, -1, shift[places] if len(texts) else -1)
        return tuple(texts[used].tolist()), found

    def take(self, rows: IntArray) -> RawColumn:
        """The column of the given rows, in the given order."""
        return replace(
            self,
            numbers=None if self.numbers is None else self.numbers[rows],
            writing=self.writing.take(rows),
            missing=self.missing[rows],
            places=rows if self.places is None else self.places[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Named columns of equal length. `name` is what messages call the table."""

    name: str
    columns: Mapping[str, RawColumn]
    n_rows: int

    def take(self, rows: IntArray) -> Table:
        """The table of the given rows, in the given order."""
        if len(rows) == self.n_rows and np.array_equal(rows, np.arange(self.n_rows)):
            return self
        columns = {key: column.take(rows) for key, column in self.columns.items()}
        return Table(name=self.name, columns=columns, n_rows=len(rows))
