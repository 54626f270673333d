"""Forms of objective on sets of 0/1 features: processor time of each against that of `errors`.

    ODTDSL_DATA=... python benchmarks/objectives.py [--depth 4] [--sets a,b] [--runs 3] [--docs]

A spec is read and solved as `odt solve` does it, without the start of the interpreter; one thread,
medians. pystreed (extra `bench`) gets arrays; a second table sets it beside ours from the rows that
are read to the audited answer, form by form where it has them. Weights are drawn from 1 to 3; the
weight of a class is 1 for the largest, then 2; errors on the second class cost 5. Tests cost 1 each
(a path length), or the first five columns more. A form that is not proven within the limit ends
the run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures import sets
from measures.report import Table, geometric
from measures.sets import Array
from measures.specs import analysed

import odtdsl
from odtdsl.driver.pipeline import solve

PRICE = 0.01
FORMS = {
    "errors": "minimize errors",
    "then leaves": "minimize errors then leaves",
    "2 * errors": "minimize 2 * errors",
    "price": f"minimize error_rate + {PRICE} * leaves",
    "price then": "minimize errors + 1 * leaves then leaves",
    "weights": "weight some  minimize errors",
    "weights then": "weight some  minimize errors then leaves",
    "classes": "weight by_class  minimize errors",
    "loss": 'loss predict "0" when "1" = 5  minimize expected_loss',
    "loss, price": 'loss predict "0" when "1" = 5  minimize expected_loss + 0.01 * leaves',
    "lengths": "cost * = 1  minimize error_rate + 0.01 * expected_cost",
    "lengths last": "cost * = 1  minimize errors then expected_cost",
    "costs": (
        "cost * = 1, x0 = 2, x1 = 3, x2 = 4, x3 = 5, x4 = 6"
        "  minimize error_rate + 0.01 * expected_cost"
    ),
}
PEERS = ("errors", "price", "weights", "classes", "loss")


def written(folder: Path, name: str) -> tuple[Path, Array, Array, Array, Array]:
    """The set as a CSV file with columns of weights; features, labels, both weights."""
    x, y = sets.load("binary", name)
    some = np.random.default_rng(0).integers(1, 4, size=len(y))
    by_class = np.where(y == np.bincount(y).argmax(), 1, 2)
    file = folder / f"{name}.csv"
    head = ",".join([*(f"x{i}" for i in range(x.shape[1])), "y", "some", "by_class"])
    table = np.column_stack([x, y, some, by_class])
    np.savetxt(file, table, fmt="%d", delimiter=",", header=head, comments="")
    return file, x.astype(np.int32), y, some, by_class


def seconds(runs: int, call: Callable[[], Any]) -> tuple[float, Any]:
    """The median processor time of a call, and its last answer."""
    taken: list[float] = []
    answer: Any = None
    for _ in range(runs):
        start = time.process_time()
        answer = call()
        taken.append(time.process_time() - start)
    return statistics.median(taken), answer


def spec_of(file: Path, form: str, args: argparse.Namespace) -> Path:
    """The form, written down beside the rows."""
    weights = [name for name in ("some", "by_class") if f"weight {name}" not in FORMS[form]]
    spec = file.with_suffix(".odt")
    spec.write_text(
        f'data "{file.name}"  target y  tree depth <= {args.depth}\ndrop {", ".join(weights)}\n'
        f"{FORMS[form]}\nsolve within {args.limit} s, threads 1\n",
        encoding="utf-8",
    )
    return spec


def ours(file: Path, form: str, args: argparse.Namespace) -> Any:
    """One form, read and proven."""
    return proven(odtdsl.load(spec_of(file, form, args)).solve(), file, form)


def proven(result: Any, file: Path, form: str) -> Any:
    """The result, if it is one."""
    if result.status != "optimal":
        sys.exit(f"{file.stem}, {form}: {result.status}")
    return result


def without_reading(file: Path, form: str, args: argparse.Namespace) -> float:
    """The median processor time from the rows to the audited answer."""
    spec = spec_of(file, form, args)
    analysis = analysed(file.stem, spec.read_text("utf-8"), file)

    def call() -> None:
        proven(solve(analysis, backend="exact", seconds=args.limit, threads=1), file, form)

    return seconds(args.runs, call)[0]


def streed(
    form: str, x: Array, y: Array, weights: Array | None, args: argparse.Namespace
) -> float | None:
    """The value that pystreed proves for a form; None within the limit."""
    from pystreed import STreeDClassifier, STreeDInstanceCostSensitiveClassifier

    model: Any
    size = {"max_depth": args.depth, "time_limit": args.limit}
    each = np.ones(len(y)) if weights is None else weights
    if form == "loss":
        each = np.where(y == 1, 5, 1)
    if form == "errors":
        model = STreeDClassifier("accuracy", **size)
        model.fit(x, y)
    elif form == "price":
        model = STreeDClassifier("cost-complex-accuracy", cost_complexity=PRICE, **size)
        model.fit(x, y)
    else:
        model = STreeDInstanceCostSensitiveClassifier(**size)
        model.fit(x, (1.0 - np.eye(2))[y] * each[:, None])
    if not model.fit_result.is_optimal():
        return None
    lost = float(each[np.asarray(model.predict(x)).ravel() != y].sum())
    if form == "price":
        return lost / len(y) + PRICE * float(model.get_n_leaves())
    return lost / len(y) if form == "loss" else lost


def measure(args: argparse.Namespace) -> None:
    """One row per set: seconds of `errors`, of the others as ratios; and pystreed's beside ours."""
    table = Table(
        f"objectives-{args.depth}",
        (
            "set",
            *(f"{form}, s" if form == "errors" else form for form in FORMS),
        ),
    )
    beside = Table(
        f"objectives-peer-{args.depth}",
        (
            "set",
            *(f"{form}: ours / pystreed, s" for form in PEERS),
        ),
        quiet=True,
    )
    peer = args.peer and find_spec("pystreed") is not None
    ratios: list[float] = []
    times: list[float] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in sets.binary():
            if args.sets and name not in args.sets.split(","):
                continue
            file, x, y, some, by_class = written(Path(scratch), name)
            ours(file, "errors", args)  # imports
            took, found = {}, {}
            for form in FORMS:
                took[form], found[form] = seconds(args.runs, partial(ours, file, form, args))
            others: list[str] = []
            for form in PEERS if peer else ():
                weights = {"weights": some, "classes": by_class}.get(form)
                theirs, value = seconds(args.runs, partial(streed, form, x, y, weights, args))
                best = float(found[form].stages[0].value)
                assert value is None or abs(value - best) < 1e-6, (name, form, value, best)
                mine = without_reading(file, form, args)
                times.append(theirs / mine)
                others.append(f"{mine:.3f} / {theirs:.3f}" + (" (open)" if value is None else ""))
            relative = [took[form] / took["errors"] for form in FORMS if form != "errors"]
            ratios += relative
            table.add(name, f"{took['errors']:.3f}", *(f"{r:.2f}" for r in relative))
            if peer:
                beside.add(name, *others)
    table.note(
        f"Depth {args.depth}; all {len(ratios) + len(ratios) // (len(FORMS) - 1)} proven. Ratios to"
        f" `errors`: median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}."
    )
    if peer:
        beside.note(
            f"Depth {args.depth}, from the rows on. Ratios of times: geometric mean"
            f" {geometric(times):.1f}, least {min(times):.2f}."
        )
    if peer:
        print(beside.text())
    if args.docs:
        table.publish()
        if peer:
            beside.publish()


def main() -> None:
    """Read the options and measure."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--depth", type=int, default=4)
    asked.add_argument("--limit", type=int, default=60)
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--sets", default="")
    asked.add_argument("--no-peer", dest="peer", action="store_false")
    asked.add_argument("--docs", action="store_true")
    measure(asked.parse_args())


if __name__ == "__main__":
    main()
