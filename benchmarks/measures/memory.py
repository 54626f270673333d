"""Peak memory against pycontree, each run in a fresh process; and runs with a small cache."""

from __future__ import annotations

import statistics
from argparse import Namespace
from typing import Any

from measures import fresh, sets
from measures.report import Table
from measures.sets import Array

ALLOWANCE = 16
"""MB that ours may take more than pycontree."""


def memory(args: Namespace) -> None:
    """Peaks beyond the interpreter and its imports; at most the peer's plus 16 MB."""
    table = Table(
        f"memory-{args.depth}",
        (
            "set",
            "errors",
            "ours, MB",
            "peer, MB",
            "at most peer + 16",
            "peer's run",
        ),
    )
    deep = [name for name in sets.CONTINUOUS if name not in ("bean", "eeg")]
    over: list[str] = []
    for name in args.sets or (deep if args.depth == 4 else sets.CONTINUOUS):
        x, y = sets.load("continuous", name)
        mine = _repeat(args, x, y, who="ours")
        known = sets.ERRORS.get(args.depth, {}).get(name)
        assert known is None or not mine["proven"] or mine["value"] == known, (name, mine)
        if not args.peer:
            table.add(name, mine["value"], mine["megabytes"], "", "", "")
            continue
        peer = _repeat(args, x, y, who="contree")
        if mine["proven"] and peer["proven"]:
            assert mine["value"] == peer["value"], (name, mine, peer)
        within = mine["megabytes"] <= peer["megabytes"] + ALLOWANCE
        over += [] if within else [name]
        table.add(
            name,
            mine["value"] if mine["proven"] else f"{mine['value']} (open)",
            f"{mine['megabytes']:.1f}",
            f"{peer['megabytes']:.1f}",
            "yes" if within else "NO",
            "proven" if peer["proven"] else f"stopped at {peer['seconds']:.0f} s",
        )
    table.note(
        f"Depth {args.depth}, limit {args.limit:g} s; MB = 10^6 bytes; the data count, imports"
        f" do not. Medians of {args.runs} (one where a run takes over 30 s)."
    )
    if over:
        table.note(f"Over the allowance: {', '.join(over)}.")
    if args.docs:
        table.publish()


def _repeat(args: Namespace, x: Array, y: Array, who: str) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    for _ in range(args.runs):
        runs.append(fresh.run(x, y, who=who, depth=args.depth, limit=args.limit))
        if runs[-1]["seconds"] > 30:
            break
    return runs[0] | {"megabytes": statistics.median(run["megabytes"] for run in runs)}


def cache(args: Namespace) -> None:
    """The same optimum with a small limit on the cache as without."""
    head = ["set", "depth", "optimum", "s", "peak, MB", "cached"]
    for megabytes in args.megabytes:
        head += [f"{megabytes:g} MB: s", "peak, MB", "cached"]
    table = Table("cache", head)
    for kind, name, depth in _problems(args):
        x, y = sets.load_sat(name) if kind == "sat" else sets.load(kind, name)
        call: dict[str, Any] = {"who": "ours", "depth": depth, "limit": args.limit}
        if kind == "sat":
            call["smallest"] = True
        runs = [fresh.run(x, y, **call)]
        for megabytes in args.megabytes:
            runs.append(fresh.run(x, y, memory_limit=int(megabytes * 1e6), **call))
        least = min(run["value"] for run in runs)
        for run in runs:
            assert run["bound"] <= least, (name, runs)
            assert not run["proven"] or run["value"] == run["bound"] == least, (name, runs)
        cells = [
            cell
            for run in runs
            for cell in (
                f"{run['seconds']:.3f}" if run["proven"] else f"stopped at {run['seconds']:.0f}",
                f"{run['megabytes']:.1f}",
                run["counters"]["cache_entries"],
            )
        ]
        proven = any(run["proven"] for run in runs)
        table.add(
            name,
            "least" if kind == "sat" else depth,
            least if proven else f"{least} (open)",
            *cells,
        )
    table.note(
        f"`memory_limit` against the default; limit {args.limit:g} s. Cached: sub-problems kept."
        " `least`: the smallest tree without error, its leaves as optimum."
    )
    if args.docs:
        table.publish()


def _problems(args: Namespace) -> list[tuple[str, str, int]]:
    found = [("continuous", name, 3) for name in sets.CONTINUOUS]
    found += [("continuous", name, 4) for name in ("bidding", "occupancy", "raisin")]
    found += [("binary", name, 5) for name in sets.binary()]
    found += [("binary", name, 6) for name in ("german-credit", "diabetes", "kr-vs-kp")]
    found += [("sat", name, 20) for name in ("car", "monk2")]
    return [problem for problem in found if not args.sets or problem[1] in args.sets]
