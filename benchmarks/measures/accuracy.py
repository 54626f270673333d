"""Test accuracy by how thresholds are chosen: the question of the ConTree study's table 6.

Through the language: a spec over a frame, solved, audited, and its tree asked for predictions.
The sets here are that study's training splits, so its figures are not expected digit by digit.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace

import numpy as np

from measures import sets
from measures.report import Table
from measures.sets import Array

CANDIDATES = {
    "10 quantiles": "quantiles 11",
    "guessed": "guessed",
    "all thresholds": "midpoints",
}
"""Column and what the spec says; 11 equal shares have the study's ten thresholds between them."""

SPEC = """
data frame
target label
feature *: number
candidates * at {candidates}
tree depth <= {depth}
minimize errors
solve using exact, seed 0
"""


def accuracy(args: Namespace) -> None:
    """Five stratified 80/20 splits, the same for all; mean and standard error in per cent."""
    methods = ["CART", *CANDIDATES]
    table = Table("accuracy", ("set", "rows", *methods))
    training = Table("accuracy-training", ("set", *methods), quiet=True)
    means: list[tuple[Array, Array]] = []
    began = time.perf_counter()
    for name in args.sets or sets.CONTINUOUS:
        x, y = sets.load("continuous", name)
        splits = [_split(x, y, args.depth, seed) for seed in range(args.splits)]
        tested, trained = (np.array(part) for part in zip(*splits, strict=True))
        # quantiles and guesses are among all thresholds, so on the training rows all are best
        assert (trained[:, -1:] >= trained - 1e-12).all(), (name, trained)
        means.append((tested.mean(axis=0), trained.mean(axis=0)))
        error = tested.std(axis=0, ddof=1) / np.sqrt(args.splits)
        pairs = zip(tested.mean(axis=0), error, strict=True)
        table.add(name, len(y), *(f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in pairs))
        training.add(name, *(f"{100 * m:.1f}" for m in trained.mean(axis=0)))
    table.add("mean", "", *(f"{100 * m:.1f}" for m in np.mean([t for t, _ in means], axis=0)))
    training.add("mean", *(f"{100 * m:.1f}" for m in np.mean([t for _, t in means], axis=0)))
    table.note(
        f"Test accuracy in per cent, mean ± standard error over {args.splits} stratified 80/20"
        f" splits (`train_test_split`, seeds 0 to {args.splits - 1}), depth {args.depth} without"
        " tuning. Every tree of the last three columns is proven optimal for its thresholds, and"
        " audited."
    )
    training.note(
        f"Training accuracy of the same trees. Both tables: {time.perf_counter() - began:.0f} s."
    )
    print("\n" + training.text())
    if args.docs:
        table.publish()
        training.publish()


def _split(x: Array, y: Array, depth: int, seed: int) -> tuple[list[float], list[float]]:
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier

    parts = train_test_split(x, y, test_size=0.2, random_state=seed, stratify=y)
    x_train, x_test, y_train, y_test = parts
    cart = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x_train, y_train)
    tested = [float(cart.score(x_test, y_test))]
    trained = [float(cart.score(x_train, y_train))]
    for candidates in CANDIDATES.values():
        predict = _solved(x_train, y_train, depth, candidates)
        tested.append(float((predict(x_test) == y_test).mean()))
        trained.append(float((predict(x_train) == y_train).mean()))
    return tested, trained


def _solved(x: Array, y: Array, depth: int, candidates: str):  # type: ignore[no-untyped-def]
    import odtdsl

    text = SPEC.format(candidates=candidates, depth=depth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = odtdsl.parse(text).solve(frame=_frame(x) | {"label": [f"c{v}" for v in y]})
    assert result.status == "optimal", (candidates, result.status)
    assert result.audit is not None
    assert result.audit.holds
    tree = result.tree
    assert tree is not None
    assert result.objective == sum(tree.predict(_frame(x)) != np.array([f"c{v}" for v in y]))
    return lambda rows: np.array([int(label[1:]) for label in tree.predict(_frame(rows))])


def _frame(x: Array) -> dict[str, Array]:
    return {f"x{f}": x[:, f] for f in range(x.shape[1])}
