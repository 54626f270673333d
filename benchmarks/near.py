"""All good trees: counted and listed, against PRAXIS's exact mode.

    ODTDSL_DATA=... python benchmarks/near.py [--sets a,b] [--depth 4] [--near 0.03] [--runs 3]

The objective is `errors + price * leaves` with the price PRAXIS makes of its default of 0.01 of
the rows, so both count the same trees: their numbers by value are compared, and a difference ends
the run. Processor seconds of one thread, medians, from cells to the answer: PRAXIS counts trees;
ours are those of counting them, both ways (those that predict alike each, and once), and of the
list of 1,000 with its audits. Runs alternate. `pip install tree-praxis`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures import sets

import odtdsl

SETS = "heart-cleveland,kr-vs-kp,german-credit"


def praxis(x: Any, y: Any, args: argparse.Namespace) -> dict[int, int]:
    """How many trees have which value."""
    from praxis import PRAXIS

    model = PRAXIS()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model.fit(
            x,
            y,
            lambda_reg=0.01,
            depth_budget=args.depth,
            rashomon_mult=args.near,
            lookahead_k=args.depth - 1,
            key_mode=args.keys,
        )
    return {int(value): int(trees) for value, trees in model.get_root_histogram()}


def spent(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    answer = call()
    return time.process_time() - began, answer


def row(name: str, args: argparse.Namespace) -> str:
    table = np.loadtxt(sets.folder() / "binary" / f"{name}.csv", dtype=int)
    x, y = table[:, 1:], table[:, 0]
    columns = {f"x{j}": x[:, j].tolist() for j in range(x.shape[1])}
    price = round(0.01 * len(y))
    spec = odtdsl.parse(
        f"data frame target y tree depth <= {args.depth} minimize errors + {price} * leaves"
    )
    frame = {**columns, "y": y.tolist()}
    peer = praxis(x, y, args)
    best = min(peer)
    slack = round((1 + args.near) * best) - best
    seconds: dict[str, list[float]] = {"PRAXIS": [], "count": [], "list": []}
    for _ in range(args.runs):
        taken, theirs = spent(lambda: praxis(x, y, args))
        seconds["PRAXIS"].append(taken)
        taken, ours = spent(
            lambda: spec.alternatives(near=slack, most=10**6, only_count=True, frame=frame)
        )
        seconds["count"].append(taken)
        if {int(value): trees for value, trees in ours.counts} != theirs:
            raise SystemExit(f"{name}: {ours.counts}, PRAXIS {theirs}")
        seconds["list"].append(
            spent(lambda: spec.alternatives(near=slack, count=True, frame=frame))[0]
        )
    median = {way: statistics.median(of) for way, of in seconds.items()}
    cells = [name, f"{ours.raw:,}", f"{ours.distinct:,}"]
    cells += [f"{median[way]:.2f}" for way in ("PRAXIS", "count", "list")]
    return "| " + " | ".join([*cells, f"{median['PRAXIS'] / median['count']:.1f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--near", type=float, default=0.03)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keys", default="hash", choices=["hash", "exact"])
    args = parser.parse_args()
    if find_spec("praxis") is None:
        raise SystemExit("tree-praxis is not installed: pip install tree-praxis")
    odtdsl.parse("data frame target y tree depth <= 1 minimize errors").alternatives(
        frame={"a": [0, 1], "y": [0, 1]}, only_count=True
    )  # what is imported on the way
    print("| set | trees | that predict differently | PRAXIS, s | count, s | list, s | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in args.sets.split(","):
        print(row(name, args), flush=True)


if __name__ == "__main__":
    main()
