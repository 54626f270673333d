"""Regression trees of the engine against brute force, and its ways of counting against one another.

`ODTDSL_SCALE=10` draws ten times the random problems of a nightly run.
"""

import _thread
import threading
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from engine_calls import same_tree, solve_regression
from engine_oracle import narrow, rank_columns
from scale import scaled

INSTANCES = scaled(300)
LOSSES = pytest.mark.parametrize("absolute", [False, True], ids=["squared", "absolute"])


def leaf_loss(y, weights, absolute):
    """Least loss of one output: at the weighted mean, or at one of the targets."""
    if absolute:
        return min(float((weights * np.abs(y - m)).sum()) for m in y)
    if weights.sum() == 0:
        return 0.0
    return float((weights * (y - (weights * y).sum() / weights.sum()) ** 2).sum())


def brute_force(ranks, y, weights, depth, *, absolute, leaves=None, price=0.0, allowed=None):
    """Least loss of a tree of at most ``depth`` and ``leaves``, over all reduced trees."""
    n = ranks.shape[1]

    @cache
    def leaf(rows):
        at = [i for i in range(n) if rows >> i & 1]
        return leaf_loss(y[at], weights[at], absolute) + price

    @cache
    def sides(rows):
        at = [i for i in range(n) if rows >> i & 1]
        found = set()
        for f, column in enumerate(ranks):
            for low, high in pairwise(sorted({int(column[i]) for i in at})):
                if allowed is None or allowed[f] is None or allowed[f][low:high].any():
                    found.add(sum(1 << i for i in at if column[i] <= low))
        return sorted(found)

    @cache
    def best(rows, d, k):
        if d == 0 or k < 2:
            return leaf(rows)
        most = 2 ** (d - 1)
        shares = [most] if k == 2 * most else range(max(1, k - most), min(most, k - 1) + 1)
        value = leaf(rows)
        for left in sides(rows):
            for a in shares:
                right = best(rows & ~left, d - 1, min(most, k - a))
                value = min(value, best(left, d - 1, a) + right)
        return value

    return best((1 << n) - 1, depth, min(leaves or 2**depth, 2**depth))


def tree_loss(result, ranks, y, weights, *, absolute, price=0.0, depth, leaves=None, allowed=None):
    """Route the rows, ask that splits part them and are admissible, recount the loss."""
    tree = result.tree
    value, ends, stack = 0.0, 0, [(0, np.arange(ranks.shape[1]), 0)]
    while stack:
        node, rows, level = stack.pop()
        assert len(rows)
        f = tree.feature[node]
        if f < 0:
            error = np.abs(y[rows] - tree.output[node])
            value += float((weights[rows] * (error if absolute else error**2)).sum()) + price
            ends += 1
            assert level <= depth
            continue
        r = ranks[f][rows]
        below = r <= tree.cut[node]
        assert r[below].max() == tree.cut[node]
        assert r[~below].min() == tree.next[node]
        if allowed is not None and allowed[f] is not None:
            assert allowed[f][tree.cut[node] : tree.next[node]].any()
        stack += [
            (tree.left[node], rows[below], level + 1),
            (tree.right[node], rows[~below], level + 1),
        ]
    assert leaves is None or ends <= leaves
    return value


def random_problem(rng, largest=9):
    """Ties, equal rows, equal and constant columns, 0/1 columns; targets near and far from zero."""
    n, p = int(rng.integers(1, largest + 1)), int(rng.integers(1, 4))
    values = 2 if rng.random() < 0.4 else int(rng.integers(2, n + 2))
    x = rng.integers(0, values, size=(n, p))
    if p > 1 and rng.random() < 0.2:
        x[:, 1] = x[:, 0]
    if rng.random() < 0.1:
        x[:, 0] = 1
    if n > 1 and rng.random() < 0.3:
        x[n // 2] = x[0]
    y = rng.normal(size=n).round(int(rng.integers(0, 4))) * float(rng.choice([1.0, 1.0, 1e-3, 1e4]))
    y += float(rng.choice([0.0, 0.0, 1000.0]))
    weights = None
    if rng.random() < 0.5:
        weights = rng.integers(0, 4, size=n).astype(float)
        if rng.random() < 0.5:
            weights *= rng.random(n)
    ranks, distinct = rank_columns(x)
    return ranks, distinct, y, weights


def random_limits(rng, distinct, y):
    depth = int(rng.integers(0, 4))
    scale = float(np.abs(y - np.median(y)).mean()) + 1e-3
    return {
        "depth": depth,
        "leaves": int(rng.integers(1, 2**depth + 2)) if rng.random() < 0.4 else None,
        "price": float(rng.choice([0.0, 0.0, 0.3, 1.0])) * scale,
        "allowed": [None if rng.random() < 0.3 else rng.random(d) < 0.5 for d in distinct]
        if rng.random() < 0.3
        else None,
    }


def solve(ranks, distinct, y, weights, limits, **options):
    return solve_regression(
        narrow(ranks),
        distinct,
        y,
        limits["depth"],
        weights=weights,
        max_leaves=limits.get("leaves"),
        leaf_price=limits.get("price", 0.0),
        allowed=limits.get("allowed"),
        **options,
    )


@LOSSES
def test_optimum_is_that_of_brute_force(absolute):
    rng = np.random.default_rng(7)
    for trial in range(max(150, INSTANCES)):
        ranks, distinct, y, weights = random_problem(rng)
        limits = random_limits(rng, distinct, y)
        w = np.ones(len(y)) if weights is None else weights
        best = brute_force(ranks, y, w, absolute=absolute, **limits)
        options = {"threads": 2} if rng.random() < 0.1 else {}
        if rng.random() < 0.1:
            options["memory_limit"] = 1
        result = solve(ranks, distinct, y, weights, limits, absolute=absolute, **options)
        near = pytest.approx(best, rel=1e-9, abs=1e-9 * float((w * np.abs(y)).sum() + 1e-6))
        assert result.status == "optimal", trial
        assert result.objective == near, trial
        assert result.bound == result.objective
        assert tree_loss(result, ranks, y, w, absolute=absolute, **limits) == near, trial


def test_zero_one_columns_and_numbers_agree():
    """A number, or one 0/1 column per cut of it: the same trees, another way of counting."""
    rng = np.random.default_rng(8)
    for _ in range(max(20, INSTANCES // 15)):
        n, p, depth = int(rng.integers(10, 60)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
        x = rng.integers(0, int(rng.integers(2, 7)), size=(n, p))
        y = (x[:, 0] * x[:, -1] + rng.normal(size=n)).round(int(rng.integers(0, 3)))
        weights = rng.integers(0, 3, size=n).astype(float) if rng.random() < 0.5 else None
        limits = {"depth": depth, "price": float(rng.choice([0.0, 0.5]))}
        if rng.random() < 0.3:
            limits["leaves"] = int(rng.integers(3, 2**depth))
        tests = np.array([x[:, f] > t for f in range(p) for t in np.unique(x[:, f])[:-1]]).T
        tests = np.hstack([tests, np.zeros((n, 1))]).astype(int)
        ranks, distinct = rank_columns(x)
        one = solve(ranks, distinct, y, weights, limits)
        ranked, counts = rank_columns(tests)
        other = solve(ranked, counts, y, weights, limits)
        assert one.status == other.status == "optimal"
        assert one.objective == pytest.approx(other.objective, rel=1e-9, abs=1e-9)


@LOSSES
def test_long_columns(absolute):
    """Many values a column, where sums stand in blocks: depth two by brute force over both cuts."""
    rng = np.random.default_rng(9)
    for _ in range(max(3, INSTANCES // 100)):
        n = 150
        x = rng.integers(0, int(rng.choice([60, 1000])), size=(n, 2))
        y = np.where(x[:, 0] > x[:, 0].mean(), x[:, 1], -x[:, 1]) / 10 + rng.normal(size=n)
        ranks, distinct = rank_columns(x)
        w = np.ones(n)

        def stump(rows, ranks=ranks, y=y):
            value = leaf_loss(y[rows], np.ones(len(rows)), absolute)
            for column in ranks:
                order = rows[np.argsort(column[rows], kind="stable")]
                v, r = y[order], column[order]
                for i in np.flatnonzero(r[1:] != r[:-1]) + 1:
                    if absolute:
                        parts = [np.abs(s - np.median(s)).sum() for s in (v[:i], v[i:])]
                    else:
                        parts = [((s - s.mean()) ** 2).sum() for s in (v[:i], v[i:])]
                    value = min(value, sum(parts))
            return value

        everything = np.arange(n)
        best = min(
            stump(everything[column <= cut]) + stump(everything[column > cut])
            for column in ranks
            for cut in rng.permutation(np.unique(column)[:-1])[:12]
        )
        result = solve_regression(narrow(ranks), distinct, y, 2, absolute=absolute)
        assert result.objective <= best + 1e-6
        found = tree_loss(result, ranks, y, w, absolute=absolute, depth=2)
        assert found == pytest.approx(result.objective)
        # The tree's own first cut, searched again.
        first = int(result.tree.feature[0])
        below = ranks[first] <= result.tree.cut[0]
        again = stump(everything[below]) + stump(everything[~below])
        assert again == pytest.approx(result.objective)


def large_problem(n=600, p=8):
    rng = np.random.default_rng(6)
    x = rng.integers(0, 60, size=(n, p))
    y = np.sin(x[:, 0] / 9.0) * x[:, 1] + x[:, -1] + rng.normal(size=n)
    return *rank_columns(x), y


@LOSSES
def test_limits_leave_the_best_tree_and_a_bound(absolute):
    ranks, distinct, y = large_problem()
    w = np.ones(len(y))
    heard = []
    result = solve(
        ranks,
        distinct,
        y,
        None,
        {"depth": 5},
        absolute=absolute,
        time_limit=0.2,
        progress=lambda value, bound, seconds, _found: heard.append((value, bound, seconds)),
    )
    assert result.status == "feasible"
    assert result.seconds < 8.0
    assert 0 < result.bound < result.objective
    loss = tree_loss(result, ranks, y, w, absolute=absolute, depth=5)
    assert loss == pytest.approx(result.objective)
    assert heard
    assert all(bound <= value for value, bound, _ in heard)
    assert [v for v, _, _ in heard] == sorted((v for v, _, _ in heard), reverse=True)
    assert result.timeline[-1][1] == pytest.approx(result.objective)


@LOSSES
def test_gaps_and_upper_bounds(absolute):
    rng = np.random.default_rng(10)
    for _ in range(max(10, INSTANCES // 30)):
        ranks, distinct, y, weights = random_problem(rng)
        limits = {"depth": int(rng.integers(1, 4))}
        best = solve(ranks, distinct, y, weights, limits, absolute=absolute).objective
        if best > 1e-6:
            none = solve(
                ranks, distinct, y, weights, limits, absolute=absolute, upper_bound=best * 0.99
            )
            assert none.status == "infeasible"
            assert none.tree is None
        same = solve(ranks, distinct, y, weights, limits, absolute=absolute, upper_bound=best)
        assert same.status == "optimal"
        assert same.objective == pytest.approx(best, abs=1e-9)
        close = solve(ranks, distinct, y, weights, limits, absolute=absolute, relative_gap=0.3)
        assert close.bound <= best * (1 + 1e-12) + 1e-9
        assert close.objective <= best / 0.7 + 1e-6
        assert close.status in ("optimal", "feasible")
        if close.status == "optimal":
            assert close.objective == pytest.approx(best, abs=1e-9)


@LOSSES
def test_start_trees(absolute):
    rng = np.random.default_rng(11)
    for _ in range(max(10, INSTANCES // 10)):
        ranks, distinct, y, weights = random_problem(rng)
        limits = random_limits(rng, distinct, y)
        shallow = {**limits, "depth": int(rng.integers(0, limits["depth"] + 1))}
        best = solve(ranks, distinct, y, weights, limits, absolute=absolute)
        start = solve(ranks, distinct, y, weights, shallow, absolute=absolute).tree
        again = solve(ranks, distinct, y, weights, limits, absolute=absolute, start=start)
        assert again.status == "optimal"
        assert again.objective == pytest.approx(best.objective, rel=1e-9, abs=1e-9)
    ranks, distinct, y = large_problem()
    start = solve(ranks, distinct, y, None, {"depth": 2}, absolute=absolute)
    again = solve(
        ranks,
        distinct,
        y,
        None,
        {"depth": 4},
        absolute=absolute,
        start=start.tree,
        time_limit=0.0,
    )
    assert again.status == "feasible"
    assert again.objective <= start.objective + 1e-6
    with pytest.raises(ValueError, match="deeper"):
        solve(ranks, distinct, y, None, {"depth": 1}, absolute=absolute, start=start.tree)
    with pytest.raises(ValueError, match="too many leaves"):
        solve(ranks, distinct, y, None, {"depth": 2, "leaves": 2}, start=start.tree)


@LOSSES
def test_interrupts(absolute):
    ranks, distinct, y = large_problem()
    w = np.ones(len(y))
    for delay in (0.05, 0.15):
        timer = threading.Timer(delay, _thread.interrupt_main)
        timer.start()
        result = solve(ranks, distinct, y, None, {"depth": 6}, absolute=absolute, time_limit=20)
        timer.join()
        assert result.interrupted
        assert result.status == "feasible"
        assert result.seconds < delay + 8.0
        loss = tree_loss(result, ranks, y, w, absolute=absolute, depth=6)
        assert loss == pytest.approx(result.objective)
    asked = solve(
        ranks,
        distinct,
        y,
        None,
        {"depth": 6},
        absolute=absolute,
        interrupted=lambda: True,
        time_limit=20,
    )
    assert asked.interrupted
    assert asked.seconds < 8.0


def test_two_threads_answer_alike():
    rng = np.random.default_rng(12)
    for _ in range(max(3, INSTANCES // 100)):
        x = rng.integers(0, 6, size=(120, 5))
        y = rng.normal(size=120).round(1)
        ranks, distinct = rank_columns(x)
        one = solve(ranks, distinct, y, None, {"depth": 3})
        runs = [solve(ranks, distinct, y, None, {"depth": 3}, threads=2) for _ in range(3)]
        for run in runs:
            assert run.status == "optimal"
            assert run.objective == pytest.approx(one.objective)
            assert same_tree(run.tree, runs[0].tree)


def test_errors_of_callbacks_and_arguments():
    ranks, distinct, y = large_problem(50, 2)

    def fail(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        solve(ranks, distinct, y, None, {"depth": 2}, progress=fail)
    for bad, message in [
        ({"y": y * np.nan}, "not finite"),
        ({"weights": -np.ones(50)}, "negative"),
        ({"depth": 99}, "depth"),
        ({"price": -1.0}, "price"),
        ({"ranks": ranks + 100}, "rank"),
        ({"y": y[:-1]}, "one entry per row"),
    ]:
        limits = {"depth": bad.get("depth", 2), "price": bad.get("price", 0.0)}
        with pytest.raises(ValueError, match=message):
            solve(bad.get("ranks", ranks), distinct, bad.get("y", y), bad.get("weights"), limits)


@LOSSES
def test_targets_that_hardly_differ(absolute):
    for y in (np.full(6, 0.1), np.full(6, 1e90), np.array([1e9, 1e9 + 1, 1e9, 1e9 + 1, 1e9, 1e9])):
        ranks, distinct = rank_columns(np.arange(6).reshape(-1, 1))
        result = solve(ranks, distinct, y, None, {"depth": 3}, absolute=absolute)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(0.0, abs=1e-12)


def test_weights_that_hardly_count():
    """Rows without weight are no reason to miss the mean of the others, nor tiny ones to fail."""
    rng = np.random.default_rng(44)
    tables = [([1.6, 1.43, 0.04], [0.0, 0.0, 3.0]), ([3, 3, 3, 2, 3], [33.4, 65.7, 1, 1.6e-4, 0.7])]
    for _ in range(scaled(2000, least=500)):
        y = (rng.random(6) < 0.3) * rng.random(6).round(2)
        tables.append((y.tolist(), [*np.exp(rng.normal(0, 3, 5)), 0.0]))
    for targets, sizes in tables:
        y, weights = np.array(targets, dtype=float), np.array(sizes)
        for order in (np.arange(len(y)), np.arange(len(y))[::-1]):
            ranks, distinct = rank_columns(np.zeros((len(y), 1), dtype=int))
            found = solve_regression(narrow(ranks), distinct, y[order], 0, weights=weights[order])
            assert found.status == "optimal", (targets, sizes)
            near = pytest.approx(leaf_loss(y, weights, False), rel=1e-9, abs=1e-12)
            assert found.objective == near, (targets, sizes)
            kept = set(y[weights > 0])
            assert len(kept) > 1 or set(found.tree.output.ravel()) == kept, (targets, sizes)
