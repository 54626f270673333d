"""How time and memory grow with the rows: 3 numbers of 256 values, 2 classes, depth 3."""

from __future__ import annotations

import statistics
from argparse import Namespace
from typing import Any

from measures import fresh, sets
from measures.chart import Line, Panel, svg
from measures.report import PAGE, Table

ROWS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
KINDS = (("a tree with 10% noise", 0.1), ("random labels", 0.5))
PEER_ROWS = 200_000
"""pycontree takes part up to here, unless it met the limit before."""


def scaling(args: Namespace) -> None:
    """A fresh process for every run; optimal values equal pycontree's where it ends."""
    table = Table(
        "scaling",
        (
            "labels",
            "rows",
            "errors",
            "ours, s",
            "ours, MB",
            "pycontree, s",
            "pycontree, MB",
        ),
    )
    lines: dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]] = {}
    for kind, noise in KINDS:
        peers = args.peer
        for rows in ROWS:
            if rows > args.rows:
                continue
            x, y = sets.synthetic(rows, noise=noise)
            mine = _median(args.runs, x, y, who="ours", depth=3, limit=args.limit)
            assert mine["proven"] or noise == 0.5, (kind, rows, mine)
            if mine["proven"]:
                _add(lines, f"odtdsl, {kind}", rows, mine)
            peer: dict[str, Any] | None = None
            if peers and rows <= PEER_ROWS:
                peer = fresh.run(x, y, who="contree", depth=3, limit=args.limit)
                peers = peer["proven"]
            if peer is not None and peer["proven"]:
                assert mine["bound"] <= peer["value"] <= mine["value"], (kind, rows, mine, peer)
                _add(lines, f"pycontree, {kind}", rows, peer)
            table.add(
                kind,
                f"{rows:,}",
                mine["value"] if mine["proven"] else f"{mine['value']} (bound {mine['bound']})",
                *_cells(mine),
                *(_cells(peer) if peer is not None else ("", "")),
            )
    table.note(
        f"Seconds with sorting, MB beyond the interpreter with the data; medians of"
        f" {args.runs} fresh processes, pycontree once, up to {PEER_ROWS:,} rows or"
        f" {args.limit:g} s."
    )
    if args.docs:
        panels = [
            Panel(
                title=title,
                across="rows",
                lines=tuple(
                    Line(name=name, points=tuple(points[i])) for name, points in lines.items()
                ),
            )
            for i, title in enumerate(("seconds", "MB beyond the interpreter"))
        ]
        picture = PAGE.with_name("exact-scaling.svg")
        picture.write_text(svg(panels, title="Time and memory by rows"), encoding="utf-8")
        table.publish()


def _cells(run: dict[str, Any]) -> tuple[str, str]:
    seconds = f"{run['seconds']:.4f}" if run["proven"] else f"stopped at {run['seconds']:.0f}"
    return seconds, f"{run['megabytes']:.1f}"


def _median(runs: int, *data: Any, **call: Any) -> dict[str, Any]:
    found = [fresh.run(*data, **call) for _ in range(runs)]
    return found[0] | {
        key: statistics.median(run[key] for run in found) for key in ("seconds", "megabytes")
    }


def _add(
    lines: dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]],
    name: str,
    rows: int,
    run: dict[str, Any],
) -> None:
    seconds, megabytes = lines.setdefault(name, ([], []))
    seconds.append((rows, run["seconds"]))
    megabytes.append((rows, max(run["megabytes"], 0.1)))
