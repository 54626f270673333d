"""Regression trees of the engine against pystreed's regression task: equal optima, times.

    ODTDSL_DATA=... python benchmarks/regression.py [--depth 3] [--loss absolute] [options]

One thread, medians of paired runs. Both get the same 0/1 columns; where these are thresholds of
numbers, the engine also gets the numbers with these thresholds ("as numbers"). Targets: numbers of
`outputs/`, scikit-learn's diabetes, and for the sets of `binary/` a sparse linear function of the
columns with noise. pystreed comes from the `bench` extra and is left out where it is missing; it
has no absolute error. `--rules` measures what one rule at a time costs instead, on the numbers
where there are some. `--docs` puts the table into `docs/explanation/exact-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures import number_costs, sets
from measures.peers import Outcome, alternate
from measures.report import Table, geometric
from measures.sets import Array, ranked_or_binary

from odtdsl.base import _engine

QUANTILES = 10
TARGETS = {
    "class_df_size_1000_targets_5": "Course1",
    "class_df_size_2000_targets_7": "Course2",
    "hts_df_size_500_seed_0_v2": "y5",
    "synthetic_manifold_df_size_1000_targets_5_seed_0": "y1",
}
"""Sets of `outputs/` and the target that is taken; features are the columns before the targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Numbers (None where there are none), 0/1 columns for their tests, targets."""

    name: str
    numbers: Array | None
    columns: Array
    targets: Array


def cells(numbers: Array) -> Array:
    """Which of ten quantiles of its feature a number lies in."""
    parts = np.arange(1, QUANTILES) / QUANTILES
    return np.column_stack(
        [np.searchsorted(np.unique(np.quantile(c, parts)), c) for c in numbers.T]
    )


def thresholds(numbers: Array) -> Array:
    """One 0/1 column per cut between values that occur."""
    return np.column_stack([c <= v for c in numbers.T for v in np.unique(c)[:-1]]).astype(float)


def cases() -> Iterator[Case]:
    for seed, name in enumerate(sets.binary()):
        columns, _ = sets.load("binary", name)
        rng = np.random.default_rng(seed)
        slopes = rng.normal(size=columns.shape[1]) * (rng.random(columns.shape[1]) < 0.2)
        targets = np.round(columns @ slopes + 0.5 * rng.normal(size=len(columns)), 3)
        yield Case(name=name, numbers=None, columns=columns, targets=targets)
    for name, target in TARGETS.items():
        file = sets.folder() / "outputs" / f"{name}.csv"
        if not file.exists():
            print(f"{file} is missing: left out", file=sys.stderr)
            continue
        table = np.genfromtxt(file, delimiter=",", names=True)
        assert table.dtype.names is not None
        features = [n for n in table.dtype.names if not n[-1:].isdigit() or n.startswith("X")]
        numbers = cells(np.column_stack([table[n] for n in features]))
        short = f"{name.split('_df_')[0]}, {target}"
        yield Case(name=short, numbers=numbers, columns=thresholds(numbers), targets=table[target])
    if find_spec("sklearn"):
        from sklearn.datasets import load_diabetes

        numbers = cells(load_diabetes().data)
        yield Case(
            name="diabetes (sklearn)",
            numbers=numbers,
            columns=thresholds(numbers),
            targets=load_diabetes().target,
        )


def ours(x: Array, y: Array, args: argparse.Namespace) -> Outcome:
    """The engine; sorting numbers is part of its time, 0/1 columns are their own ranks."""
    start = time.perf_counter()
    ranks, distinct = ranked_or_binary(x)
    problem = _engine.NumberProblem(
        _engine.RankTable(ranks, distinct), y[:, None], args.depth, loss=args.loss
    )
    limits = _engine.Limits(time_limit=args.limit, threads=args.threads)
    found = _engine.solve_numbers(problem, limits)
    seconds = time.perf_counter() - start
    return Outcome(
        seconds=seconds,
        value=None,
        proven=found.status == "optimal",
        raw={"objective": found.objective, "bound": found.bound},
    )


def streed(x: Array, y: Array, args: argparse.Namespace) -> Outcome:
    """pystreed's regression task."""
    from pystreed import STreeDRegressor

    model = STreeDRegressor("regression", max_depth=args.depth, time_limit=args.limit)
    columns = x.astype(np.int32)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(columns, y)
    seconds = time.perf_counter() - start
    errors = (np.asarray(model.predict(columns)) - y) ** 2
    proven = bool(model.fit_result.is_optimal())
    return Outcome(seconds=seconds, value=None, proven=proven, raw={"objective": errors.sum()})


def agree(name: str, *answers: Outcome) -> None:
    """Proven losses are equal, to one part in 10^8 of them."""
    losses = [a.raw["objective"] for a in answers if a.proven]
    assert not losses or max(losses) - min(losses) <= 1e-8 * max(losses) + 1e-8, (name, losses)


def measure(args: argparse.Namespace) -> None:
    """One row per set."""
    table = Table(
        f"regression-{args.depth}",
        (
            "set",
            "rows x tests",
            "optimum",
            "ours, s",
            "as numbers, s",
            "pystreed, s",
            "ratio",
        ),
    )
    peer = args.peer and args.loss == "squared" and find_spec("pystreed") is not None
    ratios: list[float] = []
    for case in cases():
        if args.sets and case.name.split(",")[0] not in args.sets.split(","):
            continue
        x, y = case.columns, np.ascontiguousarray(case.targets, dtype=float)
        pair = alternate(
            args.runs, lambda: ours(x, y, args), (lambda: streed(x, y, args)) if peer else None
        )
        numbers = None
        if case.numbers is not None:
            few = case.numbers
            numbers = alternate(args.runs, lambda: ours(few, y, args), None)
        known = (pair.mine, pair.other, numbers and numbers.mine)
        agree(case.name, *(answer for answer in known if answer is not None))
        both = pair.other is not None and pair.mine.proven and pair.other.proven
        ratios += [pair.ratio] if both else []
        found = pair.mine.raw
        bound = "" if pair.mine.proven else f" (bound {found['bound']:.6g})"
        peers = ""
        if pair.other is not None:
            peers = f"{pair.other_seconds:.4f}{'' if pair.other.proven else ' (open)'}"
        table.add(
            case.name,
            f"{x.shape[0]} x {x.shape[1]}",
            f"{found['objective']:.6g}{bound}",
            f"{pair.seconds:.4f}",
            f"{numbers.seconds:.4f}" if numbers else "",
            peers,
            f"{pair.ratio:.2f}" if both else "",
        )
    if ratios:
        table.note(
            f"Depth {args.depth}. Equal optima on all {len(ratios)} rows that both proved; ratio of"
            f" times, geometric mean {geometric(ratios):.2f}, least {min(ratios):.2f}."
        )
    if args.docs:
        table.publish()


def rules(args: argparse.Namespace) -> None:
    """What rules cost."""

    def taken() -> Iterator[tuple[str, Array, Array]]:
        for case in cases():
            if not args.sets or case.name.split(",")[0] in args.sets.split(","):
                yield (
                    case.name,
                    case.columns if case.numbers is None else case.numbers,
                    case.targets,
                )

    table = number_costs.measure(taken, args.depth, args.runs, args.limit)
    if args.docs:
        table.publish()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--loss", choices=["squared", "absolute"], default="squared")
    parser.add_argument("--runs", type=int, default=3, help="medians of so many, or more")
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sets", default=None, help="names, by commas")
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    parser.add_argument("--rules", action="store_true", help="what rules cost, instead of peers")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    (rules if args.rules else measure)(args)


if __name__ == "__main__":
    main()
