"""The CPTree study's model: the same trees and optima as pattern flow and brute force."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from milp_trees import ATOMS, SCALE, Live, best, depth_cap, reduced_trees, tiny
from random_cores import HERE

from odtdsl.backends.base import Limits
from odtdsl.diagnostics.model import OdtError
from odtdsl.ir.evaluate import stage_values, violations
from odtdsl.ir.families import Family
from odtdsl.ir.forms import Additive, Clause, Core, Form, Linear, LinearStage, PathTotal, SignedAtom
from odtdsl.ir.problem import TreeSkeleton
from odtdsl.milp import Milp
from odtdsl.milp.backend import refuse
from odtdsl.milp.search import lower
from odtdsl.milp.support import cptree_supports

KINDS = ("used_path", "order", "budget", "used_model", "linear_model", "linear_leaf", "link",
         "path_total")  # fmt: skip


def supported(rng: random.Random, kinds: tuple[str, ...]) -> Core:
    """A tiny problem that the study's model takes."""
    while True:
        core = tiny(rng, most_rows=7, clauses=tuple((kind,) for kind in kinds))
        if depth_cap(core) <= 2 and core.skeleton.leaves in (None, 2, 3):
            core = replace(core, skeleton=replace(core.skeleton, depth=depth_cap(core)))
            core = replace(core, clauses=tuple(_plain(clause) for clause in core.clauses))
            try:
                refuse(core, "cptree")
            except OdtError:
                continue
            return core


def _plain(clause: Clause) -> Clause:
    """The clause without weights on splits, which the study does not count."""
    (literal,) = clause.literals
    if not isinstance(literal.atom, Linear | PathTotal):
        return clause
    measure = replace(literal.atom.measure, columns=None)
    atom = replace(literal.atom, measure=measure)
    return replace(clause, literals=(SignedAtom(atom=atom),))


@pytest.mark.parametrize("kind", KINDS)
def test_it_admits_exactly_the_trees_that_keep_the_rules(kind: str) -> None:
    for seed in range(3 * SCALE):
        rng = random.Random(f"cptree {kind} {seed}")
        core = supported(rng, (kind,))
        live = Live(core, lower(core, depth_cap(core), 0, formulation="cptree"))
        trees = reduced_trees(core)
        for tree in rng.sample(trees, min(20, len(trees))):
            keeps = not violations(core, tree)
            assert live.admits(tree) == keeps, (kind, seed, tree)
            assert (live.lowered.full_start(tree) is not None) == keeps, (kind, seed, tree)


@pytest.mark.parametrize("first", range(0, 20 * SCALE, 5))
def test_its_optimum_is_that_of_brute_force(first: int) -> None:
    for seed in range(first, first + 5):
        rng = random.Random(f"cptree optimum {seed}")
        core = supported(rng, tuple(rng.sample(KINDS, rng.randint(0, 2))))
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
    cells = np.array([[i >> bit & 1 for i in range(8)] for bit in range(3)], dtype=np.int64)
    labels = cells[0] ^ cells[1]
    families = tuple(
        Family(
            column=bit, kind="equals", codes=codes, n_tests=1, values=np.array([0.0, 1.0])
        )
        for bit, codes in enumerate(cells)
    )  # fmt: skip
    output = np.ones((8, 2), dtype=np.int64)
    output[np.arange(8), labels] = 0
    for leaves, expected in ((2, 4), (3, 2), (4, 0)):
        core = Core(
            n_rows=8, n_classes=2, columns=("a", "b", "c"), families=families, labels=labels,
            skeleton=TreeSkeleton(depth=2, leaves=leaves), filters=(), clauses=(),
            objective=(LinearStage(measure=Additive(output=output)),),
        )  # fmt: skip
        answer = Milp("cptree").solve(core, Limits())
        assert answer.stages[0].value == expected


@pytest.mark.parametrize("kind", sorted(set(ATOMS) - set(KINDS)))
def test_what_the_study_does_not_have_is_refused_with_a_reason(kind: str) -> None:
    core = replace(tiny(random.Random(1), clauses=((kind,),)))
    with pytest.raises(OdtError) as caught:
        Milp("cptree").solve(core, Limits())
    assert all(d.code == "B102" and d.notes for d in caught.value.diagnostics)


def test_disjunctions_are_refused() -> None:
    support = cptree_supports(Form.ORDER, inside_or=True)
    assert support.level == "unsupported"
    assert "disjunction" in support.reason


def test_splits_by_feature_are_refused() -> None:
    core = tiny(random.Random(5))
    columns = np.ones(len(core.columns), dtype=np.int64)
    rule = Clause(
        scope=ATOMS["linear_model"][0], origin=HERE,
        literals=(SignedAtom(atom=Linear(measure=Additive(columns=columns), at_most=1)),),
    )  # fmt: skip
    with pytest.raises(OdtError, match="by feature"):
        Milp("cptree").solve(replace(core, clauses=(rule,)), Limits())
