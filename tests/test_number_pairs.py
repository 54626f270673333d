"""Trees of depth two from sums over pairs of cuts, inside the search under rules on numbers.

That search without a rule that binds against the one for a free number, which has a kernel of its
own; and under rules on the whole tree against all trees of few rows, three levels deep.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from scale import scaled

import odtdsl


def table(seed: int) -> tuple[dict[str, list[float]], str]:
    """A frame of few cuts, and the statements about it."""
    rng = random.Random(f"pairs {seed}")
    rows, columns = rng.choice([6, 7, 30, 60]), rng.randint(2, 4)
    values = [[0, 1], [0, 1, 2], [0, 1, 2, 3]]
    frame: dict[str, list[float]] = {}
    for column in range(columns):
        pool = rng.choice(values)
        frame[f"x{column}"] = [float(rng.choice(pool)) for _ in range(rows)]
    frame["y"] = [float(rng.choice([0, 1, 2, 7, 11])) for _ in range(rows)]
    weights = rng.random() < 0.5
    if weights:
        frame["w"] = [rng.choice([0.5, 1.0, 2.0]) for _ in range(rows)]
    head = "data frame\ntarget y: number\n" + ("weight w\n" if weights else "")
    head += "".join(f"cost x{column} = {column + 1}\n" for column in range(columns))
    return frame, head + f"tree depth <= 3{rng.choice(['', ', leaves <= 6'])}\n"


@pytest.mark.parametrize("price", ["", " + 0.05 * leaves"])
def test_a_rule_that_nothing_breaks_changes_nothing(price: str) -> None:
    """The search without rules is left out of the second solve, which would be the answer."""
    from odtdsl.backends.exact.regression import RegressionSearch

    kept = RegressionSearch._free
    for seed in range(scaled(100)):
        frame, head = table(seed)
        text = f"{head}minimize mse{price}\n"
        free = odtdsl.solve(text, using="exact", frame=frame)
        for rule in ("forall path: tests(x0) <= 9", "uses(x0) or depth <= 3"):
            RegressionSearch._free = lambda self, leaves: None  # type: ignore[method-assign]
            try:
                found = odtdsl.solve(f"{text}rule r: {rule}", using="exact", frame=frame)
            finally:
                RegressionSearch._free = kept  # type: ignore[method-assign]
            assert found.status == free.status == "optimal"
            a, b = found.stages[0].value, free.stages[0].value
            assert a is not None
            assert b is not None
            assert float(a) == pytest.approx(float(b), rel=1e-9, abs=1e-9), (text, rule, frame)


def trees(
    frame: dict[str, list[float]], rows: tuple[int, ...], depth: int
) -> Iterator[tuple[float, int, frozenset[str], float]]:
    """Loss, leaves, tested columns and summed costs of all trees; dominated ones left out."""
    weights = np.array([frame.get("w", [1.0] * len(frame["y"]))[i] for i in rows])
    values = np.array([frame["y"][i] for i in rows])
    mean = (weights * values).sum() / weights.sum()
    found = {(1, frozenset[str]()): {0.0: float((weights * (values - mean) ** 2).sum())}}
    names = [name for name in frame if name.startswith("x")]
    for name in names if depth else []:
        paid = float(weights.sum()) * (int(name[1:]) + 1)
        for cut in sorted({frame[name][i] for i in rows})[:-1]:
            left = tuple(i for i in rows if frame[name][i] <= cut)
            right = tuple(i for i in rows if frame[name][i] > cut)
            for a, b in product(trees(frame, left, depth - 1), trees(frame, right, depth - 1)):
                key = (a[1] + b[1], a[2] | b[2] | {name})
                cost = a[3] + b[3] + paid
                best = found.setdefault(key, {})
                best[cost] = min(best.get(cost, np.inf), a[0] + b[0])
    for (leaves, tested), by_cost in found.items():
        for cost, loss in by_cost.items():
            yield loss, leaves, tested, cost


Tree = tuple[float, int, frozenset[str], float]


def cheap(most: float) -> Callable[[Tree], bool]:
    """Whether a tree costs no more."""
    return lambda tree: tree[3] <= most


def test_rules_on_the_whole_tree_three_levels_deep() -> None:
    """Costs are paid per test here: no two tests of a column stand on a path of 0/1 columns."""
    met = 0
    for seed in range(scaled(30)):
        rng = random.Random(f"deep {seed}")
        rows = rng.choice([6, 7, 8])
        frame = {f"x{c}": [float(rng.random() < 0.5) for _ in range(rows)] for c in range(3)}
        frame["y"] = [float(rng.choice([0, 1, 2, 7])) for _ in range(rows)]
        known = list(trees(frame, tuple(range(rows)), 3))
        bound = rng.choice([1.5, 2.5, 3.5, 4.5])
        rules: dict[str, Callable[[Tree], bool]] = {
            "uses(x2)": lambda t: "x2" in t[2],
            f"expected_cost <= {bound}": cheap(bound * rows),
            "count(uses(x0), uses(x1), uses(x2)) <= 2": lambda t: len(t[2]) <= 2,
            "uses(x1) or leaves <= 3": lambda t: "x1" in t[2] or t[1] <= 3,
        }
        for rule, holds in rules.items():
            kept = [tree[0] / rows for tree in known if holds(tree)]
            text = "data frame\ntarget y: number\ncost x0 = 1\ncost x1 = 2\ncost x2 = 3\n"
            text += "feature x0: binary\nfeature x1: binary\nfeature x2: binary\n"
            text += f"tree depth <= 3\nminimize mse\nrule r: {rule}"
            found = odtdsl.solve(text, using="exact", frame=frame)
            if not kept:
                assert found.status == "infeasible", (text, frame)
                continue
            value = found.stages[0].value
            assert value is not None, (text, frame)
            assert float(value) == pytest.approx(min(kept), abs=1e-9), (text, frame)
            met += 1
    assert met
