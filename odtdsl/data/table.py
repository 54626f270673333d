"""Tables: columns as they were read, before a spec gives them types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
ObjectArray = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawColumn:
    """A column as read.

    Attributes
    ----------
    numbers
        float64, shape (n_rows,), NaN where missing, if every cell that is not missing is
        a finite number; else None. A column without any value counts as numbers.
    texts
        object, shape (n_rows,): each cell as text, `None` where missing. Numbers that
        came as numbers (Parquet, frames) are written the shortest way that reads back
        equal, without `.0` for integers.
    missing
        bool, shape (n_rows,).
    levels
        The values in the order that the source itself declares (a nominal ARFF attribute,
        a categorical frame column), as numbers where `numbers` is there; else None.
    ordered
        Whether the source says that the order of `levels` means something.
    """

    name: str
    numbers: FloatArray | None
    texts: ObjectArray
    missing: BoolArray
    levels: tuple[str | int | float, ...] | None = None
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Named columns of equal length. `name` is what messages call the table."""

    name: str
    columns: Mapping[str, RawColumn]
    n_rows: int

    def take(self, rows: IntArray) -> Table:
        """The table of the given rows, in the given order."""
        columns = {
            key: RawColumn(
                name=column.name,
                numbers=None if column.numbers is None else column.numbers[rows],
                texts=column.texts[rows],
                missing=column.missing[rows],
                levels=column.levels,
                ordered=column.ordered,
            )
            for key, column in self.columns.items()
        }
        return Table(name=self.name, columns=columns, n_rows=len(rows))
