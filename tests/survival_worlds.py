"""Tiny tables of survival under rules, and their best trees, from the meaning alone.

As `number_worlds`; hazards are exact fractions here, and logarithms are taken last.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from number_worlds import TERMS, NumberCase, Outputs, drawn, table

LOSS = "survival_loss"
OF_SURVIVAL: dict[str, tuple[str, ...]] = TERMS | {
    "model": (*(term for term in TERMS["model"] if term not in Outputs.losses), LOSS)
}
KINDS = [(scope, term) for scope, terms in OF_SURVIVAL.items() for term in terms]


@dataclass(kw_only=True)
class Hazards(Outputs):
    """Leaves estimate a hazard ratio; the one target is the time."""

    losses: ClassVar = (LOSS,)
    terms: ClassVar = OF_SURVIVAL

    events: list[Fraction]

    @cached_property
    def hazards(self) -> list[Fraction]:
        """Of each row the hazard of all rows, summed up to its time."""
        (times,), events = self.targets, self.events
        weights = self.tiny.weights
        every = range(self.tiny.n)
        steps = {
            now: sum((weights[i] for i in every if times[i] == now and events[i]), Fraction(0))
            / sum(weights[i] for i in every if times[i] >= now)
            for now in {times[i] for i in every if events[i] and weights[i]}
        }
        least = min([Fraction(1, self.tiny.n + 1), *([steps[min(steps)]] if steps else [])])
        return [
            max(least, sum((steps[now] for now in steps if now <= time), Fraction(0)))
            for time in times
        ]

    def of_leaf(self, mask: int) -> list[Fraction]:
        """Events over hazards; 0 without an event."""
        if mask not in self.outputs:
            came, exposed = Fraction(0), Fraction(0)
            for row in self.tiny.rows(mask):
                came += self.tiny.weights[row] * self.events[row]
                exposed += self.tiny.weights[row] * self.hazards[row]
            self.outputs[mask] = [came / exposed if exposed else Fraction(1)]
        return self.outputs[mask]

    def lost(self, mask: int, loss: str, target: int, group: int) -> float:
        """The sum over the rows of a leaf that are in a group."""
        key = (mask, loss, target, group)
        if key not in self.known:
            (ratio,), lost = self.of_leaf(mask), []
            for row in self.tiny.rows(mask & group):
                weight = float(self.tiny.weights[row])
                expected = float(self.hazards[row] * ratio)
                if weight and self.events[row]:
                    expected -= 1 + math.log(self.hazards[row] * ratio)
                lost.append(weight * expected)
            self.known[key] = math.fsum(lost)
        return self.known[key]


@dataclass(kw_only=True)
class SurvivalCase(NumberCase):
    """A spec of survival, and all trees of its table."""

    outputs: Hazards

    @property
    def text(self) -> str:
        lines = super().text.splitlines()
        return "\n".join([lines[0], "target survival t event d", *lines[2:]])

    @property
    def frame(self) -> dict[str, list[Any]]:
        found = {name: cells for name, cells in self.tiny.frame.items() if name != "y"}
        (times,), events = self.outputs.targets, self.outputs.events
        return found | {"t": list(map(float, times)), "d": list(map(int, events))}

    def __str__(self) -> str:
        return f"{self.text}\n{self.frame}"


def survival_case(scope: str, term: str, seed: object, *, alone: bool = False) -> SurvivalCase:
    """A random spec whose first rule has a term; with up to two rules more."""
    rng = random.Random(f"survival {scope} {term} {seed}")
    more = [] if alone else [rng.choice(KINDS) for _ in range(rng.choice([0, 0, 1, 2]))]
    terms = [(scope, term), *more]
    while True:
        tiny, models = table(rng, terms)
        pool = rng.choice([(1, 2), (1, 2, 3, 5, 8), ("0.25", "0.5", 40), (0, 1, 4)])
        times = [Fraction(rng.choice(pool)) for _ in range(tiny.n)]  # type: ignore[arg-type]
        events = [Fraction(rng.random() < 0.6) for _ in range(tiny.n)]
        if any(w * d > 0 for w, d in zip(tiny.weights, events, strict=True)):
            break
    outputs = Hazards(tiny=tiny, loss=LOSS, targets=[times], events=events)
    draw = drawn(rng, tiny, models, outputs, terms)
    return SurvivalCase(
        tiny=tiny,
        outputs=outputs,
        stages=draw.stages(),
        rules=tuple(draw.rule(scope, term) for scope, term in terms),
        models=models,
    )
