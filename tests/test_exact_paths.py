"""Path lengths and expected costs in the objective, against brute force over all trees.

`ODTDSL_SCALE=40` gives some 10,000 random problems.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest
from scale import scaled

import odtdsl

Value = tuple[Fraction, ...]


@dataclass(frozen=True)
class Case:
    """A random table with costs, and an objective of one or two stages.

    `stages` says of each stage what an error, a leaf, and a unit of cost of a weighted row count.
    """

    rows: list[list[int]]
    labels: list[int]
    weights: list[int]
    kinds: list[str]
    costs: list[int]
    shared: tuple[frozenset[int], int]
    losses: list[list[int]]
    depth: int
    stages: tuple[tuple[Fraction, Fraction, Fraction], ...]

    @property
    def total(self) -> int:
        return sum(self.weights)

    def cost(self, used: frozenset[int]) -> int:
        columns, amount = self.shared
        return sum(self.costs[c] for c in used) + (amount if columns & used else 0)


def every_test(case: Case) -> Iterator[tuple[int, list[bool]]]:
    """Columns and the rows that go left, of every test."""
    for column, kind in enumerate(case.kinds):
        values = [row[column] for row in case.rows]
        for value in sorted(set(values)):
            if kind == "category":
                yield column, [v == value for v in values]
            else:
                yield column, [v <= value for v in values]


def best(case: Case) -> Value:
    """The least value, by dynamic programming over sets of rows and of columns that are paid."""
    tests = [
        (column, sum(1 << i for i, left in enumerate(side) if left))
        for column, side in every_test(case)
    ]
    labels = range(len(case.losses))

    def weight(rows: int) -> int:
        return sum(w for i, w in enumerate(case.weights) if rows >> i & 1)

    def leaf(rows: int) -> Value:
        loss = min(
            sum(
                case.weights[i] * case.losses[case.labels[i]][label]
                for i in range(len(case.rows))
                if rows >> i & 1
            )
            for label in labels
        )
        return tuple(each * loss + price for each, price, _ in case.stages)

    @cache
    def tree(rows: int, depth: int, used: frozenset[int]) -> Value:
        found = leaf(rows)
        for column, left in tests if depth else ():
            a, b = rows & left, rows & ~left
            if not a or not b:
                continue
            after = used | {column}
            paid = (case.cost(after) - case.cost(used)) * weight(rows)
            sides = zip(tree(a, depth - 1, after), tree(b, depth - 1, after), strict=True)
            value = tuple(
                x + y + unit * paid for (x, y), (_, _, unit) in zip(sides, case.stages, strict=True)
            )
            found = min(found, value)
        return found

    return tree((1 << len(case.rows)) - 1, case.depth, frozenset())


def drawn(rng: random.Random, *, larger: bool) -> Case:
    """`larger`: so that bounds leave whole splits out, which needs depth 4 and many columns."""
    n, columns = (rng.randint(20, 50), 7) if larger else (rng.randint(2, 12), rng.randint(1, 5))
    classes = rng.choice([2, 2, 2, 3])
    mixed = ["binary"] if larger else ["binary", "binary", "binary", "number", "category"]
    kinds = [rng.choice(mixed) for _ in range(columns)]
    if larger and rng.random() < 0.5:
        kinds[0] = rng.choice(["number", "category"])
    rows = [[rng.randrange(2 if kind == "binary" else 4) for kind in kinds] for _ in range(n)]
    if rng.random() < 0.3:  # many rows are alike
        rows = [rows[i % max(1, n // 3)] for i in range(n)]
    weights = [rng.randint(1, 3) for _ in rows] if rng.random() < 0.4 else [1] * n
    losses = [[int(a != b) for b in range(classes)] for a in range(classes)]
    if rng.random() < 0.3:
        losses[1][0] = 5
    costs = [1] * columns if rng.random() < 0.4 else [rng.randint(0, 5) for _ in kinds]
    some = frozenset(c for c in range(columns) if rng.random() < 0.4)
    shared = (some, rng.randint(1, 4)) if rng.random() < 0.3 else (frozenset[int](), 0)
    share = Fraction(1, sum(weights))
    price = rng.choice([Fraction(0), Fraction(0), Fraction(1, 50), Fraction(1, 7)])
    unit = rng.choice(
        [Fraction(1, 400), Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(1, 3)]
    )
    none = Fraction(0)
    stages = rng.choice(
        [
            ((share, price, unit * share),),
            ((share, none, none), (none, none, share)),
            ((share, none, unit * share), (none, Fraction(1), none)),
            ((none, none, share), (share, none, none)),
        ]
    )
    return Case(
        rows=rows,
        labels=[rng.randrange(classes) for _ in rows],
        weights=weights,
        kinds=kinds,
        costs=costs,
        shared=shared,
        losses=losses,
        depth=4 if larger else rng.choice([1, 2, 3, 3, 4, 5]),
        stages=stages,
    )


def spec_of(case: Case) -> tuple[str, dict[str, list[int | str]]]:
    """The problem in the language, and its rows."""
    names = [f"c{i}" for i in range(len(case.kinds))]
    frame: dict[str, list[int | str]] = {
        name: [("abcd"[row[i]] if case.kinds[i] == "category" else row[i]) for row in case.rows]
        for i, name in enumerate(names)
    }
    frame["y"] = ["pqr"[label] for label in case.labels]
    frame["w"] = [*case.weights]
    classes = ", ".join(f'"{c}"' for c in "pqr"[: len(case.losses)])
    lines = [f"data frame  target y: class {{{classes}}}  weight w"]
    lines += [f"feature {name}: {kind}" for name, kind in zip(names, case.kinds, strict=True)]
    lines.append("cost " + ", ".join(f"{n} = {c}" for n, c in zip(names, case.costs, strict=True)))
    columns, amount = case.shared
    if columns:
        lines.append(f"cost {{{', '.join(names[c] for c in sorted(columns))}}} shared = {amount}")
    for a, row in enumerate(case.losses):
        for b, loss in enumerate(row):
            if a != b:
                lines.append(f'loss predict "{"pqr"[b]}" when "{"pqr"[a]}" = {loss}')
    parts = []
    for each, price, unit in case.stages:
        factors = (
            (each * case.total, "expected_loss"),
            (price, "leaves"),
            (unit * case.total, "expected_cost"),
        )
        parts.append(" + ".join(f"{f.numerator} / {f.denominator} * {n}" for f, n in factors if f))
    lines.append(f"tree depth <= {case.depth}  minimize {' then '.join(parts)}")
    return "\n".join(lines), frame


def agrees(seed: object, *, larger: bool = False) -> None:
    case = drawn(random.Random(f"paths {seed}"), larger=larger)
    spec, frame = spec_of(case)
    result = odtdsl.parse(spec).solve(using="exact", frame=frame, threads=1)
    assert result.status == "optimal", (seed, spec)
    values = tuple(stage.value for stage in result.stages)
    assert values == best(case), (seed, spec, frame)


@pytest.mark.parametrize("block", range(scaled(5)))
def test_costs_of_tests_in_the_objective(block: int) -> None:
    for seed in range(50):
        agrees((block, seed))


@pytest.mark.parametrize("block", range(scaled(2)))
def test_costs_of_tests_on_tables_where_bounds_prune(block: int) -> None:
    for seed in range(10):
        agrees((block, seed), larger=True)
