"""How long `odt explain` takes on the ten specs without a tree under `grammar/conflicts`.

    ODTDSL_DATA=... python benchmarks/explain.py [exact|milp] [--limit 60] [--sets a,b]

`exact` takes each spec as it stands, with every midpoint; `milp` a tree of depth 2 with quartile
candidates, deeper ones left out (`--deeper 0`). Rows: the conflict that
is told, how many of its bounds have a nearest one, searches, those of them without an answer,
seconds of the clock and the processor.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measures import sets
from measures.report import ROOT, Table, machine

import odtdsl
from odtdsl.insight.explanations import Explanation, explain

SPECS = ROOT / "grammar" / "conflicts"


def small(text: str) -> str:
    """What a program of constraints can be built of: two levels, three cuts a column."""
    return re.sub(r"depth <= \d", "depth <= 2", text) + "\ncandidates * at quantiles 4\n"


def conflict_of(found: Explanation) -> str:
    if not found.conflicts:
        return found.status
    first = found.conflicts[0]
    names = ", ".join(first.names)
    return names + ("" if first.smallest else " (not proven the smallest)")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("using", nargs="?", choices=["exact", "milp"], default="exact")
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--sets", default=None, help="specs by name, by commas")
    args = parser.parse_args()
    chosen = args.sets.split(",") if args.sets else [p.stem for p in sorted(SPECS.glob("*.odt"))]
    table = Table(
        "explain",
        ["spec", "rules", "conflict", "nearest bounds", "searches", "open", "s", "s, processor"],
    )
    for name in chosen:
        text = (SPECS / f"{name}.odt").read_text(encoding="utf-8")
        if args.using == "milp":
            text = small(text)
        analysis = odtdsl.parse(text).analyse(data=sets.path("cases", "heart"))
        began, worked = time.monotonic(), time.process_time()
        found = explain(
            analysis, backend=args.using, seconds=args.limit, deeper=args.using == "exact"
        )
        table.add(
            name,
            len(analysis.problem.rules),
            conflict_of(found),
            len(found.nearest),
            found.searches,
            found.undecided,
            time.monotonic() - began,
            time.process_time() - worked,
        )
    print("\n" + machine())


if __name__ == "__main__":
    main()
