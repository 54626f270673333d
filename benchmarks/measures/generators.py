"""How often the tree that made the rows is found again: the DT_depth / DT_size study's figure 2."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from measures.report import Table
from measures.sat import DEPTH, PAGE, SIZE, run
from measures.sets import Array
from odtdsl.backends.sat.backend import Sat
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver.choice import back_end
from odtdsl.language.parser import parse
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawTree
from odtdsl.problem.terms.normalize import normalize

FEATURES, LEVELS = 10, 5
EVERY = (np.arange(2**FEATURES)[:, None] >> np.arange(FEATURES)) & 1
"""All rows there are: (1024, 10)."""

Grower = Callable[[Array, Array, float], Array | None]
"""From rows and labels to the predictions of a tree on `EVERY`; None: not within the limit."""


@dataclass(slots=True, kw_only=True)
class Found:
    """What a method did with all generators at one number of rows."""

    same: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def generator(rng: np.random.Generator) -> Array:
    """The labels of `EVERY` by a random perfect tree: a feature once per path, random classes."""
    labels = np.zeros(len(EVERY), dtype=np.int64)

    def grow(rows: Array, features: Array) -> None:
        if len(features) == FEATURES - LEVELS:
            labels[rows] = rng.integers(2)
            return
        chosen = rng.choice(features)
        left = EVERY[rows, chosen] == 0
        for side in (rows[left], rows[~left]):
            grow(side, features[features != chosen])

    grow(np.arange(len(EVERY)), np.arange(FEATURES))
    return labels


def generators(args: Namespace) -> None:
    """The share of generators that are found again, by the number of rows."""
    counts = [int(word) for word in args.rows.split(",")]
    methods: dict[str, Grower] = {
        "DT_depth (`exact`)": lambda x, y, s: _ours(x, y, s, DEPTH, "exact"),
        "DT_size (`exact`)": lambda x, y, s: _ours(x, y, s, SIZE, "exact"),
        "CART": lambda x, y, s: _cart(x, y),
        "DT_depth (`sat`)": lambda x, y, s: _ours(x, y, s, DEPTH, "sat"),
        "DT_size (`sat`)": lambda x, y, s: _ours(x, y, s, SIZE, "sat"),
    }
    found = {(name, count): Found() for name in methods for count in counts}
    for seed in range(args.trees):
        rng = np.random.default_rng(seed)
        labels = generator(rng)
        drawn = rng.integers(len(EVERY), size=max(counts))
        for count in counts:
            rows = drawn[:count]
            for name, grow in methods.items():
                if "sat" in name and seed >= args.sat_trees:
                    continue
                began = time.process_time()
                predicted = grow(EVERY[rows], labels[rows], args.limit)
                seen = found[name, count]
                seen.seconds.append(time.process_time() - began)
                seen.same.append(predicted is not None and bool((predicted == labels).all()))
        if seed % 10 == 9:
            print(f"{seed + 1} generators", file=sys.stderr, flush=True)
    _tell(args, found, counts, list(methods))


def _tell(
    args: Namespace, found: dict[tuple[str, int], Found], counts: list[int], methods: list[str]
) -> None:
    table = Table("generators", ("rows", *(x for name in methods for x in (f"{name}: same", "s"))))
    for count in counts:
        cells: list[str] = []
        for name in methods:
            seen = found[name, count]
            if not seen.same:
                cells += ["", ""]
                continue
            cells += [f"{100 * np.mean(seen.same):.1f}%", f"{np.mean(seen.seconds):.3f}"]
        table.add(count, *cells)
    table.note(
        f"{args.trees} random perfect trees of depth {LEVELS} over {FEATURES} Boolean features, two"
        " classes; rows drawn with repetition. Same: equal on all 1,024 rows that there are."
        f" Seconds are means, with the reading of the spec where there is one. `sat`: the first"
        f" {min(args.sat_trees, args.trees)} trees."
    )
    if args.docs:
        table.publish(PAGE)


def _ours(x: Array, y: Array, limit: float, objective: str, using: str) -> Array | None:
    names = [f"f{i}" for i in range(FEATURES)]
    frame = {name: x[:, i].tolist() for i, name in enumerate(names)} | {"label": y.tolist()}
    source = Source(
        name="generator",
        text="data frame  target label: class  feature *: number\n"
        f"tree  minimize {objective}  rule exact: errors <= 0",
    )
    core = normalize(analyse(parse(source), source=source, frame=frame).rows)
    engine = Sat() if using == "sat" else back_end("exact")
    found = run(engine, core, limit)
    if found is None or found.answer.tree is None:
        return None
    classes = np.unique(y)
    return classes[_predicted(core, found.answer.tree, np.arange(len(EVERY)))]


def _predicted(core: Core, tree: RawTree, rows: Array) -> Array:
    """Labels of some of `EVERY`; cells are 0 and 1, and so are the codes of columns with both."""
    if isinstance(tree, RawLeaf):
        return np.full(len(rows), tree.label)
    family = core.families[tree.family]
    left = goes_left(family, tree.test, EVERY[rows, family.column])
    found = np.empty(len(rows), dtype=np.int64)
    found[left] = _predicted(core, tree.left, rows[left])
    found[~left] = _predicted(core, tree.right, rows[~left])
    return found


def _cart(x: Array, y: Array) -> Array:
    from sklearn.tree import DecisionTreeClassifier

    grown = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(x, y)
    predicted: Array = grown.predict(EVERY)
    return predicted
