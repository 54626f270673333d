"""Certificates of the exact search: sizes, and processor seconds to solve, to log and to check.

    ODTDSL_DATA=... python benchmarks/certificates.py [--only raisin,iris] [--limit 120] [--docs]

The public sets of numbers at depth 3 and some at depth 4, the binary ones at depth 4, and the
specs of `models/` that certificates cover. Every answer must be certified by `odtcheck`, or the
table says what is missing. `--docs` puts the table into `docs/explanation/certificates.md`.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from measures import sets

import odtdsl
from odtdsl.backends.ledger import Ledger
from odtdsl.compiler import Analysis
from odtdsl.driver import pipeline
from odtdsl.driver.result import Result
from odtdsl.insight.proofs import certificate, covered
from odtdsl.problem.terms.normalize import normalize

PAGE = ROOT / "docs" / "explanation" / "certificates.md"
MARK = "<!-- benchmarks/certificates.py -->"
HEAD = (
    "problem",
    "objective",
    "bytes",
    "solve s",
    "with log s",
    "check s",
    "check / solve with log",
    "checks of depth two",
    "verdict",
)
DEPTH_FOUR = ("bank", "wilt", "bidding", "occupancy", "raisin")


@dataclass(frozen=True)
class Case:
    """A problem to be certified; `known`: its proven number of errors."""

    name: str
    analysis: Analysis
    known: int | None = None


def of_set(kind: str, name: str, depth: int) -> Case:
    x, y = sets.load(kind, name)
    frame: dict[str, Any] = {f"x{i}": x[:, i] for i in range(x.shape[1])}
    frame["y"] = [f"c{label}" for label in y]
    model = odtdsl.parse(f"data frame target y: class tree depth <= {depth} minimize errors")
    known = sets.ERRORS[depth].get(name) if kind == "continuous" else None
    return Case(f"{name}, depth {depth}", model.analyse(frame=frame), known)


def cases(only: list[str]) -> Iterator[Case]:
    """All that are asked for, one after the other."""
    wanted = [("continuous", name, 3) for name in sets.CONTINUOUS]
    wanted += [("continuous", name, 4) for name in DEPTH_FOUR]
    wanted += [("binary", name, 4) for name in sets.binary()]
    for kind, name, depth in wanted:
        if not only or name in only:
            yield of_set(kind, name, depth)
    with tempfile.TemporaryDirectory() as name:
        models = Path(name) / "models"
        shutil.copytree(ROOT / "models", models)
        subprocess.run([sys.executable, models / "prepare.py", models], check=True)
        for path in sorted(models.rglob("*.odt")):
            if only and path.stem not in only:
                continue
            of_cases = path.parent.name == "cases"
            try:
                analysis = of_study(path) if of_cases else odtdsl.load(path).analyse()
            except odtdsl.OdtError as problem:
                print(f"{path.name}: {problem.diagnostics[0].message}", file=sys.stderr)
                continue
            yield Case(path.relative_to(name).as_posix(), analysis)


def of_study(path: Path) -> Analysis:
    """A case study, on its data among the public sets."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = sets.case(path.stem.removesuffix("_diagram"), Path(scratch))
        return odtdsl.load(path).analyse(data=rows)


def solved(case: Case, limit: float, ledger: Ledger | None) -> tuple[Result, float]:
    """An answer, and the processor seconds from the compiled problem to it."""
    began = time.process_time()
    result = pipeline.solve(case.analysis, backend="exact", seconds=limit, threads=1, ledger=ledger)
    return result, time.process_time() - began


def measured(case: Case, limit: float, runs: int) -> tuple[str, ...]:
    """A line of the table."""
    core = normalize(case.analysis.rows)
    if reasons := covered.uncovered(core):
        return (case.name, *[""] * 7, f"not covered: {reasons[0]}")
    plain = statistics.median(solved(case, limit, None)[1] for _ in range(runs))
    times, ledger = [], Ledger()
    for _ in range(runs):
        ledger = Ledger()
        result, seconds = solved(case, limit, ledger)
        times.append(seconds)
    value = ", ".join(f"{float(stage.value or 0):.7g}" for stage in result.stages)
    if result.status == "optimal" and case.known is not None:
        assert result.objective == case.known, (case.name, result.objective)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.cert"
        rows = certificate.write(case.analysis, result, ledger, path)
        size = len(path.read_bytes()) - len(text_of(path))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        ran = subprocess.run(
            [certificate.checker(), path, rows], capture_output=True, text=True, check=False
        )
        checked = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    logged = statistics.median(times)
    steps = [line for line in ran.stdout.splitlines() if line.startswith("steps: ")]
    pairs = steps[0].split("them ")[1].split()[0] if steps else ""
    verdict = ran.stdout.splitlines()[-1] if ran.stdout else ran.stderr.strip()
    ratio = f"{checked / logged:.1f}" if logged > 0 else ""
    times_told = (f"{one:.4f}" for one in (plain, logged, checked))
    return (case.name, value, str(size), *times_told, ratio, pairs, verdict)


def text_of(path: Path) -> bytes:
    """The head and the text of a certificate: all but the steps."""
    raw = path.read_bytes()
    line = raw.index(b"\n", len(certificate.MAGIC))
    return raw[: line + 1 + int(raw[len(certificate.MAGIC) : line])]


def main() -> int:
    """Print the table; put it into the page where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="sets or specs, by commas")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a search")
    parser.add_argument("--runs", type=int, default=1, help="medians of so many")
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    lines = [HEAD, ("---",) * len(HEAD)]
    for line in lines:
        print("| " + " | ".join(line) + " |", flush=True)
    for case in cases([name for name in args.only.split(",") if name]):
        lines.append(measured(case, args.limit, args.runs))
        print("| " + " | ".join(lines[-1]) + " |", flush=True)
    ratios = [float(line[6]) for line in lines[2:] if line[6]]
    print(f"check / solve: median {statistics.median(ratios)}, largest {max(ratios)}")
    if args.docs:
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
        PAGE.write_text(f"{before}{MARK}\n\n{table}\n\n{MARK}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
