"""Brute force for number targets: tiny random specs as text, and their optimum by fractions.

Nothing of the package is used: splits are found from the cells of the table, losses are exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np


@dataclass(kw_only=True)
class Case:
    """A table, the statements about it, and what brute force needs to know of them."""

    frame: dict[str, list[Any]]
    loss: str
    depth: int
    leaves: int | None = None
    price: Fraction = Fraction(0)
    lines: list[str] = field(default_factory=list)
    numbers: dict[str, Callable[[float, float], bool]] = field(default_factory=dict)
    """For each number column, whether a gap [u, v) may be used."""
    side: str = "left"

    def text(self, objective: str | None = None, *rules: str) -> str:
        """The spec; `objective` instead of its own."""
        price = f" + {float(self.price)} * leaves" if self.price else ""
        leaves = "" if self.leaves is None else f", leaves <= {self.leaves}"
        return "\n".join(
            [
                "data frame",
                "target y: number",
                f"missing {self.side}",
                *self.lines,
                f"tree depth <= {self.depth}{leaves}",
                f"minimize {objective or self.loss + price}",
                *rules,
            ]
        )


def random_case(rng: random.Random, *, loss: str | None = None, weights: bool = True) -> Case:
    """4 to 9 rows: numbers `a` and `b`, a category `c` with missing cells, weights."""
    n = rng.randint(4, 9)
    loss = loss or rng.choice(["mse", "mae"])
    targets = rng.choice([[0, 1], [0, 1, 2, 5], [-3.5, 0.25, 1e6], [1e9, 1e9 + 1, 1e9 + 7]])
    case = Case(
        frame={
            "a": [rng.choice([1.0, 2.0, 4.0, 7.0]) for _ in range(n)],
            "b": [rng.choice([-1.0, 0.5, 0.75]) for _ in range(n)],
            "c": ["p", "q", *(rng.choice(["p", "q", "r", None]) for _ in range(n - 2))],
            "y": [float(rng.choice(targets)) for _ in range(n)],  # type: ignore[arg-type]
        },
        loss=loss,
        depth=rng.choice([0, 1, 2, 2, 3]),
        leaves=rng.choice([None, None, 1, 2, 3, 5]),
        price=rng.choice([Fraction(0), Fraction(0), Fraction(1, 4), Fraction(8)]),
        side=rng.choice(["left", "right"]),
    )
    case.lines.append("feature a, b: number")
    if weights and rng.random() < 0.5:
        case.frame["w"] = [rng.choice([0, 1, 2, 0.5]) for _ in range(n - 1)] + [1]
        case.lines.append("weight w")
    if rng.random() < 0.3:
        case.frame["c"] = ["p"] * n
    _candidates(rng, case)
    return case


def _candidates(rng: random.Random, case: Case) -> None:
    case.numbers = {"a": lambda u, v: True, "b": lambda u, v: True}
    place = rng.choice(["midpoints", "values", "quantiles", "rule", "banned"])
    column = [float(x) for x in case.frame["a"]]  # type: ignore[arg-type]
    if place == "values":
        case.lines.append("candidates a at {1.5, 2, 3, 9}")
        case.numbers["a"] = lambda u, v: any(u <= t < v for t in (1.5, 2, 3, 9))
    elif place == "quantiles":
        case.lines.append("candidates a at quantiles 3")
        cuts = np.quantile(column, [1 / 3, 2 / 3])
        case.numbers["a"] = lambda u, v: any(u <= t < v for t in cuts)
    elif place == "rule":
        case.lines.append("rule cut: forall split: threshold(a) in [1.75, 3.5]")
        case.numbers["a"] = lambda u, v: u <= 3.5 and v > 1.75
    elif place == "banned":
        case.lines.append("rule no_b: forall split: feature in {a, c}")
        case.numbers["b"] = lambda u, v: False


Best = Callable[[int], Fraction]
"""From a largest number of leaves to the least mean loss, prices included."""


def brute_force(case: Case) -> Best:
    """The optimum of a case for any bound on the leaves."""
    n = len(case.frame["y"])
    truth = [Fraction(str(y)) for y in case.frame["y"]]
    weights = [Fraction(str(w)) for w in case.frame.get("w", [1] * n)]
    total = sum(weights)

    @cache
    def leaf(rows: tuple[int, ...]) -> Fraction:
        return loss_of(case.loss, [truth[i] for i in rows], [weights[i] for i in rows])

    @cache
    def best(rows: tuple[int, ...], depth: int, leaves: int) -> Fraction:
        found = leaf(rows) / total + case.price
        if depth == 0:
            return found
        for left in _parts(case, rows):
            right = tuple(i for i in rows if i not in left)
            for k in range(1, leaves):
                found = min(found, best(left, depth - 1, k) + best(right, depth - 1, leaves - k))
        return found

    return lambda leaves: best(tuple(range(n)), case.depth, leaves)


def loss_of(loss: str, values: list[Fraction], weights: list[Fraction]) -> Fraction:
    """The least weighted sum of losses of one output."""
    if loss == "mae":
        return min(
            sum((w * abs(y - out) for y, w in zip(values, weights, strict=True)), Fraction(0))
            for out in values
        )
    if not sum(weights):
        return Fraction(0)
    mean = sum(y * w for y, w in zip(values, weights, strict=True)) / sum(weights)
    return sum((w * (y - mean) ** 2 for y, w in zip(values, weights, strict=True)), Fraction(0))  # type: ignore[return-value]


def _parts(case: Case, rows: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The left sides of all admitted splits of some rows."""
    for name, admits in case.numbers.items():
        cells = case.frame[name]
        values = sorted({float(cells[i]) for i in rows})  # type: ignore[arg-type]
        for u, v in pairwise(values):
            if admits(u, v):
                yield tuple(i for i in rows if float(cells[i]) <= u)  # type: ignore[arg-type]
    cells = case.frame["c"]
    for value in {cell for cell in cells if cell is not None}:
        left = tuple(
            i for i in rows if cells[i] == value or (cells[i] is None and case.side == "left")
        )
        if 0 < len(left) < len(rows):
            yield left
