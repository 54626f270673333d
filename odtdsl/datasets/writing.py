"""Ways to keep the cells of a column as text without a Python object for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.datasets.table import IntArray, ObjectArray

LONG = 16
"""Numbers in fewer characters are told apart by float64."""

_EXACT = 2**53
"""All integers up to here are different as float64."""


def number_text(value: float) -> str:
    """The shortest text that reads back equal, without `.0` for integers."""
    return repr(value + 0.0).removesuffix(".0")


def objects(texts: Sequence[Any]) -> ObjectArray:
    """Texts, or other cells, as an array of objects."""
    array = np.empty(len(texts), dtype=np.object_)
    array[:] = texts
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Cells that are texts, one by one; `None` may stand for missing ones."""

    cells: ObjectArray

    def texts(self) -> ObjectArray:
        """The cells as an object array (n_rows,) of texts, with `None` for missing ones."""
        return self.cells.copy()

    def distinct(self) -> tuple[ObjectArray, IntArray]:
        """The different texts, and the place of each cell among them, int64 (n_rows,)."""
        place_of: dict[str | None, int] = {}
        cells = self.cells.tolist()
        places = [place_of.setdefault(text, len(place_of)) for text in cells]
        return objects(list(place_of)), np.array(places, dtype=np.int64)

    def take(self, rows: IntArray) -> Texts:
        """The cells of some rows, given by their positions."""
        return Texts(self.cells[rows])

    def has_long_numbers(self) -> bool:
        """Whether a cell is too long to be a number that float64 surely holds exactly."""
        return any(text is not None and len(text) >= LONG for text in self.cells.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Cells as places, int64 (n_rows,), in a list of different texts."""

    words: ObjectArray
    places: IntArray

    def texts(self) -> ObjectArray:
        """The cells as an object array (n_rows,) of texts, with `None` for missing ones."""
        if not len(self.words):
            return objects([None] * len(self.places))
        return self.words[self.places]

    def distinct(self) -> tuple[ObjectArray, IntArray]:
        """The different texts, and the place of each cell among them, int64 (n_rows,)."""
        return self.words, self.places

    def take(self, rows: IntArray) -> Coded:
        """The cells of some rows, given by their positions."""
        return Coded(self.words, self.places[rows])

    def has_long_numbers(self) -> bool:
        """Whether a cell is too long to be a number that float64 surely holds exactly."""
        return any(len(text) >= LONG for text in self.words.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Cells that came as numbers: float64 (n_rows,), or integers of 64 bits, which are exact."""

    values: npt.NDArray[Any]

    def texts(self) -> ObjectArray:
        """The shortest texts that read back as the same numbers, object (n_rows,)."""
        return objects(self._written(self.values))

    def distinct(self) -> tuple[ObjectArray, IntArray]:
        """The different numbers as texts, and the place of each cell among them, int64."""
        found, places = np.unique(self.values, return_inverse=True)
        return objects(self._written(found)), places.reshape(-1).astype(np.int64, copy=False)

    def take(self, rows: IntArray) -> Numbers:
        """The cells of some rows, given by their positions."""
        return Numbers(self.values[rows])

    def has_long_numbers(self) -> bool:
        """Whether an integer lies beyond those that float64 holds exactly."""
        if self.values.dtype.kind == "f" or not len(self.values):
            return False
        return int(self.values.max()) > _EXACT or int(self.values.min()) < -_EXACT

    def _written(self, values: npt.NDArray[Any]) -> list[str]:
        write = number_text if values.dtype.kind == "f" else str
        return [write(x) for x in values.tolist()]
