"""What a hyperplane weighs: numbers, ranks of ordered levels, and 0/1 columns of categories."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawPlane


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneColumn:
    """One column that planes weigh.

    Attributes
    ----------
    column
        Index of the feature.
    level
        Of a category: the level whose presence counts 1, as an index into its levels; None
        for numbers, and for ordered columns, which count by rank.
    low, span
        Smallest training value and distance to the largest (raw units); span is above 0.
    """

    column: int
    level: int | None
    low: float
    span: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planes:
    """All columns that planes weigh, on the training rows.

    Attributes
    ----------
    raw
        float64 (n_rows, n_columns), in raw units.
    scaled
        The same, to [0, 1] by the training range.
    """

    columns: tuple[PlaneColumn, ...]
    raw: FloatArray
    scaled: FloatArray

    def goes_left(self, plane: RawPlane, rows: IntArray) -> BoolArray:
        """bool (len(rows),): the rows below a plane."""
        below: BoolArray = self.sums(plane.weights, rows) < plane.bound
        return below

    def sums(self, weights: tuple[tuple[int, float], ...], rows: IntArray) -> FloatArray:
        """float64 (len(rows),): pairs of a column and a weight, added in this order."""
        total = np.zeros(len(rows))
        for index, weight in weights:
            total = total + weight * self.raw[rows, index]
        return total


MAX_PLANE_CELL = 1e150
"""Cells beyond this are weighed by no hyperplane: sums of their products leave floats."""


@lru_cache(maxsize=4)
def planes(core: Core) -> Planes:
    """The columns of a core without missing values; constant columns are left out."""
    columns: list[PlaneColumn] = []
    raw: list[FloatArray] = []
    for family in core.families:
        if family.kind == "threshold" and family.n_tests:
            low, high = float(family.values[0]), float(family.values[-1])
            columns.append(PlaneColumn(column=family.column, level=None, low=low, span=high - low))
            raw.append(family.values[family.codes])
        elif family.kind == "equals":
            for test in range(family.n_tests):
                level = int(family.values[test])
                columns.append(PlaneColumn(column=family.column, level=level, low=0.0, span=1.0))
                raw.append((family.codes == test).astype(np.float64))
    values = np.column_stack(raw) if raw else np.zeros((core.n_rows, 0))
    lows = np.array([column.low for column in columns])
    spans = np.array([column.span for column in columns])
    return Planes(columns=tuple(columns), raw=values, scaled=(values - lows) / spans)
