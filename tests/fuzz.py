"""Fuzz what reads: `python tests/fuzz.py TARGET --seconds N [--seed S]`.

Targets: `parser` (specs: parse, format, messages), `data` (CSV, TSV, ARFF, Parquet, frames, down
to typed columns), `models` (saved trees, diagrams and results), `editor` (a session of the
language server: edits, then every request), `commands` (command lines over small specs), or
`all`, one after another.

A find is written to `tests/finds/TARGET/`, made small, and is run by the tests from then on; the
exit code is 1. Only `OdtError` may come out of a reader, and nothing may take over 5 s.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz_targets
from fuzzing import Report, fuzz

FINDS = Path(__file__).resolve().parent / "finds"


def main() -> int:
    """Run the targets; the number of finds decides the exit code."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("target", choices=[*fuzz_targets.TARGETS, "all"])
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--seed", type=int, default=0)
    asked = arguments.parse_args()
    _limit_memory(6)
    names = list(fuzz_targets.TARGETS) if asked.target == "all" else [asked.target]
    found = 0
    for name in names:
        with fuzz_targets.TARGETS[name]() as target:
            report = fuzz(target, asked.seconds, asked.seed, lambda text: print(text, flush=True))
        found += len(report.finds)
        _write(report)
        print(
            f"{name}: {report.inputs} inputs in {asked.seconds:.0f} s, {report.lines} lines of"
            f" odtdsl reached, slowest {report.slowest:.2f} s, {len(report.finds)} finds",
            flush=True,
        )
    return int(found > 0)


def _write(report: Report) -> None:
    folder = FINDS / report.target
    for place, (data, _trace) in report.finds.items():
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.bin"
        path.write_bytes(data)
        print(f"  {place}: {path}")


def _limit_memory(gigabytes: int) -> None:
    """A reader that asks for more memory than that fails, which is a find."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = gigabytes << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    sys.exit(main())
