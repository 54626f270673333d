"""Calls of the engine changed on their way: where a mutant of what `exact` lowers gets in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(kw_only=True)
class Call:
    """The arguments of the engine's `solve_ruled` (or `solve`), to be changed in place."""

    ranks: Any
    distinct: Any
    depth: int
    rules: dict[str, Any]
    options: dict[str, Any]

    @property
    def n_columns(self) -> int:
        return int(self.rules["columns"])


Mutant = Callable[[random.Random, Call], bool]


class _Proxy:
    """The engine, with every call under rules changed on its way."""

    def __init__(self, engine: Any, mutant: Mutant, seed: object, hits: list[bool]) -> None:
        self.engine, self.mutant, self.seed, self.hits = engine, mutant, seed, hits

    def solve_ruled(
        self, ranks: Any, distinct: Any, classes: int, depth: int, rules: Any, **options: Any
    ) -> Any:
        call = Call(
            ranks=ranks.copy(),
            distinct=distinct,
            depth=depth,
            rules=deepcopy(rules),
            options={**options, "allowed": deepcopy(options["allowed"])},
        )
        self.hits.append(self.mutant(random.Random(f"{self.seed} {depth}"), call))
        return self.engine.solve_ruled(
            call.ranks, call.distinct, classes, depth, call.rules, **call.options
        )

    def solve(
        self, ranks: Any, distinct: Any, classes: Any, n_classes: int, depth: int, **options: Any
    ) -> Any:
        call = Call(
            ranks=ranks.copy(),
            distinct=distinct,
            depth=depth,
            rules={"plain": True, "classes": classes.copy(), "n_classes": n_classes},
            options=deepcopy({k: v for k, v in options.items() if k in _PLAIN}),
        )
        self.hits.append(self.mutant(random.Random(f"{self.seed} {depth}"), call))
        return self.engine.solve(
            call.ranks,
            call.distinct,
            call.rules["classes"],
            n_classes,
            depth,
            **{**options, **call.options},
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


_PLAIN = (
    "allowed",
    "weights",
    "costs",
    "max_leaves",
    "leaf_price",
    "min_leaf_rows",
    "upper_bound",
    "column",
    "next",
    "must_column",
)


@contextmanager
def mutated(mutant: Mutant, seed: object) -> Iterator[list[bool]]:
    """All calls of the engine changed; the list says per call whether there was anything to."""
    from odtdsl.backends.exact import stacked_search

    hits: list[bool] = []
    made = stacked_search.engine
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacked_search, "engine", lambda: _Proxy(made(), mutant, seed, hits))
        yield hits


def under_rules(change: Mutant) -> Mutant:
    return lambda rng, call: "plain" not in call.rules and change(rng, call)


def plainly(change: Mutant) -> Mutant:
    return lambda rng, call: "plain" in call.rules and change(rng, call)
