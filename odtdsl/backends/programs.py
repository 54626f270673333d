"""A program as it is handed to other solvers: its numbers, its names, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.forms import Origin
from odtdsl.problem.ir.raw import RawModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stage of the objective inside a program.

    Attributes
    ----------
    stage
        Its index.
    cost
        Column to integer coefficient; their sum y moves in whole steps.
    constant, grid, scale
        The stage's value, signed so that less is better, is `(constant + grid * y) / scale`.
    weight
        y counts so often in the program's objective.
    loose
        How many steps the value of a model may lie beside its y: losses of numbers are rounded.
    """

    stage: int
    cost: dict[int, int]
    constant: int
    grid: int
    scale: int
    weight: int = 1
    loose: int = 0

    def value(self, y: int) -> Fraction:
        """The value of the stage, less is better."""
        return Fraction(self.constant + self.grid * y, self.scale)

    def steps(self, value: Fraction) -> Fraction:
        """The y of a value."""
        return (value * self.scale - self.constant) / self.grid


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSet:
    """The patterns of a leaf that predicts numbers, `s3` in names, and what it predicts."""

    patterns: tuple[int, ...]
    output: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Handover:
    """A mixed-integer program, minimized: `row_lower <= A x <= row_upper`.

    Attributes
    ----------
    what
        What it is, in lines for people.
    column_names, column_lower, column_upper, integer
        Per column; bounds float64, infinite where there is none.
    starts, columns, values
        A in CSR form: int64 (n_rows + 1,), int64 and float64 (n_nonzeros,).
    row_names, row_lower, row_upper, origins
        Per row, infinite where a side is open; the rule that it is of, or `skeleton`, `objective`.
    parts
        The stages that are minimized; none where any model will do.
    kept
        Stages that rows keep at a value or better.
    pattern_of_row
        int64 (n_rows of data,): rows that no test tells apart share a pattern, `p7` in names.
    levels
        Level of each node, `n3` in names.
    column_ids
        How each column of the data is written in names.
    row_sets
        Of trees of numbers, what leaves may hold.
    decode
        The model of a point float64 (n_columns,), whose integer columns are integral; None
        where they make none.
    """

    what: tuple[str, ...]
    column_names: Sequence[str]
    column_lower: FloatArray
    column_upper: FloatArray
    integer: BoolArray
    starts: IntArray
    columns: IntArray
    values: FloatArray
    row_names: Sequence[str]
    row_lower: FloatArray
    row_upper: FloatArray
    origins: Sequence[Origin]
    parts: tuple[Part, ...]
    kept: tuple[tuple[int, Fraction], ...]
    pattern_of_row: IntArray
    levels: tuple[int, ...]
    column_ids: tuple[str, ...]
    decode: Callable[[FloatArray], RawModel | None]
    row_sets: tuple[RowSet, ...] = ()

    @property
    def cost(self) -> dict[int, int]:
        """Column to coefficient of the objective; no constant."""
        total: dict[int, int] = {}
        for part in self.parts:
            for column, value in part.cost.items():
                total[column] = total.get(column, 0) + part.weight * value
        return {column: value for column, value in sorted(total.items()) if value}

    def size(self) -> tuple[tuple[str, int], ...]:
        """Counts by name."""
        return (
            ("variables", len(self.column_names)),
            ("binaries", int(self.integer.sum())),
            ("rows", len(self.row_names)),
            ("nonzeros", len(self.values)),
        )
