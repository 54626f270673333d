"""Optimal decision diagrams, as the study's table 1 in small; and their accuracy.

    ODTDSL_DATA=... python benchmarks/diagrams.py [--sets 15] [--limit 60] [--threads 2] [options]
    ODTDSL_DATA=... python benchmarks/diagrams.py {nodes,chosen,support,named,early} [--limit 8]

Half of the rows of each set (`train_test_split`, seed 0), the study's four skeletons and the tree
of depth 4, axis splits, `minimize error_rate + alpha * (splits - 1) / 14`. A run is what a user
gets, with so many `--threads`: from the spec with its data to the audited answer. `greedy` is the
heuristic alone. The objective is computed again from the raw data by the diagram as it is emitted,
and must be equal; no answer may be worse than the heuristic's.
`--jobs` runs so many at once. `--out FILE` keeps every run, and takes up what is there. `--docs
--place NAME` puts some runs at a place of their own on the page. `nodes`, `chosen`, `support`: the
study's figures 2 to 4 and table 2, `named`: some of its runs one by one; see
`measures/diagrams.py`. `early`: thousands of rows under a limit, with and without moves; see
`measures/diagrams_early.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd
from measures import diagrams as accuracy
from measures import diagrams_early, sets
from measures.report import ROOT, Table

PAGE = ROOT / "docs" / "explanation" / "diagrams-measured.md"

SKELETONS = {
    "I": "diagram widths 1, 2, 4, 8",
    "II": "diagram widths 1, 2, 4, 4, 4",
    "III": "diagram widths 1, 2, 3, 3, 3, 3",
    "IV": "diagram widths 1, 2, 2, 2, 2, 2, 2, 2",
    "tree": "tree depth <= 4",
}
MOST_ROWS = 1000
TABLES = {**accuracy.TABLES, "early": diagrams_early.early}


def chosen(many: str) -> list[str]:
    """The sets with at most `MOST_ROWS` rows, fewest rows first; or those named."""
    folder = sets.folder() / "diagrams"
    if not many.isdigit():
        return many.split(",")
    rows = {path.stem: len(pd.read_csv(path)) for path in sorted(folder.glob("*.csv"))}
    small = sorted((count, name) for name, count in rows.items() if count <= MOST_ROWS)
    return [name for _, name in small][: int(many)]


def half(name: str) -> pd.DataFrame:
    from sklearn.model_selection import train_test_split

    frame = pd.read_csv(sets.folder() / "diagrams" / f"{name}.csv")
    train, _ = train_test_split(np.arange(len(frame)), test_size=0.5, random_state=0)
    return frame.iloc[train].reset_index(drop=True)


def one(
    name: str, skeleton: str, alpha: str, limit: float, threads: int, backend: str
) -> dict[str, Any]:
    """One run, and the heuristic's."""
    from odtdsl.base.source import Source
    from odtdsl.compiler import analyse
    from odtdsl.driver.pipeline import solve
    from odtdsl.language.parser import parse

    warnings.simplefilter("ignore")
    frame = half(name)
    text = (
        f"data frame\ntarget y: class\nfeature *: number\n{SKELETONS[skeleton]}\n"
        f"minimize error_rate + {alpha} * (splits - 1) / 14\n"
    )
    source = Source(name=f"{name}.odt", text=text)
    analysis = analyse(parse(source), source=source, frame=frame)
    quick = solve(analysis, backend="greedy", seconds=limit, threads=1)
    result = solve(analysis, backend=backend, seconds=limit, threads=threads)
    assert result.objective is not None
    assert quick.objective is not None
    return {
        "set": name,
        "rows": len(frame),
        "skeleton": skeleton,
        "alpha": alpha,
        "agrees": result.objective == again(result.model, frame, Fraction(alpha)),
        "status": result.status,
        "objective": str(result.objective),
        "bound": str(result.bound),
        "greedy": str(quick.objective),
        "seconds": result.seconds,
        "backend": result.backend,
    }


def again(model: Any, frame: pd.DataFrame, alpha: Fraction) -> Fraction:
    """The objective by the emitted predictor on raw data."""
    given = frame["y"].astype(str).to_numpy()
    predicted = np.asarray(model.predict(frame.drop(columns="y"))).astype(str)
    errors = Fraction(int((predicted != given).sum()), len(frame))
    return errors + alpha * (model.n_splits - 1) / 14


def runs(args: argparse.Namespace) -> list[dict[str, Any]]:
    from joblib import Parallel, delayed

    done: list[dict[str, Any]] = []
    if args.out and Path(args.out).exists():
        done = [json.loads(line) for line in Path(args.out).read_text().splitlines()]
    known = {(r["set"], r["skeleton"], r["alpha"]) for r in done}
    asked = [
        (name, skeleton, alpha)
        for skeleton in args.skeletons.split(",")
        for alpha in args.alphas.split(",")
        for name in chosen(args.sets)
        if (name, skeleton, alpha) not in known
    ]
    made = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(
        delayed(one)(*what, args.limit, args.threads, args.backend) for what in asked
    )
    for found in made:
        done.append(found)
        print(json.dumps(found), flush=True)
        if args.out:
            with Path(args.out).open("a") as file:
                file.write(json.dumps(found) + "\n")
    return done


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="share", choices=("share", *TABLES))
    parser.add_argument("--sets", default="15", help="how many, fewest rows first; or names")
    parser.add_argument("--skeletons", default=",".join(SKELETONS))
    parser.add_argument("--alphas", default="0.5,0.1")
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, default=1, help="of a run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default=None)
    parser.add_argument("--docs", action="store_true", help="put the tables into the page")
    parser.add_argument("--place", help="where on the page, of a part: its runs one by one")
    args = parser.parse_args()
    if args.what != "share":
        table = TABLES[args.what](args.limit, args.jobs)
        if args.docs:
            table.publish(PAGE)
        return
    found = runs(args)
    share = shares(found, args)
    each = listed(found, args)
    if args.docs and args.place is None:
        share.publish(PAGE)
    if args.docs:
        each.publish(PAGE)


def shares(found: list[dict[str, Any]], args: argparse.Namespace) -> Table:
    table = Table(
        "diagrams-share",
        (
            "skeleton",
            "alpha",
            "runs",
            "proven",
            "better than greedy",
            "mean seconds",
        ),
    )
    for skeleton in args.skeletons.split(","):
        for alpha in args.alphas.split(","):
            some = [r for r in found if (r["skeleton"], r["alpha"]) == (skeleton, alpha)]
            if some:
                _add(table, skeleton, alpha, some)
    diagrams = [r for r in found if r["skeleton"] != "tree"]
    _add(table, "all diagrams", "", diagrams)
    _add(table, "all", "", found)
    table.note(
        f"{len({r['set'] for r in found})} sets, limit {args.limit:g} s, threads of a run:"
        f" {args.threads}, runs at once: {args.jobs}."
        f" {sum(r.get('agrees', True) for r in found)} of {len(found)}"
        " objectives equal those of the emitted models on raw data;"
        f" {sum(_worse(r) for r in found)} are worse than the heuristic's."
    )
    return table


def _worse(run: dict[str, Any]) -> bool:
    return Fraction(run["objective"]) > Fraction(run["greedy"])


def _add(table: Table, skeleton: str, alpha: str, some: list[dict[str, Any]]) -> None:
    proven = sum(r["status"] == "optimal" for r in some)
    better = sum(Fraction(r["objective"]) < Fraction(r["greedy"]) for r in some)
    table.add(
        skeleton,
        alpha,
        len(some),
        f"{proven} ({100 * proven / len(some):.0f}%)",
        f"{better} ({100 * better / len(some):.0f}%)",
        sum(r["seconds"] for r in some) / len(some),
    )


def listed(found: list[dict[str, Any]], args: argparse.Namespace) -> Table:
    """Objective, and bound where it is open, per set."""
    columns = [(s, a) for s in args.skeletons.split(",") for a in args.alphas.split(",")]
    place = args.place or "diagrams-each"
    table = Table(place, ("set", "rows", *(f"{s}, {a}" for s, a in columns)))
    by = {(r["set"], r["skeleton"], r["alpha"]): r for r in found}
    for name in chosen(args.sets):
        cells = [by.get((name, s, a)) for s, a in columns]
        rows = next((r["rows"] for r in cells if r is not None), "")
        table.add(name, rows, *("" if r is None else _told(r) for r in cells))
    table.note("Objective, seconds; where it is not proven, objective / bound.")
    return table


def _told(run: dict[str, Any]) -> str:
    value = float(Fraction(run["objective"]))
    if run["status"] == "optimal":
        return f"{value:.4f}, {run['seconds']:.1f}"
    bound = "none" if run["bound"] == "None" else f"{float(Fraction(run['bound'])):.4f}"
    return f"{value:.4f} / {bound}"


if __name__ == "__main__":
    main()
