"""The exact engine measured: one thread, medians, equal optima asserted on every row.

    ODTDSL_DATA=... python benchmarks/exact.py WHAT [options]

`benchmarks/README.md` says what each WHAT shows and how long it takes. Peers come from the
`bench` extra. Tables are printed in Markdown; `--docs` also puts them into
`docs/explanation/exact-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measures import (
    accuracy,
    anytime,
    from_python,
    interrupts,
    many_rows,
    memory,
    scaling,
    speed,
    tasks,
)

Options = argparse.ArgumentParser

MEASURES: dict[str, tuple[Callable[[argparse.Namespace], None], str]] = {
    "continuous": (speed.continuous, "depth isa runs limit threads sets peer"),
    "binary": (speed.binary, "depth isa runs limit=60 threads sets peer"),
    "from-python": (from_python.from_python, "depth runs limit sets peer"),
    "smallest": (speed.smallest, "isa runs limit"),
    "threads": (speed.threads, "depth isa runs limit sets"),
    "shared-work": (speed.shared_work, "runs"),
    "gap": (speed.gap, "depth=4 isa limit=120 sets peer gap"),
    "memory": (memory.memory, "depth runs limit sets peer"),
    "cache": (memory.cache, "limit=120 sets megabytes"),
    "anytime": (anytime.anytime, "isa limit=None threads sets peer"),
    "scaling": (scaling.scaling, "runs limit=120 peer rows"),
    "many-rows": (many_rows.many_rows, "threads=2 rows=10000000"),
    "tasks": (tasks.tasks, "depth isa runs limit=60 sets peer"),
    "accuracy": (accuracy.accuracy, "depth sets splits tune"),
    "interrupts": (interrupts.interrupts, "times seed longest"),
}
"""What runs, and its options with their defaults where these differ."""


def _names(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


def _add(parser: argparse.ArgumentParser, option: str) -> None:
    name, _, default = option.partition("=")
    match name:
        case "depth":
            parser.add_argument("--depth", type=int, default=int(default or 3))
        case "isa":
            choices = ["best", "portable", "avx2", "avx512"]
            parser.add_argument("--isa", default="best", choices=choices)
        case "runs":
            parser.add_argument("--runs", type=int, default=3, help="medians of so many")
        case "limit":
            seconds = None if default == "None" else float(default or 600)
            parser.add_argument("--limit", type=float, default=seconds, help="seconds")
        case "threads":
            parser.add_argument("--threads", type=int, default=int(default or 1))
        case "sets":
            parser.add_argument("--sets", type=_names, help="names, by commas")
        case "peer":
            parser.add_argument("--no-peer", dest="peer", action="store_false")
        case "gap":
            parser.add_argument("--gap", type=float, default=0.01)
            parser.add_argument("--of", choices=["optimum", "rows"], default="optimum")
        case "megabytes":
            parser.add_argument("--megabytes", type=_numbers, default=[50.0, 1.0])
        case "rows":
            parser.add_argument(
                "--rows", type=int, default=int(default or 1_000_000), help="at most"
            )
        case "splits":
            parser.add_argument("--splits", type=int, default=5)
        case "tune":
            parser.add_argument("--tune", action="store_true", help="sizes, as the study does")
        case "times":
            parser.add_argument("--times", type=int, default=5)
        case "seed":
            parser.add_argument("--seed", type=int, default=0)
        case "longest":
            parser.add_argument("--longest", type=float, default=15.0, help="seconds")


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    for name, (measure, options) in MEASURES.items():
        summary = (measure.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        for option in options.split():
            _add(command, option)
        command.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    MEASURES[args.what][0](args)


if __name__ == "__main__":
    main()
