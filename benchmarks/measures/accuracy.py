"""Test accuracy by how thresholds are chosen: the question of the ConTree study's table 6.

Through the language: a spec over a frame, solved, audited, and its tree asked for predictions.
The sets here are that study's training splits, so its figures are not expected digit by digit.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np

from measures import sets
from measures.report import Table
from measures.sets import Array

CANDIDATES = {
    "10 quantiles": "candidates * at quantiles 11",
    "guessed": "candidates * at guessed",
    "all thresholds": "candidates * at midpoints",
}
"""Column and what the spec says; 11 equal shares have the study's ten thresholds between them."""

SPEC = """
data frame
target label
feature *: number
{candidates}
tree depth <= {depth}
minimize errors
solve using exact, seed 0
"""
FOLDS = 5
"""Splits of the training rows by which `--tune` chooses."""

Predict = Callable[[Array], Array]


def accuracy(args: Namespace) -> None:
    """Five stratified 80/20 splits, the same for all; mean and standard error in per cent."""
    methods = ["CART", *CANDIDATES]
    tuned = "-tuned" if args.tune else ""
    table = Table(f"accuracy{tuned}", ("set", "rows", *methods))
    training = Table(f"accuracy{tuned}-training", ("set", *methods), quiet=True)
    means: list[tuple[Array, Array]] = []
    began = time.perf_counter()
    for name in args.sets or sets.CONTINUOUS:
        x, y = sets.load("continuous", name)
        splits = [_split(args, x, y, seed) for seed in range(args.splits)]
        tested, trained = (np.array(part) for part in zip(*splits, strict=True))
        if not args.tune:  # the other thresholds are among all of them
            assert (trained[:, -1:] >= trained - 1e-12).all(), (name, trained)
        means.append((tested.mean(axis=0), trained.mean(axis=0)))
        error = tested.std(axis=0, ddof=1) / np.sqrt(args.splits)
        pairs = zip(tested.mean(axis=0), error, strict=True)
        table.add(name, len(y), *(f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in pairs))
        training.add(name, *(f"{100 * m:.1f}" for m in trained.mean(axis=0)))
    table.add("mean", "", *(f"{100 * m:.1f}" for m in np.mean([t for t, _ in means], axis=0)))
    training.add("mean", *(f"{100 * m:.1f}" for m in np.mean([t for _, t in means], axis=0)))
    how = (
        f"each size tuned by {FOLDS} stratified 80/20 splits of the training rows: CART's"
        f" cost-complexity at depth {args.depth}, our depth from 1 to {args.depth}"
        if args.tune
        else f"depth {args.depth} without tuning"
    )
    table.note(
        f"Test accuracy in per cent, mean ± standard error over {args.splits} stratified 80/20"
        f" splits (`train_test_split`, seeds 0 to {args.splits - 1}), {how}. Every tree of the"
        " last three columns is proven optimal for its thresholds, and audited."
    )
    training.note(
        f"Training accuracy of the same trees. Both tables: {time.perf_counter() - began:.0f} s."
    )
    print("\n" + training.text())
    if args.docs:
        table.publish()
        training.publish()


def _split(args: Namespace, x: Array, y: Array, seed: int) -> tuple[list[float], list[float]]:
    """Test and training accuracies of all methods on one split."""
    from sklearn.model_selection import train_test_split

    x, x_test, y, y_test = train_test_split(x, y, test_size=0.2, random_state=seed, stratify=y)
    depths = dict.fromkeys(CANDIDATES, args.depth)
    alpha = 0.0
    if args.tune:
        alpha, depths = _cart_alpha(x, y, args.depth), _depths(x, y, args.depth)
    fitted = [_cart(x, y, args.depth, alpha)]
    fitted += [_optimal(x, y, depths[name], text) for name, text in CANDIDATES.items()]
    return (
        [float((predict(x_test) == y_test).mean()) for predict in fitted],
        [float((predict(x) == y).mean()) for predict in fitted],
    )


def _cart(x: Array, y: Array, depth: int, alpha: float) -> Predict:
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=depth, random_state=0, ccp_alpha=alpha)
    predict: Predict = model.fit(x, y).predict
    return predict


def _optimal(x: Array, y: Array, depth: int, candidates: str) -> Predict:
    """A proven, audited tree of a spec."""
    import odtdsl

    labels = np.array([f"c{label}" for label in y], dtype=object)
    model = odtdsl.parse(SPEC.format(candidates=candidates, depth=depth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.solve(frame=_frame(x) | {"label": labels})
    assert result.status == "optimal", (candidates, result.status)
    assert result.audit is not None
    assert result.audit.holds
    tree = result.tree
    assert tree is not None
    assert result.objective == (tree.predict(_frame(x)) != labels).sum()
    return lambda rows: np.array([int(label[1:]) for label in tree.predict(_frame(rows))])


def _frame(x: Array) -> dict[str, Array]:
    return {f"x{f}": x[:, f] for f in range(x.shape[1])}


# ---- tuning


def _folds(x: Array, y: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
    from sklearn.model_selection import train_test_split

    for seed in range(FOLDS):
        yield train_test_split(x, y, test_size=0.2, random_state=100 + seed, stratify=y)


def _cart_alpha(x: Array, y: Array, depth: int) -> float:
    """The best cost of complexity, the largest of equals."""
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(max_depth=depth, random_state=0)
    alphas = np.maximum(cart.cost_complexity_pruning_path(x, y).ccp_alphas, 0.0)
    scores = np.zeros(len(alphas))
    for x_fit, x_held, y_fit, y_held in _folds(x, y):
        for i, alpha in enumerate(alphas):
            scores[i] += (_cart(x_fit, y_fit, depth, alpha)(x_held) == y_held).mean()
    return float(alphas[np.flatnonzero(scores >= scores.max() - 1e-12)[-1]])


def _depths(x: Array, y: Array, depth: int) -> dict[str, int]:
    """The best depth of each method, the least of equals."""
    scores = {name: np.zeros(depth) for name in CANDIDATES}
    for x_fit, x_held, y_fit, y_held in _folds(x, y):
        texts = CANDIDATES | {"guessed": _guessed(x_fit, y_fit)}
        for name, text in texts.items():
            for d in range(1, depth + 1):
                scores[name][d - 1] += (_optimal(x_fit, y_fit, d, text)(x_held) == y_held).mean()
    return {name: 1 + int(np.argmax(of >= of.max() - 1e-12)) for name, of in scores.items()}


def _guessed(x: Array, y: Array) -> str:
    """What `at guessed` would choose, spelled out, so that the ensemble grows once per fold."""
    from odtdsl.datasets.candidates import guessed_cuts

    lines = []
    for name, cuts in guessed_cuts(_frame(x), y.astype(np.int64), 0).items():
        listed = ", ".join(f"{Decimal(cut):f}" for cut in cuts)
        lines.append(f"candidates {name} at {{{listed}}}" if cuts else f"drop {name}")
    return "\n".join(lines)
