"""The CPTree study's splits: optima against peers and published rows, accuracies and ranks.

    ODTDSL_DATA=... python benchmarks/cptree.py optima|numbers|accuracy [--depth 3] [options]

`optima`: the binary files of 12 sets, 5 splits: errors proven and equal to pystreed's, total
times of the same run (the engine and pystreed called alike, one thread, runs alternate), and the
study's published rows of the same splits: how many reach the optimum, and which cannot be of the
same data. `numbers`: the files without bins, against pycontree. `accuracy`: training and test
accuracy on all splits of CART and of optimal trees on the binary files, on those with the number
of leaves chosen on a third of the training rows, and on the numbers without bins; the study's
tables 7 and 8 beside them, with the ranks of Friedman and Nemenyi. `--docs` puts tables into
`docs/explanation/cases-measured.md`. pystreed and pycontree come from the `bench` extra.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from measures import published, sets, study
from measures.calls import solved
from measures.peers import Outcome, Paired, agree, alternate, contree, streed
from measures.report import CASES_PAGE, Table
from measures.sets import Array
from stats import ranks

from odtdsl.base import _engine

SPLITS = 5
BINARY, NUMBERS = "cat_dis_holdout", "cat_num"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Training and test rows: cells (n_rows, n_features), labels 0, 1, ... of both alike."""

    x: Array
    y: Array
    x_test: Array
    y_test: Array


def names(args: argparse.Namespace) -> list[str]:
    """The sets that are there, or those asked for."""
    folder = sets.folder() / "cptree"
    there = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return [name for name in there if not args.sets or name in args.sets.split(",")]


def load(name: str, kind: str, number: int) -> Split:
    """One split of a set."""
    cells, labels = [], []
    for part in ("train", "test"):
        file = sets.folder() / "cptree" / name / f"{name}_{kind}_{part}_{number}.csv"
        table = np.loadtxt(file, delimiter=";", skiprows=1, dtype=str)
        cells.append(table[:, :-1].astype(float))
        labels.append(table[:, -1])
    of_class = {c: i for i, c in enumerate(np.unique(np.concatenate(labels)))}
    y, y_test = (np.array([of_class[c] for c in of], dtype=np.int32) for of in labels)
    return Split(x=cells[0], y=y, x_test=cells[1], y_test=y_test)


# ---- methods


def ours(x: Array, y: Array, depth: int, limit: float, **options: Any) -> Outcome:
    """The engine; sorting numbers is part of its time, 0/1 columns are their own ranks."""
    start = time.perf_counter()
    ranked, distinct = sets.ranked_or_binary(x)
    found = solved(ranked, distinct, y, int(y.max()) + 1, depth, time_limit=limit, **options)
    return Outcome(
        seconds=time.perf_counter() - start,
        value=found.objective,
        bound=found.bound,
        proven=found.status == "optimal",
        answer=found,
    )


def predict(found: _engine.ClassAnswer | None, x: Array, rows: Array) -> Array:
    """The engine's tree, learned from `x`, on `rows`; thresholds are midpoints."""
    assert found is not None
    tree = found.tree
    assert tree is not None
    binary = bool(((x == 0) | (x == 1)).all())
    at = np.zeros(len(rows), dtype=int)
    while True:
        feature = tree.feature[at]
        inner = np.flatnonzero(feature >= 0)
        if not len(inner):
            labels: Array = tree.label[at]
            return labels
        for node in np.unique(at[inner]):
            here = at == node
            f = tree.feature[node]
            values = np.array([0.0, 1.0]) if binary else np.unique(x[:, f])
            cut = (values[tree.cut[node]] + values[tree.next[node]]) / 2
            left = rows[here, f] <= cut
            at[here] = np.where(left, tree.left[node], tree.right[node])


def optimal(split: Split, args: argparse.Namespace, **options: Any) -> tuple[float, float, bool]:
    """Training and test accuracy of an optimal tree, and whether it is proven."""
    found = ours(split.x, split.y, args.depth, args.limit, **options)
    pairs = ((split.x, split.y), (split.x_test, split.y_test))
    train, test = (float((predict(found.answer, split.x, x) == y).mean()) for x, y in pairs)
    assert round((1 - train) * len(split.y)) == found.value, (train, found.value)
    return train, test, found.proven


def tuned(split: Split, args: argparse.Namespace) -> tuple[float, float, bool]:
    """As the study's CPTree-1*: 3 (K - 1) to 2^K leaves, chosen on a third of the rows."""
    from sklearn.model_selection import train_test_split

    try:
        x, x_held, y, y_held = train_test_split(
            split.x, split.y, test_size=1 / 3, random_state=0, stratify=split.y
        )
    except ValueError:  # a class with one row
        x, x_held, y, y_held = train_test_split(split.x, split.y, test_size=1 / 3, random_state=0)
    best, leaves, proven = -1.0, 1, True
    for most in range(3 * (args.depth - 1), 2**args.depth + 1):
        found = ours(x, y, args.depth, args.limit, max_leaves=most)
        proven &= found.proven
        right = float((predict(found.answer, x, x_held) == y_held).mean())
        if right > best:
            best, leaves = right, most
    train, test, last = optimal(split, args, max_leaves=leaves)
    return train, test, proven and last


def cart(split: Split, args: argparse.Namespace) -> tuple[float, float, bool]:
    """scikit-learn's by entropy, as in the study."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(criterion="entropy", max_depth=args.depth, random_state=0)
    model.fit(split.x, split.y)
    train, test = model.score(split.x, split.y), model.score(split.x_test, split.y_test)
    return float(train), float(test), False


# ---- optima and times


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The optimal tree of a split: training and test accuracy, and the runs."""

    split: Split
    train: float
    test: float
    pair: Paired


Peer = Callable[[Array, Array, int, float], Outcome]


def _solved(name: str, kind: str, peer: Peer | None, args: argparse.Namespace) -> list[Solved]:
    """All splits of a set; optima are asserted to be equal."""
    found = []
    for number in range(1, SPLITS + 1):
        split = load(name, kind, number)
        x, y = split.x, split.y
        pair = alternate(
            args.runs,
            lambda: ours(x, y, args.depth, args.limit),
            (lambda: peer(x, y, args.depth, args.limit)) if peer else None,
        )
        agree(f"{name}, split {number}", pair.mine, pair.other)
        train, test = (
            float((predict(pair.mine.answer, x, cells) == labels).mean())
            for cells, labels in ((x, y), (split.x_test, split.y_test))
        )
        found.append(Solved(split=split, train=train, test=test, pair=pair))
    return found


def _pair(values: list[tuple[float, float]]) -> str:
    if not values:
        return ""
    train, test = np.mean(values, axis=0)
    return f"{100 * train:.1f} / {100 * test:.1f} ({len(values)})"


class _Totals:
    """Proofs and times over the sets, as cells of a row and as a sentence."""

    def __init__(self, peer: str | None) -> None:
        self.peer = peer
        self.rows = self.proven = self.equal = 0
        self.seconds = np.zeros(2)

    def add(self, solved: list[Solved]) -> tuple[list[str], list[str]]:
        """Cells of proofs, and of times."""
        pairs = [one.pair for one in solved]
        others = [p for p in pairs if p.other is not None and p.other.proven and p.mine.proven]
        proven, equal = sum(p.mine.proven for p in pairs), len(others)
        seconds = np.sum([(p.seconds, p.other_seconds) for p in pairs], axis=0)
        self.rows, self.proven = self.rows + len(pairs), self.proven + proven
        self.equal, self.seconds = self.equal + equal, self.seconds + seconds
        has = self.peer is not None
        return (
            [f"{proven}/{len(pairs)}", f"{equal}/{len(pairs)}" if has else ""],
            [
                f"{seconds[0]:.4f}",
                f"{seconds[1]:.4f}" if has else "",
                f"{seconds[1] / seconds[0]:.2f}" if has else "",
            ],
        )

    def text(self) -> str:
        mine, other = self.seconds
        beside = (
            f", {self.peer} {other:.3f} s, ratio {other / mine:.2f}; {self.equal} of {self.rows}"
            " are proven by both, and equal"
            if self.peer
            else ""
        )
        return f"{self.proven} of {self.rows} runs proven; totals: ours {mine:.3f} s{beside}."


def _peer(name: str, peer: Peer, args: argparse.Namespace) -> tuple[str, Peer] | tuple[None, None]:
    return (name, peer) if args.peer and find_spec(name) is not None else (None, None)


def optima(args: argparse.Namespace) -> None:
    """One row per set: accuracies on the splits, published rows, total times."""
    name_of_peer, peer = _peer("pystreed", streed, args)
    table = Table(
        f"cptree-optima-{args.depth}",
        (
            "set",
            "training rows x columns",
            "exact, training / test",
            "proven",
            "equal to pystreed",
            "CPTree published",
            "DL8.5 published",
            "ours, s",
            "pystreed, s",
            "ratio",
        ),
    )
    totals, study_rows = _Totals(name_of_peer), _StudyRows(args)
    for name in names(args):
        solved = _solved(name, BINARY, peer, args)
        proofs, times = totals.add(solved)
        shape = solved[-1].split.x.shape
        table.add(
            name,
            f"{shape[0]} x {shape[1]}",
            _pair([(one.train, one.test) for one in solved]),
            *proofs,
            *study_rows.add(name, solved),
            *times,
        )
    table.note(
        f"Depth {args.depth}. {totals.text()} Accuracies in per cent, training / test, mean of so"
        " many splits."
    )
    for sentence in study_rows.sentences():
        table.note(sentence)
    if args.docs:
        table.publish(CASES_PAGE)


class _StudyRows:
    """What the study published, against the optima of the same splits."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.count: dict[str, Counter[str]] = {method: Counter() for method in published.METHODS}
        self.other: dict[tuple[str, str], list[str]] = {}
        self.wrong: list[str] = []

    def add(self, name: str, solved: list[Solved]) -> list[str]:
        """Cells: by method, the means of what is published."""
        rows = list(published.published(sets.folder() / "cptree", name, self.args.depth))
        for row in rows:
            one = solved[row.split - 1]
            if not one.pair.mine.proven:
                self.count[row.method]["open"] += 1
                continue
            best = self._best(row, one)
            verdict = row.verdict(best, len(one.split.y), len(one.split.y_test))
            self.count[row.method][verdict] += 1
            if verdict == "other data":
                says = f" ({100 * row.train:.2f} > {100 * best:.2f})" if row.train > best else ""
                self.other.setdefault((name, says), []).append(f"{row.method}, split {row.split}")
            elif verdict == "below" and row.claimed:
                self.wrong.append(f"{name}, split {row.split}")
        return [
            _pair([(row.train, row.test) for row in rows if row.method == method])
            for method in published.METHODS
        ]

    def _best(self, row: published.Published, one: Solved) -> float:
        """Of the trees that the row had to choose from."""
        if row.leaves >= 2**self.args.depth:
            return one.train
        x, y = one.split.x, one.split.y
        found = ours(x, y, self.args.depth, self.args.limit, max_leaves=row.leaves)
        assert found.proven, (row, found)
        assert found.value is not None, row
        return 1 - found.value / len(y)

    def sentences(self) -> Iterator[str]:
        for method, count in self.count.items():
            if total := count.total():
                yield (
                    f"{method}, {total} published rows: {count['optimal']} reach the proven optimum"
                    f" of the same split (and number of leaves), {count['below']} stay below it,"
                    f" {count['other data']} are of other data"
                    + (f", {count['open']} without a proof of ours." if count["open"] else ".")
                )
        if self.wrong:
            yield f"CPTree called {'; '.join(self.wrong)} optimal, which are not."
        if self.other:
            which = "; ".join(
                f"{name}: {' and '.join(rows)}{says}" for (name, says), rows in self.other.items()
            )
            yield (
                "Of other data: a training accuracy above the proven optimum of the file, or an"
                f" accuracy that is no whole number of its rows: {which}."
            )


def numbers(args: argparse.Namespace) -> None:
    """The files with the numbers as they are, all thresholds, against pycontree."""
    name_of_peer, peer = _peer("pycontree", contree, args)
    table = Table(
        f"cptree-numbers-{args.depth}",
        (
            "set",
            "training rows x columns",
            "exact, training / test",
            "proven",
            "equal to pycontree",
            "ours, s",
            "pycontree, s",
            "ratio",
        ),
    )
    totals = _Totals(name_of_peer)
    for name in names(args):
        solved = _solved(name, NUMBERS, peer, args)
        proofs, times = totals.add(solved)
        shape = solved[-1].split.x.shape
        means = _pair([(one.train, one.test) for one in solved])
        table.add(name, f"{shape[0]} x {shape[1]}", means, *proofs, *times)
    table.note(f"Depth {args.depth}, limit {args.limit:g} s. {totals.text()}")
    if args.docs:
        table.publish(CASES_PAGE)


# ---- accuracies and ranks

OWN = {
    "CART, bins": (BINARY, cart),
    "CART, numbers": (NUMBERS, cart),
    "exact, bins": (BINARY, optimal),
    "exact, bins, leaves chosen": (BINARY, tuned),
    "exact, numbers": (NUMBERS, optimal),
}
"""Our runs: which files, which method."""


def accuracy(args: argparse.Namespace) -> None:
    """Means over the splits, the study's means beside them; ranks of the test accuracies."""
    columns = [*OWN, *(f"{method} (study)" for method in study.METHODS)]
    tables = {
        side: Table(f"cptree-{side}-{args.depth}", ("set", *columns), quiet=side == "train")
        for side in ("test", "train")
    }
    means: dict[str, dict[str, list[float]]] = {s: {c: [] for c in columns} for s in tables}
    unproven = 0
    for name in names(args):
        own: dict[str, list[tuple[float, float, bool]]] = {}
        for column, (kind, method) in OWN.items():
            own[column] = [
                method(load(name, kind, number), args) for number in range(1, SPLITS + 1)
            ]
            unproven += method is not cart and sum(not certain for *_, certain in own[column])
        for which, side in enumerate(("train", "test")):
            of_study = study.printed(side, args.depth).get(name, {})
            cells = [round(100 * float(np.mean([s[which] for s in of])), 2) for of in own.values()]
            cells += [of_study.get(method, float("nan")) for method in study.METHODS]
            for column, cell in zip(columns, cells, strict=True):
                means[side][column].append(cell)
            tables[side].add(name, *("" if np.isnan(c) else f"{c:.1f}" for c in cells))
    for side, table in tables.items():
        _rank(table, means[side], list(OWN), "our runs, all sets")
        _rank(
            table,
            means[side],
            [c for c in columns if "CPTree-2" not in c],
            "with the study's methods, the sets where it is legible",
        )
    tables["test"].note(
        f"Test accuracy at depth {args.depth}, per cent, means of {SPLITS} splits."
        + (" Every optimal tree is proven." if not unproven else f" {unproven} are not proven.")
    )
    tables["train"].note("Training accuracy of the same trees." + _above(means["train"], args))
    print("\n" + tables["train"].text())
    if args.docs:
        for table in tables.values():
            table.publish(CASES_PAGE)


def _above(means: dict[str, list[float]], args: argparse.Namespace) -> str:
    """Printed training means on binary files that no tree has; two digits are printed."""
    found = [
        f"{method} on {name} ({printed:.2f} > {best:.2f})"
        for method in study.METHODS
        if method != "CPTree-2"  # is of the numbers
        for name, printed, best in zip(
            names(args), means[f"{method} (study)"], means["exact, bins"], strict=True
        )
        if printed > best + 0.011
    ]
    if not found:
        return ""
    which = ", ".join(found)
    return f" Printed means above the proven best ones, so of other data or misprinted: {which}."


def _rank(table: Table, means: dict[str, list[float]], columns: list[str], of: str) -> None:
    """A row of mean ranks, and a sentence with the tests."""
    values = np.array([means[column] for column in columns])
    whole = ~np.isnan(values).any(axis=0)
    if whole.sum() < 3:
        return
    found = ranks(dict(zip(columns, values[:, whole], strict=True)))
    order = sorted(found.means.items(), key=lambda item: item[1])
    apart = "; ".join(f"{better} before {worse}" for better, worse in found.apart())
    table.note(
        f"Mean ranks, {of} ({found.sets}): "
        + ", ".join(f"{column} {rank:.2f}" for column, rank in order)
        + f". Friedman p = {found.p_value:.3g}; Nemenyi's critical difference at 5% is"
        f" {found.difference:.2f}: {apart or 'no two differ'}."
    )


MEASURES = {"optima": optima, "numbers": numbers, "accuracy": accuracy}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--runs", type=int, default=3, help="medians of so many")
    parser.add_argument("--sets", default=None, help="names, by commas")
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    parser.add_argument("--docs", action="store_true", help="put the tables into the page")
    args = parser.parse_args()
    MEASURES[args.what](args)


if __name__ == "__main__":
    main()
