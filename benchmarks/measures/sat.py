"""The `sat` back end on the sets of the DT_depth / DT_size study."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measures import sets
from measures.report import ROOT, Table, geometric
from measures.sets import Array
from odtdsl.backends.base import BackEnd, Limits, Progress, RawAnswer
from odtdsl.backends.decode import to_tree
from odtdsl.backends.sat.backend import Sat
from odtdsl.backends.sat.solvers import DEFAULT, NAMES
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.driver.choice import back_end
from odtdsl.driver.scoring import score
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, depth_of, walk
from odtdsl.problem.terms.normalize import normalize

PAGE = ROOT / "docs" / "explanation" / "sat-measured.md"
WHOLE = ("mouse", "monk1", "monk2", "iris", "wine", "car")
FILES = {"iris": (3.0, 10.6), "monk1": (4.4, 17.0), "monk2": (5.8, 47.8), "wine": (3.0, 7.8)}
"""Means over five training files of the least depth and the least nodes: the study's table 3."""

STUDY_FILES = {
    "iris": (92.9, 93.2),
    "monk1": (90.3, 95.5),
    "monk2": (70.2, 74.0),
    "wine": (89.3, 92.0),
}
STUDY_FOLDS = {"mouse": (85.8, 83.5), "car": (98.8, 98.8)}
"""The study's accuracies in percent: DT_depth, DT_size."""

WINE_RATIO, CAR_SECONDS, SLOWER = 20.0, 180.0, 1.5
"""What has to hold: least ratio on wine, most seconds on car, least share of the ratio."""

DEPTH, SIZE = "depth", "depth then leaves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One run: least depth and nodes, rows in the formula, CPU seconds until each was proven."""

    depth: int
    nodes: int
    rows: int
    to_depth: float
    to_size: float
    answer: RawAnswer


def problem(file: Path, objective: str, test: Path | None = None) -> Analysis:
    """A file of the study as a spec: numbers, the last column is the label, no error."""
    names = file.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
    source = Source(
        name=f"{file.stem}.odt",
        text=f'data "{file}"  target `{names[-1]}`: class  feature *: number\n'
        f"tree  minimize {objective}  rule exact: errors <= 0",
    )
    return analyse(
        parse(source), source=source, data=str(file), test=None if test is None else str(test)
    )


def run(engine: BackEnd, core: Core, limit: float) -> Timed | None:
    """Solve; None where a limit came first. Seconds are of the processor, not of the clock."""
    began = time.process_time()
    to_depth: list[float] = []

    def report(at: Progress) -> None:
        if at.stage == 0 and at.incumbent is not None and at.incumbent == at.bound:
            to_depth.append(time.process_time() - began)

    answer = engine.solve(core, Limits(deadline=time.monotonic() + limit), None, report)
    took = time.process_time() - began
    if answer.status != "optimal" or answer.tree is None:
        return None
    leaves = sum(isinstance(node, RawLeaf) for node, _ in walk(answer.tree))
    return Timed(
        depth=depth_of(answer.tree),
        nodes=2 * leaves - 1,
        rows=dict(answer.counters).get("rows", 0),
        to_depth=(to_depth or [took])[0],
        to_size=took,
        answer=answer,
    )


def medians(runs: int, *sides: Callable[[], Timed | None]) -> list[Timed | None]:
    """The run of median time of each side; runs alternate, and are one where it takes long."""
    found: list[list[Timed | None]] = [[] for _ in sides]
    for _ in range(runs):
        for mine, side in zip(found, sides, strict=True):
            mine.append(side())
        last = [mine[-1] for mine in found]
        if any(one is None or one.to_size > 20 for one in last):
            break
    return [_median(mine) for mine in found]


def _median(some: list[Timed | None]) -> Timed | None:
    done = [one for one in some if one is not None]
    if len(done) < len(some):
        return None
    return sorted(done, key=lambda one: one.to_size)[len(done) // 2]


def _names(args: Namespace, every: tuple[str, ...]) -> list[str]:
    wanted = args.sets.split(",") if args.sets else every
    return [name for name in wanted if _there(sets.path("sat", name))]


def _there(file: Path) -> bool:
    if not file.exists():
        print(f"{file} is missing: left out", file=sys.stderr)
    return file.exists()


# ---- encodings


def encodings(args: Namespace) -> None:
    """The study's encoding, ordered thresholds and `exact`."""
    wholes = _whole(args)
    means = _files(args)
    if args.docs:
        wholes.publish(PAGE)
        means.publish(PAGE)


def _whole(args: Namespace) -> Table:
    table = Table(
        "encodings",
        (
            "set",
            "rows",
            "tests",
            "k",
            "n",
            "paper: rows",
            "depth, s",
            "size, s",
            "ordered: rows",
            "depth, s",
            "size, s",
            "ratio, depth",
            "ratio, size",
            "exact, s",
        ),
    )
    ratios: dict[str, tuple[float, float]] = {}
    car = 0.0
    for name in _names(args, WHOLE):
        analysis = problem(sets.path("sat", name), SIZE)
        core = normalize(analysis.rows)
        engines: list[BackEnd] = [Sat(), back_end("exact")]
        engines += [Sat(encoding="paper")] if args.paper else []
        found = medians(args.runs, *(lambda e=e: run(e, core, args.limit) for e in engines))
        mine, exact = found[0], found[1]
        paper = found[2] if args.paper else None
        assert mine is not None, f"{name}: not within {args.limit} s"
        assert exact is not None, f"{name}: not within {args.limit} s"
        _same(name, sets.SMALLEST.get(name), mine, exact, paper)
        if paper is not None:
            ratios[name] = (paper.to_depth / mine.to_depth, paper.to_size / mine.to_size)
        car = mine.to_size if name == "car" else car
        tests = sum(family.n_tests for family in core.families)
        table.add(
            name,
            core.n_rows,
            tests,
            mine.depth,
            mine.nodes,
            *_cells(paper),
            *_cells(mine),
            *(f"{ratio:.1f}" for ratio in ratios.get(name, ())),
            *([""] * (0 if name in ratios else 2)),
            f"{exact.to_size:.3f}",
        )
    table.note(f"-: not within {args.limit:g} s.")
    _ratios(table, ratios)
    if car:
        table.note(f"car: {car:.0f} s of at most {CAR_SECONDS:.0f}.")
        assert car <= CAR_SECONDS, car
    return table


def _same(name: str, known: tuple[int, int] | None, *found: Timed | None) -> None:
    shapes = {(one.depth, one.nodes) for one in found if one is not None}
    assert len(shapes) == 1, (name, shapes)
    assert known is None or shapes == {known}, (name, shapes, known)


def _cells(one: Timed | None) -> tuple[object, object, object]:
    if one is None:
        return "-", "-", "-"
    return one.rows, f"{one.to_depth:.3f}", f"{one.to_size:.3f}"


def _ratios(table: Table, ratios: dict[str, tuple[float, float]]) -> None:
    if not ratios:
        return
    least = min(min(pair) for pair in ratios.values())
    table.note(
        "Ratio of the study's encoding to ordered thresholds, geometric mean"
        f" {geometric([pair[0] for pair in ratios.values()]):.1f} to the depth,"
        f" {geometric([pair[1] for pair in ratios.values()]):.1f} to the size; least {least:.2f}."
    )
    assert least >= 1 / SLOWER, ratios
    if "wine" in ratios:
        assert min(ratios["wine"]) >= WINE_RATIO, ratios["wine"]


def _files(args: Namespace) -> Table:
    table = Table(
        "encodings-files",
        (
            "set",
            "k",
            "n",
            "study's k, n",
            "ordered: rows",
            "depth, s",
            "size, s",
            "exact, s",
            "accuracy DT_depth",
            "study's",
            "accuracy DT_size",
            "study's",
        ),
    )
    for name in [one for one in FILES if not args.sets or one in args.sets.split(",")]:
        runs = list(_file_runs(name, args))
        if not runs:
            continue
        mine = [one for one, _, _ in runs]
        k, n = (
            statistics.mean(values)
            for values in zip(*((m.depth, m.nodes) for m in mine), strict=True)
        )
        assert (round(k, 1), round(n, 1)) == FILES[name], (name, k, n)
        rows = statistics.mean(one.rows for one in mine)
        seconds = (
            statistics.mean(one.to_depth for one in mine),
            statistics.mean(one.to_size for one in mine),
            statistics.mean(exact for _, exact, _ in runs),
        )
        accuracy = np.mean([pair for _, _, pair in runs], axis=0) * 100
        table.add(
            name,
            f"{k:.1f}",
            f"{n:.1f}",
            "{}, {}".format(*FILES[name]),
            f"{rows:.0f}",
            *(f"{mean:.3f}" for mean in seconds),
            f"{accuracy[0]:.1f}%",
            f"{STUDY_FILES[name][0]}%",
            f"{accuracy[1]:.1f}%",
            f"{STUDY_FILES[name][1]}%",
        )
    table.note("Means over the five training files; accuracy on the five test files.")
    return table


def _file_runs(name: str, args: Namespace) -> Iterator[tuple[Timed, float, tuple[float, float]]]:
    for part in range(5):
        file, test = (sets.path("sat", f"{name}.csv.{of}{part}") for of in ("train", "test"))
        if not _there(file):
            continue
        analysis = problem(file, SIZE, test)
        core = normalize(analysis.rows)
        sides: list[BackEnd] = [Sat(), back_end("exact")]
        mine, exact = medians(args.runs, *(lambda e=e: run(e, core, args.limit) for e in sides))
        assert mine is not None, file
        assert exact is not None, file
        _same(file.stem, None, mine, exact)
        shallow = problem(file, DEPTH, test)
        first = run(Sat(), normalize(shallow.rows), args.limit)
        assert first is not None, file
        yield mine, exact.to_size, (_tested(shallow, first), _tested(analysis, mine))


def _tested(analysis: Analysis, found: Timed) -> float:
    assert found.answer.tree is not None
    assert analysis.test is not None
    core = normalize(analysis.rows)
    tree = to_tree(core, analysis.rows, found.answer.tree)
    told = score(tree, analysis.test)
    assert told.errors is not None
    return 1 - told.errors / told.rows


# ---- solvers


def solvers(args: Namespace) -> None:
    """Solvers of python-sat on ordered thresholds, to the least size."""
    chosen = args.solvers.split(",") if args.solvers else list(NAMES)
    names = _names(args, ("mouse", "monk1", "monk2", "iris", "wine"))
    table = Table("solvers", ("solver", *(f"{name}, s" for name in names)))
    for solver in chosen:
        cells = []
        for name in names:
            core = normalize(problem(sets.path("sat", name), SIZE).rows)
            found = medians(args.runs, lambda c=core, s=solver: run(Sat(s), c, args.limit))[0]
            cells.append("-" if found is None else f"{found.to_size:.3f}")
        table.add(f"`{solver}`" + (" (default)" if solver == DEFAULT else ""), *cells)
    table.note(f"-: not within {args.limit:g} s.")
    if args.docs:
        table.publish(PAGE)


# ---- folds


def folds(args: Namespace) -> None:
    """Accuracy of ten folds on mouse and car, beside the study's tables 1 and 2."""
    table = Table(
        "folds",
        (
            "set",
            "objective",
            "back end",
            "accuracy",
            "study's",
            "repetitions",
            "s per fold",
        ),
    )
    for name in _names(args, ("mouse", "car")):
        for which, objective in enumerate((DEPTH, SIZE)):
            for engine in map(back_end, args.using.split(",")):
                times = args.runs if name == "mouse" else 1
                scores, seconds = _cross(name, objective, engine, times, args.limit)
                table.add(
                    name,
                    objective,
                    f"`{engine.name}`",
                    f"{100 * np.mean(scores):.1f}%",
                    f"{STUDY_FOLDS[name][which]}%",
                    times,
                    f"{np.mean(seconds):.3f}",
                )
    table.note("Ten folds, shuffled; the share of all rows whose fold's tree predicts them right.")
    if args.docs:
        table.publish(PAGE)


@contextmanager
def _written(head: str, rows: Array) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("\n".join([head, *rows.tolist()]) + "\n")
        file.flush()
        yield Path(file.name)


def _cross(
    name: str, objective: str, engine: BackEnd, times: int, limit: float
) -> tuple[list[float], list[float]]:
    lines = sets.path("sat", name).read_text(encoding="utf-8").split()
    head, rows = lines[0], np.array(lines[1:])
    scores, seconds = [], []
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(len(rows))
        right = 0.0
        for part in np.array_split(order, 10):
            kept = np.setdiff1d(order, part)
            with _written(head, rows[kept]) as train, _written(head, rows[part]) as test:
                analysis = problem(train, objective, test)
                found = run(engine, normalize(analysis.rows), limit)
                assert found is not None, (name, seed)
                right += _tested(analysis, found) * len(part)
                seconds.append(found.to_size)
        scores.append(right / len(rows))
    return scores, seconds
