"""Rules on the order of predicted numbers, against brute force over all trees of larger tables.

`test_number_rules` has them with every other rule on tiny tables; here targets run against the
rule, gaps between cells are irregular, and outputs obey rules of their own.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations

import pytest
from number_worlds import mean, median
from scale import SCALE, scaled

import odtdsl

VALUES = [Fraction(x) for x in (0, 1, "2.5", 6, "6.5", 13, 20, 21, 30, 44)]  # type: ignore[arg-type]
"""Irregular: a row more in a gap may move its threshold past another one."""

Box = tuple[tuple[Fraction, Fraction], ...]
"""By column, what thresholds leave of it: above the first, up to the second."""

Leaf = tuple[Box, tuple[Fraction, ...], Fraction]
"""With its outputs and what it loses."""


@dataclass(frozen=True, kw_only=True)
class World:
    cells: list[tuple[Fraction, ...]]
    targets: list[tuple[Fraction, ...]]
    weights: list[Fraction]
    loss: str
    depth: int
    leaves: int
    rules: list[tuple[int, bool]]
    either: bool
    denied: bool
    most: Fraction | None

    @property
    def text(self) -> str:
        names = ", ".join(f"y{t}" for t in range(len(self.targets[0])))
        words = [f"{'increasing' if up else 'decreasing'}(x{c})" for c, up in self.rules]
        words = [f"not {word}" for word in words] if self.denied else words
        rules = [" or ".join(words)] if self.either else words
        if self.most is not None:
            rules.append(f"forall leaf: y0 <= {self.most}")
        return "\n".join(
            [
                "data frame",
                f"target {names}: number",
                "weight w",
                f"tree depth <= {self.depth}, leaves <= {self.leaves}",
                f"minimize {self.loss}",
                *(f"rule r{i}: {rule}" for i, rule in enumerate(rules)),
            ]
        )

    @property
    def frame(self) -> dict[str, list[float]]:
        found = {
            f"x{c}": [float(x) for x in column]
            for c, column in enumerate(zip(*self.cells, strict=True))
        }
        found |= {
            f"y{t}": [float(y) for y in column]
            for t, column in enumerate(zip(*self.targets, strict=True))
        }
        return found | {"w": [float(w) for w in self.weights]}

    def leaf(self, rows: Sequence[int]) -> tuple[tuple[Fraction, ...], Fraction]:
        """The outputs, each by itself, and the weighted loss."""
        weights = [self.weights[i] for i in rows]
        counted = weights if any(weights) else [Fraction(1)] * len(rows)
        outputs, lost = [], Fraction(0)
        for target, column in enumerate(zip(*(self.targets[i] for i in rows), strict=True)):
            best = (median if self.loss == "mae" else mean)(column, counted)
            if target == 0 and self.most is not None:
                best = min(best, self.most)
            outputs.append(best)
            apart = [abs(y - best) for y in column]
            if self.loss == "mse":
                apart = [x * x for x in apart]
            lost += sum(w * x for w, x in zip(weights, apart, strict=True))
        return tuple(outputs), lost / sum(self.weights) / len(self.targets[0])

    def trees(self) -> Iterator[tuple[Leaf, ...]]:
        """The leaves of every tree."""
        leaf = cache(self.leaf)

        def below(rows: tuple[int, ...], box: Box, depth: int) -> Iterator[tuple[Leaf, ...]]:
            yield ((box, *leaf(rows)),)
            for column in range(len(box)) if depth else ():
                low, high = box[column]
                for a, b in pairwise(sorted({self.cells[i][column] for i in rows})):
                    at = (a + b) / 2
                    left = tuple(i for i in rows if self.cells[i][column] <= at)
                    right = tuple(i for i in rows if self.cells[i][column] > at)
                    sides = [
                        (*box[:column], part, *box[column + 1 :])
                        for part in ((low, at), (at, high))
                    ]
                    others = list(below(right, sides[1], depth - 1))
                    for one in below(left, sides[0], depth - 1):
                        yield from (one + other for other in others)

        everything = ((Fraction(-(10**9)), Fraction(10**9)),) * len(self.cells[0])
        for leaves in below(tuple(range(len(self.cells))), everything, self.depth):
            if len(leaves) <= self.leaves:
                yield leaves

    def keeps(self, leaves: tuple[Leaf, ...]) -> bool:
        found = [ordered(leaves, column, up) != self.denied for column, up in self.rules]
        return any(found) if self.either else all(found)

    def optimum(self) -> tuple[Fraction | None, Fraction]:
        """The least loss of trees that keep the rules, and of all."""
        losses = [
            (sum((lost for *_, lost in leaves), Fraction(0)), leaves) for leaves in self.trees()
        ]
        losses.sort(key=lambda one: one[0])
        kept = next((loss for loss, leaves in losses if self.keeps(leaves)), None)
        return kept, losses[0][0]


def ordered(leaves: tuple[Leaf, ...], column: int, up: bool) -> bool:
    """Whether no output falls where the column alone grows."""
    for (low, ours, _), (high, theirs, _) in permutations(leaves, 2):
        if low[column][0] >= high[column][0]:
            continue
        meet = (
            max(a[0], b[0]) < min(a[1], b[1])
            for c, (a, b) in enumerate(zip(low, high, strict=True))
            if c != column
        )
        first, second = (ours, theirs) if up else (theirs, ours)
        if any(a > b for a, b in zip(first, second, strict=True)) and all(meet):
            return False
    return True


def world(rng: random.Random, depth: int) -> World:
    """Targets that go against the first rule, more or less."""
    n = rng.randint(5, 8 if depth == 2 else 6)
    columns, targets = rng.choice([1, 2, 2]), rng.choice([1, 1, 1, 2])
    cells = [tuple(rng.choice(VALUES) for _ in range(columns)) for _ in range(n)]
    rules = [(rng.randrange(columns), rng.random() < 0.5) for _ in range(rng.choice([1, 1, 2]))]
    column, up = rules[0]
    slope = rng.choice([0, 1, 1, 2]) * (-1 if up else 1)
    return World(
        cells=cells,
        targets=[
            tuple(slope * row[column] / 2 + rng.choice([0, 1, 3, 9]) for _ in range(targets))
            for row in cells
        ],
        weights=[Fraction(rng.choice([1, 1, 1, 2, 0])) for _ in range(n - 1)] + [Fraction(1)],
        loss=rng.choice(["mse", "mse", "mae"]),
        depth=depth,
        leaves=rng.choice([2**depth, 2**depth, 3]),
        rules=rules,
        either=rng.random() < 0.3,
        denied=rng.random() < 0.2,
        most=Fraction(rng.choice([2, 5])) if rng.random() < 0.3 else None,
    )


@pytest.mark.parametrize("depth", [2, 3])
def test_the_optimum_is_that_of_all_trees(depth: int) -> None:
    found = Counter[str]()
    for seed in range(scaled(60 if depth == 2 else 20, least=6)):
        found[solved(world(random.Random(f"order of numbers {depth} {seed}"), depth))] += 1
    assert found["binds"] >= SCALE


def solved(one: World) -> str:
    result = odtdsl.solve(one.text, frame=one.frame, using="exact")
    expected, free = one.optimum()
    told = f"{result.status}, best {expected}\n{one.text}\n{one.frame}"
    if expected is None:
        assert result.status == "infeasible", told
        return "infeasible"
    assert result.status == "optimal", told
    assert result.audit is not None
    assert result.audit.holds, told
    value = float(result.stages[0].value or 0)
    assert value == pytest.approx(float(expected), rel=1e-9, abs=1e-9 * (1 + float(free))), told
    return "binds" if expected > free else "free"
