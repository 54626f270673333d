"""Calls of the engine changed on their way: where a mutant of what `exact` lowers gets in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from odtdsl.base import _engine


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


def _keeping(kind: Any) -> Any:
    """A class of the engine whose instances remember what they were made of."""

    class Kept(kind):
        def __init__(self, *args: Any, **given: Any) -> None:
            super().__init__(*args, **given)
            self.args, self.given = args, given

    return Kept


_PARTS = ("RankTable", "Columns", "Components", "PathStates", "Facts", "Clauses", "Space")
_RENAMED = {
    ("facts", "count"): "facts",
    ("facts", "split"): "split_facts",
    ("clauses", "leaf"): "leaf_clauses",
    ("clauses", "split"): "split_clauses",
    ("clauses", "model"): "clauses",
}
"""Names of numbers of the parts under which mutants know them, where these differ."""


def _listed(value: Any) -> Any:
    """A copy to be changed in place: what the engine takes as tuples, too."""
    if isinstance(value, tuple | list):
        return [deepcopy(list(one) if isinstance(one, tuple) else one) for one in value]
    return deepcopy(value)


def _ruled_call(problem: Any) -> Call:
    """The arguments of a problem under rules, those of its parts beside each other."""
    table, _, depth = problem.args
    ranks, distinct, allowed = table.args
    rules = {key: deepcopy(problem.given[key]) for key in ("objective", "offset")}
    rules["objective"] = list(rules["objective"])
    for part in ("columns", "components", "states", "facts", "clauses", "space"):
        kept = problem.given[part]
        for key, value in ({} if kept is None else kept.given).items():
            name = _RENAMED.get((part, key), key)
            rules[name] = deepcopy(value) if part in ("clauses", "space") else _listed(value)
    rules["components"] = len(rules["leaf"])
    rules["sums"] = rules["value"].shape[1]
    rules["states"] = len(rules["need"])
    rules.setdefault("monotone", [])
    options = {"max_leaves": problem.given["max_leaves"], "allowed": list(deepcopy(allowed))}
    return Call(ranks=ranks.copy(), distinct=distinct, depth=depth, rules=rules, options=options)


def _plain_call(problem: Any, asked: dict[str, Any]) -> Call:
    """The arguments of a problem without rules."""
    table, *placed = problem.args
    given = {**problem.given, **dict(zip(("labels", "classes", "depth"), placed, strict=False))}
    labels, n_classes, depth = (given.pop(name) for name in ("labels", "classes", "depth"))
    ranks, distinct, allowed = table.args
    options = {**given, "upper_bound": asked.get("upper_bound"), "allowed": list(allowed)}
    return Call(
        ranks=ranks.copy(),
        distinct=distinct,
        depth=depth,
        rules={"plain": True, "classes": labels.copy(), "n_classes": n_classes},
        options=deepcopy(options),
    )


@contextmanager
def mutated(mutant: Mutant, seed: object) -> Iterator[list[bool]]:
    """All calls of the engine changed; the list says per call whether there was anything to."""
    hits: list[bool] = []
    real = {name: getattr(_engine, name) for name in dir(_engine)}

    def changed(call: Call) -> None:
        hits.append(mutant(random.Random(f"{seed} {call.depth}"), call))

    def part(name: str, kept: Any, rules: dict[str, Any]) -> Any:
        given = {key: rules[_RENAMED.get((name, key), key)] for key in kept.given}
        return real[type(kept).__mro__[1].__name__](**given)

    def solve_ruled(problem: Any, limits: Any, **asked: Any) -> Any:
        call = _ruled_call(problem)
        changed(call)
        parts = {
            name: None if kept is None else part(name, kept, call.rules)
            for name, kept in problem.given.items()
            if name in ("columns", "components", "states", "facts", "clauses", "space")
        }
        made = real["RuledProblem"](
            real["RankTable"](call.ranks, call.distinct, call.options["allowed"]),
            problem.args[1],
            call.depth,
            max_leaves=call.options["max_leaves"],
            objective=call.rules["objective"],
            offset=call.rules["offset"],
            **parts,
        )
        return real["solve_ruled"](made, limits, **asked)

    def solve(problem: Any, limits: Any, **asked: Any) -> Any:
        call = _plain_call(problem, asked)
        changed(call)
        asked["upper_bound"] = call.options.pop("upper_bound")
        made = real["ClassProblem"](
            real["RankTable"](call.ranks, call.distinct, call.options.pop("allowed")),
            call.rules["classes"],
            call.rules["n_classes"],
            call.depth,
            **call.options,
        )
        return real["solve"](made, limits, **asked)

    with pytest.MonkeyPatch.context() as patch:
        for name in (*_PARTS, "RuledProblem", "ClassProblem"):
            patch.setattr(_engine, name, _keeping(real[name]))
        patch.setattr(_engine, "solve_ruled", solve_ruled)
        patch.setattr(_engine, "solve", solve)
        yield hits


def under_rules(change: Mutant) -> Mutant:
    return lambda rng, call: "plain" not in call.rules and change(rng, call)


def plainly(change: Mutant) -> Mutant:
    return lambda rng, call: "plain" in call.rules and change(rng, call)
