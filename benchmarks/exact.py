"""The exact engine against its peers: one thread, medians, equal optima asserted.

    ODTDSL_DATA=... python benchmarks/exact.py continuous [--depth 3] [--isa avx2] [--runs 3] ...

Or binary, smallest, threads, scaling, memory in place of continuous.

Peers come from the ``bench`` extra (pycontree, pystreed); one that is missing is left out.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from odtdsl import _engine

CONTINUOUS = [
    "bank",
    "wilt",
    "bidding",
    "occupancy",
    "raisin",
    "page",
    "bean",
    "fault",
    "magic",
    "eeg",
]
ERRORS = {
    3: dict(zip(CONTINUOUS, (19, 18, 37, 47, 76, 125, 1406, 494, 2567, 3495), strict=False)),
    4: {"bank": 0, "wilt": 2, "bidding": 16, "occupancy": 26, "raisin": 59, "page": 91},
}
SMALLEST = {
    "car": (8, 143),
    "mouse": (4, 15),
    "monk1": (5, 15),
    "monk2": (6, 67),
    "iris": (4, 15),
    "wine": (3, 15),
}


def data_folder():
    folder = os.environ.get("ODTDSL_DATA")
    if not folder:
        sys.exit("set ODTDSL_DATA to the folder that holds the public data sets")
    return Path(folder)


def load(folder, name):
    suffix = ".txt" if folder == "continuous" else ".csv"
    a = np.loadtxt(data_folder() / folder / (name + suffix))
    return a[:, 1:], np.unique(a[:, 0], return_inverse=True)[1].astype(np.int32)


def ranked(x):
    columns = [np.unique(x[:, f], return_inverse=True) for f in range(x.shape[1])]
    distinct = np.array([len(values) for values, _ in columns], dtype=np.uint32)
    dtype = np.uint16 if distinct.max() < 65535 else np.uint32
    return np.array([inverse for _, inverse in columns], dtype=dtype), distinct


def ours(x, y, depth, **options):
    start = time.perf_counter()
    ranks, distinct = ranked(x)  # sorting is part of the time
    result = _engine.solve(ranks, distinct, y, int(y.max()) + 1, depth, **options)
    return time.perf_counter() - start, result


def contree(x, y, depth, limit, gap=0.0):
    import pandas as pd
    from pycontree import ConTree

    model = ConTree(max_depth=depth, time_limit=limit, max_gap=int(gap))
    frame, labels = pd.DataFrame(x), pd.Series(y)
    start = time.perf_counter()
    model.fit(frame, labels)
    seconds = time.perf_counter() - start
    return seconds, int((np.asarray(model.predict(frame)) != y).sum())


def streed(x, y, depth, limit):
    from pystreed import STreeDClassifier

    model = STreeDClassifier("accuracy", max_depth=depth, time_limit=limit)
    start = time.perf_counter()
    model.fit(x.astype(int), y)
    seconds = time.perf_counter() - start
    return seconds, int((np.asarray(model.predict(x.astype(int))) != y).sum())


def alternate(runs, first, second):
    """Paired runs, so that a busy machine slows both; medians."""
    pairs = [(first(), second() if second else (float("nan"), None)) for _ in range(runs)]
    a = statistics.median(p[0][0] for p in pairs)
    b = statistics.median(p[1][0] for p in pairs)
    ratio = statistics.median(p[1][0] / p[0][0] for p in pairs)
    return a, b, ratio, pairs[0][0][1], pairs[0][1][1]


def row(name, a, b, ratio, result, other, expected):
    error = result["objective"]
    proven = result["status"] == "optimal"
    if proven:
        assert expected is None or error == expected, (name, error, expected)
    if proven and other is not None and b < 590:
        assert error <= other, (name, error, other)
    print(
        f"{name:18s} {result['status']:9s} {error:6d} bound {result['bound']:6d}  "
        f"ours {a:9.4f} s  peer {b:9.4f} s ({other})  ratio {ratio:7.2f}",
        flush=True,
    )


def compare(args, folder, names, peer, expected):
    ratios = []
    for name in names:
        x, y = load(folder, name)
        options = {"isa": args.isa, "time_limit": args.limit, "threads": args.threads}
        second = (lambda: peer(x, y, args.depth, args.limit)) if args.peer else None
        a, b, ratio, result, other = alternate(
            args.runs, lambda: ours(x, y, args.depth, **options), second
        )
        row(name, a, b, ratio, result, other, expected.get(name))
        if second and result["status"] == "optimal":
            ratios.append(ratio)
    if ratios:
        print(
            f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, least {min(ratios):.2f},"
            f" sets {len(ratios)}"
        )


def smallest(args):
    for name, (depth, nodes) in SMALLEST.items():
        a = np.genfromtxt(data_folder() / "sat" / f"{name}.csv", delimiter=",", skip_header=1)
        y = np.unique(a[:, -1], return_inverse=True)[1].astype(np.int32)
        seconds, result = ours(a[:, :-1], y, 20, smallest=True, time_limit=args.limit)
        tree = result["tree"]

        def height(i):
            return (
                0
                if tree["feature"][i] < 0
                else 1 + max(height(tree["left"][i]), height(tree["right"][i]))
            )

        found = (height(0), 2 * result["objective"] - 1)
        assert result["status"] == "optimal", name
        assert found == (depth, nodes), (name, found)
        print(f"{name:8s} depth {found[0]}  nodes {found[1]:4d}  {seconds:.4f} s")


def threads(args):
    for name in args.sets or ["magic", "eeg", "fault", "bean"]:
        x, y = load("continuous", name)
        two, one, ratio, result, other = alternate(
            args.runs,
            lambda: ours(x, y, args.depth, threads=2, time_limit=args.limit),
            lambda: ours(x, y, args.depth, threads=1, time_limit=args.limit),
        )
        assert result["objective"] == other["objective"]
        print(f"{name:10s} one {one:.3f} s  two {two:.3f} s  ratio {ratio:.2f}", flush=True)


def scaling(args):
    """Synthetic: 3 numeric features of 256 values, 2 classes, depth 3."""
    rng = np.random.default_rng(0)
    for n in (1_000, 10_000, 100_000, 200_000, 1_000_000):
        x = rng.integers(0, 256, size=(n, 3)).astype(float)
        signal = (x[:, 0] > 100) ^ (x[:, 1] > 140) ^ ((x[:, 2] > 60) & (x[:, 0] < 200))
        y = (signal ^ (rng.random(n) < 0.1)).astype(np.int32)
        seconds, result = ours(x, y, 3, isa=args.isa, time_limit=args.limit)
        print(
            f"{n:9d} rows  {result['status']}  {result['objective']}  {seconds:.3f} s", flush=True
        )


def memory(args):
    """Peak memory of a fresh process, above one that only loads the data."""
    program = (
        "import resource,sys;sys.path[:0]=['.','benchmarks'];import exact;"
        "x,y=exact.load('continuous',sys.argv[1]);"
        "base=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "{call};print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss-base)/1024)"
    )
    for name in args.sets or CONTINUOUS:
        peaks = []
        for call in (
            f"exact.ours(x,y,{args.depth},time_limit={args.limit})",
            "import pandas,pycontree;base=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
            f"exact.contree(x,y,{args.depth},{args.limit})",
        )[: 1 + args.peer]:
            out = subprocess.run(
                [sys.executable, "-c", program.replace("{call}", call), name],
                capture_output=True,
                text=True,
                check=False,
            )
            peaks.append(
                float(out.stdout.strip().splitlines()[-1]) if out.returncode == 0 else float("nan")
            )
        print(name, "MB:", *(f"{p:.1f}" for p in peaks), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=["continuous", "binary", "smallest", "threads", "scaling", "memory"]
    )
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--isa", default="best")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sets", type=lambda s: s.split(","), default=None)
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    args = parser.parse_args()
    if args.what == "continuous":
        compare(args, "continuous", args.sets or CONTINUOUS, contree, ERRORS.get(args.depth, {}))
    elif args.what == "binary":
        names = args.sets or sorted(p.stem for p in (data_folder() / "binary").glob("*.csv"))
        compare(args, "binary", names, streed, {})
    else:
        {"smallest": smallest, "threads": threads, "scaling": scaling, "memory": memory}[args.what](
            args
        )


if __name__ == "__main__":
    main()
