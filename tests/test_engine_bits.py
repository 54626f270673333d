"""The search over bit sets against that by sorted scans, on losses of any kind."""

import numpy as np
from engine_calls import solve
from engine_oracle import narrow, rank_columns
from scale import scaled

INSTANCES = scaled(300)


def test_bits_and_scans_agree_on_losses_of_any_kind():
    """Tables too large for brute force, whose splits bounds leave out."""
    rng = np.random.default_rng(31)
    for _ in range(INSTANCES // 6):
        n, p, classes = int(rng.integers(20, 120)), int(rng.integers(4, 9)), int(rng.integers(2, 5))
        x = rng.integers(0, 2 if rng.random() < 0.7 else 4, size=(n, p))
        ranks, distinct = rank_columns(x)
        labels = (x[:, 0] + x[:, 1] * x[:, 2] + (rng.random(n) < 0.4)) % classes
        costs = rng.integers(0, 7, size=(classes, classes)).astype(np.int64)
        np.fill_diagonal(costs, 0)
        depth = int(rng.integers(2, 5))
        asked = {
            "costs": costs,
            "weights": rng.integers(0, 6, size=n).astype(np.int64) if rng.random() < 0.6 else None,
            "leaf_price": int(rng.integers(0, 9)) if rng.random() < 0.5 else 0,
            "max_leaves": int(rng.integers(3, 2**depth + 2)) if rng.random() < 0.3 else None,
        }
        labels = labels.astype(np.int32)
        bits, scans = (
            solve(narrow(ranks), distinct, labels, classes, depth, method=method, **asked)
            for method in ("bitset", "sorted")
        )
        assert bits.status == scans.status == "optimal"
        assert bits.method == "bitset"
        assert bits.objective == scans.objective
