"""Trees of numbers to depth three over 0/1 columns, told by sums over every three of them.

Against brute force over sets of rows. `ODTDSL_SCALE=10` draws ten times the nightly problems.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from engine_oracle import narrow, rank_columns
from scale import scaled

from odtdsl.base import _engine

Array = np.ndarray[Any, Any]


def loss_of(loss: str, y: Array, weights: Array) -> float:
    """Of the best output of a leaf; of counts, half the deviance."""
    y, weights = y[weights > 0], weights[weights > 0]
    if not len(y):
        return 0.0
    mean = (weights * y).sum() / weights.sum()
    if loss == "squared":
        return float((weights * (y - mean) ** 2).sum())
    logs = np.log(np.where(y > 0, y, 1) / np.where(y > 0, mean, 1))
    return float((weights * (y * logs - y + mean)).sum())


def least(
    x: Array,
    y: Array,
    weights: Array,
    loss: str,
    limits: dict[str, Any],
    first: tuple[int, float] | None = None,
) -> float:
    """The least loss of all trees, prices of leaves included; or of those that begin with a cut.

    Infinite where none does.
    """
    n = len(y)
    sides = [sum(1 << i for i in range(n) if row[i] <= cut) for row in x.T for cut in set(row)]

    @cache
    def leaf(rows: int) -> float:
        if rows.bit_count() < limits.get("leaf_rows", 1):
            return float("inf")
        at = [i for i in range(n) if rows >> i & 1]
        return loss_of(loss, y[at], weights[at]) + float(limits["leaf_price"])

    @cache
    def best(rows: int, depth: int, leaves: int) -> float:
        found = leaf(rows)
        if depth == 0 or leaves == 1:
            return found
        half = 2 ** (depth - 1)
        for low, high in {(rows & side, rows & ~side) for side in sides}:
            if low and high:
                for k in range(max(1, leaves - half), min(half, leaves - 1) + 1):
                    found = min(found, best(low, depth - 1, k) + best(high, depth - 1, leaves - k))
        return found

    depth, rows = int(limits["depth"]), (1 << n) - 1
    leaves = min(limits["max_leaves"] or 2**depth, 2**depth)
    if first is None:
        return best(rows, depth, leaves)
    column, cut = first
    side = sum(1 << i for i in range(n) if x[i, column] <= cut)
    return min(
        best(rows & side, depth - 1, k) + best(rows & ~side, depth - 1, leaves - k)
        for k in range(max(1, leaves - 4), min(4, leaves - 1) + 1)
    )


def solved(
    x: Array,
    y: Array,
    weights: Array,
    loss: str,
    limits: dict[str, Any],
    allowed: list[Array | None] | None = None,
) -> _engine.NumberAnswer:
    ranks, distinct = rank_columns(x)
    table = _engine.RankTable(narrow(ranks), distinct, allowed)
    rules = _engine.NumberRules(  # sizes are asked for in one state, and not in the other
        table,
        column=[0] * x.shape[1],
        next=np.array([[0], [1]], dtype=np.int32),
        need=[0, 0],
        relaxed=[1, 1],
        leaf_rules=[[], []],
        split_rules=[[], []],
        leaf=[],
        split=[],
        value=np.zeros((len(x), 0), dtype=np.int64),
        allowed_at=[],
        missing_low=[],
        missing_high=[],
    )
    if limits["leaf_rows"] > 1:
        limits = {**limits, "rules": rules}
    problem = _engine.NumberProblem(table, y[:, None], weights=weights, loss=loss, **limits)
    return _engine.solve_numbers(problem, _engine.Limits())


def drawn(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """0/1 columns, more than two blocks of lanes now and then, or numbers with few cuts."""
    if rng.random() < 0.7:
        n, m = int(rng.integers(2, 14)), int(rng.integers(1, 20))
        x = (rng.random((n, m)) < rng.uniform(0.1, 0.9, m)).astype(int)
    else:
        n = int(rng.integers(24, 40))
        x = rng.integers(0, 4, size=(n, int(rng.integers(1, 3))))
    y = rng.choice([rng.integers(0, 4, n) * 1.0, rng.exponential(2.0, n).round(2)])
    weights = rng.choice([np.ones(n), rng.integers(0, 4, n), rng.random(n) * 10])
    weights[0] = max(weights[0], 1)
    return x, y, weights


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_the_optimum_is_that_of_brute_force(loss: str) -> None:
    rng = np.random.default_rng(43)
    split = 0
    for trial in range(scaled(2000, least=200)):
        x, y, weights = drawn(rng)
        limits: dict[str, Any] = {
            "depth": int(rng.choice([3, 3, 4])),
            "max_leaves": int(rng.integers(3, 9)) if rng.random() < 0.5 else None,
            "leaf_price": float(rng.choice([0.0, 0.0, 0.2, 2.0])),
            "leaf_rows": int(rng.choice([1, 1, 2, 3, 5])),
        }
        found = solved(x, y, weights, loss, limits)
        true = least(x, y, weights, loss, limits)
        if true == float("inf"):
            assert found.status == "infeasible", trial
            continue
        near = pytest.approx(true, rel=1e-9, abs=1e-8)
        assert found.status == "optimal", trial
        assert found.objective == near, trial
        assert found.bound == found.objective, trial
        assert found.tree is not None
        split += len(found.tree.feature) > 7
    assert split


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_no_tree_loses_less_than_is_told_by_its_first_cut(loss: str) -> None:
    rng = np.random.default_rng(44)
    told = 0
    for trial in range(scaled(2000, least=100)):
        x, y, weights = drawn(rng)
        limits: dict[str, Any] = {
            "depth": 3,
            "max_leaves": int(rng.integers(3, 9)) if rng.random() < 0.5 else None,
            "leaf_price": float(rng.choice([0.0, 0.2])),
            "leaf_rows": int(rng.choice([1, 1, 2, 3, 5])),
        }
        found = solved(x, y, weights, loss, limits)
        cuts = [(column, cut) for column, of in enumerate(x.T) for cut in np.unique(of)[:-1]]
        for first, bound in zip(cuts, found.by_first or [-np.inf] * len(cuts), strict=True):
            true = least(x, y, weights, loss, limits, first)
            assert bound <= true, (trial, first)
            if -1e290 < bound < 1e290:  # else it is not told, or there is no tree
                told += 1
                assert bound == pytest.approx(true, rel=1e-6, abs=1e-6), (trial, first)
    assert told


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_rows_that_no_allowed_cut_tells_apart_are_one(loss: str) -> None:
    """Of more columns than a word has bits, too; rows of no weight stand beside them."""
    rng = np.random.default_rng(45)
    merged = 0
    for trial in range(scaled(2000, least=100)):
        n, m = int(rng.integers(2, 10)), int(rng.choice([1, 2, 4, 45]))
        x = rng.integers(0, rng.integers(2, 7), (n, m))
        y = rng.choice([rng.integers(0, 3, n) * 1.0, np.zeros(n), np.ones(n)])
        weights = rng.choice([np.ones(n), rng.integers(0, 3, n) * 0.5])
        weights[0] = 1
        ranks, distinct = rank_columns(x)
        allowed = [
            None if rng.random() < 0.3 else rng.random(count) < rng.random() for count in distinct
        ]
        cells = np.column_stack(
            [
                rank if open_ is None else np.append(0, np.cumsum(open_))[rank]
                for rank, open_ in zip(ranks, allowed, strict=True)
            ]
        )
        limits = {"depth": 3, "max_leaves": None, "leaf_price": 0.0, "leaf_rows": 1}
        found = solved(x, y, weights, loss, limits, allowed)
        assert found.status == "optimal", trial
        near = pytest.approx(least(cells, y, weights, loss, limits), rel=1e-9, abs=1e-8)
        assert found.objective == near, trial
        merged += len(np.unique(cells, axis=0)) < n
    assert merged


class Rules(NamedTuple):
    """An automaton of paths, and what leaves and splits must hold of a sum over rows, or None."""

    next: Array
    ends: list[bool]
    values: Array
    leaf: int | None
    split: int | None


def drawn_rules(rng: np.random.Generator, x: Array) -> Rules:
    """Columns that lead to states in some order, or to any; sizes of some rows, or of all."""
    n, m = x.shape
    first, second = int(rng.integers(m)), int(rng.integers(m))
    kind = rng.choice(["order", "requires", "apart", "uses", "few", "long", "any"])
    states = 4 if kind in ("requires", "few", "long") else 3
    following = np.tile(np.arange(states)[:, None], m)
    ends = [True] * states
    if kind == "order":  # the second only behind the first
        following[0, second], following[0, first] = -1, 1
    elif kind == "requires":
        following[0, second], following[1, first] = 2, 3
        following[0, first], following[2, first] = 1, 3
        following[1, second] = 3
        ends[1] = False
    elif kind == "apart":
        following[0, second], following[1, second] = 2, -1
        following[0, first], following[2, first] = 1, -1
    elif kind == "uses":
        following[0, first] = 1
        ends[0] = False
    elif kind in ("few", "long"):  # so many tests of some columns
        counted = rng.random(m) < 0.7
        following[:, counted] = [[1], [2], [3], [3 if kind == "long" else -1]]
        ends = [kind == "few" or state >= 2 for state in range(states)]
    else:
        following = rng.choice([-1, 0, 1, 2], size=(states, m))
        ends = [bool(rng.random() < 0.8) for _ in ends]
    group = np.ones(n, dtype=np.int64) if rng.random() < 0.3 else rng.integers(0, 3, n)
    leaf, split = (int(k) if rng.random() < 0.4 else None for k in rng.integers(1, [4, 9]))
    return Rules(following, ends, group, leaf, None if leaf is None and 0 in group else split)


def least_under(
    x: Array, y: Array, weights: Array, loss: str, limits: dict[str, Any], rules: Rules
) -> float:
    """As `least`, under rules."""
    n = len(y)
    cuts = [
        (column, sum(1 << i for i in range(n) if row[i] <= cut))
        for column, row in enumerate(x.T)
        for cut in set(row)
    ]

    @cache
    def counted(rows: int) -> int:
        return sum(int(rules.values[i]) for i in range(n) if rows >> i & 1)

    @cache
    def lost(rows: int) -> float:
        at = [i for i in range(n) if rows >> i & 1]
        return loss_of(loss, y[at], weights[at]) + float(limits["leaf_price"])

    @cache
    def best(rows: int, depth: int, leaves: int, state: int) -> float:
        found = float("inf")
        if rules.ends[state] and (rules.leaf is None or counted(rows) >= rules.leaf):
            found = lost(rows)
        if depth == 0 or leaves == 1 or (rules.split is not None and counted(rows) < rules.split):
            return found
        half = 2 ** (depth - 1)
        for column, side in cuts:
            after, low, high = int(rules.next[state, column]), rows & side, rows & ~side
            if after < 0 or not low or not high:
                continue
            for k in range(max(1, leaves - half), min(half, leaves - 1) + 1):
                left = best(low, depth - 1, k, after)
                if left < found:
                    found = min(found, left + best(high, depth - 1, leaves - k, after))
        return found

    depth = int(limits["depth"])
    return best((1 << n) - 1, depth, min(limits["max_leaves"] or 2**depth, 2**depth), 0)


def solved_under(
    x: Array, y: Array, weights: Array, loss: str, limits: dict[str, Any], rules: Rules
) -> _engine.NumberAnswer:
    """The states are strict; one beside them allows all."""
    ranks, distinct = rank_columns(x)
    table = _engine.RankTable(narrow(ranks), distinct)
    states, m = rules.next.shape
    need = [0 if ends else 9 for ends in rules.ends]
    for _ in range(states):
        behind = [[need[after] for after in row if after >= 0] for row in rules.next]
        need = [min([own, *(1 + k for k in of)]) for own, of in zip(need, behind, strict=True)]
    conditions = [[] if least is None else [[(0, -least)]] for least in (rules.leaf, rules.split)]
    sized = rules.leaf is not None or rules.split is not None
    made = _engine.NumberRules(
        table,
        column=list(range(m)),
        next=np.vstack([rules.next, np.full((1, m), states)]).astype(np.int32),
        need=[*need, 0],
        relaxed=[states] * (states + 1),
        leaf_rules=[*[[0][: len(conditions[0])]] * states, []],
        split_rules=[*[[0][: len(conditions[1])]] * states, []],
        leaf=conditions[0],
        split=conditions[1],
        value=np.ascontiguousarray(-rules.values[:, None][:, : int(sized)]),
        allowed_at=[],
        missing_low=[],
        missing_high=[],
    )
    problem = _engine.NumberProblem(
        table, y[:, None], weights=weights, loss=loss, rules=made, **limits
    )
    return _engine.solve_numbers(problem, _engine.Limits())


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_rules_on_paths_and_sizes_leave_the_optimum_of_brute_force(loss: str) -> None:
    """Whether or not the rules can be told by which two columns stand first."""
    rng = np.random.default_rng(46)
    told, open_ = 0, 0
    for trial in range(scaled(4000, least=300)):
        x, y, weights = drawn(rng)
        x = x[:, : int(rng.choice([4, 7, 20]))]
        rules = drawn_rules(rng, x)
        limits: dict[str, Any] = {
            "depth": int(rng.choice([3, 3, 3, 4])),
            "max_leaves": int(rng.integers(3, 9)) if rng.random() < 0.5 else None,
            "leaf_price": float(rng.choice([0.0, 0.0, 0.2, 2.0])),
        }
        found = solved_under(x, y, weights, loss, limits, rules)
        true = least_under(x, y, weights, loss, limits, rules)
        told += len(found.by_first) > 0
        if true == float("inf"):
            assert found.status == "infeasible", (trial, rules)
            continue
        open_ += len(found.by_first) == 0
        near = pytest.approx(true, rel=1e-9, abs=1e-8)
        assert found.status == "optimal", (trial, rules)
        assert found.objective == near, (trial, rules)
        assert found.bound == found.objective, trial
    assert told
    assert open_
