"""Misclassification costs and row weights against pystreed's tasks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from measures import sets
from measures.peers import Outcome, agree, alternate, ours, streed_costs, streed_rows
from measures.report import Table, geometric
from measures.sets import Array

MANY_CLASSES = ("page", "fault")
"""Numbers with 5 and 7 classes, made 0/1 at their four fifths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A set with losses; `peer` takes features, labels, depth and limit."""

    name: str
    what: str
    peer_task: str
    options: dict[str, Any]
    peer: Callable[[Array, Array, int, float], Outcome]


def _tasks() -> Iterator[Task]:
    for name, level, costs in sets.cost_tables():
        yield Task(
            name=name,
            what=f"{level} misclassification costs",
            peer_task="cost-sensitive",
            options={"costs": costs},
            peer=partial(streed_costs, costs),
        )
    for seed, name in enumerate([*sets.binary(), *MANY_CLASSES]):
        labels = _cells(name)[1]
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 11, size=len(labels)).astype(np.int64)
        classes = int(labels.max()) + 1
        unit = 1 - np.eye(classes, dtype=np.int64)
        costs = rng.permutation(np.arange(1, 1 + classes**2)).reshape(unit.shape) * unit
        yield _by_row(
            name, "row weights 1 to 10", unit[labels] * weights[:, None], {"weights": weights}
        )
        yield _by_row(
            name,
            f"weights, and costs up to {classes**2}",
            costs[labels] * weights[:, None],
            {"weights": weights, "costs": costs},
        )


def _cells(name: str) -> tuple[Array, Array]:
    if name not in MANY_CLASSES:
        return sets.load("binary", name)
    x, y = sets.load("continuous", name)
    cuts = np.quantile(x, [0.2, 0.4, 0.6, 0.8], axis=0)
    columns = (x[:, None, :] <= cuts[None]).reshape(len(x), -1)
    return np.unique(columns, axis=1).astype(float), y


def _by_row(name: str, what: str, losses: Array, options: dict[str, Any]) -> Task:
    return Task(
        name=name,
        what=what,
        peer_task="instance-cost-sensitive",
        options=options,
        peer=partial(streed_rows, losses),
    )


def tasks(args: Namespace) -> None:
    """Equal optima, and times."""
    table = Table(
        f"tasks-{args.depth}",
        (
            "set",
            "losses",
            "optimum",
            "ours, s",
            "peer's task",
            "peer, s",
            "ratio",
        ),
    )
    ratios: list[float] = []
    for task in _tasks():
        if args.sets and task.name not in args.sets:
            continue
        x, y = _cells(task.name)
        pair = alternate(
            args.runs,
            lambda: ours(x, y, args.depth, time_limit=args.limit, isa=args.isa, **task.options),
            (lambda: task.peer(x, y, args.depth, args.limit)) if args.peer else None,
        )
        agree(f"{task.name}, {task.what}", pair.mine, pair.other)
        both = pair.other is not None and pair.other.proven and pair.mine.proven
        ratios += [pair.ratio] if both else []
        peer = pair.other
        table.add(
            task.name,
            task.what,
            pair.mine.value if pair.mine.proven else f"{pair.mine.value} (bound {pair.mine.bound})",
            f"{pair.seconds:.4f}",
            "" if peer is None else task.peer_task,
            "" if peer is None else f"{pair.other_seconds:.4f}{'' if peer.proven else ' (open)'}",
            f"{pair.ratio:.2f}" if both else "",
        )
    if ratios:
        table.note(
            f"Depth {args.depth}. Equal optima on all {len(ratios)} rows that both proved; ratio of"
            f" times, geometric mean {geometric(ratios):.2f}, least {min(ratios):.2f}."
        )
    if args.docs:
        table.publish()
