"""The whole way of a user of scikit-learn, timed: from a CSV file to predictions elsewhere.

Usage: python benchmarks/journey.py pima.csv [--folder out] [--seconds 60]

`pima.csv` is the file that models/cases/pima.odt describes. The steps: load, fit under rules,
score on folds and on held-out rows, pickle, draw, export, and predict in an environment that was
made a moment ago and holds nothing but Python. Each prediction elsewhere is compared with those
of the estimator. See docs/how-to/estimators.md. It needs the installed library and nothing else
of the source tree, so that any installation can be tried.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Found = TypeVar("Found")

UNMEASURED = ("glucose", "blood_pressure", "skin_thickness", "insulin", "bmi")
"""Columns of the file where a zero means that nobody measured."""

FEATURES = ("pregnancies", *UNMEASURED, "pedigree", "age")

RULES = {
    "robust": "forall leaf: size >= 15",
    "cheap_first": "forall path: age before insulin",
    "sugar": "increasing(glucose)",
}

ELSEWHERE = """
import csv, json, sys
from pima import predict
with open(sys.argv[1], newline="") as file:
    json.dump([predict(row) for row in csv.DictReader(file)], sys.stdout)
"""
"""What runs where only Python is: cells of a CSV file, as texts, into the exported function."""


class Clock:
    """Steps with their seconds, told as they end."""

    def __init__(self) -> None:
        self.total = 0.0

    def step(self, what: str, do: Callable[[], Found], says: Callable[[Found], object]) -> Found:
        """Do a step, and tell its time and what came out."""
        began = time.perf_counter()
        found = do()
        seconds = time.perf_counter() - began
        self.total += seconds
        print(f"{what:8} {seconds:7.2f} s  {says(found)}", flush=True)
        return found


def load(path: Path) -> tuple[Any, Any]:
    """Features with their gaps, and labels."""
    try:
        import pandas as pd
    except ImportError:
        raise SystemExit("the journey reads its rows by pandas: pip install pandas") from None
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as failure:  # pandas' own errors are ValueErrors
        raise SystemExit(f"{path} cannot be read as CSV: {failure}") from None
    if set(frame.columns) != {*FEATURES, "diabetes"}:
        asked = ", ".join((*FEATURES, "diabetes"))
        raise SystemExit(f"{path} must have the columns {asked}, as models/cases/pima.odt says")
    y = frame.pop("diabetes")
    for column in UNMEASURED:
        frame[column] = frame[column].mask(frame[column] == 0)
    return frame, y


def drawn(tree: Any, folder: Path) -> list[str]:
    """Pictures, and the report."""
    (folder / "pima.svg").write_text(tree.result_.to_svg(), encoding="utf-8")
    tree.result_.report(folder / "pima.html")
    made = ["pima.svg", "pima.html"]
    try:
        axes = tree.result_.plot()
    except Exception as missing:  # matplotlib is an extra
        print(f"         not drawn by matplotlib: {missing}")
        return made
    axes.figure.savefig(folder / "pima.png", bbox_inches="tight")
    return [*made, "pima.png"]


def exported(tree: Any, folder: Path) -> list[str]:
    """The tree for other programs, without any package beyond odtdsl."""
    from odtdsl.predictors.saving import save

    save(tree.tree_, folder / "pima.json")
    made = ["pima.json"]
    for to, name in (
        ("text", "pima.txt"),
        ("sql", "pima.sql"),
        ("python", "pima.py"),
        ("c", "pima.c"),
    ):
        tree.tree_.export(to, folder / name)
        made.append(name)
    return made


def elsewhere(folder: Path, rows: Path) -> list[str]:
    """Predictions of the exported function in a new environment without packages."""
    folder = folder.absolute()  # the command runs in it
    venv.create(folder / "fresh", with_pip=False)
    python = folder / "fresh" / ("Scripts" if os.name == "nt" else "bin") / "python"
    (folder / "elsewhere.py").write_text(ELSEWHERE, encoding="utf-8")
    # No variable of ours: nothing but the standard library can be imported there.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [python, "elsewhere.py", rows.name],
        cwd=folder,
        env=clean,
        check=True,
        capture_output=True,
        text=True,
    )
    labels: list[str] = json.loads(done.stdout)
    return labels


def travel(path: Path, folder: Path, seconds: float) -> float:
    """All steps; the seconds that they took together."""
    from sklearn.model_selection import cross_val_score, train_test_split

    from odtdsl import OptimalTreeClassifier

    clock = Clock()
    X, y = clock.step(
        "load",
        lambda: load(path),
        lambda found: f"{found[0].shape[0]} rows, {found[0].isna().sum().sum()} missing cells",
    )
    train, test, y_train, y_test = train_test_split(
        X, y, test_size=0.33, random_state=1, stratify=y
    )
    new = OptimalTreeClassifier(
        RULES, max_depth=3, objective="errors then leaves", time_limit=seconds
    )
    tree = clock.step(
        "fit",
        lambda: new.fit(train, y_train),
        lambda t: (
            f"{t.result_.status}, {t.result_.objective[0]} errors on {len(train)} rows,"
            f" {t.get_n_leaves()} leaves, rules hold: {t.audit_.holds}"
        ),
    )
    clock.step("score", lambda: tree.score(test, y_test), lambda s: f"{s:.1%} of {len(test)} rows")
    clock.step(
        "folds",
        lambda: cross_val_score(new, X, y, cv=5),
        lambda s: f"{s.mean():.1%} +- {s.std():.1%} in 5 folds",
    )
    stored = clock.step("pickle", lambda: pickle.dumps(tree), lambda s: f"{len(s)} bytes")
    again = clock.step("unpickle", lambda: pickle.loads(stored), lambda t: f"{t!r:.40}...")
    clock.step("draw", lambda: drawn(tree, folder), ", ".join)
    clock.step("export", lambda: exported(tree, folder), ", ".join)
    rows = folder / "rows.csv"
    test.to_csv(rows, index=False)
    labels = clock.step(
        "away", lambda: elsewhere(folder, rows), lambda f: f"{len(f)} rows by Python alone"
    )
    expected = tree.predict(test).tolist()
    if labels != expected or again.predict(test).tolist() != expected:
        raise SystemExit("predictions differ")
    print(f"all      {clock.total:7.2f} s  every prediction elsewhere is the estimator's")
    print(tree)
    return clock.total


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("csv", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    wish = parser.parse_args()
    if wish.folder is not None:
        wish.folder.mkdir(parents=True, exist_ok=True)
        travel(wish.csv, wish.folder, wish.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        travel(wish.csv, Path(folder), wish.seconds)


if __name__ == "__main__":
    main()
