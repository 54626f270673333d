"""The exact back end against brute force over all trees, on tiny random problems.

`ODTDSL_SCALE=10` tries ten times the instances of a nightly run.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from milp_trees import best, few_trees, reduced_trees
from random_cores import errors_of, random_filter, random_rows, random_tree
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact.backend import Exact
from odtdsl.backends.exact.features import features
from odtdsl.backends.exact.lowering import smallest_without_loss
from odtdsl.backends.exact.raw_trees import from_raw, to_raw
from odtdsl.driver.choice import choose
from odtdsl.problem.ir.evaluate import Evaluation, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import build_families
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    DepthStage,
    Linear,
    LinearStage,
    Origin,
    SignedAtom,
    StageForm,
)
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawSplit, walk
from odtdsl.problem.ir.rows import Rows

HERE = Origin(rule="here")


def stages_of(rng: random.Random, rows: Rows) -> tuple[StageForm, ...]:
    ints = np.random.default_rng(rng.randrange(2**32))
    costs = ints.integers(0, 4, (rows.n_classes, rows.n_classes))
    errors = LinearStage(measure=errors_of(rows))
    costly = LinearStage(measure=Additive(output=costs[rows.labels], denominator=rng.randint(1, 3)))
    odd = LinearStage(
        measure=Additive(output=ints.integers(-2, 3, (rows.n_rows, rows.n_classes)), constant=3)
    )
    priced = LinearStage(
        measure=errors_of(rows) + Additive(leaves=rng.randint(1, 3), denominator=rng.randint(1, 4))
    )
    leaves = LinearStage(measure=Additive(leaves=2, constant=-1))
    return rng.choice(
        [
            (errors,),
            (costly,),
            (odd,),
            (priced,),
            (errors, leaves),
            (leaves, errors),
            (costly, odd, leaves),
            (DepthStage(), errors),
            (DepthStage(), leaves, errors),
            (DepthStage(), priced),
            (DepthStage(), leaves),
            (DepthStage(), leaves),
            (DepthStage(),),
        ]
    )


def clauses_of(rng: random.Random, rows: Rows) -> tuple[Clause, ...]:
    errors = errors_of(rows)
    found = []
    if rng.random() < 0.3:
        found.append(Linear(measure=Additive(leaves=2, constant=1), at_most=rng.randint(3, 9)))
    if rng.random() < 0.3:
        found.append(Linear(measure=errors, at_most=0))
    return tuple(
        Clause(scope=Scope.MODEL, literals=(SignedAtom(atom=atom),), origin=HERE) for atom in found
    )


def problem(rng: random.Random) -> Core:
    rows = random_rows(rng, n_rows=rng.randint(1, 9), n_classes=rng.randint(1, 3))
    depth = rng.choice([0, 1, 2, 2, 2])
    return Core(
        n_rows=rows.n_rows,
        n_classes=rows.n_classes,
        columns=tuple(f.name for f in rows.problem.features),
        families=build_families(rows.problem, rows.data),
        labels=rows.labels,
        skeleton=TreeSkeleton(depth=depth, leaves=rng.choice([None, None, 1, 2, 3])),
        filters=tuple(random_filter(rng, rows) for _ in range(rng.choice([0, 0, 1]))),
        clauses=clauses_of(rng, rows),
        objective=stages_of(rng, rows),
    )


def taken(core: Core) -> bool:
    return choose(core, "exact").name is not None


@pytest.mark.parametrize("block", range(scaled(10)))
def test_the_optimum_is_that_of_brute_force(block: int) -> None:
    solved = infeasible = 0
    for seed in range(100):
        rng = random.Random(f"exact {block} {seed}")
        core = problem(rng)
        while SCALE <= 1 and not few_trees(core):
            core = problem(rng)
        if not taken(core):
            continue
        start = random_tree(rng, core, 2) if rng.random() < 0.3 else None
        if start is not None and violations(core, start):
            start = None
        answer = Exact().solve(core, Limits(threads=rng.choice([1, 1, 2])), start, None)
        expected = best(core)
        if expected is None:
            assert answer.status == "infeasible", (block, seed)
            infeasible += 1
            continue
        assert answer.status == "optimal", (block, seed)
        assert answer.tree is not None
        assert not violations(core, answer.tree), (block, seed)
        assert tuple(o.value for o in answer.stages) == expected, (block, seed)
        assert all(o.proven and o.bound == o.value for o in answer.stages)
        evaluation = Evaluation(core, answer.tree)
        assert tuple(evaluation.stage_value(s) for s in core.objective) == expected
        solved += 1
    assert solved >= 20
    assert infeasible >= 1


def test_least_depth_without_error_is_that_of_brute_force() -> None:
    found = []
    for seed in range(scaled(60, least=12)):
        rng = random.Random(f"smallest {seed}")
        core = problem(rng)
        core = replace(
            core,
            clauses=(Clause(scope=Scope.MODEL, literals=(perfect(core),), origin=HERE),),
            objective=rng.choice([(DepthStage(),), (DepthStage(), COUNT)]),
            skeleton=TreeSkeleton(depth=2, leaves=None),
        )
        if not taken(core) or not smallest_without_loss(core, 2):
            continue
        answer, expected = Exact().solve(core, Limits(), None, None), best(core)
        assert answer.status == ("infeasible" if expected is None else "optimal"), seed
        assert expected is None or tuple(o.value for o in answer.stages) == expected, seed
        found.append(answer.status)
    assert found.count("optimal") >= 5 * SCALE
    assert found.count("infeasible") >= SCALE


COUNT = LinearStage(measure=Additive(leaves=2, constant=-1))


def perfect(core: Core) -> SignedAtom:
    assert core.labels is not None
    wrong = (np.arange(core.n_classes) != core.labels[:, None]).astype(np.int64)
    return SignedAtom(atom=Linear(measure=Additive(output=wrong), at_most=0))


def test_a_start_parts_its_rows_alike_by_cuts_that_may_stand() -> None:
    """Between two neighbouring values of a node there can be cuts that may not stand."""
    moved = shifted = 0
    for seed in range(scaled(60, least=40)):
        rng = random.Random(f"start {seed}")
        rows = random_rows(rng, n_rows=20)
        core = replace(
            problem(rng),
            n_rows=20,
            n_classes=2,
            labels=rows.labels,
            filters=(),
            clauses=(),
            columns=tuple(f.name for f in rows.problem.features),
            families=build_families(rows.problem, rows.data),
            skeleton=TreeSkeleton(depth=3, leaves=None),
        )
        found = features(core)
        for _ in range(400):
            tree = random_tree(rng, core)
            if violations(core, tree):
                continue
            arrays = from_raw(core, found, tree)
            assert arrays is not None, seed
            for feature, cut in zip(arrays.feature, arrays.cut, strict=True):
                allowed = found.allowed[feature] if feature >= 0 else None
                assert allowed is None or allowed[cut], seed
            back = to_raw(core, found, arrays)
            assert np.array_equal(Evaluation(core, back).leaf_of, Evaluation(core, tree).leaf_of)
            moved += back != tree
            tested = {node.family for node, _ in walk(tree) if isinstance(node, RawSplit)}
            shifted += any(core.families[f].missing == "left" for f in tested)
    assert moved >= 3
    assert shifted >= 5


def test_a_stopped_search_keeps_the_start_and_a_true_bound() -> None:
    for seed in range(scaled(40)):
        rng = random.Random(f"stopped {seed}")
        core = replace(problem(rng), clauses=())
        if not taken(core):
            continue
        valid = [t for t in reduced_trees(core) if not violations(core, t)]
        start = rng.choice(valid)
        answer = Exact().solve(core, Limits(interrupted=lambda: True), start, None)
        assert answer.tree is not None
        assert not violations(core, answer.tree)
        expected = best(core)
        assert expected is not None
        first = answer.stages[0]
        assert first.value is not None
        assert first.value >= expected[0]
        assert first.bound is not None
        assert first.bound <= expected[0]


def test_what_is_not_searched_is_refused_with_a_reason() -> None:
    rng = random.Random(1)
    rows = random_rows(rng, n_rows=6, n_classes=2)
    base = Core(
        n_rows=rows.n_rows,
        n_classes=rows.n_classes,
        columns=tuple(f.name for f in rows.problem.features),
        families=(),
        labels=rows.labels,
        skeleton=TreeSkeleton(depth=2, leaves=None),
        filters=(),
        clauses=(),
        objective=(LinearStage(measure=errors_of(rows)),),
    )
    wrong = Clause(
        scope=Scope.SPLIT,
        literals=(SignedAtom(atom=Linear(measure=errors_of(rows), at_most=1)),),
        origin=HERE,
    )
    huge = LinearStage(measure=errors_of(rows).scaled(Fraction(2**52)))
    for core in (replace(base, clauses=(wrong,)), replace(base, objective=(huge,))):
        (refusal,) = dict(choose(core, "exact").refusals)["exact"]
        assert refusal.reason


def test_labels_that_do_not_exist_are_never_predicted() -> None:
    """More kinds of rows than labels, of large weights: the losses of what fills up wrapped."""
    frame = {
        "c": list("ppqrrqprprrq"),
        "d": [1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1],
        "y": list("nyyyznzzzzzy"),
        "w": [999999, 1, 1, 10**6, 999999, 999999, 999999, 10**6, 10**6, 999999, 999999, 999999],
    }
    text = """
data frame
target y
weight w
group g = row in {0, 3, 4, 6, 7, 8, 9, 10, 11}
tree depth <= 1
maximize error_rate(g) then minimize error_rate + 0.005 * leaves
"""
    result = odtdsl.parse(text).solve(using="exact", frame=frame)
    assert result.status == "optimal"
    assert result.objective == (1, Fraction(181999899, 199999900))
