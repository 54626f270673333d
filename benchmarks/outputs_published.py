"""Why the output-constrained study's figures of scores, cars and class are not ours.

    ODTDSL_DATA=... python benchmarks/outputs_published.py [--sets cars] [--docs]

Its program first scored a split at an observed value v with the rows before the last one of v,
and then applied it as x <= v; later it cut at midpoints. `before` grows S(O):L(O) trees in the
first way, once per order of rows that tie (the study's depends on an unstable sort), `after` in
the second; both beside the published means of five folds and ours. scikit-learn's tree, whose
code never changed, tells whether rows, features and folds are the study's.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from outputs import PAGE, Set, grown, grown_set, sets
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from odtdsl.problem.outputs.feasible import FeasibleSet

Array = npt.NDArray[np.float64]
FILES = {"scores": "scores_cars", "cars": "scores_cars", "class": "class"}
LEAST_LEAF, LEAST_SPLIT = 5, 10
THEIR_SEED = 20
"""Of scikit-learn's tree in the study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grower:
    """The study's growth by the loss of feasible outputs."""

    found: FeasibleSet
    before: bool
    order: str  # of numpy's sort

    def leaf(self, y: Array) -> Array:
        return self.found.project(y.mean(axis=0)[None])[1][0]

    def losses(self, y: Array) -> Array:
        """Of the first 1, 2, ... rows."""
        count = np.arange(1, len(y) + 1)
        sums, squares = y.cumsum(axis=0), (y**2).sum(axis=1).cumsum()
        means = sums / count[:, None]
        apart: Array = self.found.project(means)[0] - (means**2).sum(axis=1)
        lost: Array = squares + count * apart
        return lost

    def split(self, x: Array, y: Array) -> tuple[float, float] | None:
        """Score and threshold of a feature's best split."""
        order = np.argsort(x, kind=self.order)  # type: ignore[call-overload]
        x, y, n = x[order], y[order], len(x)
        if self.before:
            at = np.arange(LEAST_LEAF, n - LEAST_LEAF - 1)
            at = at[x[at] != x[at + 1]]
            thresholds = x[at]
        else:
            at = np.arange(LEAST_LEAF, n - LEAST_LEAF + 1)
            at = at[x[at] != x[at - 1]]
            thresholds = (x[at] + x[at - 1]) / 2
        if not len(at):
            return None
        scores = self.losses(y)[at - 1] + self.losses(y[::-1])[n - at - 1]
        best = int(scores.argmin())
        return float(scores[best]), float(thresholds[best])

    def predict(self, x: Array, y: Array, depth: int, asked: Array) -> Array:
        """The tree's outputs for the asked rows."""
        if depth and len(y) >= LEAST_SPLIT:
            cuts = [(*cut, f) for f in range(x.shape[1]) if (cut := self.split(x[:, f], y))]
            if cuts:
                _, threshold, f = min(cuts, key=lambda cut: cut[0])
                found = np.empty((len(asked), y.shape[1]))
                for rows, test in (
                    (x[:, f] <= threshold, asked[:, f] <= threshold),
                    (x[:, f] > threshold, asked[:, f] > threshold),
                ):
                    found[test] = self.predict(x[rows], y[rows], depth - 1, asked[test])
                return found
        return np.tile(self.leaf(y), (len(asked), 1))


def published(of: Set, depth: int, method: str) -> float:
    folder = Path(os.environ["ODTDSL_DATA"]) / "outputs" / "published"
    name = of.name.split(" ")[0]
    table = pd.read_csv(folder / f"perf_df_{FILES[name]}.csv")
    leaf = "sklearn" if method == "sklearn" else "optimal"
    kept = table[(table.depth == depth) & (table.prediction_method == method)]
    kept = kept[(kept.prediction_method_leaf == leaf) & named(kept, of)]
    return float(kept.mse.mean())


def named(table: pd.DataFrame, of: Set) -> pd.Series:
    """The lines of a set: those of `class` have its rows and targets in columns of their own."""
    name, *size = of.name.split(" ")
    if not size:
        return table.data == name
    return (table.num_rows == int(size[0])) & (table.num_targets == int(size[2]))


def errors(of: Set, depth: int) -> tuple[float, ...]:
    """Mean over folds of scikit-learn, before with two sorts, after, and ours."""
    features = [name for name in of.frame.columns if name not in of.targets]
    x, y = (of.frame[list(names)].to_numpy(dtype=float) for names in (features, of.targets))
    found = grown_set(of)
    kinds = [(True, "quicksort"), (True, "stable"), (False, "stable")]
    every: list[list[float]] = []
    for train, test in KFold(5, shuffle=True, random_state=of.seed).split(x):
        theirs = DecisionTreeRegressor(
            random_state=THEIR_SEED,
            max_depth=depth,
            min_samples_leaf=LEAST_LEAF,
            min_samples_split=LEAST_SPLIT,
        )
        guesses = [theirs.fit(x[train], y[train]).predict(x[test])]
        for before, order in kinds:
            grower = Grower(found=found, before=before, order=order)
            guesses.append(grower.predict(x[train], y[train], depth, x[test]))
        tree, _, _ = grown(of, of.frame.iloc[train], "O:O", depth)
        guesses.append(tree.predict({name: x[test, k] for k, name in enumerate(features)}))
        every.append([float(((guess - y[test]) ** 2).mean()) for guess in guesses])
    return tuple(np.mean(every, axis=0).tolist())


def table(chosen: list[Set]) -> Iterator[str]:
    yield (
        "\n| set | depth | scikit-learn, published | here | S(O):L(O), published | before |"
        " before, stable sort | after | ours |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for of in chosen:
        for depth in (of.depth,) if of.name.startswith("class") else (3, 9, 15):
            plain, *rest = errors(of, depth)
            cells = (published(of, depth, "sklearn"), plain, published(of, depth, "optimal"), *rest)
            line = f"| {of.name} | {depth} | " + " | ".join(f"{one:.6g}" for one in cells) + " |"
            print(line, file=sys.stderr)
            yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="scores,cars,class500x3,class1000x5,class2000x7")
    parser.add_argument("--docs", action="store_true")
    args = parser.parse_args()
    if "ODTDSL_DATA" not in os.environ:
        sys.exit("set ODTDSL_DATA to the folder of public data")
    warnings.simplefilter("ignore")
    every = sets(Path(os.environ["ODTDSL_DATA"]) / "outputs")
    wanted = args.sets.split(",")
    lines = list(table([of for of in every if of.name.replace(" ", "") in wanted]))
    sys.stdout.write("\n".join(lines) + "\n")
    if args.docs:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- published -->")
        _, _, after = rest.partition("<!-- end -->")
        body = "\n".join(lines)
        text = f"{before}<!-- published -->\n{body}\n\n<!-- end -->{after}"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
