"""Times against pycontree and pystreed, smallest trees, two threads, and runs with a gap."""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Callable

import numpy as np

import odtdsl
from measures import sets
from measures.peers import Outcome, Paired, agree, alternate, contree, ours, streed
from measures.report import Table, geometric
from measures.sets import Array
from odtdsl.base import _engine

HEAD = (
    "set",
    "rows",
    "features",
    "classes",
    "errors",
    "bound",
    "ours, s",
    "peer, s",
    "peer's errors",
    "ratio",
    "runs",
)

Peer = Callable[[Array, Array, int, float], Outcome]


def continuous(args: Namespace) -> None:
    """Numbers: against pycontree."""
    isa = "" if args.isa == "best" else f"-{args.isa}"
    table = Table(f"continuous-{args.depth}{isa}", HEAD)
    names = args.sets or [
        one for one in sets.CONTINUOUS if one not in sets.LONG.get(args.depth, ())
    ]
    _compare(args, table, "continuous", names, contree)


def binary(args: Namespace) -> None:
    """0/1 features: against pystreed."""
    table = Table(f"binary-{args.depth}", HEAD)
    _compare(args, table, "binary", args.sets or sets.binary(), streed)


def _compare(args: Namespace, table: Table, kind: str, names: list[str], peer: Peer) -> None:
    ratios: dict[str, float] = {}
    apart: list[str] = []
    expected = sets.ERRORS.get(args.depth, {}) if kind == "continuous" else {}
    for name in names:
        x, y = sets.load(kind, name)
        options = {"isa": args.isa, "time_limit": args.limit, "threads": args.threads}
        pair = alternate(
            args.runs,
            lambda: ours(x, y, args.depth, **options),
            (lambda: peer(x, y, args.depth, args.limit)) if args.peer else None,
        )
        agree(name, pair.mine, pair.other, expected.get(name))
        if pair.other is not None:
            if pair.mine.proven and pair.other.proven:
                ratios[name] = pair.ratio
            else:
                apart.append(name)
        table.add(name, *x.shape, int(y.max()) + 1, *_timed(pair), pair.runs)
    if ratios:
        least = min(ratios, key=ratios.__getitem__)
        table.note(
            f"Ratio of times, geometric mean over {len(ratios)} sets that both proved:"
            f" {geometric(list(ratios.values())):.2f}; least {ratios[least]:.2f} ({least})."
        )
    if apart:
        table.note(
            f"Not proven by one of the two within {args.limit:g} s, and not in the mean:"
            f" {', '.join(apart)}."
        )
    _finish(args, table)


def _timed(pair: Paired) -> list[object]:
    cells: list[object] = [pair.mine.value, pair.mine.bound, _seconds(pair.mine, pair.seconds)]
    if pair.other is None:
        return [*cells, "", "", ""]
    ratio = f"{pair.ratio:.2f}"
    if pair.mine.proven and not pair.other.proven:
        ratio = f"> {ratio}"
    elif not pair.mine.proven:
        ratio = ""
    return [*cells, _seconds(pair.other, pair.other_seconds), pair.other.value, ratio]


def _seconds(outcome: Outcome, median: float) -> str:
    return f"{median:.4f}" if outcome.proven else f"stopped at {median:.0f}"


def smallest(args: Namespace) -> None:
    """Least depth, then least nodes, without error."""
    table = Table("smallest", ("set", "depth", "nodes", "s"))
    for name, known in sets.SMALLEST.items():
        x, y = sets.load_sat(name)
        runs = [ours(x, y, 20, smallest=True, time_limit=args.limit) for _ in range(args.runs)]
        found = runs[0]
        assert found.proven, name
        assert found.value is not None
        shape = (_height(tree_of(found), 0), 2 * found.value - 1)
        assert shape == known, (name, shape, known)
        table.add(name, *shape, f"{float(np.median([run.seconds for run in runs])):.4f}")
    _finish(args, table)


def tree_of(found: Outcome) -> _engine.Tree:
    """The engine's tree."""
    assert found.answer is not None
    assert found.answer.tree is not None
    return found.answer.tree


def _height(tree: _engine.Tree, node: int) -> int:
    if tree.feature[node] < 0:
        return 0
    return 1 + max(_height(tree, int(side[node])) for side in (tree.left, tree.right))


def threads(args: Namespace) -> None:
    """Two threads against one: same value, and the same tree from run to run."""
    table = Table("threads", ("set", "depth", "errors", "one thread, s", "two, s", "ratio"))
    for name in args.sets or ["magic", "eeg", "fault", "bean"]:
        x, y = sets.load("continuous", name)
        trees: list[_engine.Tree] = []

        def two() -> Outcome:
            found = ours(x, y, args.depth, threads=2, time_limit=args.limit)
            trees.append(tree_of(found))
            return found

        pair = alternate(
            args.runs, two, lambda: ours(x, y, args.depth, threads=1, time_limit=args.limit)
        )
        agree(name, pair.mine, pair.other, sets.ERRORS.get(args.depth, {}).get(name))
        if pair.mine.proven:
            for tree in trees[1:]:
                for key in ("feature", "cut", "next", "left", "right", "label"):
                    assert (getattr(tree, key) == getattr(trees[0], key)).all(), name
        table.add(
            name, args.depth, pair.mine.value, pair.other_seconds, pair.seconds, f"{pair.ratio:.2f}"
        )
    _finish(args, table)


def shared_work(args: Namespace) -> None:
    """Trees without error and lists: processor seconds of one thread, and of two together."""
    table = Table(
        "shared-work",
        ("problem", "answer", "one thread, s", "two together, s", "the busier, s", "ratio"),
    )
    problems = {"800 x 8, least depth, then size": _least, "pima, depth 3, 14 errors": _list}
    for name, solve in problems.items():
        spent: dict[int, tuple[float, float]] = {}
        answers: set[object] = set()
        for _ in range(args.runs):
            for threads in (1, 2):
                began, alone = time.process_time(), time.thread_time()
                answers.add(solve(threads))
                alone = time.thread_time() - alone
                both = time.process_time() - began
                spent[threads] = min(
                    spent.get(threads, (math.inf, 0)), (both, max(alone, both - alone))
                )
        (one, _), (two, busier) = spent[1], spent[2]
        (answer,) = answers
        table.add(name, answer, one, two, busier, f"{one / busier:.2f}")
    table.note("Least of the runs.")
    if args.docs:
        table.publish()


def _least(threads: int) -> object:
    """A table whose labels a random tree of depth 6 gives."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 10, (8, 800))
    y = np.zeros(800, dtype=np.int32)

    def grow(rows: Array, depth: int) -> None:
        if depth == 0 or len(rows) < 2:
            y[rows] = rng.integers(0, 2)
            return
        column, cut = rng.integers(0, 8), rng.integers(0, 9)
        left = x[column][rows] <= cut
        grow(rows[left], depth - 1)
        grow(rows[~left], depth - 1)

    grow(np.arange(800), 6)
    found = ours(x.T, y, 8, smallest=True, threads=threads)
    assert found.proven
    return found.value


def _list(threads: int) -> object:
    spec = f'data "{sets.folder()}/cases/pima.csv" target diabetes tree depth <= 3 minimize errors'
    found = odtdsl.parse(spec).alternatives(
        near="14 errors", only_count=True, most=100, threads=threads
    )
    assert found.raw is not None
    return found.raw


def gap(args: Namespace) -> None:
    """A permitted gap: ours relative to the tree found, pycontree's in errors."""
    table = Table(
        f"gap-{args.of}",
        (
            "set",
            "permitted",
            "errors",
            "bound",
            "ours, s",
            "peer, s",
            "peer's errors",
            "ratio",
        ),
    )
    for name in args.sets or [
        "bidding",
        "occupancy",
        "raisin",
        "page",
        "bean",
        "fault",
        "magic",
        "eeg",
    ]:
        x, y = sets.load("continuous", name)
        _gap(args, table, name, x, y)
    if args.of == "optimum":
        table.note(
            "Permitted: that share of the optimum, or of the best known value, rounded down to"
            " errors; 0 is a full proof, for both."
        )
    else:
        table.note("Permitted: that share of the rows, in errors, as in the ConTree study.")
    _finish(args, table)


def _gap(args: Namespace, table: Table, name: str, x: Array, y: Array) -> None:
    known = sets.ERRORS.get(args.depth, {}).get(name)
    began = time.perf_counter()
    if args.of == "optimum":
        found = ours(x, y, args.depth, relative_gap=args.gap, time_limit=args.limit)
        of = found.value if known is None else known
        assert of is not None
        permitted = math.floor(args.gap * of)
    else:
        permitted = math.floor(args.gap * len(y))
        found = ours(x, y, args.depth, absolute_gap=permitted, time_limit=args.limit)
    seconds = time.perf_counter() - began
    assert found.value is not None
    assert found.bound is not None
    gap = found.value - found.bound
    within = gap <= (args.gap * found.value if args.of == "optimum" else permitted)
    assert within or seconds >= args.limit, (name, found.value, found.bound, permitted)
    cells: list[object] = ["", "", ""]
    if args.peer:
        other = contree(x, y, args.depth, args.limit, gap=permitted)
        assert other.value is not None
        assert other.value >= found.bound, name
        stopped = other.seconds >= 0.98 * args.limit
        assert known is None or stopped or other.value <= known + permitted, name
        ratio = other.seconds / seconds
        word = f"> {ratio:.2f}" if stopped else f"{ratio:.2f}"
        cells = [
            f"stopped at {other.seconds:.0f}" if stopped else other.seconds,
            other.value,
            word if within else "",
        ]
    if known is not None:
        assert found.bound <= known <= found.value, (name, found.bound, known, found.value)
        assert not within or found.value - known <= gap, name
    table.add(
        name,
        permitted,
        found.value,
        found.bound,
        seconds if within else f"stopped at {seconds:.0f}",
        *cells,
    )


def _finish(args: Namespace, table: Table) -> None:
    isa = getattr(args, "isa", "best")
    depth = f"Depth {args.depth}, limit" if "depth" in args else "Limit"
    table.note(
        f"{depth} {args.limit:g} s, instruction set"
        f" {_engine.instruction_sets()[-1] if isa == 'best' else isa}."
    )
    if args.docs:
        table.publish()
