"""Errors on new rows: `odt tune` over depth and price of a leaf, beside CART pruned by its cost.

    ODTDSL_DATA=... python benchmarks/generalise.py [options]

Folds of folds: each held-out fold is predicted by what was chosen on the others. CART is pruned
by cost complexity, whose price is chosen by cross-validation on the same rows. `--docs` puts the
table into `docs/explanation/exact-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from anytime import table_of
from measures import sets
from measures.report import Table

import odtdsl

Array = sets.Array
SETS = (
    "pima",
    "heart",
    "haberman",
    "german-credit",
    "raisin",
    "fault",
    "page",
    "wilt",
    "bean",
    "magic",
    "eeg",
)
DEPTHS = (2, 3, 4, 6, 8)
PRICES = (0.5, 1, 2, 4, 8)  # of a leaf, in errors: rows differ from set to set
INNER = 5


def pruned(x: Array, y: Array, new: Array) -> Array:
    """Predictions of CART, pruned at the price that did best on held-out rows.

    As `GridSearchCV` over `ccp_alpha` and `criterion` finds it, but one tree serves all prices.
    """
    from sklearn.model_selection import StratifiedKFold

    alphas = np.unique([alpha for _, alpha in weakest_links(_grown("gini", x, y))])
    some = alphas[np.unique(np.linspace(0, len(alphas) - 1, 40).astype(int))]
    criteria = ("gini", "entropy")
    right = np.zeros((len(some), len(criteria)))
    for known, held in StratifiedKFold(5).split(x, y):
        for c, criterion in enumerate(criteria):
            whole = _grown(criterion, x[known], y[known])
            links = weakest_links(whole)
            for a, alpha in enumerate(some):
                right[a, c] += np.mean(_predicted(whole, links, alpha, x[held]) == y[held])
    a, c = divmod(int(right.argmax()), len(criteria))
    whole = _grown(criteria[c], x, y)
    return _predicted(whole, weakest_links(whole), some[a], new)


def _grown(criterion: str, x: Array, y: Array) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(criterion=criterion, random_state=0).fit(x, y)


def weakest_links(model: Any) -> list[tuple[int, float]]:
    """Nodes in the order of their pruning by cost complexity, each with its price (Breiman)."""
    tree = model.tree_
    left, right = tree.children_left, tree.children_right
    risk = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    parent = np.full(tree.node_count, -1)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    below, leaves = risk.copy(), np.ones(tree.node_count)
    for node in inner[::-1]:  # a child's number is larger than its parent's
        below[node] = below[left[node]] + below[right[node]]
        leaves[node] = leaves[left[node]] + leaves[right[node]]
    price = np.full(tree.node_count, np.inf)
    price[inner] = (risk[inner] - below[inner]) / (leaves[inner] - 1)
    cut: list[tuple[int, float]] = []
    least = 0.0
    while len(inner) and np.isfinite(price[node := int(price.argmin())]):
        least = max(least, float(price[node]))
        cut.append((node, least))
        inside = [node]
        while inside:
            price[one := inside.pop()] = np.inf
            inside += [child for child in (left[one], right[one]) if child >= 0]
        more, fewer = risk[node] - below[node], leaves[node] - 1
        while node >= 0:
            below[node] += more
            leaves[node] -= fewer
            if leaves[node] > 1:
                price[node] = (risk[node] - below[node]) / (leaves[node] - 1)
            node = int(parent[node])
    return cut


def _predicted(model: Any, links: list[tuple[int, float]], alpha: float, new: Array) -> Array:
    """What the tree predicts once every link of at most that price is cut."""
    tree = model.tree_
    ends = tree.children_left < 0
    ends[[node for node, price in links if price <= alpha]] = True
    at = np.zeros(len(new), dtype=int)
    cells = new.astype(np.float32)
    while len(rows := np.flatnonzero(~ends[at])):
        nodes = at[rows]
        low = cells[rows, tree.feature[nodes]] <= tree.threshold[nodes]
        at[rows] = np.where(low, tree.children_left[nodes], tree.children_right[nodes])
    told: Array = model.classes_[tree.value[at, 0].argmax(axis=1)]
    return told


def tuned(x: Array, y: Array, new: Array, seconds: float, depths: tuple[int, ...]) -> Array:
    """Predictions of our tree, whose depth and price did best on held-out rows."""
    frame: dict[str, Any] = {f"x{f}": x[:, f] for f in range(x.shape[1])}
    frame["y"] = y.astype(str)
    each = seconds / (len(depths) * len(PRICES) * INNER + 1)
    found = odtdsl.tune(
        "data frame let price = 0 target y: class tree depth <= 3 minimize errors + price * leaves",
        {"depth": depths, "price": PRICES},
        frame=frame,
        cv=INNER,
        choose="best",
        within=round(each, 3),
    )
    assert found.result is not None
    assert found.result.tree is not None
    cells = {f"x{f}": new[:, f] for f in range(new.shape[1])}
    return np.asarray(found.result.tree.predict(cells)).astype(int)


def main() -> None:
    """Measure, set by set."""
    from sklearn.model_selection import StratifiedKFold

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS))
    parser.add_argument(
        "--deepest",
        type=lambda text: [int(w) for w in text.split(",")],
        default=[DEPTHS[-1]],
        help=f"the largest depth of the grid, some of {', '.join(map(str, DEPTHS))}",
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="of one choice and its fit")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    deepest = args.deepest
    table = Table(
        "generalise",
        ("set", "rows", "CART pruned", *(f"tuned, depth {DEPTHS[0]} to {d}" for d in deepest)),
    )
    better = 0
    for name in args.sets:
        x, y = table_of(name)
        wrong: list[list[float]] = []
        for repeat in range(args.repeats):
            folds = StratifiedKFold(args.folds, shuffle=True, random_state=repeat)
            for known, new in folds.split(x, y):
                here = (x[known], y[known], x[new])
                told = (
                    pruned(*here),
                    *(tuned(*here, args.seconds, DEPTHS[: DEPTHS.index(d) + 1]) for d in deepest),
                )
                wrong.append([float((one != y[new]).mean()) for one in told])
        mean = np.mean(wrong, axis=0)
        spread = np.std(wrong, axis=0) / np.sqrt(len(wrong))
        better += bool(mean[-1] <= mean[0])
        table.add(
            name,
            len(y),
            *(f"{100 * m:.1f}% ± {100 * s:.1f}" for m, s in zip(mean, spread, strict=True)),
        )
    table.note(
        f"Errors on held-out rows, mean and standard error of {args.repeats} x {args.folds} folds;"
        f" {args.seconds:g} s for a choice and its fit. Tuned to depth {deepest[-1]} is no"
        f" worse than CART pruned on {better} of {len(args.sets)} sets."
    )
    if args.docs:
        table.publish()


if __name__ == "__main__":
    main()
