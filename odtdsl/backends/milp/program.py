"""A mixed-integer program under construction: named columns, named rows, integer numbers.

Rows keep the `Origin` of the rule they came from. All coefficients and sides (but those of
hyperplanes) are integers, so that a row means exactly what its rule says; only the way to the
solver turns them into floats (see `tolerance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import gcd

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.forms import Origin

Numbers = IntArray | FloatArray
"""Numbers of rows: integers, so that a row means exactly what its rule says; but floats in the rows
that part rows by hyperplanes."""

FREE = 2**62
"""A bound at or beyond plus or minus this is none."""

ROUNDING = 1e-7
"""What sums of float rows may be off."""

MAX_COEFFICIENT = 10**9
"""Largest coefficient or side of a row, once its common divisor is taken out."""

SKELETON = Origin(rule="skeleton")
OBJECTIVE = Origin(rule="objective")


Completion = Callable[[Numbers], int]
"""The value of an auxiliary column at a point that gives all columns before it."""


@dataclass(slots=True)
class Affine:
    """An affine expression: `constant` + the sum of coefficient times column."""

    terms: dict[int, int] = field(default_factory=dict)
    constant: int = 0

    def add(self, other: Affine, factor: int = 1) -> Affine:
        """Add a multiple of another expression to this one, and return this one."""
        for column, coefficient in other.terms.items():
            self.terms[column] = self.terms.get(column, 0) + factor * coefficient
        self.constant += factor * other.constant
        return self

    def add_term(self, column: int, coefficient: int = 1) -> Affine:
        """Add a multiple of a column, in place; returns itself."""
        self.terms[column] = self.terms.get(column, 0) + coefficient
        return self

    def add_terms(self, columns: IntArray, coefficients: IntArray) -> Affine:
        """Add many distinct columns at once; zero coefficients are left out."""
        for column, coefficient in zip(columns.tolist(), coefficients.tolist(), strict=True):
            if coefficient:
                self.terms[column] = self.terms.get(column, 0) + coefficient
        return self

    def at(self, point: Numbers) -> int:
        """Its value at an integer point."""
        return self.constant + sum(v * round(float(point[c])) for c, v in self.terms.items())

    def copy(self) -> Affine:
        """An expression with the same terms, to be changed apart."""
        return Affine(terms=dict(self.terms), constant=self.constant)


def any_of(parts: Iterable[Affine]) -> Completion:
    """1 iff one of some expressions is positive."""
    return lambda point: int(any(part.at(point) > 0 for part in parts))


def sum_of(parts: Sequence[Affine]) -> Affine:
    """The sum of some expressions; they stay as they are."""
    result = Affine()
    for part in parts:
        result.add(part)
    return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matrix:
    """The finished rows, in CSR form, with two sides per row (+-`FREE` for none).

    Attributes
    ----------
    starts
        int64 (n_rows + 1,).
    columns
        int64 (n_nonzeros,).
    values, lower, upper
        int64, or float64 if some row has such numbers; (n_nonzeros,) and (n_rows,).
    names
        Name of each row.
    origins
        Rule of each row.
    """

    starts: IntArray
    columns: IntArray
    values: Numbers
    lower: Numbers
    upper: Numbers
    names: tuple[str, ...]
    origins: tuple[Origin, ...]


class Program:
    """Columns and rows in the order of their making; the objective is minimized."""

    def __init__(self) -> None:
        self.column_names: list[str] = []
        self.column_lower: list[int] = []
        self.column_upper: list[int] = []
        self.integer: list[bool] = []
        self.objective = Affine()
        self._taken: set[str] = set()
        self._taken_rows: set[str] = set()
        self._names: list[str] = []
        self._origins: list[Origin] = []
        self._starts: list[IntArray] = [np.zeros(1, dtype=np.int64)]
        self._columns: list[IntArray] = []
        self._values: list[Numbers] = []
        self._lower: list[Numbers] = []
        self._upper: list[Numbers] = []
        self._nonzeros = 0
        self._never_column: int | None = None
        self._completions: list[tuple[int, Completion]] = []

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.column_names)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._names)

    @property
    def n_nonzeros(self) -> int:
        """The number of coefficients of all rows."""
        return self._nonzeros

    def size(self) -> tuple[tuple[str, int], ...]:
        """The size of the encoding, for reports."""
        return (
            ("variables", self.n_columns),
            ("binaries", sum(self.integer)),
            ("rows", self.n_rows),
            ("nonzeros", self.n_nonzeros),
        )

    # ---- columns

    def columns(
        self, names: Sequence[str], *, lower: int = 0, upper: int = 1, integer: bool = False
    ) -> IntArray:
        """New columns with one pair of bounds; returns their indices, int64 (n,)."""
        first = self.n_columns
        self.column_names.extend(unique(names, self._taken))
        self.column_lower.extend([lower] * len(names))
        self.column_upper.extend([upper] * len(names))
        self.integer.extend([integer] * len(names))
        return np.arange(first, first + len(names), dtype=np.int64)

    def column(self, name: str, *, lower: int = 0, upper: int = 1, integer: bool = False) -> int:
        """Add a column and return its index."""
        return int(self.columns([name], lower=lower, upper=upper, integer=integer)[0])

    def fix(self, column: int, value: int) -> None:
        """Narrow the bounds of a column to a value (to nothing, if it was outside them)."""
        self.column_lower[column] = max(self.column_lower[column], value)
        self.column_upper[column] = min(self.column_upper[column], value)

    def completed_by(self, column: int, value: Completion) -> None:
        """Say how an auxiliary column follows from those whose values are known before it."""
        self._completions.append((column, value))

    def complete(self, point: Numbers) -> Numbers:
        """The point with its auxiliary columns filled in (in place)."""
        for column, value in self._completions:
            point[column] = value(point)
        return point

    # ---- rows

    def block(
        self,
        names: Sequence[str],
        origin: Origin,
        *,
        starts: IntArray,
        columns: IntArray,
        values: Numbers,
        lower: Numbers,
        upper: Numbers,
    ) -> None:
        """Many rows of one origin at once, in CSR form; `starts` has one more than names."""
        self._names.extend(unique(names, self._taken_rows))
        self._origins.extend([origin] * len(names))
        self._starts.append(starts[1:] + self._nonzeros)
        self._columns.append(columns)
        self._values.append(values)
        self._lower.append(lower)
        self._upper.append(upper)
        self._nonzeros += len(columns)

    def alike(
        self,
        names: Sequence[str],
        origin: Origin,
        columns: IntArray,
        values: Sequence[int],
        *,
        lower: int = -FREE,
        upper: int = 0,
    ) -> None:
        """A row per row of `columns`, (n_names, n_values), with the same values and sides."""
        count, width = columns.shape
        self.block(
            names,
            origin,
            starts=np.arange(count + 1) * width,
            columns=columns.ravel(),
            values=np.tile(np.array(values, dtype=np.int64), count),
            lower=np.full(count, lower, dtype=np.int64),
            upper=np.full(count, upper, dtype=np.int64),
        )

    def row(
        self,
        name: str,
        origin: Origin,
        expression: Affine,
        *,
        lower: int = -FREE,
        upper: int = FREE,
    ) -> None:
        """`lower <= expression <= upper`; a common divisor is taken out, sides are rounded.

        A contradiction without columns becomes a row on the column `never`, which is zero.

        Raises
        ------
        OdtError
            B220 the numbers of the row spread too far to be exact in a solver with floats.
        """
        pairs = [(c, v) for c, v in sorted(expression.terms.items()) if v]
        divisor = gcd(*(v for _, v in pairs)) if pairs else 1
        low = -FREE if lower <= -FREE else -((expression.constant - lower) // divisor)
        high = FREE if upper >= FREE else (upper - expression.constant) // divisor
        if not pairs:
            if low <= 0 <= high:
                return
            pairs, low, high = [(self._never(), 1)], 1, FREE
        values = [v // divisor for _, v in pairs]
        _check_width(values, low, high, origin)
        self.block(
            [name],
            origin,
            starts=np.array([0, len(pairs)], dtype=np.int64),
            columns=np.array([c for c, _ in pairs], dtype=np.int64),
            values=np.array(values, dtype=np.int64),
            lower=np.array([low], dtype=np.int64),
            upper=np.array([high], dtype=np.int64),
        )

    def _never(self) -> int:
        if self._never_column is None:
            self._never_column = self.column("never", upper=0)
        return self._never_column

    def matrix(self) -> Matrix:
        """The rows in compressed form: starts, columns and values, with bounds and names."""
        none = [np.zeros(0, dtype=np.int64)]
        return Matrix(
            starts=np.concatenate(self._starts),
            columns=np.concatenate(self._columns or none),
            values=_joined(self._values),
            lower=_joined(self._lower),
            upper=_joined(self._upper),
            names=tuple(self._names),
            origins=tuple(self._origins),
        )

    # ---- checks

    def holds(self, point: Numbers) -> BoolArray:
        """Which rows a point keeps: bool (n_rows,). Exact on integers, else up to rounding."""
        matrix = self.matrix()
        products = np.concatenate([[0], np.cumsum(matrix.values * point[matrix.columns])])
        sums: Numbers = products[matrix.starts[1:]] - products[matrix.starts[:-1]]
        room = 0 if sums.dtype == np.int64 else ROUNDING
        keeps: BoolArray = (matrix.lower <= sums + room) & (sums <= matrix.upper + room)
        return keeps


def _joined(parts: list[Numbers]) -> Numbers:
    if any(part.dtype == np.float64 for part in parts):
        return np.concatenate([part.astype(np.float64) for part in parts])
    return np.concatenate([np.zeros(0, dtype=np.int64), *(p.astype(np.int64) for p in parts)])


def _check_width(values: Sequence[int], low: int, high: int, origin: Origin) -> None:
    sides = [abs(side) for side in (low, high) if abs(side) < FREE]
    if max(max(map(abs, values), default=0), *sides, 0) > MAX_COEFFICIENT:
        raise error(
            "B220",
            f"the numbers of `{origin.rule}` need more than nine digits for `milp`",
            span=origin.span,
            notes=("HiGHS computes in floats, with tolerances that would blur such a row",),
            helps=("round weights, costs or bounds to fewer decimals, or use `exact`",),
        )


def unique(names: Sequence[str], taken: set[str]) -> list[str]:
    """The names, with `_2`, `_3`, ... after those already taken; `taken` is extended."""
    found: list[str] = []
    for name in names:
        fresh = name
        if fresh in taken:
            fresh = next(x for x in (f"{name}_{i}" for i in count(2)) if x not in taken)
        taken.add(fresh)
        found.append(fresh)
    return found


def safe_name(text: str) -> str:
    """A name that LP and MPS files carry unchanged: ASCII, no blanks, no operators."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in text)
    return plain[:80] or "_"


def safe_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Safe names, distinct for distinct texts."""
    return tuple(unique([safe_name(text) for text in texts], set()))
