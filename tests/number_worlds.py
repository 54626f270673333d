"""Tiny tables with number targets under rules, and their best trees, from the meaning alone.

Tables, trees and rules are those of `tiny_tables` and `sentences`, of one class that all rows
have; losses are told from the rows of each leaf.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from meanings import Rule, RuleChecker
from sentences import Atoms, atom, combined, rule
from tiny_tables import Model, TinyTable, TooMany, decimal, random_world

MOST_TREES = 1500
LOSSES = ("mse", "mae", "poisson")
TERMS: dict[str, tuple[str, ...]] = {
    "path": ("before", "requires", "uses", "tests", "length", "cost"),
    "leaf": ("size",),
    "split": ("size", "feature", "level", "threshold"),
    "model": ("root",),
}
"""By scope the terms whose rules are proven on number targets."""
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms]


@dataclass(kw_only=True)
class NumberCase:
    """A spec on numbers, and all trees of its table."""

    tiny: TinyTable
    loss: str
    targets: list[list[Fraction]]
    rules: tuple[Rule, ...]
    models: list[Model]
    price: Fraction = Fraction(0)
    then_leaves: bool = False
    known: dict[int, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        names = ", ".join(f"y{t}" for t in range(len(self.targets)))
        _, _, *head = [line for line in self.tiny.head() if not line.startswith("loss ")]
        price = f" + {decimal(self.price)} * leaves" if self.price else ""
        then = " then leaves" if self.then_leaves else ""
        written = [one.written(f"r{i}") for i, one in enumerate(self.rules)]
        goal = f"minimize {self.loss}{price}{then}"
        return "\n".join(["data frame", f"target {names}: number", *head, goal, *written])

    @property
    def frame(self) -> dict[str, list[Any]]:
        found = {name: cells for name, cells in self.tiny.frame.items() if name != "y"}
        return found | {f"y{t}": list(map(float, y)) for t, y in enumerate(self.targets)}

    def of_leaf(self, mask: int) -> float:
        """What the rows of a leaf lose to their best output, as a part of the mean."""
        if mask not in self.known:
            rows = self.tiny.rows(mask)
            weights = [self.tiny.weights[row] for row in rows]
            whole = self.tiny.weight(self.tiny.everyone) * len(self.targets)
            lost = sum(_lost(self.loss, [y[row] for row in rows], weights) for y in self.targets)
            self.known[mask] = lost / float(whole)
        return self.known[mask]

    def value(self, model: Model) -> float:
        """The first stage."""
        lost = math.fsum(self.of_leaf(leaf.rows) for leaf in model.leaves)
        return lost + float(self.price) * len(model.leaves)

    @cached_property
    def kept(self) -> list[Model]:
        """The trees that satisfy the rules."""
        admits = RuleChecker(self.tiny, self.rules).admits
        return [model for model in self.models if admits(model)]

    @cached_property
    def optimum(self) -> tuple[float, int] | None:
        """The least value, and the least number of leaves of the trees that have it."""
        least = min(map(self.value, self.kept), default=None)
        if least is None:
            return None
        best = [model for model in self.kept if self.near(self.value(model), least)]
        return least, min(len(model.leaves) for model in best)

    def near(self, found: float, expected: float) -> bool:
        """Equal up to a billionth of the loss of a single leaf."""
        scale = max(abs(expected), self.of_leaf(self.tiny.everyone), 1e-6)
        return abs(found - expected) <= 1e-9 * scale

    def __str__(self) -> str:
        return f"{self.text}\n{self.frame}"


def _lost(loss: str, values: Sequence[Fraction], weights: Sequence[Fraction]) -> float:
    whole = sum(weights, Fraction(0))
    if not whole:
        return 0.0
    if loss == "mae":
        return float(
            min(
                sum((w * abs(y - at) for y, w in zip(values, weights, strict=True)), Fraction(0))
                for at in values
            )
        )
    mean = sum((w * y for y, w in zip(values, weights, strict=True)), Fraction(0)) / whole
    if loss == "mse":
        return float(sum(w * (y - mean) ** 2 for y, w in zip(values, weights, strict=True)))
    pairs = [(w, y) for y, w in zip(values, weights, strict=True) if w * y]
    return max(0.0, math.fsum(float(w * y) * math.log(y / mean) for w, y in pairs))


def number_case(
    scope: str, term: str, loss: str, n_targets: int, seed: object, *, alone: bool = False
) -> NumberCase:
    """A random spec whose first rule has a term; with up to two rules more."""
    rng = random.Random(f"{scope} {term} {loss} {n_targets} {seed}")
    more = [] if alone else [rng.choice(KINDS) for _ in range(rng.choice([0, 0, 1, 2]))]
    terms = [(scope, term), *more]
    ranked = any(name == "threshold" for _, name in terms)
    while True:
        tiny = random_world(rng, kinds=[rng.choice(["number", "ordered"])] if ranked else [])
        if ranked and not any(column.ranked for column in tiny.columns):
            continue
        tiny.classes, tiny.target = ("all",), [0] * tiny.n
        try:
            models = tiny.models(MOST_TREES)
        except TooMany:
            continue
        atoms = Atoms(rng, tiny, models)
        pool = rng.choice([[0, 1], [0, 1, 2, 5], [Fraction(1, 4), 3, 40]])
        return NumberCase(
            tiny=tiny,
            loss=loss,
            targets=[
                [Fraction(rng.choice(pool)) for _ in range(tiny.n)]  # type: ignore[arg-type]
                for _ in range(n_targets)
            ],
            rules=tuple(_rule(atoms, scope, term) for scope, term in terms),
            models=models,
            price=Fraction(rng.choice(["0", "0", "0.01", "0.25"])),
            then_leaves=rng.random() < 0.2,
        )


def _rule(atoms: Atoms, scope: str, term: str) -> Rule:
    """A rule with a term, alone or with others of its scope that are proven as well."""
    if term in ("threshold", "root"):
        if term == "root":
            text, holds = atom(atoms, scope, term)
            return Rule(text=text, scope=scope, holds=holds)
        return rule(atoms, scope, term)
    others = [name for name in TERMS[scope] if name != "threshold"]
    if scope == "split":  # rows of a split and its test are conditions of two rules
        others = ["size"] if term == "size" else ["feature", "level"]
    text, holds = combined(
        atoms.rng,
        atom(atoms, scope, term),
        lambda: atom(atoms, scope, atoms.rng.choice(others)),
    )
    return Rule(text=text, scope=scope, holds=holds)
