"""The model by whole subtrees: the same trees and optima as brute force."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from milp_trees import ATOMS, LoadedProgram, best, depth_cap, reduced_trees, tiny
from random_cores import HERE
from scale import blocks, scaled

from odtdsl.backends.base import Limits
from odtdsl.backends.milp import Milp
from odtdsl.backends.milp.formulation import formulation
from odtdsl.backends.milp.subtrees import Subtrees
from odtdsl.problem.ir.evaluate import stage_values, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Clause, Core

KINDS = tuple(kind for kind in ATOMS if kind != "monotone")
PAIRS = tuple((a, b) for a in KINDS for b in KINDS if a <= b and ATOMS[a][0] is ATOMS[b][0])


def fitting(rng: random.Random, *clauses: tuple[str, ...], stages: bool = False) -> Core:
    """A tiny problem of depth 1 or 2."""
    while True:
        core = tiny(rng, most_rows=8, clauses=clauses, stages=stages)
        if depth_cap(core) in (1, 2):
            return replace(core, skeleton=replace(core.skeleton, depth=depth_cap(core)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [(), *((kind,) for kind in KINDS), *PAIRS], ids="-or-".join)
def test_it_admits_exactly_the_trees_that_keep_the_rules(kind: tuple[str, ...]) -> None:
    for seed in range(scaled(4 if len(kind) == 1 else 2)):
        rng = random.Random(f"subtrees {kind} {seed}")
        core = fitting(rng, *([kind] if kind else []))
        lowered = formulation("subtrees").lower(core, depth_cap(core))
        assert isinstance(lowered.encoding, Subtrees)
        live = LoadedProgram(core, lowered)
        trees = reduced_trees(core)
        for tree in rng.sample(trees, min(20, len(trees))):
            keeps = not violations(core, tree)
            assert live.admits(tree) == keeps, (kind, seed, tree)
            assert (live.lowered.full_start(tree) is not None) == keeps, (kind, seed, tree)


@pytest.mark.parametrize("scope", Scope)
def test_a_rule_without_literals_refuses_every_instance(scope: Scope) -> None:
    for seed in range(3):
        core = fitting(random.Random(f"empty {seed}"))
        core = replace(core, clauses=(Clause(scope=scope, literals=(), origin=HERE),))
        live = LoadedProgram(core, formulation("subtrees").lower(core, depth_cap(core)))
        for tree in reduced_trees(core)[:30]:
            assert live.admits(tree) == (not violations(core, tree))


@pytest.mark.parametrize("seeds", blocks(30, 5))
def test_its_optimum_is_that_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"subtrees optimum {seed}")
        kinds = [(kind,) for kind in rng.sample(KINDS, rng.randint(0, 3))]
        core = fitting(rng, *kinds, stages=True)
        answer = Milp("subtrees").solve(core, Limits())
        expected = best(core)
        if expected is None:
            assert answer.status == "infeasible", seed
            continue
        assert answer.status == "optimal", seed
        assert answer.tree is not None
        assert stage_values(core, answer.tree) == expected, seed
