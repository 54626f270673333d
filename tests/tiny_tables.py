"""Tiny tables with all that a spec says of them, and every tree on them, from the raw cells.

The brute force that back ends are held to in `test_every_term`: it is written from the
language reference and uses nothing of the package.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

Cell = float | str | None
LEVELS = ("lo", "mid", "hi")
GRID = tuple(Fraction(i, 8) for i in range(-8, 49))
"""Thresholds enough: all values, candidates and bounds of rules are multiples of a quarter."""
TENTHS = tuple(Fraction(i, 10) for i in range(-10, 61))
"""One lies between any two neighbours of the grid: the shortest decimals are among both."""
PLACES = sorted({*GRID, *TENTHS})


@dataclass(eq=False, kw_only=True)
class Column:
    """A feature: its cells, and what the spec says of it."""

    name: str
    kind: str
    cells: list[Cell]
    missing: str | None = None
    place: str = "midpoints"
    cuts: tuple[Fraction, ...] = ()
    edges: tuple[float, ...] = ()
    price: Fraction = Fraction(0)

    @property
    def ranked(self) -> bool:
        """Whether its tests are thresholds; ordered levels count from 0."""
        return self.kind in ("number", "ordered") and not self.place.startswith("bins")

    @cached_property
    def numbers(self) -> list[Fraction | None]:
        if self.kind == "ordered":
            return [None if x is None else Fraction(LEVELS.index(str(x))) for x in self.cells]
        return [None if x is None else Fraction(x) for x in self.cells]  # type: ignore[arg-type]

    @cached_property
    def order(self) -> tuple[list[Fraction], list[int | None]]:
        """The distinct numbers from the least up, and of each row which of them it has."""
        distinct = sorted({x for x in self.numbers if x is not None})
        at = {x: i for i, x in enumerate(distinct)}
        return distinct, [None if x is None else at[x] for x in self.numbers]

    @cached_property
    def sides(self) -> tuple[bool | None, ...]:
        """Whether missing cells may go left; (None,) where there are none."""
        if None not in self.cells:
            return (None,)
        return {"left": (True,), "right": (False,), "branch": (True, False)}[self.missing or ""]


@dataclass(frozen=True, kw_only=True)
class Test:
    """`cell <= low` where `high` is the next value here; `cell == low`; or a bin [low, high)."""

    __test__ = False

    column: int
    kind: str
    low: Fraction | str | float
    high: Fraction | float | None = None
    missing_left: bool | None = None

    def passes(self, cell: object, at: Fraction | None = None) -> bool:
        """Whether a present cell goes left; a threshold stands at `at`, else at `low`."""
        match self.kind:
            case "<=":
                return cell <= (self.low if at is None else at)  # type: ignore[operator]
            case "==":
                return cell == self.low
            case _:
                return self.low <= cell < self.high  # type: ignore[operator]


@dataclass(eq=False, slots=True)
class Leaf:
    rows: int
    label: int
    above: tuple[tuple[Split, bool], ...]

    @property
    def path(self) -> list[int]:
        """The columns that are tested, from the root downwards."""
        return [split.test.column for split, _ in self.above]


@dataclass(eq=False, slots=True)
class Split:
    rows: int
    test: Test
    left_rows: int
    level: int


@dataclass(eq=False)
class Model:
    """A tree: its root is a leaf, or a split with two sides."""

    root: Leaf | tuple[Split, Model, Model]
    leaves: tuple[Leaf, ...]
    splits: tuple[Split, ...]
    memo: dict[object, object] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return max(len(leaf.above) for leaf in self.leaves)

    def predicted(self, label: int) -> int:
        """The rows that are predicted as a class, as a mask."""
        return sum(leaf.rows for leaf in self.leaves if leaf.label == label)

    def leaf_of(self, row: int) -> Leaf:
        return next(leaf for leaf in self.leaves if leaf.rows >> row & 1)


class TooMany(Exception):
    """There are more trees than a test should look at."""


@dataclass(eq=False, kw_only=True)
class TinyTable:
    """A table, the statements about it, and their meaning. Sets of rows are bit masks."""

    columns: list[Column]
    classes: tuple[str, ...]
    rising: tuple[str, ...]
    """The classes as `increasing` orders them."""
    target: list[int]
    weights: list[Fraction]
    weighed: bool
    losses: dict[tuple[str, str], Fraction]
    shared: list[tuple[tuple[int, ...], Fraction]]
    groups: dict[str, tuple[int, str]]
    depth: int | None
    leaves: int | None
    passing: dict[object, tuple[int, int]] = field(default_factory=dict)
    """By test, the rows whose cell passes it, and those that have none."""
    weighing: dict[int, Fraction] = field(default_factory=dict)
    numbers: Callable[[Leaf], Sequence[Fraction]] | None = None
    """What leaves predict where the target is no class."""
    placed: dict[Split, Fraction | None] = field(default_factory=dict)
    """Where splits put their thresholds, under the rules on these."""

    @property
    def wide(self) -> bool:
        """Whether weights have more digits than a MIP's tolerances bear in fractions of them."""
        return max(self.weights) > 100

    @property
    def n(self) -> int:
        return len(self.target)

    @property
    def everyone(self) -> int:
        return (1 << self.n) - 1

    def predicted(self, leaf: Leaf) -> Sequence[Fraction | int]:
        """What rises or falls along a column."""
        if self.numbers is not None:
            return self.numbers(leaf)
        return [self.rising.index(self.classes[leaf.label])]

    def rows(self, mask: int) -> list[int]:
        return [row for row in range(self.n) if mask >> row & 1]

    def weight(self, mask: int) -> Fraction:
        if mask not in self.weighing:
            found = sum((self.weights[row] for row in self.rows(mask)), Fraction(0))
            self.weighing[mask] = found
        return self.weighing[mask]

    def members(self, group: str | None) -> int:
        return self.everyone if group is None else self.groups[group][0]

    def of_class(self, label: int) -> int:
        return sum(1 << row for row in range(self.n) if self.target[row] == label)

    def loss(self, predicted: int, row: int) -> Fraction:
        if predicted == self.target[row]:
            return Fraction(0)
        pair = self.classes[predicted], self.classes[self.target[row]]
        return self.losses.get(pair, Fraction(1))

    def path_cost(self, path: Sequence[int]) -> Fraction:
        """Each asked feature once, and each shared amount once."""
        asked = set(path)
        found = sum((self.columns[c].price for c in asked), Fraction(0))
        return found + sum((x for who, x in self.shared if asked & set(who)), Fraction(0))

    # ---- the text of it

    @property
    def frame(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {c.name: list(c.cells) for c in self.columns}
        found["y"] = [self.classes[label] for label in self.target]
        if self.weighed:
            found["w"] = [float(w) for w in self.weights]
        return found

    def head(self) -> list[str]:
        names = ", ".join(f'"{name}"' for name in self.classes)
        lines = ["data frame", f"target y: class {{{names}}}"]
        if len(self.classes) == 2:
            lines[-1] += f' positive "{self.rising[-1]}"'
        else:
            order = ", ".join(f'"{name}"' for name in self.rising)
            lines[-1] = f"target y: ordered {{{order}}}"
        for column in self.columns:
            levels = ' {"lo", "mid", "hi"}' if column.kind == "ordered" else ""
            lines.append(f"feature {column.name}: {column.kind}{levels}")
            if column.missing is not None:
                lines.append(f"missing {{{column.name}}} {column.missing}")
            if column.place != "midpoints":
                lines.append(f"candidates {column.name} at {column.place}")
            if column.price:
                lines.append(f"cost {column.name} = {decimal(column.price)}")
        for who, amount in self.shared:
            lines.append(f"cost {{{self.names(who)}}} shared = {decimal(amount)}")
        for (predicted, true), amount in self.losses.items():
            lines.append(f'loss predict "{predicted}" when "{true}" = {decimal(amount)}')
        lines += ["weight w"] if self.weighed else []
        lines += [f"group {name} = {text}" for name, (_, text) in self.groups.items()]
        bounds = {"depth": self.depth, "leaves": self.leaves}
        shown = ", ".join(f"{k} <= {v}" for k, v in bounds.items() if v is not None)
        return [*lines, f"tree {shown}"]

    def names(self, columns: Sequence[int]) -> str:
        return ", ".join(self.columns[c].name for c in columns)

    # ---- splits and trees

    def tests(self, mask: int, *, both_sides: bool) -> list[tuple[Test, int]]:
        """The tests that part some rows, with the rows that go left; each partition once.

        A side of missing cells counts where no row here has one only with `both_sides`.
        """
        found: dict[tuple[Any, ...], tuple[Test, int]] = {}
        for index, column in enumerate(self.columns):
            for test in _tests(index, column, self.rows(mask)):
                for side in column.sides:
                    left = self._left(mask, column, test, side)
                    if not left or left == mask:
                        continue
                    made = Test(
                        column=index,
                        kind=test.kind,
                        low=test.low,
                        high=test.high,
                        missing_left=side,
                    )
                    gap = (test.low, test.high) if test.kind == "<=" or both_sides else ()
                    key = (index, left, gap, side if both_sides else None)
                    found.setdefault(key, (made, left))
        return list(found.values())

    def _left(self, mask: int, column: Column, test: Test, side: bool | None) -> int:
        """Of some rows, those that go left."""
        key = (column.name, test.kind, test.low, test.high if test.kind == "bin" else None)
        if key not in self.passing:
            cells = column.cells if test.kind == "==" else column.numbers
            self.passing[key] = (
                sum(1 << i for i, x in enumerate(cells) if x is not None and test.passes(x)),
                sum(1 << i for i, x in enumerate(cells) if x is None),
            )
        passing, missing = self.passing[key]
        return mask & (passing | missing if side else passing)

    def models(self, most: int, *, both_sides: bool = False) -> list[Model]:
        """All trees within depth and leaves, whatever the rules.

        Raises
        ------
        TooMany
            There are more than `most`.
        """
        depth = self.depth if self.depth is not None else (self.leaves or 1) - 1
        known: dict[int, list[tuple[Test, int]]] = {}

        def tests(mask: int) -> list[tuple[Test, int]]:
            if mask not in known:
                known[mask] = self.tests(mask, both_sides=both_sides)
            return known[mask]

        def below(mask: int, level: int, above: tuple[tuple[Split, bool], ...]) -> list[Model]:
            found = [
                Model(leaf, (leaf,), ())
                for leaf in (Leaf(mask, label, above) for label in range(len(self.classes)))
            ]
            if level == depth:
                return found
            for test, left in tests(mask):
                split = Split(mask, test, left, level)
                lefts = below(left, level + 1, (*above, (split, True)))
                rights = below(mask & ~left, level + 1, (*above, (split, False)))
                if len(found) + len(lefts) * len(rights) > 4 * most:
                    raise TooMany
                found += [
                    Model((split, a, b), a.leaves + b.leaves, (split, *a.splits, *b.splits))
                    for a in lefts
                    for b in rights
                    if self.leaves is None or len(a.leaves) + len(b.leaves) <= self.leaves
                ]
            if len(found) > most:
                raise TooMany
            return found

        return below(self.everyone, 0, ())

    def thresholds(self, split: Split) -> list[Fraction]:
        """Where a split of a ranked column may put its threshold, by its candidates."""
        column, test = self.columns[split.test.column], split.test
        assert isinstance(test.low, Fraction)
        assert isinstance(test.high, Fraction)
        if column.kind == "ordered":
            return [Fraction(level) for level in range(int(test.low), int(test.high))]
        if column.place != "midpoints":
            return [t for t in column.cuts if test.low <= t < test.high]
        return PLACES[bisect_left(PLACES, test.low) : bisect_left(PLACES, test.high)]


def decimal(value: Fraction) -> str:
    """A number as a spec writes it."""
    shown = str(float(value))
    return shown.removesuffix(".0")


def _tests(index: int, column: Column, rows: list[int]) -> Iterator[Test]:
    """The tests of a column that could part some rows; thresholds stand between values here.

    A bin that holds no row at all makes no test: it would ask for missing cells. Of two values
    (bins) and no missing cell, the test of the first says all.
    """
    if column.ranked:
        distinct, ranks = column.order
        here = sorted({rank for row in rows if (rank := ranks[row]) is not None})
        for low, high in pairwise(here):
            yield Test(column=index, kind="<=", low=distinct[low], high=distinct[high])
        return
    found: list[Test] = []
    if column.place.startswith("bins"):
        for low, high in pairwise([-inf, *column.edges[1:-1], inf]):  # type: ignore[assignment]
            if any(x is not None and low <= x < high for x in column.numbers):
                found.append(Test(column=index, kind="bin", low=low, high=high))
    else:
        for value in sorted({x for x in column.cells if x is not None}, key=str):
            found.append(Test(column=index, kind="==", low=value))
    yield from found[:1] if len(found) == 2 and None not in column.cells else found


# ---- drawing one


def random_world(rng: random.Random, *, kinds: Sequence[str] = (), width: int = 0) -> TinyTable:
    """Two or three columns (of `kinds` first), 4 to 8 rows, two to four classes, and the rest."""
    n = rng.randint(4, 8)
    k = rng.choice([2, 2, 2, 3, 3, 4])
    names = ("n", "y", "z", "m")[:k]
    drawn = [rng.choice(["number", "number", "category", "ordered", "binary"]) for _ in range(3)]
    kept = [*kinds, *drawn][: width or rng.choice([2, 2, 3])]
    target = [*range(k), *(rng.randrange(k) for _ in range(n - k))]
    rng.shuffle(target)
    columns = [_column(rng, "abc"[i], kind, n) for i, kind in enumerate(kept)]
    weighed = rng.random() < 0.5
    pool = rng.choice([[1, 2, 3], [0, 1, 2], ["0.5", 1, "0.25"], [1000, 1, 999], ["0.1", "1.3"]])
    weights = [Fraction(rng.choice(pool)) if weighed else Fraction(1) for _ in range(n)]  # type: ignore[arg-type]
    if not any(weights):
        weights[0] = Fraction(1)
    depth = rng.choice([1, 2, 2, 2, 2, 3])
    leaves = rng.choice([None, None, None, 2, 3, 4])
    tiny = TinyTable(
        columns=columns,
        classes=names,
        rising=tuple(rng.sample(names, k)),
        target=target,
        weights=weights,
        weighed=weighed,
        losses=_losses(rng, names),
        shared=_shared(rng, columns),
        groups={},
        depth=None if leaves in (2, 3) and rng.random() < 0.3 else depth,
        leaves=leaves,
    )
    for name in ("g", "h", "k")[: rng.choice([2, 2, 3])]:
        tiny.groups[name] = _group(rng, tiny)
    return tiny


def _column(rng: random.Random, name: str, kind: str, n: int) -> Column:
    pool: list[Cell] = {  # type: ignore[assignment]
        "number": rng.choice([[0, 1, 2, 3], [1, 2, 4], [0, 0.5, 3], [0, 1]]),
        "category": ["p", "q", "r"][: rng.choice([2, 3])],
        "ordered": list(LEVELS),
        "binary": rng.choice([[0, 1], ["p", "q"]]),
    }[kind]
    cells: list[Cell] = [pool[0], pool[1], *(rng.choice(pool) for _ in range(n - 2))]
    rng.shuffle(cells)
    column = Column(name=name, kind=kind, cells=cells)
    if rng.random() < 0.35:
        for _ in range(rng.randint(1, 2)):
            if len({x for x in cells if x is not None}) > 1:
                cells[rng.randrange(n)] = None
        column.missing = rng.choice(["left", "right", "branch", "branch"])
    if kind == "number":
        _placed(rng, column)
    if rng.random() < 0.7:
        column.price = Fraction(rng.choice(["1", "2", "3", "0.5", "7.25"]))
    return column


def _placed(rng: random.Random, column: Column) -> None:
    """Candidates of a number column: by quantiles and bins as numpy and the study find them."""
    present = np.array([float(x) for x in column.cells if x is not None])
    match rng.choice(["midpoints"] * 6 + ["values", "quantiles", "bins", "bins"]):
        case "values":
            some = rng.sample([x for x in GRID if x >= 0 and (4 * x).denominator == 1], 5)
            column.cuts = tuple(sorted(some))
            column.place = f"{{{', '.join(map(decimal, column.cuts))}}}"
        case "quantiles":
            count = rng.choice([2, 3, 4])
            found = np.quantile(present, [i / count for i in range(1, count)])
            column.cuts = tuple(sorted({Fraction(float(x)) for x in found}))
            column.place = f"quantiles {count}"
        case "bins":
            count = rng.choice([2, 3])
            edges = np.quantile(present, [i / count for i in range(count + 1)]).tolist()
            kept = edges[:1]
            for low, high in pairwise(edges):
                kept += [high] if high - low > 1e-8 else []
            column.edges = tuple(kept)
            column.place = f"bins {count}"


def _losses(rng: random.Random, names: Sequence[str]) -> dict[tuple[str, str], Fraction]:
    found = {}
    for _ in range(rng.choice([0, 1, 2])):
        predicted, true = rng.sample(names, 2)
        found[predicted, true] = Fraction(rng.choice(["5", "2", "0.5", "0"]))
    return found


def _shared(
    rng: random.Random, columns: Sequence[Column]
) -> list[tuple[tuple[int, ...], Fraction]]:
    if rng.random() < 0.5:
        return []
    who = tuple(rng.sample(range(len(columns)), 2))
    return [(who, Fraction(rng.choice(["1", "2.5", "101.9"])))]


def _group(rng: random.Random, tiny: TinyTable) -> tuple[int, str]:
    """Some rows of positive weight, by position or by a comparison."""
    while True:
        if rng.random() < 0.6:
            rows = sorted(rng.sample(range(tiny.n), rng.randint(1, tiny.n - 1)))
            mask, text = sum(1 << row for row in rows), f"row in {{{', '.join(map(str, rows))}}}"
        else:
            mask, text = _compared(rng, tiny)
        if tiny.weight(mask):
            return mask, text


def _compared(rng: random.Random, tiny: TinyTable) -> tuple[int, str]:
    column = rng.choice(tiny.columns)
    value = rng.choice([x for x in column.cells if x is not None])
    shown = f'"{value}"' if isinstance(value, str) else decimal(Fraction(value))
    same = [x == value for x in column.cells]
    kept, text = rng.choice(
        [
            (same, f"{column.name} == {shown}"),
            ([not x for x in same], f"not ({column.name} == {shown})"),
            ([x is not None and x != value for x in column.cells], f"{column.name} != {shown}"),
            (
                [x is None or x == value for x in column.cells],
                f"{column.name} is missing or {column.name} == {shown}",
            ),
        ]
    )
    return sum(1 << row for row, inside in enumerate(kept) if inside), text
