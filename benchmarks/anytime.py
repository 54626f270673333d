"""The best tree at any moment: ours against CART, growth and peers, at limits of processor time.

    ODTDSL_DATA=... python benchmarks/anytime.py classes|numbers [options]

Each run is `odtdsl.driver.pipeline.solve` of a spec with one thread in a process of its own, from
the frame to the answer; what is imported, ours and the peers', is imported before. It is stopped by
processor time; what it had at an earlier limit is read from its timeline. `--out` keeps every run
in a file and takes from it those that it has, so that hours of runs can be made in parts, side by
side. `--turns 9` compares small cases, where one run says little. `--docs` puts the tables into
`docs/explanation/exact-measured.md`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures import sets
from measures.report import Table

Array = sets.Array
LIMITS = (1.0, 3.0, 10.0, 60.0)
DEPTHS = (3, 4, 5, 6, 7, 8)
CRITERIA = {"classes": ("gini", "entropy"), "numbers": ("squared_error",)}
CLASSES = (*sets.CONTINUOUS, "pima", "heart", "haberman", "german-credit", "noise")
SMALL = (("bank", 5), ("bank", 6), ("bank", 7), ("bank", 8), ("raisin", 8), ("heart", 8))
"""Cases of classes that are proven about as soon as they are read."""
NUMBERS = ("diabetes", "friedman", "scores", "class", "waves", "steps")
SHORT = (0.05, 0.1, 0.3)
"""Limits of `--short`, at which `greedy` is taken at the same moment."""


def table_of(name: str) -> tuple[Array, Array]:
    """Features and target of a set."""
    rng = np.random.default_rng(0)
    match name:
        case "noise":  # 200,000 x 30
            x = rng.normal(size=(200_000, 30)).astype(np.float32).astype(float)
            signal = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + np.abs(x[:, 3]) - x[:, 4] * x[:, 5]
            return x, (signal + rng.normal(size=len(x)) > 0.7).astype(np.int32)
        case "diabetes":
            from sklearn.datasets import load_diabetes

            return load_diabetes(return_X_y=True)  # type: ignore[no-any-return]
        case "friedman":
            from sklearn.datasets import make_friedman1

            return make_friedman1(5000, random_state=0)  # type: ignore[no-any-return]
        case "waves":
            x = rng.uniform(size=(3000, 6)).round(3)
            return x, np.sin(8 * x[:, 0]) * x[:, 1] + np.cos(9 * x[:, 2]) + rng.normal(size=3000)
        case "exclusive":  # neither feature says anything by itself
            x = rng.normal(size=(800, 4))
            odd = (x[:, 0] > 0) ^ (x[:, 1] > 0.3) ^ (rng.random(800) < 0.1)
            return x, (3 * odd + x[:, 0] * x[:, 1]).round(3)
        case "steps":
            x = rng.integers(0, 40, size=(2000, 8)).astype(float)
            return x, (x[:, 0] > x[:, 1]) * 5.0 + (x[:, 2] % 10) + rng.normal(size=2000)
        case "scores":
            return _csv("outputs/constrained_exams.csv", "math score")
        case "class":
            return _csv("outputs/class_df_size_1000_targets_5.csv", "Course5")
        case "pima" | "heart" | "haberman":
            target = {"pima": "diabetes", "heart": "disease", "haberman": "survived"}[name]
            return _csv(f"cases/{name}.csv", target)
        case "german-credit":
            return sets.load("binary", name)
    return sets.load("continuous", name)


def _csv(name: str, target: str) -> tuple[Array, Array]:
    """A table with its texts as numbers of their order, its first column with a gap left out."""
    import pandas as pd

    frame = pd.read_csv(sets.folder() / name).dropna()
    y = frame.pop(target)
    frame = frame[[c for c in frame if not str(c).startswith("Course")]]
    coded = frame.apply(lambda c: c if c.dtype.kind in "if" else c.astype("category").cat.codes)
    labels = y if y.dtype.kind in "if" and y.nunique() > 2 else y.astype("category").cat.codes
    return coded.to_numpy(float), labels.to_numpy(float if labels.nunique() > 2 else np.int32)


def run(asked: dict[str, Any], kept: Path | None) -> Curve:
    """One solve in a process of its own, or what is kept of it."""
    if kept is not None and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            known = json.loads(line)
            if known["asked"] == asked:
                return Curve(**known["curve"])
    curve = _run(asked)
    if kept is not None:
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"asked": asked, "curve": curve}) + "\n")
    return Curve(**curve)


def _run(asked: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--child"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"the run of {asked} ended with {done.returncode}:\n{done.stderr}")
    curve: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return curve


class Curve:
    """Values over processor time, and the bound at the end."""

    def __init__(self, steps: list[list[float]], bounds: list[list[float]], end: float) -> None:
        self.steps, self.bounds, self.end = steps, bounds, end

    def at(self, seconds: float) -> float:
        """The best value by then; the first one where none was there."""
        return min([v for s, v in self.steps if s <= seconds] or [self.steps[0][1]])

    def bound(self, seconds: float) -> float:
        return max([v for s, v in self.bounds if s <= seconds] or [0.0])

    def integral(self, best: float, until: float) -> float:
        """Of the primal gap, in seconds: see `odtdsl.Result.primal_integral`."""
        total, since, gap = 0.0, 0.0, 1.0
        for seconds, value in self.steps:
            now = min(max(seconds, since), until)
            total += gap * (now - since)
            since, gap = now, 0.0 if value <= best else (value - best) / value
        return total + gap * max(0.0, until - since)


def child() -> None:
    """What the process of one run does: one JSON object in, one out."""
    asked = json.load(sys.stdin)
    if asked["using"] in PEERS:
        print(json.dumps(PEERS[asked["using"]](asked)))
        return
    from odtdsl.driver import pipeline
    from odtdsl.interfaces.api import parse

    x, y = table_of(asked["name"])
    classes = asked["kind"] == "classes"
    frame = {f"x{f}": x[:, f] for f in range(x.shape[1])}
    frame["y"] = y.astype(str) if classes else y
    model = parse(
        f"data frame target y: {'class' if classes else 'number'} tree depth <= {asked['depth']}"
        f" minimize {'errors' if classes else 'mse'} solve using {asked['using']}"
    )
    small = {name: column[:20] for name, column in frame.items()}
    pipeline.solve(model.analyse(frame=small), seconds=0.1)  # modules are loaded before the clock
    began = time.process_time()
    steps: list[list[float]] = []
    bounds: list[list[float]] = []

    def told(progress: Any) -> None:
        now = time.process_time() - began
        if progress.stage == 0 and progress.incumbent is not None:
            steps.append([now, float(progress.incumbent)])
        if progress.stage == 0 and progress.bound is not None:
            bounds.append([now, float(progress.bound)])

    result = pipeline.solve(
        model.analyse(frame=frame),
        seed=asked["seed"],
        report=told,
        stop=lambda: time.process_time() - began >= asked["limit"],
    )
    end = time.process_time() - began
    stage = result.stages[0]
    if stage.value is not None:
        steps.append([end, float(stage.value)])
    if stage.bound is not None:
        bounds.append([end, float(stage.bound)])
    print(json.dumps({"steps": steps, "bounds": bounds, "end": end}))


def of_discrepancies(asked: dict[str, Any]) -> dict[str, Any]:
    """pytrees-rs: ConTree with a limited discrepancy search, which tells its improvements."""
    from pytrees import ConTreeClassifier

    x, y = table_of(asked["name"])
    ConTreeClassifier(max_depth=1, max_time=1).fit(*_few(x, y))
    steps: list[list[float]] = []
    began = time.process_time()
    model = ConTreeClassifier(max_depth=asked["depth"], max_time=asked["limit"])
    model.fit_anytime(
        x, y, callback=lambda error, *_: steps.append([time.process_time() - began, float(error)])
    )
    end = time.process_time() - began
    steps.append([end, float(model.train_error_)])
    return {"steps": steps, "bounds": [], "end": end}


def of_contree(asked: dict[str, Any]) -> dict[str, Any]:
    """pycontree, which tells its last tree only."""
    from measures.peers import contree

    x, y = table_of(asked["name"])
    contree(*_few(x, y), 1, 1.0)
    found = contree(x, y, asked["depth"], asked["limit"])
    end = found.processor
    assert found.value is not None
    return {"steps": [[end, float(found.value)]], "bounds": [], "end": end}


def _few(x: Array, y: Array) -> tuple[Array, Array]:
    """A few rows of two classes, for a fit that loads modules before the clock."""
    few = np.concatenate([np.flatnonzero(y == label)[:10] for label in (0, 1)])
    return x[few], y[few]


def of_lickety_split(asked: dict[str, Any]) -> dict[str, Any]:
    """LicketySPLIT, by the package tree-praxis: one tree of 0/1 features, without a limit."""
    from praxis import PRAXIS

    x, y = table_of(asked["name"])
    began = time.process_time()
    model = PRAXIS()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model.fit(
            x.astype(int),
            y,
            lambda_reg=0.0,
            depth_budget=asked["depth"],
            proxy_style="licketysplit",
            proxy_only=True,
        )
        errors = model.root_lickety_objective_lookahead1(asked["depth"])
    end = time.process_time() - began
    return {"steps": [[end, float(errors)]], "bounds": [], "end": end}


PEERS = {
    "pytrees-rs": of_discrepancies,
    "pycontree": of_contree,
    "licketysplit": of_lickety_split,
}


def cart(kind: str, x: Array, y: Array, depth: int) -> float:
    """The best tree of scikit-learn's criteria: errors, or mean squared error."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    found: list[float] = []
    for criterion in CRITERIA[kind]:
        made: Callable[..., Any] = (
            DecisionTreeClassifier if kind == "classes" else DecisionTreeRegressor
        )
        model = made(criterion=criterion, max_depth=depth, random_state=0).fit(x, y)
        told = model.predict(x)
        found.append(float((told != y).sum() if kind == "classes" else ((told - y) ** 2).mean()))
    return min(found)


def problems(args: argparse.Namespace) -> Iterator[tuple[str, int]]:
    every = CLASSES if args.kind == "classes" else NUMBERS
    for name in args.sets or every:
        for depth in args.depths:
            yield name, depth


def measure(args: argparse.Namespace) -> None:
    """Values at each limit beside CART and growth; then what is worse than it should be."""
    limits = [limit for limit in (SHORT if args.short else LIMITS) if limit <= args.limit]
    shown = "{:.0f}" if args.kind == "classes" else "{:.4g}"
    table = Table(
        f"anytime-{args.kind}",
        (
            "set",
            "depth",
            "CART",
            "greedy",
            *(f"{limit:g} s" for limit in limits),
            "bound",
            "gap s",
            *(f"{who}{told}" for who in args.peers for told in ("", ", gap s")),
        ),
    )
    worse: list[str] = []
    above: dict[str, dict[float, float]] = {}
    loaded: dict[str, tuple[Array, Array]] = {}
    for name, depth in problems(args):
        x, y = loaded.setdefault(name, table_of(name))
        asked = {"kind": args.kind, "name": name, "depth": depth, "limit": limits[-1], "seed": 0}
        growth = run({**asked, "using": "greedy", "limit": 600.0}, args.out)
        grown = growth.at(1e9)
        other = cart(args.kind, x, y, depth)
        curves = [
            run({**asked, "using": args.using, "seed": seed}, args.out)
            for seed in range(args.seeds)
        ]
        found = {limit: sorted(c.at(limit) for c in curves) for limit in limits}
        values = {limit: each[len(each) // 2] for limit, each in found.items()}
        takes = [who for who in args.peers if who != "licketysplit" or np.isin(x, (0, 1)).all()]
        others = {who: run({**asked, "using": who}, args.out) for who in takes}
        best = min([*values.values(), *(curve.at(1e9) for curve in others.values())])
        integral = float(np.median([c.integral(best, limits[-1]) for c in curves]))
        bound = float(np.median([c.bound(limits[-1]) for c in curves]))
        table.add(
            name,
            depth,
            shown.format(other),
            shown.format(grown),
            *(shown.format(values[limit]) for limit in limits),
            shown.format(bound),
            f"{integral:.2f}",
            *(
                cell
                for who in args.peers
                for cell in (
                    (
                        shown.format(others[who].at(1e9)),
                        f"{others[who].integral(best, limits[-1]):.2f}",
                    )
                    if who in others
                    else (None, None)
                )
            ),
        )
        for who, curve in others.items():
            if integral > curve.integral(best, limits[-1]):
                worse.append(f"{name} {depth}: the primal gap integral of {who} is less")
        first = 10.0 if len(y) > 100_000 else SHORT[0] if args.short else 1.0
        for limit in limits:
            if limit < first:
                continue
            by_then = growth.at(limit) if args.short else grown
            for who, value in (("CART", other), ("greedy", by_then)):
                if values[limit] > value * (1 + 1e-9):
                    worse.append(
                        f"{name} {depth} at {limit:g} s: {values[limit]:g}, {who} {value:g}"
                    )
            if values[limit] > above.get(name, {}).get(limit, np.inf) * (1 + 1e-9):
                worse.append(f"{name} at {limit:g} s: worse with depth {depth}")
        above[name] = {limit: each[(len(each) - 1) // 2] for limit, each in found.items()}
    larger = ", the larger value of the two, above which no third lifts the median"
    table.note(
        f"{args.seeds} seed(s){larger if args.seeds == 2 else ''}, one thread, seconds of processor"
        " from the frame on. Worse than CART, growth, a smaller depth or a peer:"
        f" {'; '.join(worse) or 'none'}."
    )
    if args.docs:
        table.publish()


def in_turns(args: argparse.Namespace) -> None:
    """The gap integrals of small cases, which one run does not tell apart: many runs, in turns."""
    sides = (args.using, *args.peers)
    told = [f"{who}{also}" for who in sides for also in ("", ", least")]
    table = Table("anytime-turns", ("set", "depth", *told))
    for name, depth in problems(args) if args.sets else SMALL:
        asked = {"kind": args.kind, "name": name, "depth": depth, "limit": args.limit, "seed": 0}
        curves: dict[str, list[Curve]] = {who: [] for who in sides}
        for turn in range(args.turns):
            for who in sides[:: -1 if turn % 2 else 1]:
                curves[who].append(run({**asked, "using": who}, None))
        best = min(curve.at(1e9) for each in curves.values() for curve in each)
        lasted = [[1000 * c.integral(best, args.limit) for c in curves[who]] for who in sides]
        cells = [value for each in lasted for value in (np.median(each), min(each))]
        table.add(name, depth, *(f"{cell:.2f}" for cell in cells))
    table.note(
        f"Primal gap integrals in milliseconds of processor from the frame on: medians of"
        f" {args.turns} runs each, in turns, and the least."
    )
    if args.docs:
        table.publish()


def main() -> None:
    """Measure one kind of target."""
    if sys.argv[1:] == ["--child"]:
        child()
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=["classes", "numbers"])
    parser.add_argument("--sets", type=lambda text: text.split(","), help="`exclusive` too")
    parser.add_argument(
        "--depths", type=lambda text: [int(w) for w in text.split(",")], default=list(DEPTHS)
    )
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of processor")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="limits of .05, .1 and .3 s")
    parser.add_argument(
        "--peers", type=lambda text: text.split(","), default=[], help=", ".join(PEERS)
    )
    parser.add_argument("--using", default="auto")
    parser.add_argument("--turns", type=int, help="runs of each side, in turns, of small cases")
    parser.add_argument("--out", type=Path, help="a file that keeps the runs, as lines of JSON")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    (in_turns if args.turns else measure)(args)


if __name__ == "__main__":
    main()
