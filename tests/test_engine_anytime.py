"""The anytime search of the engine, alone and beside the proof, against brute force."""

import numpy as np
import pytest
from engine_calls import solve
from engine_oracle import (
    INFINITE,
    brute_force,
    loss_table,
    narrow,
    random_problem,
    random_weights,
    rank_columns,
    tree_loss,
)
from scale import SCALE, scaled

INSTANCES = scaled(300)


@pytest.mark.parametrize("how", [{"method": "anytime"}, {"alone": 0}, {"alone": 0, "threads": 2}])
def test_the_anytime_search_alone_and_beside_the_proof(how):
    """What it finds is a tree of the loss that it says; beside the proof the optimum stays one."""
    rng = np.random.default_rng(13)
    proven = 0
    for seed in range(INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng)
        n = len(labels)
        depth = int(rng.integers(3, 7))
        weights = random_weights(rng, n)
        costs = None
        if rng.random() < 0.3:
            costs = rng.integers(0, 8, size=(classes, classes)).astype(np.int64)
        price = int(rng.integers(0, 9)) if rng.random() < 0.3 else 0
        least = int(rng.integers(1, n // 2 + 2)) if rng.random() < 0.3 else 1
        allowed = None
        if rng.random() < 0.2:
            allowed = [None if rng.random() < 0.3 else rng.random(d) < 0.5 for d in distinct]
        table = loss_table(labels, classes, weights, costs)
        result = solve(
            narrow(ranks),
            distinct,
            labels,
            classes,
            depth,
            weights=weights,
            costs=costs,
            leaf_price=price,
            allowed=allowed,
            min_leaf_rows=least,
            seed=seed,
            work_limit=20000,
            **how,
        )
        best = brute_force(ranks, table, depth, None, price, allowed, leaf_rows=least)
        if result.tree is None:
            assert n < least
            continue
        limits = {"max_depth": depth, "allowed": allowed, "leaf_rows": least}
        loss = tree_loss(result.tree, ranks, table, price=price, **limits)
        assert result.objective == loss >= best
        assert result.bound <= best
        proven += result.status == "optimal"
        assert result.status == "feasible" or loss == best
    assert proven > INSTANCES // 4


def test_what_priced_trees_of_many_levels_are_said_to_lose():
    """Subtrees of few splits stand at any height there, and moves ask what their halves lose."""
    for seed in range(1066, 1066 + scaled(80, least=8)):
        rng = np.random.default_rng(seed)
        n, p, classes = (int(rng.integers(*ends)) for ends in ((100, 500), (2, 6), (2, 4)))
        values, depth = int(rng.integers(5, 200)), int(rng.integers(5, 9))
        x = rng.integers(0, values, size=(n, p))
        signal = x[:, 0] * x[:, 1] / values + x[:, -1]
        signal += rng.normal(size=n) * values / float(rng.choice([2, 4, 10]))
        steps = np.quantile(signal, np.arange(1, classes) / classes)
        labels = np.digitize(signal, steps).astype(np.int32)
        price = int(rng.choice([1, 1, 2, 3, 5]))
        ranks, distinct = rank_columns(x)
        how = {"method": "anytime", "work_limit": 3_000_000, "seed": seed}
        result = solve(narrow(ranks), distinct, labels, classes, depth, leaf_price=price, **how)
        table = loss_table(labels, classes)
        assert result.objective == tree_loss(result.tree, ranks, table, price, depth)


@pytest.mark.parametrize("how", [{"method": "anytime"}, {"alone": 0}, {"alone": 0, "threads": 2}])
def test_the_anytime_search_under_limits(how):
    """Leaves at most, a feature that must be tested, an upper bound: kept by all that is found."""
    rng = np.random.default_rng(14)
    proven = missed = 0
    for seed in range(INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng, largest=10)
        n = len(labels)
        depth = int(rng.integers(3, 6))
        weights = random_weights(rng, n)
        price = int(rng.integers(0, 5)) if rng.random() < 0.3 else 0
        least = int(rng.integers(1, n // 2 + 2)) if rng.random() < 0.2 else 1
        leaves = int(rng.integers(1, 9)) if rng.random() < 0.7 else None
        must = int(rng.integers(0, len(ranks))) if rng.random() < 0.4 else None
        table = loss_table(labels, classes, weights)
        best = brute_force(ranks, table, depth, leaves, price, None, least, must)
        upper = int(best + rng.integers(-2, 3)) if rng.random() < 0.3 and best < INFINITE else None
        asked = (
            {}
            if must is None
            else {"must_column": must, "column": np.arange(len(ranks), dtype=np.int32)}
        )
        result = solve(
            narrow(ranks),
            distinct,
            labels,
            classes,
            depth,
            weights=weights,
            leaf_price=price,
            max_leaves=leaves,
            min_leaf_rows=least,
            upper_bound=upper,
            seed=seed,
            work_limit=20000,
            **asked,
            **how,
        )
        status = result.status
        proven += status == "optimal"
        if result.tree is None:
            missed += best <= (INFINITE - 1 if upper is None else upper)
            assert status == "unknown" or best > (INFINITE - 1 if upper is None else upper)
            continue
        loss = tree_loss(result.tree, ranks, table, price, depth, leaves, None, least, must)
        assert result.objective == loss >= best
        assert result.bound <= best
        assert upper is None or loss <= upper
        assert status == "feasible" or (status == "optimal" and loss == best)
    assert proven > INSTANCES // 5
    assert missed < INSTANCES // 20


def test_first_sketches_of_many_levels_end_soon_after_a_limit_and_lose_nothing():
    """Trees of fewer levels are sketched before. A limit of work falls within each of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 6)).round(2)
    signal = (x[:, 0] * x[:, 1] > 0) ^ (x[:, 2] > x[:, 3])
    labels = (signal ^ (rng.random(1500) < 0.3)).astype(np.int32)
    ranks, distinct = rank_columns(x)
    table = loss_table(labels, 2, None, None)
    between_looks = 200_000  # `Looks::kUsual`
    found = []
    for limit in range(1_000_000, 60_000_000, 4_000_000 if SCALE >= 1 else 12_000_000):
        answer = solve(ranks, distinct, labels, 2, 8, method="anytime", work_limit=limit)
        assert limit < answer.work < limit + 2 * between_looks
        assert answer.status == "feasible"
        assert answer.objective == tree_loss(answer.tree, ranks, table, max_depth=8)
        found.append(answer.objective)
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 3, "trees come one after the other"
