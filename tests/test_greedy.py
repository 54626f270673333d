"""`greedy`: valid trees or `unknown`, deterministic, within limits, good enough to start from."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from random_cores import HERE, errors_of, random_rows, random_sample, random_tree
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import BackEnd, Limits, Progress
from odtdsl.backends.greedy import GreedyBackEnd
from odtdsl.backends.greedy.exhaustive import small_trees
from odtdsl.backends.greedy.local_search import settled
from odtdsl.problem.ir.evaluate import Evaluation, route, stage_values, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import Family, admissible, build_families
from odtdsl.problem.ir.filters import threshold_set
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    DepthStage,
    Form,
    Linear,
    LinearStage,
    Link,
    Order,
    Origin,
    PathMeasure,
    SignedAtom,
    SplitFilter,
    StageForm,
    Used,
)
from odtdsl.problem.ir.intervals import RealSet
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree, depth_of, walk


def all_trees(core: Core, depth: int) -> Iterator[RawTree]:
    """Every tree up to a depth, valid or not."""
    for label in range(core.n_classes):
        yield RawLeaf(label=label)
    if depth == 0:
        return
    below = list(all_trees(core, depth - 1))
    for index, family in enumerate(core.families):
        for test in range(family.n_tests):
            for left, right in itertools.product(below, below):
                yield RawSplit(family=index, test=test, left=left, right=right)


def solve(core: Core, start: RawTree | None = None, **limits: object):  # type: ignore[no-untyped-def]
    return GreedyBackEnd().solve(core, Limits(**limits), start, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_rules", [0, 1, 2, 3])
@pytest.mark.parametrize("block", range(scaled(4)))
def test_finds_valid_trees_where_there_are_some(n_rules: int, block: int) -> None:
    """Against all trees of tiny cores: never an invalid tree, nearly always the best value."""
    found = best_found = 0
    for seed in range(block * 15, block * 15 + (15 if SCALE >= 1 else 8)):
        rng = random.Random(seed)
        core = random_sample(rng, rules=n_rules, n_classes=2).core
        skeleton = TreeSkeleton(depth=rng.choice([1, 2]), leaves=core.skeleton.leaves)
        core = replace(core, skeleton=skeleton)
        if sum(family.n_tests for family in core.families) > 5:
            continue
        values = [
            stage_values(core, tree)
            for tree in all_trees(core, skeleton.depth)
            if not violations(core, tree)
        ]
        answer = solve(core)
        assert answer.status == ("feasible" if values else "unknown")
        if answer.tree is None:
            continue
        assert violations(core, answer.tree) == ()
        got = tuple(stage.value for stage in answer.stages)
        assert got == stage_values(core, answer.tree)
        assert got >= min(values)
        assert all(s.bound is None and not s.proven for s in answer.stages)
        found += 1
        best_found += got == min(values)
    assert best_found >= 0.8 * found


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_odd_inputs_never_raise(seed: int) -> None:
    rng = random.Random(1000 + seed)
    for n_rows, n_classes in ((1, 1), (2, 2), (5, 3), (30, 3)):
        core = random_sample(rng, n_rows=n_rows, n_classes=n_classes).core
        for changed in (core, replace(core, families=(), columns=core.columns)):
            answer = solve(changed)
            if answer.tree is None:
                assert answer.status == "unknown"
            else:
                assert answer.status == "feasible"
                assert violations(changed, answer.tree) == ()


@pytest.mark.parametrize("seed", range(scaled(6)))
def test_the_same_seed_gives_the_same_tree(seed: int) -> None:
    core = random_sample(random.Random(seed), n_rows=40, n_classes=3).core
    first, second = solve(core, seed=seed), solve(core, seed=seed)
    assert first.tree == second.tree
    assert first.stages == second.stages


def number_core(
    features: np.ndarray,
    labels: np.ndarray,
    *,
    depth: int | None,
    leaves: int | None = None,
    clauses: tuple[Clause, ...] = (),
    objective: tuple[StageForm, ...] | None = None,
    filters: tuple[SplitFilter, ...] = (),
) -> Core:
    families = []
    for index, column in enumerate(features.T):
        values = np.unique(column)
        codes = np.searchsorted(values, column).astype(np.int64)
        families.append(
            Family(
                column=index, kind="threshold", codes=codes, n_tests=len(values) - 1, values=values
            )
        )
    n_classes = int(labels.max()) + 1
    columns = tuple(f"x{index}" for index in range(features.shape[1]))
    return Core(
        n_rows=len(labels),
        n_classes=n_classes,
        columns=columns,
        families=tuple(families),
        labels=labels.astype(np.int64),
        skeleton=TreeSkeleton(depth=depth, leaves=leaves),
        filters=filters,
        clauses=clauses,
        objective=objective or (LinearStage(measure=wrong(labels, n_classes)),),
    )


def wrong(labels: np.ndarray, n_classes: int) -> Additive:
    output = np.ones((len(labels), n_classes), dtype=np.int64)
    output[np.arange(len(labels)), labels] = 0
    return Additive(output=output)


def rule(scope: Scope, atom: Atom, *, positive: bool = True) -> Clause:
    return Clause(scope=scope, literals=(SignedAtom(atom=atom, positive=positive),), origin=HERE)


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    data = load_iris()
    return data.data, data.target


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return data.data, data.target


def value(core: Core) -> Fraction:
    answer = solve(core)
    assert answer.tree is not None
    assert violations(core, answer.tree) == ()
    found = answer.stages[0].value
    assert found is not None
    return found


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_is_no_worse_than_cart(cancer: tuple[np.ndarray, np.ndarray], depth: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    features, labels = cancer
    cart = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(features, labels)
    assert value(number_core(features, labels, depth=depth)) <= int(
        (cart.predict(features) != labels).sum()
    )


def test_pays_for_leaves(cancer: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = cancer
    priced = LinearStage(measure=wrong(labels, 2) + Additive(leaves=20))
    answer = solve(number_core(features, labels, depth=4, objective=(priced,)))
    assert answer.tree is not None
    assert 2 <= sum(isinstance(node, RawLeaf) for node, _ in walk(answer.tree)) <= 4


def test_pays_for_leaves_in_units_of_the_target_that_is_asked_for() -> None:
    frame = {"a": [0, 0, 1, 1], "t": [1, 2, 3, 4], "u": [5.0, 5.0, 6.0, 6.0]}
    for price, leaves in ((0.2, 2), (0.3, 1)):
        text = f"data frame target t, u: number tree depth <= 1 minimize mse(u) + {price} * leaves"
        for using in ("greedy", "auto"):
            assert odtdsl.parse(text).solve(frame=frame, using=using).model.n_leaves == leaves


def test_weighs_losses_not_errors(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Where a missed class 2 costs 50, no leaf with one predicts another class."""
    features, labels = iris
    cost = wrong(labels, 3).output
    assert cost is not None
    cost = np.where((labels == 2)[:, None], 50 * cost, cost)
    core = number_core(
        features, labels, depth=2, objective=(LinearStage(measure=Additive(output=cost)),)
    )
    answer = solve(core)
    assert answer.tree is not None
    assert (Evaluation(core, answer.tree).predicted[labels == 2] == 2).all()


def test_least_depth_then_least_leaves_without_errors(
    iris: tuple[np.ndarray, np.ndarray],
) -> None:
    features, labels = iris
    pure = rule(Scope.MODEL, Linear(measure=wrong(labels, 3), at_most=0))
    core = number_core(
        features,
        labels,
        depth=None,
        clauses=(pure,),
        objective=(DepthStage(), LinearStage(measure=Additive(leaves=1))),
    )
    answer = solve(core)
    assert answer.tree is not None
    assert depth_of(answer.tree) <= 6
    assert violations(core, answer.tree) == ()


def rates_rule(labels: np.ndarray, rows: np.ndarray, at_most: int) -> Clause:
    """At most so many of the rows are predicted as class 1."""
    output = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.int64)
    output[rows, 1] = 1
    return rule(Scope.MODEL, Linear(measure=Additive(output=output), at_most=at_most))


ONES = np.ones(150, dtype=np.int64)


@pytest.mark.parametrize(
    "clause",
    [
        rule(Scope.PATH, Order(here=0, above=1)),
        rule(Scope.PATH, Order(here=2, above=3, absent=True), positive=False),
        rule(Scope.PATH, Used(column=0)),
        rule(Scope.MODEL, Used(column=1)),
        rule(Scope.MODEL, Used(column=2), positive=False),
        rule(Scope.LEAF, Linear(measure=Additive(rows=-ONES), at_most=-30)),
        rule(Scope.LEAF, Linear(measure=Additive(rows=ONES), at_most=60)),
        rule(Scope.SPLIT, Linear(measure=Additive(rows=-ONES), at_most=-90)),
        rule(
            Scope.PATH,
            Budget(measure=PathMeasure(per_test=(1, 1, 5, 5), once=(0, 0, 0, 0)), at_most=6),
        ),
        rule(Scope.MODEL, Link(first=0, second=149)),
        rule(Scope.MODEL, Link(first=55, second=56), positive=False),
    ],
)
def test_keeps_each_kind_of_rule(iris: tuple[np.ndarray, np.ndarray], clause: Clause) -> None:
    features, labels = iris
    positive = replace(clause)
    assert value(number_core(features, labels, depth=3, clauses=(positive,))) <= 60


def test_flips_labels_to_meet_a_rate(cancer: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = cancer
    few = rates_rule(labels, np.arange(len(labels)), 200)
    assert value(number_core(features, labels, depth=3, clauses=(few,))) <= 180


def test_thresholds_in_a_filter_at_the_root(iris: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = iris
    filters = tuple(
        SplitFilter(column=c, levels=(0,), allowed=RealSet.points([2.0]), origin=Origin(rule="r"))
        for c in range(4)
    )
    core = number_core(features, labels, depth=2, filters=filters)
    answer = solve(core)
    assert answer.tree is not None
    assert violations(core, answer.tree) == ()
    assert isinstance(answer.tree, RawSplit)
    family = core.families[answer.tree.family]
    assert admissible(family, threshold_set(family, filters, 0))[answer.tree.test]


def test_a_start_is_never_lost(iris: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = iris
    core = number_core(features, labels, depth=2)
    start = solve(core, seed=5).tree
    answer = solve(core, start, deadline=time.monotonic() - 1)
    assert answer.tree is not None
    assert stage_values(core, answer.tree) == stage_values(core, start)


def test_stops_when_asked(cancer: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = cancer
    core = number_core(features, labels, depth=3)
    answer = solve(core, interrupted=lambda: True)
    assert answer.interrupted
    started = time.monotonic()
    solve(core, deadline=started + 0.05)
    assert time.monotonic() - started < 8  # a runaway, not a measurement


def test_reports_each_incumbent_better_than_the_last(
    iris: tuple[np.ndarray, np.ndarray],
) -> None:
    told: list[Progress] = []
    answer = GreedyBackEnd().solve(number_core(*iris, depth=3), Limits(), None, told.append)
    values = [progress.incumbent for progress in told]
    assert tuple(told) == answer.timeline
    assert values == sorted(values, reverse=True)
    assert len(values) >= 2
    assert all(progress.bound is None for progress in told)


def test_what_it_does_not_grow_is_unknown_and_said() -> None:
    back_end: BackEnd = GreedyBackEnd()
    core = replace(random_sample(random.Random(0), rules=0).core)
    skeleton = TreeSkeleton(depth=2, leaves=None, splits="hyperplane")
    (objection,) = back_end.objections(replace(core, skeleton=skeleton))
    assert "`greedy`" in objection.reason
    assert back_end.supports(Form.ORDER, inside_or=True).level == "exact"


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_settled_trees_use_tests_that_all_rows_admit(seed: int) -> None:
    rng = random.Random(seed)
    tried = 0
    while tried < 25:
        core = random_sample(rng, rules=0).core
        raw = random_tree(rng, core, 3)
        if isinstance(raw, RawLeaf) or Evaluation(core, raw).bad_splits:
            continue
        tried += 1
        moved = settled(core, raw)
        assert route(core, moved).tolist() == route(core, raw).tolist()
        for node, level in walk(moved):
            if isinstance(node, RawSplit):
                family = core.families[node.family]
                assert admissible(family, threshold_set(family, core.filters, level))[node.test]


def test_small_trees_are_all_trees_of_a_depth() -> None:
    rng = random.Random(2)
    while True:
        rows = random_rows(rng, n_rows=4)
        families = build_families(rows.problem, rows.data)
        if sum(family.n_tests for family in families) == 2:
            break
    core = Core(
        n_rows=4,
        n_classes=2,
        columns=("f",) * len(rows.problem.features),
        families=families,
        labels=rows.labels,
        skeleton=TreeSkeleton(depth=2, leaves=None),
        filters=(),
        clauses=(),
        objective=(LinearStage(measure=errors_of(rows)),),
    )
    listed = set(small_trees(core, 2))
    assert listed == {tree for tree in all_trees(core, 2) if not isinstance(tree, RawLeaf)}


def test_labels_that_no_rule_and_no_stage_asks_for() -> None:
    """The root decides the rule, the depth the objective: no flip of a label has a table."""
    frame = {"a": [1, 2, 3, 4, 1, 2], "b": [1, 1, 2, 2, 1, 2], "y": list("nynyyn")}
    text = """
data frame
target y
tree depth <= 2
minimize depth
rule first: root in {a} or accuracy >= 50%
"""
    result = odtdsl.parse(text).solve(using="greedy", frame=frame)
    assert result.audit is not None
    assert result.audit.holds


@pytest.mark.parametrize(
    "stage",
    [
        "errors + 1e310 * leaves",
        "1e-310 * errors + leaves",
        "errors rule r: errors * 1e-310 + leaves <= 5e-310",
    ],
)
def test_coefficients_beyond_all_floats_count_as_large(stage: str) -> None:
    """Specs may have numbers of 400 digits."""
    frame = {"x": [0, 1, 2, 3] * 3, "y": ["u", "u", "v", "v"] * 3}
    text = f"data frame target y tree depth <= 2 minimize {stage}"
    found = odtdsl.parse(text).solve(frame=frame, using="greedy")
    assert (found.tree is None) == ("rule" in stage)
