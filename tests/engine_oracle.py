"""Tiny random problems and brute force for them: every reduced tree, by dynamic programming over
sets of rows."""

import itertools
from functools import cache

import numpy as np

INFINITE = 10**15


def rank_columns(x):
    """Dense ranks of the columns of ``x``: ranks (features, rows), distinct per feature."""
    x = np.asarray(x)
    ranks = np.empty((x.shape[1], x.shape[0]), dtype=np.uint32)
    distinct = np.empty(x.shape[1], dtype=np.uint32)
    for f in range(x.shape[1]):
        values, inverse = np.unique(x[:, f], return_inverse=True)
        ranks[f] = inverse
        distinct[f] = len(values)
    return ranks, distinct


def narrow(ranks):
    return ranks.astype(np.uint16)


def loss_table(labels, classes, weights=None, costs=None):
    n = len(labels)
    table = np.empty((n, classes), dtype=object)
    for i in range(n):
        for c in range(classes):
            unit = int(costs[labels[i]][c]) if costs is not None else int(c != labels[i])
            table[i, c] = unit * (int(weights[i]) if weights is not None else 1)
    return table


def brute_force(ranks, table, depth, leaves=None, price=0, allowed=None, leaf_rows=1, must=None):
    """Least loss of a tree of at most ``depth`` and ``leaves``; infinite if there is none.

    With ``must``, some split has to test that feature.
    """
    p, n = ranks.shape
    classes = table.shape[1]

    @cache
    def leaf(rows):
        if rows.bit_count() < leaf_rows:
            return INFINITE
        return (
            min(sum(int(table[i, c]) for i in range(n) if rows >> i & 1) for c in range(classes))
            + price
        )

    @cache
    def splits(rows):
        seen: dict[int, bool] = {}
        members = [i for i in range(n) if rows >> i & 1]
        for f in range(p):
            values = sorted({int(ranks[f, i]) for i in members})
            for low, high in itertools.pairwise(values):
                if (
                    allowed is not None
                    and allowed[f] is not None
                    and not allowed[f][low:high].any()
                ):
                    continue
                left = sum(1 << i for i in members if ranks[f, i] <= low)
                seen[left] = seen.get(left, False) or f == must
        return sorted(seen.items())

    @cache
    def best(rows, d, k, asked):
        value = INFINITE if asked else leaf(rows)
        if d == 0 or k < 2:
            return value
        most = 2 ** (d - 1)
        sizes = (
            [(most, most)] if k >= 2**d else [(min(a, most), min(k - a, most)) for a in range(1, k)]
        )
        for left, tests in splits(rows):
            right = rows & ~left
            open_sides = [(True, False), (False, True)] if asked and not tests else [(False, False)]
            for a, b in sizes:
                for m, o in open_sides:
                    value = min(value, best(left, d - 1, a, m) + best(right, d - 1, b, o))
        return value

    most = 2**depth if leaves is None else min(leaves, 2**depth)
    return min(INFINITE, best((1 << n) - 1, depth, most, must is not None))


def tree_loss(
    tree,
    ranks,
    table,
    price=0,
    max_depth=None,
    max_leaves=None,
    allowed=None,
    leaf_rows=1,
    must=None,
):
    """Route every row, ask that every split is reduced and admissible, return the loss."""
    feature, cut, nxt = tree.feature, tree.cut, tree.next
    total = 0
    leaves = 0
    stack = [(0, np.arange(ranks.shape[1]), 0)]
    while stack:
        node, rows, depth = stack.pop()
        assert len(rows) > 0
        if feature[node] < 0:
            total += sum(int(table[i, tree.label[node]]) for i in rows) + price
            leaves += 1
            assert len(rows) >= leaf_rows
            assert max_depth is None or depth <= max_depth
            continue
        r = ranks[feature[node]][rows]
        left, right = rows[r <= cut[node]], rows[r > cut[node]]
        assert len(left)
        assert len(right)
        assert r[r <= cut[node]].max() == cut[node]
        assert r[r > cut[node]].min() == nxt[node]
        if allowed is not None and allowed[feature[node]] is not None:
            assert allowed[feature[node]][cut[node] : nxt[node]].any()
        stack.append((tree.left[node], left, depth + 1))
        stack.append((tree.right[node], right, depth + 1))
    assert max_leaves is None or leaves <= max_leaves
    assert must is None or must in feature
    return total


def random_problem(rng, largest=12):
    n = int(rng.integers(1, largest + 1))
    p = int(rng.integers(1, 4))
    classes = int(rng.integers(1, 21)) if rng.random() < 0.3 else int(rng.integers(2, 4))
    values = int(rng.integers(2, n + 2))
    x = rng.integers(0, values, size=(n, p))
    if rng.random() < 0.3:  # columns of 0 and 1 beside longer ones
        few = rng.random(p) < 0.6
        x[:, few] %= 2
    if p > 1 and rng.random() < 0.2:
        x[:, 1] = x[:, 0]
    if rng.random() < 0.1:
        x[:, 0] = 1
    if n > 1 and rng.random() < 0.3:
        x[n // 2] = x[0]
    labels = rng.integers(0, classes, size=n).astype(np.int32)
    ranks, distinct = rank_columns(x)
    return ranks, distinct, labels, classes


def random_weights(rng, n):
    """None, weights that differ, a little or much, or are all the same: each goes its own way."""
    kind = rng.random()
    if kind < 0.4:
        return None
    weights = rng.integers(0, 6, size=n).astype(np.int64)
    if kind < 0.5:  # sums beyond 16 bits, and many weights
        return weights * 10007 + rng.integers(0, 40, size=n)
    return weights if kind < 0.75 else np.full(n, weights.max() + 1)
