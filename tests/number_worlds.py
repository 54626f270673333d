"""Tiny tables with number targets under rules, and their best trees, from the meaning alone.

Tables, trees and rules are those of `tiny_tables` and `sentences`, of one class that all rows
have; losses are told from the rows of each leaf and the output that the objective gives it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from meanings import Rule, RuleChecker
from sentences import MONOTONE, Atom, Atoms, atom, combined, rule
from tiny_tables import Model, TinyTable, TooMany, decimal, random_world

MOST_TREES = 1500
LOSSES = ("mse", "mae", "poisson")
SUMS = ("leaves", "splits", "nodes", "depth", "tests", "expected_cost")
TERMS: dict[str, tuple[str, ...]] = {
    "path": ("before", "requires", "uses", "tests", "length", "cost"),
    "leaf": ("size",),
    "split": ("size", "feature", "level", "threshold"),
    "model": ("root", "uses", "same_leaf", "different_leaf", *SUMS, *LOSSES, *MONOTONE),
}
"""By scope the terms whose rules are proven on number targets."""
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms]
LARGEST = 1e300


@dataclass(kw_only=True)
class Outputs:
    """What leaves predict, and what they lose by it: sums over their rows."""

    losses: ClassVar[tuple[str, ...]] = LOSSES
    terms: ClassVar[dict[str, tuple[str, ...]]] = TERMS

    tiny: TinyTable
    loss: str
    """The one that outputs make least."""
    targets: list[list[Fraction]]
    known: dict[tuple[int, str, int, int], float] = field(default_factory=dict)
    outputs: dict[int, list[Fraction]] = field(default_factory=dict)

    def of_leaf(self, mask: int) -> list[Fraction]:
        """The output of a leaf, per target."""
        if mask not in self.outputs:
            rows = self.tiny.rows(mask)
            weights = [self.tiny.weights[row] for row in rows]
            if not any(weights):
                weights = [Fraction(1)] * len(rows)
            self.outputs[mask] = [
                (median if self.loss == "mae" else mean)([y[row] for row in rows], weights)
                for y in self.targets
            ]
        return self.outputs[mask]

    def lost(self, mask: int, loss: str, target: int, group: int) -> float:
        """The weighted sum over the rows of a leaf that are in a group."""
        key = (mask, loss, target, group)
        if key not in self.known:
            output = self.of_leaf(mask)[target]
            each = [
                (self.tiny.weights[row], self.targets[target][row])
                for row in self.tiny.rows(mask & group)
            ]
            self.known[key] = math.fsum(_lost(loss, y, output, w) for w, y in each if w)
        return self.known[key]

    def of_model(
        self, model: Model, loss: str, targets: Sequence[int], group: int | None = None
    ) -> float:
        """The mean over the rows of a group and these targets."""
        group = self.tiny.everyone if group is None else group
        whole = float(self.tiny.weight(group)) * len(targets)
        parts = [self.lost(leaf.rows, loss, t, group) for leaf in model.leaves for t in targets]
        return LARGEST if math.inf in parts else math.fsum(parts) / whole


def mean(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    return sum((w * y for y, w in zip(values, weights, strict=True)), Fraction(0)) / sum(weights)


def median(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """The least value up to which half of the weight lies."""
    half, below = sum(weights, Fraction(0)) / 2, Fraction(0)
    for y, w in sorted(zip(values, weights, strict=True)):
        below += w
        if below >= half:
            return y
    raise AssertionError("some weight lies up to the last value")


def _lost(loss: str, y: Fraction, output: Fraction, weight: Fraction) -> float:
    if loss == "mse":
        return float(weight * (y - output) ** 2)
    if loss == "mae":
        return float(weight * abs(y - output))
    if not y:
        return float(weight * output)
    if not output:
        return math.inf
    return float(weight) * (float(y) * math.log(y / output) - float(y) + float(output))


Value = Callable[[Model], float]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of the objective: what is written, and its value on a tree."""

    text: str
    value: Value


@dataclass(kw_only=True)
class NumberCase:
    """A spec on numbers, and all trees of its table."""

    tiny: TinyTable
    outputs: Outputs
    stages: tuple[Stage, ...]
    rules: tuple[Rule, ...]
    models: list[Model]

    @property
    def text(self) -> str:
        names = ", ".join(f"y{t}" for t in range(len(self.outputs.targets)))
        _, _, *head = [line for line in self.tiny.head() if not line.startswith("loss ")]
        written = [one.written(f"r{i}") for i, one in enumerate(self.rules)]
        goal = f"minimize {' then '.join(stage.text for stage in self.stages)}"
        return "\n".join(["data frame", f"target {names}: number", *head, goal, *written])

    @property
    def frame(self) -> dict[str, list[Any]]:
        found = {name: cells for name, cells in self.tiny.frame.items() if name != "y"}
        targets = enumerate(self.outputs.targets)
        return found | {f"y{t}": list(map(float, y)) for t, y in targets}

    @cached_property
    def kept(self) -> list[Model]:
        """The trees that satisfy the rules."""
        admits = RuleChecker(self.tiny, self.rules).admits
        return [model for model in self.models if admits(model)]

    @cached_property
    def optimum(self) -> tuple[float, ...] | None:
        """The least value of each stage, of the trees that have those of the stages before."""
        left, found = self.kept, []
        for stage in self.stages:
            if not left:
                return None
            found.append(min(map(stage.value, left)))
            left = [model for model in left if self.near(stage.value(model), found[-1])]
        return tuple(found)

    def near(self, found: float, expected: float) -> bool:
        """Equal up to a billionth of the loss of a single leaf."""
        targets = range(len(self.outputs.targets))
        everyone = self.tiny.everyone
        whole = float(self.tiny.weight(everyone))
        lost = [self.outputs.lost(everyone, self.outputs.loss, t, everyone) for t in targets]
        loss = sum(lost) / whole / len(targets)
        return abs(found - expected) <= 1e-9 * max(abs(expected), loss, 1e-6)

    def __str__(self) -> str:
        return f"{self.text}\n{self.frame}"


class Draw:
    """Draws rules and objectives on numbers."""

    def __init__(self, atoms: Atoms, outputs: Outputs) -> None:
        self.atoms, self.outputs, self.rng = atoms, outputs, atoms.rng

    def rule(self, scope: str, term: str) -> Rule:
        """A rule with a term, alone or with others of its scope that are proven as well."""
        if term == "threshold":
            return rule(self.atoms, scope, term)
        others = [t for t in self.outputs.terms[scope] if t not in ("threshold", *MONOTONE)]
        if scope == "split":  # rows of a split and its test are conditions of two rules
            others = ["size"] if term == "size" else ["feature", "level"]
        text, holds = combined(
            self.rng,
            self.atom(scope, term),
            lambda: self.atom(scope, self.rng.choice(others)),
        )
        return Rule(text=text, scope=scope, holds=holds)

    def atom(self, scope: str, term: str) -> Atom:
        if scope == "model" and term in self.outputs.losses:
            return self.bound(term)
        if scope == "model" and term in SUMS:
            text, value = self.atoms.draw.plain(term)
            return self.atoms.counted(text, value, None)
        return atom(self.atoms, scope, term)

    def measure(self, loss: str) -> tuple[str, Value]:
        """A loss of all targets or of one."""
        many = range(len(self.outputs.targets))
        some = list(many) if self.rng.random() < 0.6 else [self.rng.choice(many)]
        text = loss if len(some) == len(many) else f"{loss}(y{some[0]})"
        return text, lambda model: self.outputs.of_model(model, loss, some)

    def of_groups(self, loss: str) -> tuple[str, Value]:
        """A loss of a group, or how far those of some groups lie apart."""
        tiny, rng = self.outputs.tiny, self.rng
        groups = {n: m for n in tiny.groups if tiny.weight(m := tiny.members(n))}
        if not groups:
            return self.measure(loss)
        many = list(range(len(self.outputs.targets)))
        some = many if rng.random() < 0.6 else [rng.choice(many)]
        named = "" if len(some) == len(many) else f"y{some[0]}"

        def of(name: str) -> Value:
            return lambda model: self.outputs.of_model(model, loss, some, groups[name])

        name, *others = rng.sample(list(groups), rng.randint(1, len(groups)))
        if not others or loss == "poisson":  # which is infinite, seldom
            return f"{loss}({', '.join(filter(None, [named, name]))})", of(name)
        each = [of(one) for one in (name, *others)]
        called = f"{loss}({named})" if named else loss
        if rng.random() < 0.7:
            return (
                f"gap({', '.join([called, name, *others])})",
                lambda model: (
                    max(value(model) for value in each) - min(value(model) for value in each)
                ),
            )
        text = f"{loss}({', '.join(filter(None, [named, others[0]]))})"
        first = f"{loss}({', '.join(filter(None, [named, name]))})"
        return f"abs({first} - {text})", lambda model: abs(each[0](model) - each[1](model))

    def bound(self, loss: str) -> Atom:
        """A bound beside the values that trees have: equality is a matter of rounding."""
        text, value = self.of_groups(loss) if self.rng.random() < 0.5 else self.measure(loss)
        near = min(value(self.rng.choice(self.atoms.models)), 1e6)
        bound = Fraction(round(1000 * near), 1000) + Fraction(self.rng.choice([-1, 1, 300]), 3777)
        bound = max(Fraction(0), Fraction(round(bound * 10**6), 10**6))
        limit, above = float(bound) * (1 + 5e-10) + 5e-10, self.rng.random() < 0.25
        if above:
            return f"{text} > {decimal(bound)}", lambda model: value(model) > limit  # type: ignore[arg-type]
        return f"{text} <= {decimal(bound)}", lambda model: value(model) <= limit  # type: ignore[arg-type]

    def stages(self) -> tuple[Stage, ...]:
        """The loss that outputs make least, seldom behind other stages; often alone."""
        rng, many = self.rng, range(len(self.outputs.targets))
        loss = self.outputs.loss
        text, value = loss, lambda model: self.outputs.of_model(model, loss, list(many))
        if rng.random() < 0.4:
            text, value = self._priced(text, value)
        made = [Stage(text=text, value=value)]
        if rng.random() < 0.2:
            made.append(self._count("leaves"))
        elif rng.random() < 0.3:
            for term in rng.sample(["leaves", "depth", "tests", "expected_cost"], 2):
                if term == "depth" or rng.random() < 0.7:
                    made.insert(rng.randint(0, len(made)), self._count(term))
        elif rng.random() < 0.1:
            text, value = self.measure(rng.choice(self.outputs.losses))
            made.append(Stage(text=text, value=value))
        return tuple(made)

    def _count(self, term: str) -> Stage:
        text, value = self.atoms.draw.plain(term)
        return Stage(text=text, value=lambda model: float(value(model)))  # type: ignore[arg-type]

    def _priced(self, loss: str, value: Value) -> tuple[str, Value]:
        rng = self.rng
        price = Fraction(rng.choice(["0.01", "0.25", "0.5"]))
        text, many = self.atoms.draw.plain(rng.choice(["leaves", "leaves", "tests"]))
        sign = rng.choice([1, 1, 1, -1])
        return (
            f"{loss} {'+' if sign > 0 else '-'} {decimal(price)} * {text}",
            lambda model: (
                value(model) + sign * float(price * many(model))  # type: ignore[arg-type]
            ),
        )


def table(rng: random.Random, terms: Sequence[tuple[str, str]]) -> tuple[TinyTable, list[Model]]:
    """A table without classes that rules with these terms fit, and all its trees."""
    order = any(name in MONOTONE for _, name in terms)
    ranked = order or any(name == "threshold" for _, name in terms)
    while True:
        tiny = random_world(rng, kinds=[rng.choice(["number", "ordered"])] if ranked else [])
        if ranked and not any(column.ranked for column in tiny.columns):
            continue
        tiny.classes, tiny.target = ("all",), [0] * tiny.n
        try:
            return tiny, tiny.models(MOST_TREES, both_sides=order)
        except TooMany:
            continue


def drawn(
    rng: random.Random,
    tiny: TinyTable,
    models: list[Model],
    outputs: Outputs,
    terms: Sequence[tuple[str, str]],
) -> Draw:
    """What draws rules with these terms."""
    tiny.numbers = lambda leaf: outputs.of_leaf(leaf.rows)
    closed = any(name in MONOTONE for _, name in terms)
    return Draw(Atoms(rng, tiny, models, closed=closed), outputs)


def number_case(
    scope: str, term: str, loss: str, n_targets: int, seed: object, *, alone: bool = False
) -> NumberCase:
    """A random spec whose first rule has a term; with up to two rules more."""
    rng = random.Random(f"{scope} {term} {loss} {n_targets} {seed}")
    more = [] if alone else [rng.choice(KINDS) for _ in range(rng.choice([0, 0, 1, 2]))]
    terms = [(scope, term), *more]
    tiny, models = table(rng, terms)
    pool = rng.choice([[0, 1], [0, 1, 2, 5], [Fraction(1, 4), 3, 40]])
    outputs = Outputs(
        tiny=tiny,
        loss=loss,
        targets=[
            [Fraction(rng.choice(pool)) for _ in range(tiny.n)]  # type: ignore[arg-type]
            for _ in range(n_targets)
        ],
    )
    draw = drawn(rng, tiny, models, outputs, terms)
    return NumberCase(
        tiny=tiny,
        outputs=outputs,
        stages=draw.stages(),
        rules=tuple(draw.rule(scope, term) for scope, term in terms),
        models=models,
    )
