"""The engine against brute force on random tiny problems, and its kernels against one another."""

import itertools

import numpy as np
import pytest
from engine_calls import same_tree, solve
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
from scale import scaled

from odtdsl.base import _engine as engine

INSTANCES = scaled(300)
SETS = engine.instruction_sets()
METHODS = ["sorted", "bitset", "counts"]
"""The last two where they suit a problem, else scans."""


def check(result, best, ranks, table, **limits):
    assert result.status == "optimal"
    assert result.objective == best
    assert result.bound == best
    assert tree_loss(result.tree, ranks, table, **limits) == best


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize("method", METHODS)
def test_errors(isa, method):
    rng = np.random.default_rng(1)
    for _ in range(INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng)
        depth = int(rng.integers(0, 7))
        r = ranks if rng.random() < 0.3 else narrow(ranks)
        table = loss_table(labels, classes)
        result = solve(r, distinct, labels, classes, depth, isa=isa, method=method)
        check(result, brute_force(ranks, table, depth), ranks, table, max_depth=depth)


@pytest.mark.parametrize("method", METHODS)
def test_weights_costs_prices_and_leaves(method):
    rng = np.random.default_rng(2)
    for _ in range(2 * INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng, largest=10)
        depth = int(rng.integers(0, 6))
        weights = random_weights(rng, len(labels))
        costs = (
            rng.integers(0, 8, size=(classes, classes)).astype(np.int64)
            if rng.random() < 0.4
            else None
        )
        price = int(rng.integers(0, 9)) if rng.random() < 0.5 else 0
        leaves = int(rng.integers(1, 2**depth + 2)) if rng.random() < 0.5 else None
        allowed = None
        if rng.random() < 0.3:
            allowed = [None if rng.random() < 0.3 else rng.random(d) < 0.5 for d in distinct]
        threads = 2 if rng.random() < 0.2 else 1
        # room neither for pairs of features nor for a cache
        memory = 1 if rng.random() < 0.2 else None
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
            max_leaves=leaves,
            allowed=allowed,
            threads=threads,
            method=method,
            memory_limit=memory,
            isa=SETS[int(rng.integers(len(SETS)))],
        )
        best = brute_force(ranks, table, depth, leaves, price, allowed)
        check(
            result,
            best,
            ranks,
            table,
            price=price,
            max_depth=depth,
            max_leaves=leaves,
            allowed=allowed,
        )


@pytest.fixture
def looking():
    """Searches look at the clock often, and each look is a second."""
    engine.look_every(1)
    yield
    engine.look_every(0)


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_bounds_of_stopped_searches(method, looking):
    """Wherever a search is stopped, all that it told of the optimum is true."""
    rng = np.random.default_rng(17)
    between = 0
    for seed in range(INSTANCES):
        n, classes = int(rng.integers(8, 15)), int(rng.integers(2, 4))
        ranks, distinct = rank_columns(rng.integers(0, 5, size=(n, int(rng.integers(1, 4)))))
        labels = rng.integers(0, classes, size=n).astype(np.int32)
        depth = int(rng.integers(3, 5))
        weights = random_weights(rng, n)
        if (
            weights is None and rng.random() < 0.7
        ):  # so large that a part of a loss is refuted first
            weights = rng.integers(1, 99, size=n).astype(np.int64)
        costs = rng.integers(0, 8, (classes, classes)) if rng.random() < 0.3 else None
        price = int(rng.integers(0, 9)) if rng.random() < 0.3 else 0
        least = int(rng.integers(1, n // 3 + 2)) if rng.random() < 0.3 else 1
        leaves = int(rng.integers(2, 2**depth)) if rng.random() < 0.3 else None
        table = loss_table(labels, classes, weights, costs)
        best = brute_force(ranks, table, depth, leaves, price, leaf_rows=least)
        if best >= INFINITE:
            continue
        result = solve(
            narrow(ranks),
            distinct,
            labels,
            classes,
            depth,
            weights=weights,
            costs=costs,
            leaf_price=price,
            max_leaves=leaves,
            min_leaf_rows=least,
            seed=seed,
            method=method,
            time_limit=float(rng.integers(1, 30)),
        )
        assert result.bound <= best
        assert result.objective is None or result.objective >= best
        if result.status == "optimal":
            assert result.objective == result.bound == best
        told = [(value, bound) for _, value, bound in result.timeline]
        assert all(bound <= best <= value for value, bound in told)
        assert all(
            late[0] <= early[0] and late[1] >= early[1] for early, late in itertools.pairwise(told)
        )
        between += 0 < result.bound < best
    assert between > INSTANCES // 20


def test_bounds_that_move_are_true(looking):
    """Sets too large for brute force: the optimum is that of a search that is not stopped."""
    rng = np.random.default_rng(1)
    between = 0
    for _ in range(max(3, INSTANCES // 8)):
        ranks, distinct = rank_columns(rng.integers(0, 25, size=(40, 2)))
        labels = rng.integers(0, 2, size=40).astype(np.int32)
        weights = rng.integers(1, 99, size=40).astype(np.int64)
        asked = (narrow(ranks), distinct, labels, 2, 4)
        best = solve(*asked, weights=weights, method="sorted").objective
        for looks in (50, 100, 150, 200, 300, 400):
            stopped = solve(*asked, weights=weights, method="sorted", time_limit=float(looks))
            told = [bound for _, _, bound in stopped.timeline]
            assert max([*told, stopped.bound]) <= best
            between += 0 < stopped.bound < best
    assert between > INSTANCES // 8


def test_remembered_boxes_and_leaves_of_a_least_size():
    """What is proven of rows of which some are idle is not remembered for all of them."""
    first = [8, 1, 11, 6, 15, 16, 0, 2, 0, 13, 5, 0, 8, 16, 16, 0, 16]
    second = [10, 7, 5, 10, 11, 16, 13, 14, 16, 12, 0, 0, 11, 15, 16, 6, 14]
    ranks, distinct = rank_columns(np.array([first, second]).T)
    labels = np.array([3, 2, 0, 0, 1, 3, 0, 3, 2, 1, 3, 3, 1, 3, 2, 2, 0], dtype=np.int32)
    asked = {"leaf_price": 1, "min_leaf_rows": 2, "beside": False, "method": "sorted"}
    best = brute_force(ranks, loss_table(labels, 4), 4, None, 1, leaf_rows=2)
    result = solve(narrow(ranks), distinct, labels, 4, 4, **asked)
    assert result.status == "optimal"
    assert result.objective == result.bound == best == 9


@pytest.mark.parametrize("isa", SETS)
def test_leaves_of_a_least_size(isa):
    rng = np.random.default_rng(12)
    infeasible = 0
    for _ in range(3 * INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng)
        n = len(labels)
        least = (
            int(rng.integers(1, n + 2)) if rng.random() < 0.1 else int(rng.integers(1, n // 2 + 2))
        )
        depth = int(rng.integers(0, 5))
        weights = random_weights(rng, n) if rng.random() < 0.4 else None
        price = int(rng.integers(0, 9)) if rng.random() < 0.3 else 0
        leaves = int(rng.integers(1, 2**depth + 2)) if rng.random() < 0.4 else None
        allowed = None
        if rng.random() < 0.2:
            allowed = [None if rng.random() < 0.3 else rng.random(d) < 0.5 for d in distinct]
        table = loss_table(labels, classes, weights)
        result = solve(
            ranks if rng.random() < 0.3 else narrow(ranks),
            distinct,
            labels,
            classes,
            depth,
            weights=weights,
            leaf_price=price,
            max_leaves=leaves,
            allowed=allowed,
            min_leaf_rows=least,
            threads=2 if rng.random() < 0.1 else 1,
            isa=isa,
            memory_limit=1 if rng.random() < 0.2 else None,
        )
        best = brute_force(ranks, table, depth, leaves, price, allowed, least)
        if best >= INFINITE:
            infeasible += 1
            assert result.status == "infeasible"
            continue
        check(
            result,
            best,
            ranks,
            table,
            price=price,
            max_depth=depth,
            max_leaves=leaves,
            allowed=allowed,
            leaf_rows=least,
        )
    assert 0 < infeasible < INSTANCES


@pytest.mark.parametrize("isa", SETS[1:])
def test_kernels_agree_on_larger_sets(isa):
    """Sizes where blocks of 64 rows, ties and the tails of registers matter."""
    rng = np.random.default_rng(3)
    for trial in range(scaled(100, least=40)):
        n = int(rng.integers(20, 1500))
        p = int(rng.integers(1, 5))
        classes = int(rng.choice([2, 2, 3, 7, 9, 16, 20]))
        x = rng.integers(0, int(rng.choice([3, 30, 5000])), size=(n, p))
        labels = (
            (x.sum(axis=1) // 3 + (rng.random(n) < 0.3) * rng.integers(0, classes, n)) % classes
        ).astype(np.int32)
        ranks, distinct = rank_columns(x)
        depth = 2 if n > 400 else 3
        weights = rng.integers(0, 9, size=n) if rng.random() < 0.3 else None
        if weights is not None and rng.random() < 0.3:
            weights *= 10**8  # sums beyond 32 bits
        costs = rng.integers(0, 7, size=(classes, classes)) if rng.random() < 0.3 else None
        losses = {"weights": weights, "costs": costs, "method": "sorted"}
        if rng.random() < 0.4:
            losses["min_leaf_rows"] = int(rng.integers(1, n // 5))
        wide = bool(rng.random() < 0.3)
        r = ranks if wide else narrow(ranks)
        base = solve(r, distinct, labels, classes, depth, isa="portable", **losses)
        other = solve(r, distinct, labels, classes, depth, isa=isa, **losses)
        assert base.status == other.status == "optimal", trial
        assert base.objective == other.objective, (trial, n, p, classes)
        table = loss_table(labels, classes, weights, costs)
        assert tree_loss(other.tree, ranks, table, max_depth=depth) == other.objective


def test_smallest_tree_without_error():
    rng = np.random.default_rng(4)
    for _ in range(2 * INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng, largest=10)
        table = loss_table(labels, classes)
        deepest = int(rng.integers(0, 7))
        memory = 2000 if rng.random() < 0.2 else None
        options = {"smallest": True, "memory_limit": memory, "alone": 0}
        result, *more = (
            solve(ranks, distinct, labels, classes, deepest, threads=threads, **options)
            for threads in (1, 2, 3)
        )
        for other in more:
            assert other.status == result.status
            assert other.bound == result.bound
            assert same_tree(other.tree, result.tree)
        depth = next((d for d in range(deepest + 1) if brute_force(ranks, table, d) == 0), None)
        if depth is None:
            assert result.status == "infeasible"
            assert result.tree is None
            continue
        leaves = next(k for k in range(1, 2**depth + 1) if brute_force(ranks, table, depth, k) == 0)
        assert result.status == "optimal"
        assert result.objective == result.bound == leaves
        assert tree_loss(result.tree, ranks, table, max_depth=depth, max_leaves=leaves) == 0


@pytest.mark.parametrize("method", METHODS)
def test_two_threads_answer_alike(method):
    """Same optimum as one thread, and the same tree from run to run."""
    rng = np.random.default_rng(5)
    for _ in range(scaled(15, least=2)):
        n, p, depth = 150, 5, 4
        x = rng.integers(0, 12, size=(n, p))
        labels = rng.integers(0, 3, size=n).astype(np.int32)
        ranks, distinct = rank_columns(x)
        one = solve(narrow(ranks), distinct, labels, 3, depth, method=method)
        runs = [
            solve(narrow(ranks), distinct, labels, 3, depth, method=method, threads=2)
            for _ in range(3)
        ]
        for run in runs:
            assert run.status == one.status == "optimal"
            assert run.objective == one.objective
            assert same_tree(run.tree, runs[0].tree)


@pytest.mark.parametrize("method", METHODS)
def test_limits_and_gaps(method):
    rng = np.random.default_rng(6)
    x = rng.integers(0, 40, size=(600, 9))
    labels = rng.integers(0, 3, size=600).astype(np.int32)
    ranks, distinct = rank_columns(x)
    table = loss_table(labels, 3)
    stopped = solve(narrow(ranks), distinct, labels, 3, 5, time_limit=0.1, method=method)
    assert stopped.status == "feasible"
    assert stopped.seconds < 8.0  # a runaway; the benchmark measures it
    assert stopped.bound <= stopped.objective
    assert tree_loss(stopped.tree, ranks, table, max_depth=5) == stopped.objective
    heard = []
    exact = solve(
        narrow(ranks), distinct, labels, 3, 2, method=method, progress=lambda *a: heard.append(a)
    )
    assert heard
    assert heard[-1][0] == exact.objective
    best = exact.objective
    none = solve(narrow(ranks), distinct, labels, 3, 2, upper_bound=best - 1, method=method)
    assert none.status == "infeasible"
    assert none.tree is None
    same = solve(narrow(ranks), distinct, labels, 3, 2, upper_bound=best, method=method)
    assert same.status == "optimal"
    assert same.objective == best
    close = solve(narrow(ranks), distinct, labels, 3, 3, absolute_gap=40, method=method)
    assert close.objective - close.bound <= 40
    assert close.status == ("optimal" if close.objective == close.bound else "feasible")


@pytest.mark.parametrize("method", METHODS)
def test_gaps_hold(method):
    """What is found lies within the gap of what is proven, and the optimum between them."""
    rng = np.random.default_rng(11)
    for _ in range(INSTANCES):
        ranks, distinct, labels, classes = random_problem(rng)
        costs = (
            rng.integers(0, 8, size=(classes, classes)).astype(np.int64)
            if rng.random() < 0.3
            else None
        )
        depth = int(rng.integers(2, 6))
        gap = {"absolute_gap": int(rng.integers(0, 4)), "relative_gap": float(rng.random() / 2)}
        upper = int(rng.integers(0, 12)) if rng.random() < 0.3 else None
        table = loss_table(labels, classes, None, costs)
        best = brute_force(ranks, table, depth)
        result = solve(
            narrow(ranks),
            distinct,
            labels,
            classes,
            depth,
            costs=costs,
            method=method,
            upper_bound=upper,
            threads=int(rng.integers(1, 3)),
            **gap,
        )
        if upper is not None and best > upper:
            assert result.status == "infeasible"
            continue
        value = result.objective
        assert tree_loss(result.tree, ranks, table, max_depth=depth) == value
        assert result.bound <= best <= value
        allowed = max(gap["absolute_gap"], gap["relative_gap"] * value)
        assert value - result.bound <= allowed
        assert result.status == ("optimal" if value == result.bound else "feasible")


@pytest.mark.parametrize("gap", [0.55, 0.7, 0.8, 0.99])
def test_wide_gaps_end_the_search(gap, looking):
    """A gap wider than the part of the loss that is refuted first leaves nothing to refute."""
    rng = np.random.default_rng(5)
    ranks, distinct = rank_columns(rng.normal(size=(300, 4)))
    labels = rng.integers(0, 2, 300).astype(np.int32)
    asked = {"relative_gap": gap, "time_limit": 1e5, "beside": False, "method": "sorted"}
    result = solve(narrow(ranks), distinct, labels, 2, 4, **asked)
    assert 0 <= result.objective - result.bound <= gap * result.objective
    assert result.seconds < 1e5


def test_bounds_and_incumbents_are_told_in_order():
    rng = np.random.default_rng(12)
    x = rng.integers(0, 60, size=(700, 8))
    labels = rng.integers(0, 3, size=700).astype(np.int32)
    ranks, distinct = rank_columns(x)
    heard = []
    result = solve(
        narrow(ranks),
        distinct,
        labels,
        3,
        4,
        method="sorted",
        time_limit=0.5,
        progress=lambda value, bound, seconds, _found: heard.append((value, bound, seconds)),
    )
    assert len(heard) == len(result.timeline)
    for before, after in itertools.pairwise(heard):
        assert after[0] <= before[0]
        assert after[1] >= before[1]
        assert after[2] >= before[2]
        assert after[:2] != before[:2]
    assert heard[-1][0] == result.objective
    assert heard[-1][1] <= result.bound


def test_the_memory_limit_bounds_the_cache():
    rng = np.random.default_rng(14)
    ranks, distinct = rank_columns(rng.integers(0, 2, size=(160, 17)))
    labels = rng.integers(0, 2, size=160).astype(np.int32)
    free = solve(narrow(ranks), distinct, labels, 2, 6, method="bitset")
    tight = solve(narrow(ranks), distinct, labels, 2, 6, method="bitset", memory_limit=20_000)
    assert free.status == tight.status == "optimal"
    assert free.objective == tight.objective
    assert free.counters["cache_entries"] > 400 > 200 > tight.counters["cache_entries"]


@pytest.mark.parametrize("method", METHODS)
def test_start_tree(method):
    rng = np.random.default_rng(8)
    for _ in range(INSTANCES // 5):
        ranks, distinct, labels, classes = random_problem(rng)
        table = loss_table(labels, classes)
        depth = int(rng.integers(1, 5))
        start = solve(
            narrow(ranks), distinct, labels, classes, int(rng.integers(0, depth + 1)), method=method
        ).tree
        result = solve(narrow(ranks), distinct, labels, classes, depth, start=start, method=method)
        check(result, brute_force(ranks, table, depth), ranks, table, max_depth=depth)
    # a limit that strikes at once leaves the start tree
    x = rng.integers(0, 40, size=(600, 9))
    labels = rng.integers(0, 3, size=600).astype(np.int32)
    ranks, distinct = rank_columns(x)
    first = solve(narrow(ranks), distinct, labels, 3, 3, method="sorted")
    again = solve(
        narrow(ranks), distinct, labels, 3, 5, start=first.tree, time_limit=0.0, method=method
    )
    assert again.status == "feasible"
    assert again.objective <= first.objective


@pytest.mark.parametrize("method", METHODS)
def test_interrupts_give_the_best_tree_so_far(method):
    import _thread
    import threading

    rng = np.random.default_rng(9)
    x = rng.integers(0, 40, size=(800, 9))
    labels = rng.integers(0, 3, size=800).astype(np.int32)
    ranks, distinct = rank_columns(x)
    table = loss_table(labels, 3)
    for delay in rng.uniform(0.05, 0.3, size=scaled(5, least=2)):
        timer = threading.Timer(delay, _thread.interrupt_main)
        timer.start()
        result = solve(narrow(ranks), distinct, labels, 3, 6, method=method, time_limit=20)
        timer.join()
        assert result.interrupted
        assert result.status == "feasible"
        assert result.seconds < delay + 8.0
        assert tree_loss(result.tree, ranks, table, max_depth=6) == result.objective >= result.bound
