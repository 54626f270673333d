"""Policy trees: equal optima as pystreed on random 0/1 sets, and proofs on numbers.

    python benchmarks/policy.py peers [--count 200] [--docs]
    python benchmarks/policy.py numbers [--rows 20000] [--limit 120] [--docs]

`peers` draws rows with a treatment, an outcome, a propensity and predicted outcomes. pystreed's
prescriptive task maximizes doubly robust scores itself, its task of costs of each row's own is
given what rows lose by each choice; the best sums must be equal. `numbers` times whole solves, with
reading, audit and all, of choices among three on ten columns of numbers without binning. `--docs`
puts the table into `docs/explanation/exact-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures.report import Table
from measures.sets import Array

import odtdsl

CHOICES = 3


# ---- peers


def observed(seed: int) -> tuple[Array, Array, Array]:
    """0/1 columns; treatment, outcome, propensity and predictions; doubly robust scores."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(60, 400)), int(rng.integers(5, 13))
    x = (rng.random((rows, columns)) < rng.uniform(0.2, 0.8, columns)).astype(float)
    gain = rng.normal(size=(columns, CHOICES)) * (rng.random((columns, CHOICES)) < 0.4)
    means = x @ gain
    shares = rng.dirichlet(np.ones(CHOICES) * 3, size=rows)
    given = (rng.random((rows, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(0, CHOICES - 1)
    given[:CHOICES] = np.arange(CHOICES)  # each treatment is seen
    each = np.arange(rows)
    chance = np.round(np.maximum(shares[each, given], 0.05), 3)
    outcome = np.round(means[each, given] + rng.normal(size=rows), 2)
    predicted = np.round(means + 0.3 * rng.normal(size=means.shape), 2)
    scores = predicted.copy()
    scores[each, given] += (outcome - predicted[each, given]) / chance
    return x, np.column_stack([given, outcome, chance, predicted]), scores


def ours(x: Array, scores: Array, depth: int, threads: int = 1) -> tuple[float, float, str]:
    """The best sum, the seconds of the whole solve, and the status."""
    names = [f"choice{k}" for k in range(scores.shape[1])]
    frame = {f"x{k}": column for k, column in enumerate(x.T)}
    frame |= dict(zip(names, scores.T, strict=True))
    text = f"data frame target choice {{{', '.join(names)}}} by reward tree depth <= {depth}"
    spec = odtdsl.parse(f"{text} maximize reward")
    start = time.perf_counter()
    result = spec.solve(frame=frame, using="exact", threads=threads)
    seconds = time.perf_counter() - start
    assert result.audit is not None
    assert result.audit.holds
    assert result.model is not None
    made = scores[np.arange(len(x)), result.model.labels(_table(spec, frame))]
    return float(made.sum()), seconds, result.status


def _table(spec: odtdsl.Model, frame: dict[str, Array]) -> object:
    return spec.analyse(frame=frame).table


def streed(task: str, x: Array, y: Array, scores: Array, depth: int) -> tuple[float, float, bool]:
    """pystreed's best sum of scores, its seconds, and whether it is proven."""
    from pystreed import STreeDInstanceCostSensitiveClassifier, STreeDPrescriptivePolicyGenerator

    columns = x.astype(np.int32)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if task == "prescriptive":
            model = STreeDPrescriptivePolicyGenerator(max_depth=depth, teacher_method="DR")
            model.fit(columns, y)
            made = model.predict(columns, y)
        else:
            model = STreeDInstanceCostSensitiveClassifier(max_depth=depth)
            costs = scores.max(axis=1, keepdims=True) - scores
            model.fit(columns, costs)
            made = model.predict(columns, costs)
    seconds = time.perf_counter() - start
    chosen = np.asarray(made).astype(int)
    value = float(scores[np.arange(len(x)), chosen].sum())
    return value, seconds, bool(model.fit_result.is_optimal())


def peers(args: argparse.Namespace) -> None:
    """Equal optima on random sets."""
    table = Table(
        "policy-peers", ("pystreed's task", "depth", "sets", "equal", "largest difference")
    )
    for task in ("prescriptive", "costs of each row"):
        for depth in (2, 3):
            equal, far, count = 0, 0.0, 0
            for seed in range(args.count // 2):
                x, y, scores = observed(1000 * depth + seed)
                mine, _, status = ours(x, scores, depth)
                theirs, _, proven = streed(task, x, y, scores, depth)
                assert status == "optimal"
                apart = abs(mine - theirs) / max(1.0, abs(mine))
                far, count = max(far, apart), count + 1
                equal += apart <= args.within
                if apart > args.within:
                    print(f"seed {1000 * depth + seed}, {task}: {mine:.6f}, {theirs:.6f}, {proven}")
            table.add(task, str(depth), str(count), str(equal), f"{far:.1g}")
    table.note(
        "60 to 400 rows, 5 to 12 columns of 0 and 1, three treatments; differences are of sums,"
        " relative to their size."
    )
    if args.docs:
        table.publish()


# ---- numbers


def signal(rows: int, strength: float) -> tuple[Array, Array]:
    """Ten columns of numbers, and rewards of three choices of which two are good in a corner."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 10))
    corners = [(x[:, 0] > 0.3) & (x[:, 1] < 0.5), (x[:, 2] > 0.3) & (x[:, 3] < 0.5)]
    means = [np.where(corner, strength, -strength / 2) for corner in corners]
    rewards = np.column_stack([np.zeros(rows), *means]) + rng.normal(size=(rows, CHOICES))
    return x, rewards.round(6)


def numbers(args: argparse.Namespace) -> None:
    """Whole solves of 20,000 rows by depth and strength of what there is to find."""
    table = Table("policy-numbers", ("rows x columns", "signal", "depth", "answer", "seconds"))
    for strength in (1.0, 0.3):
        for depth in (1, 2, 3):
            x, rewards = signal(args.rows, strength)
            value, seconds, status = limited(x, rewards, depth, args)
            shape = f"{x.shape[0]} x {x.shape[1]}"
            table.add(
                shape, f"{strength:g}", str(depth), f"{value:.2f}, {status}", f"{seconds:.1f}"
            )
    table.note(f"Two threads, {args.limit:g} s at most; the noise of a reward has deviation 1.")
    if args.docs:
        table.publish()


def limited(x: Array, y: Array, depth: int, args: argparse.Namespace) -> tuple[float, float, str]:
    """As `ours`, with two threads within the limit."""
    names = [f"choice{k}" for k in range(y.shape[1])]
    frame = {f"x{k}": column for k, column in enumerate(x.T)} | dict(zip(names, y.T, strict=True))
    text = f"data frame target choice {{{', '.join(names)}}} by reward tree depth <= {depth}"
    spec = odtdsl.parse(f"{text} maximize reward")
    start = time.perf_counter()
    result = spec.solve(frame=frame, using="exact", threads=2, within=args.limit)
    seconds = time.perf_counter() - start
    value, gap = result.stages[0].value, result.gap
    assert value is not None
    said = result.status if gap is None or not gap else f"gap {float(gap):.0%}"
    return float(value), seconds, said


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["peers", "numbers"])
    parser.add_argument("--count", type=int, default=200, help="sets of each task")
    parser.add_argument("--within", type=float, default=1e-6, help="what counts as equal")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--limit", type=float, default=120, help="seconds")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    {"peers": peers, "numbers": numbers}[args.what](args)


if __name__ == "__main__":
    main()
