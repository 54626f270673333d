"""The CPTree study's model: the same trees and optima as pattern flow and brute force."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from milp_trees import ATOMS, LoadedProgram, best, depth_cap, reduced_trees, tiny
from random_cores import HERE
from scale import blocks, scaled

from odtdsl.backends.base import Limits
from odtdsl.backends.milp import Milp
from odtdsl.backends.milp.formulation import formulation
from odtdsl.backends.milp.replicas.cptree import CpTree
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.evaluate import stage_values, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.forms import (
    Additive,
    Budget,
    Clause,
    Core,
    Linear,
    LinearStage,
    PathMeasure,
    PathTotal,
    SignedAtom,
    Used,
)
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit

KINDS = (
    "used_path",
    "order",
    "budget",
    "used_model",
    "linear_model",
    "linear_leaf",
    "link",
    "path_total",
)


def supported(rng: random.Random, *clauses: tuple[str, ...]) -> Core:
    """A tiny problem that the study's model takes."""
    while True:
        core = tiny(rng, most_rows=7, clauses=clauses)
        if depth_cap(core) <= 2 and core.skeleton.leaves in (None, 2, 3):
            core = replace(core, skeleton=replace(core.skeleton, depth=depth_cap(core)))  # type: ignore[arg-type]
            core = replace(core, clauses=tuple(_plain(clause) for clause in core.clauses))
            try:
                formulation("cptree").refuse(core)
            except OdtError:
                continue
            return core


def _plain(clause: Clause) -> Clause:
    """The clause without weights on splits, which the study does not count."""
    return replace(clause, literals=tuple(_plain_literal(x) for x in clause.literals))


def _plain_literal(literal: SignedAtom) -> SignedAtom:
    if not isinstance(literal.atom, Linear | PathTotal):
        return literal
    measure = replace(literal.atom.measure, columns=None)
    return SignedAtom(atom=replace(literal.atom, measure=measure))


PAIRS = tuple((a, b) for a in KINDS for b in KINDS if a <= b and ATOMS[a][0] is ATOMS[b][0])


@pytest.mark.parametrize("kind", [*((kind,) for kind in KINDS), *PAIRS], ids="-or-".join)
def test_it_admits_exactly_the_trees_that_keep_the_rules(kind: tuple[str, ...]) -> None:
    for seed in range(scaled(3 if len(kind) == 1 else 1)):
        rng = random.Random(f"cptree {kind} {seed}")
        core = supported(rng, kind)
        live = LoadedProgram(core, formulation("cptree").lower(core, depth_cap(core)))
        trees = reduced_trees(core)
        for tree in rng.sample(trees, min(20, len(trees))):
            keeps = not violations(core, tree)
            assert live.admits(tree) == keeps, (kind, seed, tree)
            assert (live.lowered.full_start(tree) is not None) == keeps, (kind, seed, tree)


@pytest.mark.parametrize("seeds", blocks(20, 5))
def test_its_optimum_is_that_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"cptree optimum {seed}")
        core = supported(rng, *((kind,) for kind in rng.sample(KINDS, rng.randint(0, 2))))
        priced = LinearStage(
            measure=core.objective[0].measure + Additive(leaves=rng.randint(0, 1), denominator=2)
        )
        core = replace(core, objective=(priced,))
        answer = Milp("cptree").solve(core, Limits())
        expected = best(core)
        if expected is None:
            assert answer.status == "infeasible", seed
            continue
        assert answer.status == "optimal", seed
        assert answer.tree is not None
        assert stage_values(core, answer.tree) == expected, seed
        assert Milp().solve(core, Limits()).stages == answer.stages


def test_overlapping_branches_are_no_tree() -> None:
    """As printed, (9) lets branches overlap, so that three leaves part what needs four."""
    for leaves, expected in ((2, 4), (3, 2), (4, 0)):
        answer = Milp("cptree").solve(cube(leaves=leaves), Limits())
        assert answer.stages[0].value == expected


def cube(*, leaves: int) -> Core:
    """Three binary features a, b, c; the label is a xor b."""
    cells = np.array([[i >> bit & 1 for i in range(8)] for bit in range(3)], dtype=np.int64)
    labels = cells[0] ^ cells[1]
    families = tuple(
        Family(column=bit, kind="equals", codes=codes, n_tests=1, values=np.array([0.0, 1.0]))
        for bit, codes in enumerate(cells)
    )
    output = np.ones((8, 2), dtype=np.int64)
    output[np.arange(8), labels] = 0
    return Core(
        n_rows=8,
        n_classes=2,
        columns=("a", "b", "c"),
        families=families,
        labels=labels,
        skeleton=TreeSkeleton(depth=2, leaves=leaves),
        filters=(),
        clauses=(),
        objective=(LinearStage(measure=Additive(output=output)),),
    )


def test_the_printed_exclusion_in_the_tree_forbids_one_feature_at_the_root() -> None:
    """Section 4.6 counts every branch: a root test of four leaves is 4, and at most 3 may be."""
    excluded = (0, 2)  # features a and c; the tree tests a, never c
    rule = Clause(
        scope=Scope.MODEL,
        origin=HERE,
        literals=tuple(SignedAtom(atom=Used(column=c), positive=False) for c in excluded),
    )
    ruled = replace(cube(leaves=4), clauses=(rule,))
    bottom = RawSplit(family=1, test=0, left=RawLeaf(label=0), right=RawLeaf(label=1))
    turned = replace(bottom, left=RawLeaf(label=1), right=RawLeaf(label=0))
    full = RawSplit(family=0, test=0, left=bottom, right=turned)
    live = LoadedProgram(ruled, formulation("cptree").lower(ruled, 2))
    encoding = live.lowered.encoding
    assert isinstance(encoding, CpTree)
    assert live.admits(full)
    assert LoadedProgram(ruled).admits(full)
    point = live.lowered.full_start(full)
    assert point is not None
    tests = [t for t, (f, _) in enumerate(encoding.tests) if f in excluded]
    assert int(point[encoding.q[:, :, tests]].sum()) == 4  # "at most 3"
    both = replace(full, right=replace(turned, family=2))
    assert violations(ruled, both)
    assert not live.admits(both)


def test_the_printed_test_costs_charge_every_bin() -> None:
    """Section 4.2 pays per test; here a feature pays once per path."""
    codes = np.array([0, 1, 2], dtype=np.int64)
    family = Family(
        column=0, kind="bin", codes=codes, n_tests=3, values=np.arange(4.0), bins=(0, 1, 2)
    )
    budget = Budget(measure=PathMeasure(per_test=(0,), once=(1,)), at_most=1)
    output = 1 - np.array([[1, 0], [0, 1], [1, 0]], dtype=np.int64)
    rule = Clause(scope=Scope.PATH, literals=(SignedAtom(atom=budget),), origin=HERE)
    core = Core(
        n_rows=3,
        n_classes=2,
        columns=("a",),
        families=(family,),
        labels=np.array([0, 1, 0]),
        skeleton=TreeSkeleton(depth=2, leaves=3),
        filters=(),
        clauses=(rule,),
        objective=(LinearStage(measure=Additive(output=output)),),
    )
    inner = RawSplit(family=0, test=1, left=RawLeaf(label=1), right=RawLeaf(label=0))
    tree = RawSplit(family=0, test=0, left=RawLeaf(label=0), right=inner)
    live = LoadedProgram(core, formulation("cptree").lower(core, 2))
    assert live.admits(tree)
    point = live.lowered.full_start(tree)
    assert point is not None
    encoding = live.lowered.encoding
    assert isinstance(encoding, CpTree)
    assert int(point[encoding.q].sum(axis=(1, 2, 3)).max()) == 2  # what 4.2 charges a branch


@pytest.mark.parametrize("kind", sorted(set(ATOMS) - set(KINDS)))
def test_what_the_study_does_not_have_is_refused_with_a_reason(kind: str) -> None:
    core = replace(tiny(random.Random(1), clauses=((kind,),)))
    with pytest.raises(OdtError) as caught:
        Milp("cptree").solve(core, Limits())
    assert all(d.code == "B102" and d.notes for d in caught.value.diagnostics)


def test_splits_by_feature_are_refused() -> None:
    core = tiny(random.Random(5))
    columns = np.ones(len(core.columns), dtype=np.int64)
    rule = Clause(
        scope=ATOMS["linear_model"][0],
        origin=HERE,
        literals=(SignedAtom(atom=Linear(measure=Additive(columns=columns), at_most=1)),),
    )
    with pytest.raises(OdtError, match="by feature"):
        Milp("cptree").solve(replace(core, clauses=(rule,)), Limits())
