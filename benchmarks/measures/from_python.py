"""From a frame to an audited result, and `fit`, against pycontree's `fit`: processor time."""

from __future__ import annotations

import statistics
import time
import warnings
from argparse import Namespace
from collections.abc import Callable

import numpy as np

from measures import sets
from measures.peers import ours
from measures.report import Table, geometric
from measures.sets import Array

SETS = ("wilt", "bidding", "occupancy", "raisin", "page")


def from_python(args: Namespace) -> None:
    """From Python, audit included, against pycontree: processor time."""
    import pandas as pd
    import pycontree
    from sklearn.datasets import load_iris

    import odtdsl

    head = ("set", "rows", "features", "depth", "engine, ms", "to `Result`, ms", "`fit`, ms")
    table = Table(f"from-python-{args.depth}", (*head, "pycontree, ms", "ratio", "ratio of `fit`"))
    ratios: list[tuple[float, float]] = []
    data = [(name, args.depth, *sets.load("continuous", name)) for name in args.sets or SETS]
    iris = load_iris()
    noise = np.random.default_rng(0).normal(size=(5000, 10)).round(2)
    noisy = (noise[:, 0] + noise[:, 1] / 2 > 0) ^ (noise[:, 2] > 1.3)
    data += [("iris", 2, iris.data, iris.target), ("made up", 2, noise, noisy.astype(np.int32))]
    for name, depth, x, y in data:
        cells = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
        frame, labels = cells.assign(y=y), pd.Series(y)
        spec = odtdsl.parse(
            f"data frame target y: class tree depth <= {depth} minimize errors solve threads 1"
        )
        tree = odtdsl.OptimalTreeClassifier(max_depth=depth, n_jobs=1)
        runs: list[Callable[[], object]] = [
            lambda x=x, y=y, depth=depth: _engine(x, y, depth),
            lambda spec=spec, frame=frame: _audited(spec, frame),
            lambda tree=tree, cells=cells, y=y: tree.fit(cells, y),
        ]
        if args.peer and len(ratios) < len(args.sets or SETS):
            peer = pycontree.ConTree(max_depth=depth, time_limit=args.limit)
            runs.append(lambda peer=peer, cells=cells, labels=labels: peer.fit(cells, labels))
        engine, result, fit, *other = _medians(runs, args.runs)
        if other:
            ratios.append((other[0] / result, other[0] / fit))
        shown = [f"{1000 * one:.1f}" for one in (engine, result, fit, *other)]
        against = [f"{one:.1f}" for one in ratios[-1]] if other else [""] * 3
        table.add(name, *x.shape, depth, *shown, *against)
    if ratios:
        both = [f"{geometric([one[at] for one in ratios]):.1f}" for at in (0, 1)]
        table.note(f"Ratio to pycontree's `fit`, geometric mean: {both[0]}, of `fit` {both[1]}.")
    if args.docs:
        table.publish()


def _engine(x: Array, y: Array, depth: int) -> None:
    assert ours(x, y, depth).proven


def _audited(spec: object, frame: object) -> None:
    found = spec.solve(frame=frame)  # type: ignore[attr-defined]
    assert found.status == "optimal"
    assert found.audit.holds


def _medians(runs: list[Callable[[], object]], count: int) -> list[float]:
    """Medians of runs in turns, in seconds; short ones are taken up to twenty times as often."""
    taken: list[list[float]] = [[] for _ in runs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in runs[:3]:
            run()
        for turn in range(20 * count):
            for run, times in zip(runs, taken, strict=True):
                if turn < count or (times and statistics.median(times) < 0.1):
                    start = time.process_time()
                    run()
                    times.append(time.process_time() - start)
    return [statistics.median(times) for times in taken]
