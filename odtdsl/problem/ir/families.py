"""Candidate tests: for each feature the splits that a model may use, on integer codes.

A back end sees codes only. A threshold test `r` stands for the gap between the r-th
and the next distinct training value; which real threshold comes out is decided in
`decode`, from the rows that reach the split.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from odtdsl.base import engine
from odtdsl.base.frozen import dataclass
from odtdsl.base.limits import looking
from odtdsl.datasets.candidates import bin_codes, bin_edges, guessed_cuts, midpoint, quantile_cuts
from odtdsl.datasets.dataset import Column, Dataset
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, distinct, ranked
from odtdsl.problem.ir.intervals import FULL, RealSet
from odtdsl.problem.ir.problem import FeatureDecl, Problem
from odtdsl.problem.ir.targets import ProblemPart

if TYPE_CHECKING:
    from odtdsl.problem.ir.rows import Rows

Side = Literal["left", "right"]
LEFT_CODE = -1
"""The code of a missing cell that goes left under every test."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """The tests of one column (for one side of its missing values).

    Attributes
    ----------
    column
        Index of the feature.
    kind
        `threshold`: test r sends codes <= r left. `equals`, `bin`: test r sends code r left.
        `LEFT_CODE` goes left under every test, codes >= `n_tests` never do but for
        thresholds' order.
    codes
        int64 (n_rows,).
    values
        `threshold`: float64, the distinct training values (ranks of levels for ordered
        columns), one more than tests. `equals`: the level index of each test. `bin`: the
        edges of the bins.
    bins
        `bin`: the bin of each test, else empty.
    missing
        The side of missing cells; None where the column has none in training.
    domain
        The thresholds that `candidates` admits.
    shorten
        Whether the threshold of a gap is its shortest decimal; else the one nearest to the middle.
    grid
        Where thresholds come out if they may: the multiples of a declared step. All where shortest
        decimals lie on it anyway.
    whole
        Whether thresholds are whole numbers: between two days there is none, and a date shows none.
    """

    column: int
    kind: Literal["threshold", "equals", "bin"]
    codes: IntArray
    n_tests: int
    values: FloatArray
    bins: tuple[int, ...] = ()
    missing: Side | None = None
    domain: RealSet = FULL
    shorten: bool = False
    grid: RealSet = FULL
    whole: bool = False

    def goes_left(self, test: int) -> BoolArray:
        """bool (n_rows,): which rows the test sends left."""
        left: BoolArray = self.codes <= test
        if self.kind != "threshold":
            left = (self.codes == test) | (self.codes == LEFT_CODE)
        return left


_ready: WeakKeyDictionary[Rows, tuple[Family, ...]] = WeakKeyDictionary()


def begun_families(rows: Rows) -> tuple[Family, ...]:
    """All candidate tests, for what comes before a core, which takes them over."""
    _ready[rows] = build_families(rows.problem, rows.data)
    return _ready[rows]


def families_of(rows: Rows) -> tuple[Family, ...]:
    """All candidate tests, for a core: numbers are ranked once, and kept by the core alone."""
    found = _ready.pop(rows, None)
    return build_families(rows.problem, rows.data) if found is None else found


def build_families(problem: Problem, data: Dataset) -> tuple[Family, ...]:
    """All candidate tests, in the order of the features.

    A column whose missing side is learned has two families, one per side.
    """
    guessed = _guessed(problem, data)
    families: list[Family] = []
    seen = looking("finding the candidates")
    for index, feature in enumerate(problem.features):
        column = data.columns[feature.name]
        sides: tuple[Side | None, ...] = (None,)
        missing = _missing(column)
        if missing is not None:
            sides = ("left", "right") if feature.missing == "branch" else (_side(feature),)
        for side in sides:
            families.append(_family(index, feature, column, missing, side, guessed))
            seen(data.n_rows)
    return tuple(families)


def _side(feature: FeatureDecl) -> Side:
    return "left" if feature.missing == "left" else "right"


def _missing(column: Column) -> BoolArray | None:
    """Which cells are missing; None where none is."""
    if column.numbers is not None:
        return None if engine.all_finite(column.numbers) else np.isnan(column.numbers)
    assert column.codes is not None
    missing: BoolArray = column.codes < 0
    return missing if missing.any() else None


def _family(
    index: int,
    feature: FeatureDecl,
    column: Column,
    missing: BoolArray | None,
    side: Side | None,
    guessed: dict[str, tuple[float, ...]],
) -> Family:
    if feature.type.kind in ("category", "binary"):
        assert column.codes is not None
        return _equals(index, column.codes, missing, side)
    if column.numbers is None:
        assert column.codes is not None
        ranks = column.codes.astype(np.float64)
        if missing is not None:
            ranks[missing] = np.nan
        levels = RealSet.points(range(max(0, len(feature.type.levels) - 1)))
        return _thresholds(index, ranks, missing, side, levels)
    if feature.candidates.place == "bins":
        return _bins(index, column.numbers, feature.candidates.count, side)
    domain = _domain(feature, column.numbers, guessed)
    anywhere = domain == FULL and feature.type.counts_days
    return _thresholds(
        index,
        column.numbers,
        missing,
        side,
        domain,
        shorten=feature.candidates.place == "midpoints" or anywhere,
        step=feature.type.step,
        whole=feature.type.counts_days,
    )


def _domain(
    feature: FeatureDecl, numbers: FloatArray, guessed: dict[str, tuple[float, ...]]
) -> RealSet:
    match feature.candidates.place:
        case "quantiles":
            cuts = quantile_cuts(numbers, feature.candidates.count)
            return RealSet.points(map(math.floor, cuts) if feature.type.counts_days else cuts)
        case "values":
            return RealSet.points(float(x) for x in feature.candidates.values)
        case "guessed":
            return RealSet.points(guessed[feature.name])
        case _:
            return FULL


def _guessed(problem: Problem, data: Dataset) -> dict[str, tuple[float, ...]]:
    names = [f.name for f in problem.features if f.candidates.place == "guessed"]
    target = ProblemPart.of(problem.target.kind).guide(data, problem.target)
    if not names or target is None:
        return {}
    columns = {}
    for name in names:
        numbers = data.columns[name].numbers
        if numbers is not None:
            columns[name] = numbers
    return guessed_cuts(columns, target, seed=problem.options.seed)


def _with_missing(
    codes: IntArray, missing: BoolArray | None, side: Side | None, right: int
) -> IntArray:
    if missing is None:
        return codes
    return np.where(missing, LEFT_CODE if side == "left" else right, codes)


def _thresholds(
    index: int,
    numbers: FloatArray,
    missing: BoolArray | None,
    side: Side | None,
    domain: RealSet,
    *,
    shorten: bool = False,
    step: Fraction | None = None,
    whole: bool = False,
) -> Family:
    if len(numbers) > MOST_EXACT_GAPS and (points := domain.listed()) is not None:
        values, codes = _between(numbers, points)
    else:
        values, codes = ranked(numbers)
    return Family(
        column=index,
        kind="threshold",
        missing=side,
        domain=domain,
        values=values,
        shorten=shorten,
        grid=_grid(values, step) if shorten and step is not None else FULL,
        codes=_with_missing(codes, missing, side, len(values)),
        n_tests=max(0, len(values) - 1),
        whole=whole,
    )


MOST_EXACT_GAPS = 100_000
"""Of more rows, values that no listed threshold parts are told apart by nothing but the threshold
that is chosen where several lie in a gap of a node's rows, and so are not told apart."""


def _between(numbers: FloatArray, points: FloatArray) -> tuple[FloatArray, IntArray]:
    """The least and the largest value between neighbouring thresholds, and each cell's largest.

    Returns
    -------
    values
        Distinct, rising.
    codes
        int16 or int32 (n_rows,): the place among `values`; any number where a cell is missing.
    """
    width: type[np.signedinteger[Any]] = np.int16 if 2 * len(points) < 2**15 - 2 else np.int32
    interval: IntArray = np.searchsorted(points, numbers).astype(width)  # NaN lies above all
    present = ~np.isnan(numbers)
    kept, where = (numbers, interval) if present.all() else (numbers[present], interval[present])
    least = np.full(len(points) + 1, np.inf)
    largest = np.full(len(points) + 1, -np.inf)
    np.minimum.at(least, where, kept)
    np.maximum.at(largest, where, kept)
    some = least <= largest
    values = distinct(np.concatenate([least[some], largest[some]]))
    place = np.searchsorted(values, np.where(some, largest, 0.0)).astype(width)
    return values, place[interval]


MAX_GRID_POINTS = 10_000
"""A grid of more points between the least and the largest value is not laid out."""


def _grid(values: FloatArray, step: Fraction) -> RealSet:
    """The multiples of a step from the least to the largest value.

    All numbers where the step is a power of ten, at most 1: shortest decimals lie on it.
    """
    digits = step.denominator
    if not len(values) or (step.numerator == 1 and 10 ** (len(str(digits)) - 1) == digits):
        return FULL
    first, last = (round(Fraction(repr(x)) / step) for x in (float(values[0]), float(values[-1])))
    if last - first >= MAX_GRID_POINTS:
        return FULL
    return RealSet.points(float(k * step) for k in range(first, last + 1))


def _equals(index: int, levels: IntArray, missing: BoolArray | None, side: Side | None) -> Family:
    present = distinct(levels if missing is None else levels[~missing])
    codes = np.searchsorted(present, levels).astype(np.int64)
    return Family(
        column=index,
        kind="equals",
        missing=side,
        values=present.astype(np.float64),
        codes=_with_missing(codes, missing, side, len(present)),
        n_tests=_distinct_tests(len(present), side),
    )


def _bins(index: int, numbers: FloatArray, count: int, side: Side | None) -> Family:
    missing = np.isnan(numbers)
    edges = bin_edges(numbers, count)
    bins = bin_codes(numbers, edges)
    present = np.unique(bins[~missing])
    codes = np.searchsorted(present, bins).astype(np.int64)
    return Family(
        column=index,
        kind="bin",
        missing=side,
        values=np.asarray(edges, dtype=np.float64),
        codes=_with_missing(codes, missing, side, len(present)),
        n_tests=_distinct_tests(len(present), side),
        bins=tuple(int(b) for b in present),
    )


def _distinct_tests(n_present: int, side: Side | None) -> int:
    """Of two values and nothing missing, one test says all; of one value, none does."""
    if side is None and n_present <= 2:
        return max(0, n_present - 1)
    return n_present


def admissible(family: Family, allowed: RealSet) -> BoolArray:
    """Which tests the set admits: bool (n_tests,), a gap iff some allowed threshold lies in it.

    A gap [u, v) of the rows at a node is a union of gaps of all rows, so that a node may
    use its gap iff one of these is admissible: filtering the tests here is exact.
    """
    if family.kind != "threshold" or allowed == FULL:
        return np.full(family.n_tests, bool(allowed))
    if family.whole:
        allowed = allowed.whole()
    found = np.zeros(family.n_tests, dtype=bool)
    lows, highs = family.values[:-1], family.values[1:]
    for (start, _), (end, _) in allowed.pieces:
        first = int(np.searchsorted(highs, start, side="right"))
        last = int(np.searchsorted(lows, end, side="right")) - 1
        if not first <= last:
            continue  # between two values, or beyond them
        found[first + 1 : last] = True  # their lower ends lie inside the piece
        for test in {first, last}:
            if not found[test]:
                found[test] = place(family, allowed, test) is not None
    return found


def place(family: Family, allowed: RealSet, test: int, upper: int | None = None) -> float | None:
    """The threshold for the gap from `values[test]` to `values[upper]` (default: the next one).

    The shortest decimal that is allowed in [u, v), of these the nearest to the midpoint (see
    `placing` for what to allow, so that it lies on a declared grid); where a
    list or `midpoints exact` says where to split, the allowed float nearest to the midpoint. Of
    days whole ones alone. None where there is none.
    """
    low = float(family.values[test])
    high = float(family.values[test + 1 if upper is None else upper])
    if family.whole:
        allowed = allowed.whole()
    if family.shorten:
        return allowed.shortest(low, high, midpoint(low, high))
    return allowed.nearest(low, high, midpoint(low, high))


def local_gap(family: Family, test: int, codes: IntArray) -> tuple[int, int] | None:
    """Of a threshold family: the largest code going left and the smallest going right.

    Among the cells that are present in `codes`; None where one side has none.
    """
    below = codes[(codes >= 0) & (codes <= test)]
    above = codes[(codes > test) & (codes < len(family.values))]
    if not below.size or not above.size:
        return None
    return int(below.max()), int(above.min())
