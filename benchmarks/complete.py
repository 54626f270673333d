"""Certificates of lists: how long it takes to list, to write and to check them.

    ODTDSL_DATA=... python benchmarks/complete.py [--only pima,heart] [--limit 300]

Each list must be certified by `odtcheck`. Processor seconds on one thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from measures import sets

import odtdsl
from odtdsl.compiler import Analysis
from odtdsl.insight.proofs.certificate import verify
from odtdsl.insight.proofs.covered import uncovered_lists
from odtdsl.insight.proofs.listing import write
from odtdsl.problem.terms.normalize import normalize

DATA = Path(os.environ["ODTDSL_DATA"])


def spec(file: str, target: str, depth: int, more: str = "") -> str:
    """A spec of the public data."""
    return f'data "{DATA / file}" target {target} {more} tree depth <= {depth} minimize errors'


HEART = (
    f'data "{DATA}/cases/heart.csv", na {{"?"}} target disease missing drop '
    "feature sex, cp, restecg, slope, thal: category feature fbs, exang: binary "
    "minimize errors tree depth <= "
)
EIGHTHS = "candidates * at quantiles 8"
SETS: tuple[tuple[str, str, str | None], ...] = (
    ("monk1, depth 3", spec("sat/monk1.csv", "target", 3), None),
    ("monk1, depth 4", spec("sat/monk1.csv", "target", 4), None),
    ("monk2, depth 3", spec("sat/monk2.csv", "target", 3), None),
    ("iris, depth 2", 'data sklearn "iris" target target tree depth <= 2 minimize errors', None),
    (
        "iris, depth 2",
        'data sklearn "iris" target target tree depth <= 2 minimize errors',
        "1 error",
    ),
    ("heart, depth 2", HEART + "2", None),
    ("heart, depth 2", HEART + "2", "5%"),
    ("heart, depth 3", HEART + "3", None),
    ("heart, depth 3", HEART + "3", "2 errors"),
    ("pima, depth 2", spec("cases/pima.csv", "diabetes", 2), None),
    ("pima, depth 2", spec("cases/pima.csv", "diabetes", 2), "1%"),
    ("pima, depth 3", spec("cases/pima.csv", "diabetes", 3), None),
    ("pima, depth 3", spec("cases/pima.csv", "diabetes", 3), "1%"),
    *(
        (f"{name}, depth {depth}", f"{kind} {name} {depth}", None)
        for kind, name, depth in (
            ("continuous", "raisin", 3),
            ("continuous", "page", 3),
            ("continuous", "fault", 3),
            ("continuous", "magic", 3),
            ("binary", "anneal", 3),
            ("binary", "heart-cleveland", 3),
            ("binary", "vote", 4),
        )
    ),
    ("models/cases/haberman", "", "1 error"),
    ("models/cases/heart", "", "1 error"),
    ("models/cases/pima", "", "1 error"),
)


def spent() -> float:
    """Processor seconds of this process and of those that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + usage.ru_utime + usage.ru_stime


def measured(name: str, text: str, near: str | None, limit: float) -> str:
    """A line of the table."""
    given: dict[str, Any] = {}
    if name.startswith("models/"):
        model = odtdsl.load(ROOT / f"{name}.odt")
        given = {"data": str(DATA / "cases" / f"{Path(name).name}.csv")}
    elif text.startswith("data "):
        model = odtdsl.parse(text)
    else:
        kind, file, depth = text.split()
        x, y = sets.load(kind, file)
        columns = {f"c{k}": x[:, k].tolist() for k in range(x.shape[1])}
        given = {"frame": {"y": [f"c{k}" for k in y], **columns}}
        model = odtdsl.parse(f"data frame target y: class tree depth <= {depth} minimize errors")
    began = spent()
    found = model.alternatives(near=near, most=100_000, within=limit, threads=1, **given)
    listed = spent() - began
    head = f"| {name} | {near or 'best'} | {float(found.result.objective or 0):g} |"
    if not found.complete:
        return f"{head} not complete: {found.stopped} | | | | |"
    rows = found.rows
    analysis = Analysis(
        problem=rows.problem, rows=rows, test=None, warnings=(), table=rows.data.table
    )
    if reasons := uncovered_lists(normalize(rows)):
        return f"{head} {'; '.join(reasons)} | | | | |"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.cert"
        began = spent()
        _, trees, _ = write(analysis, found, path, None, named=True)
        written = spent() - began
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        before = usage.ru_utime + usage.ru_stime
        checked = verify(analysis, path)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = usage.ru_utime + usage.ru_stime - before
        size = path.stat().st_size
    assert checked.complete, checked
    assert checked.distinct in (None, found.distinct), (checked.distinct, found.distinct)
    return (
        f"{head} {found.distinct} | {trees} | {size} | {listed:.2f} | {written:.2f} | {took:.2f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=300)
    asked = parser.parse_args()
    print("| problem | near | best | distinct | trees | bytes | list s | write s | check s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    wanted = [word for word in asked.only.split(",") if word]
    for name, text, near in SETS:
        if not wanted or any(word in name for word in wanted):
            print(measured(name, text, near, asked.limit), flush=True)


if __name__ == "__main__":
    sys.exit(main())
