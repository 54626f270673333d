"""Misclassification costs and row weights against pystreed's tasks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from measures import sets
from measures.peers import Outcome, agree, alternate, ours, streed_costs, streed_rows
from measures.report import Table, geometric
from measures.sets import Array


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
            name=name, what=f"{level} misclassification costs", peer_task="cost-sensitive",
            options={"costs": costs},
            peer=lambda x, y, depth, limit, costs=costs: streed_costs(x, y, costs, depth, limit),
        )  # fmt: skip
    for seed, name in enumerate(sets.binary()):
        labels = sets.load("binary", name)[1]
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 11, size=len(labels)).astype(np.int64)
        classes = int(labels.max()) + 1
        costs = rng.integers(1, 11, size=(classes, classes)) * (1 - np.eye(classes, dtype=int))
        table = costs.astype(np.int64)
        unit = 1 - np.eye(classes, dtype=np.int64)
        yield _by_row(name, "row weights 1 to 10", unit[labels] * weights[:, None],
                      {"weights": weights})  # fmt: skip
        yield _by_row(name, "weights and costs 1 to 10", table[labels] * weights[:, None],
                      {"weights": weights, "costs": table})  # fmt: skip


def _by_row(name: str, what: str, losses: Array, options: dict[str, Any]) -> Task:
    return Task(
        name=name, what=what, peer_task="instance-cost-sensitive", options=options,
        peer=lambda x, _, depth, limit: streed_rows(x, losses, depth, limit),
    )  # fmt: skip


def tasks(args: Namespace) -> None:
    """Equal optima, and times."""
    table = Table(f"tasks-{args.depth}", (
        "set", "losses", "optimum", "ours, s", "peer's task", "peer, s", "ratio",
    ))  # fmt: skip
    ratios: list[float] = []
    for task in _tasks():
        if args.sets and task.name not in args.sets:
            continue
        x, y = sets.load("binary", task.name)
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
            task.name, task.what,
            pair.mine.value if pair.mine.proven else f"{pair.mine.value} (bound {pair.mine.bound})",
            f"{pair.seconds:.4f}", "" if peer is None else task.peer_task,
            "" if peer is None else f"{pair.other_seconds:.4f}{'' if peer.proven else ' (open)'}",
            f"{pair.ratio:.2f}" if both else "",
        )  # fmt: skip
    if ratios:
        table.note(
            f"Depth {args.depth}. Equal optima on all {len(ratios)} rows that both proved; ratio of"
            f" times, geometric mean {geometric(ratios):.2f}, least {min(ratios):.2f}."
        )
    if args.docs:
        table.publish()
