"""Ranks of 32 bits, which features of some 65,000 values and more have, against brute force."""

import numpy as np
import pytest
from engine_calls import solve
from engine_oracle import brute_force, loss_table, rank_columns, tree_loss
from scale import scaled

APART = 70_000
"""Between two ranks in use: the engine asks only how many there are."""


@pytest.mark.parametrize("method", ["sorted", "anytime"])
def test_ranks_beyond_16_bits(method):
    rng = np.random.default_rng(9)
    for _ in range(scaled(200)):
        n, p, classes = int(rng.integers(2, 13)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
        ranks, distinct = rank_columns(rng.integers(0, int(rng.integers(2, 9)), size=(n, p)))
        labels = rng.integers(0, classes, size=n).astype(np.int32)
        depth = int(rng.integers(0, 5))
        table = loss_table(labels, classes)
        wide, many = ranks * np.uint32(APART), ((distinct - 1) * APART + 1).astype(np.uint32)
        result = solve(wide, many, labels, classes, depth, method=method, work_limit=10**6)
        assert tree_loss(result.tree, wide, table, max_depth=depth) == result.objective
        best = brute_force(ranks, table, depth)
        if method == "sorted":
            assert result.status == "optimal"
            assert result.objective == result.bound == best
        else:
            assert result.bound <= best <= result.objective
