"""Survival trees of the engine against pystreed's survival task: equal optima, times.

    python benchmarks/survival.py [--depth 3] [--thresholds 10] [options]

One thread, processor time, medians of paired runs. Both get the same 0/1 columns, as pystreed's own
binarizer makes them of the numbers; the engine also gets the numbers as they are ("as numbers"),
and proves trees without bins. Sets are those that come with scikit-survival, which pystreed asks
for, and one of `odtdsl.datasets.survival`. `--docs` puts the table into the measured figures.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures.peers import Outcome, alternate
from measures.report import Table, geometric
from measures.sets import Array, ranked_or_binary

from odtdsl import datasets
from odtdsl.base import _engine
from odtdsl.tasks.survival.problem import cumulative_hazards

SETS = ("veterans_lung_cancer", "whas500", "gbsg2", "breast_cancer", "aids", "flchain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Numbers, and 0/1 columns of them; times and events of rows."""

    name: str
    numbers: Array
    columns: Array
    times: Array
    events: Array


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """The sets; rows with a missing cell are left out, categories become 0/1 columns."""
    made = datasets.survival(1000)
    numbers = np.column_stack([made[name] for name in ("age", "stage", "marker")])
    times, events = (np.array(made[name], dtype=float) for name in ("months", "died"))
    yield case("made up", numbers.astype(float), times, events, args)
    if not find_spec("sksurv"):
        print("scikit-survival is missing: its sets are left out", file=sys.stderr)
        return
    import pandas as pd

    known = import_module("sksurv.datasets")
    for name in SETS:
        frame, y = getattr(known, f"load_{name}")()
        event, time_ = y.dtype.names[:2]
        columns = pd.get_dummies(frame, drop_first=True, dtype=float).astype(float)
        whole = columns.notna().all(axis=1).to_numpy()
        numbers = columns.to_numpy()[whole]
        yield case(name, numbers, y[time_][whole].astype(float), y[event][whole] * 1.0, args)


def case(name: str, numbers: Array, times: Array, events: Array, args: argparse.Namespace) -> Case:
    """With the 0/1 columns of pystreed; without it, cuts at the same number of quantiles."""
    kept = numbers[:, : args.features]
    if find_spec("pystreed"):
        binarizer = import_module("pystreed.binarizer").Binarizer
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = binarizer("quantile", args.thresholds, args.thresholds, None, None)
            made.fit(kept, times)
            columns = np.asarray(made.transform(kept), dtype=float)
    else:
        parts = np.arange(1, args.thresholds + 1) / (args.thresholds + 1)
        cuts = [np.unique(np.quantile(column, parts)) for column in kept.T]
        columns = np.column_stack(
            [column <= cut for column, some in zip(kept.T, cuts, strict=True) for cut in some]
        ).astype(float)
    return Case(name=name, numbers=kept, columns=columns, times=times, events=events)


def ours(x: Array, one: Case, args: argparse.Namespace) -> Outcome:
    """The engine; hazards and the sorting of numbers are part of its time."""
    start = time.process_time()
    hazards = cumulative_hazards(one.times, one.events, np.ones(len(one.times)))
    ranks, distinct = ranked_or_binary(x)
    problem = _engine.NumberProblem(
        _engine.RankTable(ranks, distinct),
        (one.events / hazards)[:, None],
        args.depth,
        weights=hazards,
        loss="poisson",
    )
    limits = _engine.Limits(time_limit=args.limit, threads=args.threads)
    found = _engine.solve_numbers(problem, limits)
    seconds = time.process_time() - start
    return Outcome(
        seconds=seconds,
        value=None,
        proven=found.status == "optimal",
        raw={"objective": found.objective, "bound": found.bound},
    )


def streed(one: Case, args: argparse.Namespace) -> Outcome:
    """pystreed's survival task: its search alone, without what its class makes around it."""
    base, data = import_module("pystreed.base"), import_module("pystreed.data")

    class Survival(base.BaseSTreeDSolver):  # type: ignore[misc, name-defined]
        def _process_extra_data(self, X: Any, events: Any) -> Any:
            known = np.ones(len(X)) if events is None else events
            return [data.SAData(int(event), -1.0) for event in known]

    solver = Survival(
        "survival-analysis",
        max_depth=args.depth,
        feature_ordering="in-order",
        use_similarity_lower_bound=False,
        time_limit=args.limit,
    )
    solver._label_type = np.double
    columns = one.columns.astype(np.intc)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver.fit(columns, one.times, one.events)
    seconds = time.process_time() - start
    ratios = np.asarray(solver.predict(columns))
    hazards = cumulative_hazards(one.times, one.events, np.ones(len(one.times)))
    # A leaf without events loses nothing, as in its search.
    came = np.isin(ratios, np.unique(ratios[one.events == 1]))
    expected = np.where(came, hazards * ratios, 0.0)
    lost = expected - one.events * (np.log(np.where(one.events == 1, expected, 1.0)) + 1)
    proven = bool(solver.fit_result.is_optimal())
    return Outcome(seconds=seconds, value=None, proven=proven, raw={"objective": lost.sum()})


def compare(name: str, mine: Outcome, other: Outcome) -> str:
    """Equal optima, to one part in 10^7; what pystreed leaves above ours is told."""
    a, b = mine.raw["objective"], other.raw["objective"]
    assert not mine.proven or not other.proven or a <= b * (1 + 1e-7), (name, a, b)
    return "" if abs(a - b) <= 1e-7 * b else f" ({b - a:+.2g})"


def measure(args: argparse.Namespace) -> None:
    """One row per set."""
    table = Table(
        f"survival-{args.depth}",
        (
            "set",
            "rows x tests",
            "optimum",
            "ours, s",
            "pystreed, s",
            "ratio",
            "numbers x cuts",
            "optimum",
            "as numbers, s",
        ),
    )
    peer = args.peer and find_spec("pystreed") is not None
    ratios: list[float] = []
    for one in cases(args):
        if args.sets and one.name not in args.sets.split(","):
            continue
        pair = alternate(
            args.runs,
            lambda: ours(one.columns, one, args),
            (lambda: streed(one, args)) if peer else None,
        )
        above, peers = "", ""
        both = pair.other is not None and pair.mine.proven and pair.other.proven
        if pair.other is not None:
            above = compare(one.name, pair.mine, pair.other)
            peers = f"{pair.other_seconds:.4f}{above}{'' if pair.other.proven else ' (open)'}"
        ratios += [pair.ratio] if both else []
        numbers = alternate(1, lambda: ours(one.numbers, one, args), None)
        cuts = sum(len(np.unique(column)) - 1 for column in one.numbers.T)
        table.add(
            one.name,
            f"{one.columns.shape[0]} x {one.columns.shape[1]}",
            said(pair.mine),
            f"{pair.seconds:.4f}",
            peers,
            f"{pair.ratio:.2f}" if both else "",
            f"{one.numbers.shape[1]} x {cuts}",
            said(numbers.mine),
            f"{numbers.seconds:.4f}",
        )
    if ratios:
        table.note(
            f"Depth {args.depth}, {args.thresholds} thresholds; in brackets what pystreed's tree"
            f" loses more. Ratio of times on the {len(ratios)} rows that both proved: geometric"
            f" mean {geometric(ratios):.1f}, least {min(ratios):.1f}."
        )
    if args.docs:
        table.publish()


def said(found: Outcome) -> str:
    """The loss, and the bound where it is not proven."""
    bound = "" if found.proven else f" (bound {found.raw['bound']:.6g})"
    return f"{found.raw['objective']:.6g}{bound}"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--thresholds", type=int, default=10, help="of each number")
    parser.add_argument("--features", type=int, default=12, help="the first ones of each set")
    parser.add_argument("--runs", type=int, default=3, help="medians of so many")
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sets", default=None, help="names, by commas")
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
