"""The trees that a `milp` model admits are exactly those that satisfy the rules.

One live model per instance; the tree's columns are fixed by bounds. A model that is too
tight is caught as well as one that is too loose, and so are the mutants at the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from milp_trees import ATOMS, LoadedProgram, best, grown, reduced_trees, tiny
from random_cores import random_tree
from scale import SCALE, blocks, scaled

from odtdsl.backends.base import Limits
from odtdsl.backends.milp import Milp, charges, clauses, lowering, monotone, pattern_flow, stages
from odtdsl.backends.milp.program import FREE, Program
from odtdsl.problem.ir.evaluate import Evaluation, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Clause, Core, Origin
from odtdsl.problem.ir.raw import RawTree

EACH = scaled(5)
TREES = 25

PAIRS = tuple((a, b) for a in ATOMS for b in ATOMS if a <= b and ATOMS[a][0] is ATOMS[b][0])


def sampled(rng: random.Random, core: Core) -> list[RawTree]:
    """Some reduced trees, and some that may not even part the rows."""
    trees = reduced_trees(core)
    chosen = rng.sample(trees, min(len(trees), TREES))
    return [*chosen, *(random_tree(rng, core, 2) for _ in range(6))]


def difference(core: Core, rng: random.Random) -> RawTree | None:
    """A tree on which model and meaning differ."""
    live = LoadedProgram(core)
    for tree in sampled(rng, core):
        if live.admits(tree) == bool(violations(core, tree)):
            return tree
    return None


@pytest.mark.parametrize("kind", ATOMS)
@pytest.mark.parametrize("seeds", blocks(5, 5))
def test_a_single_atom_admits_exactly_its_trees(kind: str, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        assert difference(tiny(rng, clauses=((kind,),)), rng) is None, (kind, seed)


@pytest.mark.parametrize("pair", PAIRS, ids="-or-".join)
def test_a_disjunction_admits_exactly_its_trees(pair: tuple[str, str]) -> None:
    for seed in range(scaled(2)):
        rng = random.Random(f"{pair} {seed}")
        assert difference(tiny(rng, clauses=(pair,)), rng) is None, (pair, seed)


@pytest.mark.parametrize("seeds", blocks(10, 5))
def test_random_conditions_admit_exactly_their_trees(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"any {seed}")
        assert difference(tiny(rng, free_clauses=rng.randint(0, 3)), rng) is None, seed


@pytest.mark.parametrize("seed", [98, 176])
def test_a_test_that_parts_a_pattern_is_no_start(seed: int) -> None:
    """A cut that no candidate admits was once read as a nearby admissible one."""
    rng = random.Random(f"linear_model {seed}")
    assert difference(tiny(rng, clauses=(("linear_model",),)), rng) is None


def test_monotone_trees_of_depth_three_are_exactly_those_admitted() -> None:
    """Thresholds of nodes on different levels part leaves there; each by its own rows."""
    kept = broken = 0
    for seed in range(scaled(8)):
        rng = random.Random(f"deep {seed}")
        core = tiny(rng, most_rows=14, clauses=(("monotone",),))
        core = replace(core, skeleton=replace(core.skeleton, depth=3, leaves=None))  # type: ignore[arg-type]
        live = LoadedProgram(core)
        for _ in range(TREES):
            tree = grown(rng, core, 3)
            keeps = not violations(core, tree)
            kept, broken = kept + keeps, broken + (not keeps)
            assert live.admits(tree) == keeps, (seed, tree)
            assert (live.lowered.full_start(tree) is not None) == keeps, (seed, tree)
    assert min(kept, broken) >= 30 * SCALE


def test_both_answers_occur() -> None:
    """The comparison would be empty if nearly all trees were kept, or broken."""
    for kind in ATOMS:
        kept = broken = 0
        for seed in range(10):
            rng = random.Random(f"{kind} {seed}")
            core = tiny(rng, clauses=((kind,),))
            for tree in sampled(rng, core):
                evaluation = Evaluation(core, tree)
                if not evaluation.bad_splits:
                    keeps = all(evaluation.keeps(c) for c in core.clauses)
                    kept, broken = kept + keeps, broken + (not keeps)
        assert kept >= 10, kind
        assert broken >= 10, kind


def test_a_full_assignment_keeps_every_row_of_the_program_exactly() -> None:
    for seed in range(scaled(10)):
        rng = random.Random(f"full {seed}")
        core = tiny(rng, free_clauses=2)
        live = LoadedProgram(core)
        for tree in sampled(rng, core):
            point = live.lowered.full_start(tree)
            assert (point is not None) == (not violations(core, tree)), (seed, tree)


# ---- mutants: every lowering, once too loose and once too tight


@contextmanager
def shifted(owner: Any, method: str, loose: bool) -> Iterator[None]:
    """Move the sides of all rows that a method makes, by one, outwards or inwards."""
    inside = 0
    original, block, fix = getattr(owner, method), Program.block, Program.fix

    def mutant(*args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        inside += 1
        try:
            return original(*args, **kwargs)
        finally:
            inside -= 1

    def moved_block(self: Program, *args: Any, **kwargs: Any) -> None:
        if inside:
            low, high = kwargs["lower"], kwargs["upper"]
            kwargs["lower"] = np.where(low > -FREE, low - 1 if loose else low + 1, low)
            if loose or not (low == high).all():
                kwargs["upper"] = np.where(high < FREE, high + 1 if loose else high - 1, high)
            else:
                kwargs["upper"] = high + 1
        block(self, *args, **kwargs)

    def moved_fix(self: Program, column: int, value: int) -> None:
        if not (inside and loose):
            fix(self, column, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, mutant)
        patch.setattr(Program, "block", moved_block)
        patch.setattr(Program, "fix", moved_fix)
        yield


def kinds_of(*kinds: str) -> Callable[[random.Random], Core]:
    """Problems with a rule of one of the kinds, alone or beside another of its scope."""

    def make(rng: random.Random) -> Core:
        kind = rng.choice(kinds)
        scope = ATOMS[kind][0]
        others = [k for k in ATOMS if ATOMS[k][0] is scope]
        choices = [((kind,),), ((kind, rng.choice(others)),)]
        return tiny(rng, clauses=rng.choice(choices))

    return make


@cache
def optimum(seed: int) -> tuple[Core, tuple[Fraction, ...] | None]:
    """A problem and its least stage values by brute force, found once for all mutants."""
    core = tiny(random.Random(f"objective {seed}"), most_rows=8, stages=True)
    return core, best(core)


def wrong_optimum(core: Core, expected: tuple[Fraction, ...] | None) -> bool:
    """Whether a solve ends with another optimum than brute force, or with an alarm."""
    try:
        answer = Milp().solve(core, Limits())
    except RuntimeError:
        return True
    found = tuple(s.value for s in answer.stages) if answer.status == "optimal" else None
    return found != expected


MUTANTS: tuple[tuple[Any, str, Callable[[random.Random], Core]], ...] = (
    (clauses.Rules, "_used", kinds_of("used_path", "used_model")),
    (clauses.Rules, "_order", kinds_of("order")),
    (clauses.Rules, "_pair", kinds_of("order")),
    (clauses.Rules, "_root", kinds_of("root")),
    (clauses.Rules, "_depth", kinds_of("depth")),
    (clauses.Rules, "_budget", kinds_of("budget")),
    (clauses.Rules, "_payment", kinds_of("budget")),
    (clauses.Rules, "_linear", kinds_of("linear_model", "linear_leaf", "linear_split")),
    (clauses.Rules, "_link", kinds_of("link")),
    (clauses.Rules, "_path_total", kinds_of("path_total")),
    (charges.Charges, "_tests", kinds_of("path_total")),
    (charges.Charges, "_charged", kinds_of("path_total")),
    (monotone.FlowRules, "_monotone", kinds_of("monotone")),
    (monotone.FlowRules, "_not_falling", kinds_of("monotone")),
    (monotone.MonotoneParts, "_in_order", kinds_of("monotone")),
    (monotone.MonotoneParts, "_apart", kinds_of("monotone")),
    (monotone.MonotoneParts, "_never", kinds_of("monotone")),
    (monotone.MonotoneParts, "falls", kinds_of("monotone")),
    (pattern_flow.PatternFlow, "_reduced", kinds_of("depth")),
    (pattern_flow.PatternFlow, "_present", kinds_of("depth")),
    (pattern_flow.PatternFlow, "_shape", kinds_of("depth")),
    (pattern_flow.PatternFlow, "_hit_rows", kinds_of("linear_model", "linear_leaf")),
    (pattern_flow.PatternFlow, "_sides", kinds_of("linear_leaf")),
)


FIRST = {
    ("_in_order", True): 145,
    ("_present", True): 90,
    ("largest", True): 22,
    ("_depth", True): 37,
    ("keep", True): 32,
}
"""Mutants that few problems tell from the lowering: the seeds start near such a one."""


@pytest.mark.parametrize("loose", [True, False], ids=["loose", "tight"])
@pytest.mark.parametrize(("owner", "method", "make"), MUTANTS, ids=lambda x: str(x)[:30])
def test_a_mutant_of_a_lowering_is_caught(
    owner: Any, method: str, make: Callable[[random.Random], Core], loose: bool
) -> None:
    def caught(seed: int) -> bool:
        rng = random.Random(f"mutant {seed}")
        core = make(rng)
        with shifted(owner, method, loose):
            try:
                return difference(core, rng) is not None
            except (RuntimeError, AssertionError):
                return True

    first = FIRST.get((method, loose), 0)
    assert any(caught(seed) for seed in range(first, first + 150))


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (stages, "largest"),
        (stages, "_depth"),
        (lowering, "keep"),
        (pattern_flow.PatternFlow, "_labels"),
    ],
    ids=["largest", "depth", "keep", "labels"],
)
@pytest.mark.parametrize("loose", [True, False], ids=["loose", "tight"])
def test_a_mutant_of_an_objective_is_caught(owner: Any, method: str, loose: bool) -> None:
    def caught(seed: int) -> bool:
        core, expected = optimum(seed)
        with shifted(owner, method, loose):
            return wrong_optimum(core, expected)

    first = FIRST.get((method, loose), 0)
    assert any(caught(seed) for seed in range(first, first + 100))


def test_a_clause_without_literals_holds_only_over_nothing() -> None:

    for seed in range(10):
        rng = random.Random(f"empty {seed}")
        core = tiny(rng)
        for scope in Scope:
            never = replace(
                core, clauses=(Clause(scope=scope, literals=(), origin=Origin(rule="x")),)
            )
            assert difference(never, rng) is None
