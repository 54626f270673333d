"""The search that finds trees for number targets early, alone and beside the proof, by brute force.

`ODTDSL_SCALE=10` draws ten times the random problems of a nightly run.
"""

import math
import random

import numpy as np
import pytest
from engine_calls import same_tree, solve_outputs
from engine_oracle import narrow, rank_columns
from scale import SCALE, scaled
from test_engine_regression import (
    INSTANCES,
    LOSSES,
    brute_force,
    large_problem,
    random_limits,
    random_problem,
    solve,
    tree_loss,
)
from test_outputs_trees import RULES, least, random_frame, set_of, spec

import odtdsl
from odtdsl.base import _engine as engine

WAYS = pytest.mark.parametrize(
    "way",
    [{"method": "anytime"}, {"alone": 0}, {"alone": 0, "threads": 2}],
    ids=["alone", "turns", "threads"],
)
WORK = 20000


@LOSSES
@WAYS
def test_trees_are_what_they_say_and_proofs_stay(absolute, way):
    rng = np.random.default_rng(21)
    proven = closed = 0
    for seed in range(INSTANCES):
        ranks, distinct, y, weights = random_problem(rng)
        limits = random_limits(rng, distinct, y) | {"depth": int(rng.integers(3, 5))}
        w = np.ones(len(y)) if weights is None else weights
        best = brute_force(ranks, y, w, absolute=absolute, **limits)
        slack = 1e-9 * (float((w * np.abs(y)).sum() + 1e-6) + abs(best))
        heard: list[tuple[float, float]] = []
        result = solve(
            ranks,
            distinct,
            y,
            weights,
            limits,
            absolute=absolute,
            seed=seed,
            work_limit=WORK,
            progress=lambda value, *_, heard=heard: heard.append(value),
            **way,
        )
        value = tree_loss(result, ranks, y, w, absolute=absolute, **limits)
        assert result.objective == pytest.approx(value, abs=slack)
        assert value >= best - slack
        assert result.bound <= best + slack
        assert min(heard, default=best) >= best - slack
        if result.status == "optimal":
            proven += 1
            assert value <= best + slack
        closed += value <= best + slack
    assert closed > 0.95 * INSTANCES, "so small trees are found, too"
    assert proven > INSTANCES // 4 or "method" in way


def test_single_splits_of_the_proof_are_taken_with_what_their_sides_lose():
    """Such a tree came with all of its loss on one side, and a move there made it vanish."""
    x = np.array([[1, 1, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1, 0, 0, 0]]).T
    y = np.array([-1.6, -1.5, -0.7, -1.0, 1.3, 0.1, 0.2, 0.5, 0.6])
    weights = np.array([1.0, 3, 3, 0, 0, 3, 1, 2, 0])
    ranks, distinct = rank_columns(x)
    limits = {"depth": 4, "price": 0.8232222222222223}
    for seed in range(scaled(30)):
        result = solve(
            ranks, distinct, y, weights, limits, absolute=True, seed=seed, alone=0, work_limit=WORK
        )
        value = tree_loss(result, ranks, y, weights, absolute=True, **limits)
        assert result.objective == pytest.approx(value)
        assert min(value for _, value, _ in result.timeline) == pytest.approx(value)


@WAYS
def test_vectors_of_outputs_under_rules(way):
    rng = random.Random(22)
    closed = total = 0
    for seed in range(INSTANCES):
        frame, rules = random_frame(rng), RULES[seed % len(RULES)]
        loss = ("mse", "mse", "mse", "mae", "poisson")[seed % 5]
        depth, size = 3, rng.choice([1, 1, 2])
        if loss == "poisson" and rules:
            continue  # outputs of 0 may cost infinitely much
        found = set_of(spec(rules, loss, depth), frame)
        best = least(frame, found, loss, depth, size)
        targets = np.array([frame["y0"], frame["y1"]], dtype=float).T
        ranks, distinct = rank_columns(np.array([frame["a"], frame["b"]], dtype=float).T)
        kind = {"mse": "squared", "mae": "absolute", "poisson": "poisson"}[loss]
        result = solve_outputs(
            narrow(ranks),
            distinct,
            np.ascontiguousarray(targets),
            np.ones(2),
            found.native,
            depth,
            loss=kind,
            leaf_rows=size,
            seed=seed,
            work_limit=WORK,
            **way,
        )
        best *= targets.size
        slack = 1e-8 * (1 + best)
        total += 1
        assert math.isfinite(result.objective)
        assert result.objective >= best - slack
        assert result.bound <= best + slack
        assert result.status != "optimal" or result.objective <= best + slack
        closed += result.objective <= best + slack
    assert closed > 0.9 * total


@LOSSES
@WAYS
def test_stopped_anywhere_it_has_a_tree_and_a_bound(absolute, way):
    """By an interrupt at a look that is drawn among those of a whole run."""
    rng = np.random.default_rng(23)
    engine.look_every(8)
    try:
        for seed in range(INSTANCES // 3):
            ranks, distinct, y, weights = random_problem(rng)
            limits = random_limits(rng, distinct, y) | {"depth": 3}
            w = np.ones(len(y)) if weights is None else weights
            best = brute_force(ranks, y, w, absolute=absolute, **limits)
            slack = 1e-9 * (float((w * np.abs(y)).sum() + 1e-6) + abs(best))
            left = [int(rng.integers(0, 200))]

            def over(left=left):
                left[0] -= 1
                return left[0] < 0

            result = solve(
                ranks,
                distinct,
                y,
                weights,
                limits,
                absolute=absolute,
                seed=seed,
                interrupted=over,
                work_limit=WORK,
                **way,
            )
            assert result.bound <= best + slack
            if result.tree is None:
                assert result.status == "unknown"
                continue
            value = tree_loss(result, ranks, y, w, absolute=absolute, **limits)
            assert result.objective == pytest.approx(value, abs=slack)
            assert value >= best - slack
            assert result.status != "optimal" or value <= best + slack
    finally:
        engine.look_every(0)


@LOSSES
@pytest.mark.parametrize("leaves", [None, 7])
def test_the_same_seed_and_work_give_the_same_answer(absolute, leaves):
    ranks, distinct, y = large_problem(n=200, p=4)
    limits = {"depth": 5, "leaves": leaves}
    for method in ("anytime", "auto"):
        runs = [
            solve(
                ranks,
                distinct,
                y,
                None,
                limits,
                absolute=absolute,
                method=method,
                seed=3,
                work_limit=work,
                alone=100_000,
            )
            for work in (3_000_000, 3_000_000, 12_000_000)
        ]
        assert runs[0].work == runs[1].work
        assert same_tree(runs[0].tree, runs[1].tree)
        told = [[value for _, value, _ in run.timeline] for run in runs]
        assert told[0] == told[1] == told[2][: len(told[0])], "a longer limit goes on from there"
        assert told[0] == sorted(told[0], reverse=True)


@LOSSES
def test_no_worse_than_growth_by_the_best_splits(absolute):
    sklearn = pytest.importorskip("sklearn.tree")
    ranks, distinct, y = large_problem(n=300, p=6)
    criterion = "absolute_error" if absolute else "squared_error"
    before = math.inf
    for depth in range(3, 8, 1 if SCALE >= 1 else 2):
        grown = sklearn.DecisionTreeRegressor(
            max_depth=depth, criterion=criterion, random_state=0
        ).fit(ranks.T, y)
        error = np.abs(grown.predict(ranks.T) - y)
        result = solve(
            ranks,
            distinct,
            y,
            None,
            {"depth": depth},
            absolute=absolute,
            work_limit=30_000_000,
            alone=1_000_000,
        )
        share = 1 if depth < 5 else 0.85
        assert result.objective <= (error if absolute else error**2).sum() * share
        assert result.objective < before
        before = result.objective


def test_rows_without_a_tree_are_met_again():
    """Nothing was remembered of rows for which the rules admit no tree, and read as one."""
    frame = {"a": [3, 0.5, 0, 0.5, 1, 0.5], "y": [0.0, 1.0, 1.0, 5.0, 5.0, 0.0]}
    text = (
        "data frame target y: number tree depth <= 3 minimize mse rule one: forall leaf: size <= 1"
    )
    for using in ("exact", "milp"):
        assert odtdsl.solve(text, frame=frame, using=using).status == "infeasible"


@pytest.mark.parametrize("seed", range(scaled(60)))
def test_bounds_count_what_leaves_are_rewarded(seed):
    rng = random.Random(seed)
    n, names = rng.randint(3, 8), ["y", "z"][: rng.randint(1, 2)]
    columns = {f"c{k}": [float(rng.randint(0, 3)) for _ in range(n)] for k in range(2)}
    columns |= {name: [float(rng.randint(0, 3)) for _ in range(n)] for name in names}
    what = rng.choice(["mse - 1 * splits", "mse - 0.5 * leaves", "mae - 2 * nodes"])
    rule = rng.choice(["", "rule deep: depth >= 1", "rule rooted: root in {c0}"])
    model = odtdsl.parse(
        f"data frame target {', '.join(names)}: number tree depth <= 3 minimize {what} {rule}"
    )
    best = model.solve(frame=columns, using="exact")
    told = [at.bound for at in best.timeline if at.bound is not None]
    for seconds in (1e-6, 1e-3, 3e-3):
        found = model.solve(frame=columns, using="exact", within=seconds)
        told += [found.stages[0].bound] if found.stages else []
    if best.status == "infeasible":
        return
    assert best.status == "optimal"
    value = best.stages[0].value
    assert value is not None
    assert all(bound is None or bound <= value + 1e-9 for bound in told)
