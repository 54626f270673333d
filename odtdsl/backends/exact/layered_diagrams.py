"""Diagrams on `exact`, shape by shape: what bounds by trees leave open.

A shape says how many splits each layer has. Shapes are asked in rounds of growing effort: what
the trees of a shape lose at least, then its best diagram by branch and bound (`engine.Layered`).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import islice
from queue import SimpleQueue
from threading import Event

import numpy as np

from odtdsl.backends.decode_diagram import Draft, folded
from odtdsl.backends.exact.features import kinds_of_rows
from odtdsl.backends.exact.raw_trees import raw_test
from odtdsl.backends.exact.unrolled import Unrolled
from odtdsl.base import engine
from odtdsl.problem.ir.raw import RawDiagram, RawNode

Shape = tuple[int, ...]

Turn = tuple[int, tuple[int, ...], Shape]
"""How often a shape was asked, what decides among those asked as often, and the shape."""

Layers = Sequence[Sequence[tuple[int, int, int, int]]]
"""A diagram as the engine has it: feature, cut and the ends of both arcs of each node."""

Wander = Callable[[float, bool, Callable[[RawDiagram | None], None], Callable[[], bool]], None]
"""Looks for better diagrams, on any thread: until when, whether it may end before where it finds
none, what hears of them, whether to end now.
"""

MOST_SHAPES = 5000
"""Skeletons with more shapes are left to the back ends."""

MOST_LAYERS = 30
"""Of a shape that is looked at."""

EFFORTS = tuple(10_000_000 * 4**k for k in range(12))
"""Rows visited for a shape, turn by turn: the first takes less than a second."""

FEW = 32
"""Shapes that are left, each of which gets a longer turn: 16 times the last one instead of 4 times.

Where many are left, short turns find better diagrams sooner.
"""

NEWS = 0.05
"""Seconds between two looks at what the threads have found."""

UNLIMITED = 200_000_000_000
"""Rows visited times features, in all, where no time is given: a minute or two."""


def shapes(widths: Shape, splits: int) -> Iterator[Shape]:
    """Splits in each layer of the diagrams of at most so many, fewest layers first."""
    found: list[Shape] = [(1,)]
    while found:
        yield from found
        found = [
            (*shape, nodes)
            for shape in found
            if len(shape) < len(widths)
            for nodes in range(1, min(widths[len(shape)], 2 * shape[-1], splits - sum(shape)) + 1)
        ]


def takes_rows(trees: Unrolled) -> bool:
    """Whether the search takes tables of so many rows and labels."""
    output = trees.measure.output
    if output is None or output.shape[1] > engine.most_layered_labels:
        return False
    return int(kinds_of_rows(trees.features.ranks).max()) < engine.most_layered_rows


def copies_of(shape: Shape) -> int:
    """Splits at most of the tree that a diagram of the shape unrolls to.

    One node below stands for a layer's arcs once for each node, two or more for both arcs.
    """
    every = last = 1
    for nodes in shape[1:]:
        last *= min(2, nodes)
        every += last
    return every


class Looks:
    """When to look for better diagrams beside shapes, and until when: each closes shapes.

    After `EASY` seconds for `FIRST` of the time that is left. Whenever `AGAIN` of the time that was
    left has passed, for `LATER` of it, but only if there was a better diagram meanwhile: on tables
    whose best diagram is known there is nothing to be gained. Besides, for a moment from each
    better diagram.
    """

    EASY, FIRST, LATER, AGAIN = 1.0, 0.05, 0.1, 0.25

    def __init__(self) -> None:
        self.first = self.due = time.monotonic() + self.EASY
        self.before: int | None = None
        self.better = False

    def next(self, deadline: float, upper: int) -> tuple[float, bool] | None:
        """Until when to look now, and whether only for a moment; None for not now."""
        now = time.monotonic()
        left = max(0.0, deadline - now)
        if now > self.due:
            self.due = now + self.AGAIN * left
            if upper != self.before:
                share = self.FIRST if self.before is None else self.LATER
                self.before, self.better = upper, False
                return now + share * left, False
            self.due = math.inf
        if now > self.first and self.better:
            self.better = False
            return now + self.LATER * left, True
        return None


class Layered:
    """One solve. Bounds are in the steps of `Unrolled`, prices of splits included."""

    def __init__(self, trees: Unrolled) -> None:
        self.trees = trees
        self.bounds: dict[Shape, int] = {}
        self.asked: set[Shape] = set()
        self.whole = self._list()
        self.search = self._table() if self.whole else None
        self.found: SimpleQueue[RawDiagram | None] = SimpleQueue()

    def _list(self) -> bool:
        """The shapes with room for something better; whether these are all."""
        for number, shape in enumerate(shapes(self.trees.widths, self.trees.affordable())):
            if number == MOST_SHAPES or len(shape) > MOST_LAYERS:
                return False
            bound = self.trees.floor_of_shape(shape, copies_of(shape))
            if bound < self.trees.upper():
                self.bounds[shape] = bound
        return True

    def _table(self) -> engine.Layered | None:
        """The search over rows that tests tell apart; None where it does not take them."""
        trees = self.trees
        output = trees.measure.output
        if output is None or not takes_rows(trees):
            return None
        above = output - output.min(axis=1, keepdims=True)
        kinds = kinds_of_rows(trees.features.ranks)
        _, one_of = np.unique(kinds, return_index=True)
        ranks = trees.features.ranks[:, one_of]
        losses = np.zeros((len(one_of), above.shape[1]), dtype=np.int64)
        np.add.at(losses, kinds, above)
        features = replace(trees.features, ranks=np.ascontiguousarray(ranks))
        return engine.Layered(features.table(), losses)

    def open(self) -> list[Shape]:
        """Shapes that may hold something better, the most promising first."""
        upper = self.trees.upper()
        left = [shape for shape, bound in self.bounds.items() if bound < upper]
        return sorted(left, key=lambda shape: (self.bounds[shape], shape))

    def room(self) -> tuple[int, Shape]:
        """Splits at most, and widths, of the diagrams that could be better than the best."""
        if not self.whole:
            return self.trees.room()
        shapes = self.open()
        deepest = max(map(len, shapes), default=1)
        return max(map(sum, shapes), default=0), tuple(
            max((shape[level] for shape in shapes if level < len(shape)), default=1)
            for level in range(deepest)
        )

    def bound(self, deadline: float | None, wander: Wander | None = None) -> int:
        """A bound on all diagrams; what is found is offered.

        Each thread searches a shape, and helps another with its own where there are no more.
        Unless this is easy, `wander` looks for better diagrams on one of them: now and then for
        long, and for a moment whenever there is a better one to begin from.
        """
        if self.search is None:
            return self._least()
        most = self.trees.limits.threads
        # what leaves the least room is closed soonest by trees alone
        todo: list[Turn] = [(0, (-sum(s), self.bounds[s]), s) for s in self.open()]
        self.trees.better = self._lower
        self._lower(self.trees.upper())
        heapify(todo)
        spent = 0
        looks = Looks()
        running: dict[Future[engine.LayeredAnswer | None], Turn | None] = {}
        over = Event()
        with ThreadPoolExecutor(most) as threads, ExitStack() as at_end:
            at_end.callback(over.set)  # nobody waits for moves
            while todo or any(running.values()):
                # a short search ends before it looks, and there may be thousands
                if self._over(deadline, spent):
                    todo.clear()
                free = len(running) < most and all(running.values())
                if wander and deadline and free:
                    look = looks.next(deadline, self.trees.upper())
                    if look:
                        told, ends = self.found.put, over.is_set
                        running[threads.submit(wander, *look, told, ends)] = None
                while todo and len(running) < most:
                    turn = heappop(todo)
                    if self._is_open(turn[2]):
                        running[threads.submit(self._search(turn, deadline))] = turn
                while not todo and len(running) < most and (helped := _to_help(running.values())):
                    running[threads.submit(self._search(helped, deadline))] = helped
                ended_now = wait(running, NEWS, return_when=FIRST_COMPLETED).done
                looks.better = self._hear() or looks.better
                for ended in ended_now:
                    found, searched = ended.result(), running.pop(ended)
                    if found is None or searched is None:
                        continue  # moves
                    number, _, shape = searched
                    spent += self._learn(shape, found)
                    if self._is_open(shape):
                        number += 2 if self._few() else 1
                        if number < len(EFFORTS):
                            heappush(todo, (number, (self.bounds[shape],), shape))
        self._hear()
        return self._least()

    def _lower(self, upper: int) -> None:
        """Searches that run look for nothing worse from now on."""
        assert self.search is not None
        self.search.upper = upper

    def _hear(self) -> bool:
        """Offer what was found meanwhile: here, as reports are for the thread that asked.

        Whether any of it is better than the best.
        """
        better = False
        while not self.found.empty():
            better = self.trees.offer(self.found.get()) or better
        return better

    def _is_open(self, shape: Shape) -> bool:
        return shape not in self.asked and self.bounds[shape] < self.trees.upper()

    def _few(self) -> bool:
        """Whether few shapes are left; asked after each of what may be thousands of searches."""
        upper = self.trees.upper()
        left = (bound for bound in self.bounds.values() if bound < upper)
        return sum(1 for _ in islice(left, FEW + 1)) <= FEW

    def _over(self, deadline: float | None, spent: int) -> bool:
        trees = self.trees
        trees.interrupted = trees.interrupted or trees.limits.interrupted()
        late = spent > UNLIMITED if deadline is None else time.monotonic() >= deadline
        return late or trees.interrupted

    def _least(self) -> int:
        if not self.whole:
            return 0
        return min((self.bounds[shape] for shape in self.open()), default=self.trees.upper())

    def _search(
        self, turn: Turn, deadline: float | None
    ) -> Callable[[], engine.LayeredAnswer | None]:
        """What asks the engine about a shape, on any thread."""
        number, _, shape = turn
        trees, search = self.trees, self.search
        assert search is not None
        trees.shape_searches += 1
        limits = engine.Limits(
            work_limit=EFFORTS[number],
            time_limit=None if deadline is None else max(0.0, deadline - time.monotonic()),
            memory_limit=trees.limits.table_bytes(),
            interrupted=trees.limits.interrupted,
        )
        below = trees.upper() - self._paid(shape)
        return partial(
            search.solve,
            shape,
            below,
            limits,
            bound_only=not number,
            paid=self._paid(shape),
            told=lambda _, layers: self.found.put(diagram_of(trees, layers)),
        )

    def _learn(self, shape: Shape, found: engine.LayeredAnswer) -> int:
        """Take an answer about a shape; returns the rows visited times the features."""
        trees = self.trees
        trees.interrupted = trees.interrupted or found.interrupted
        self.bounds[shape] = max(self.bounds[shape], found.bound + self._paid(shape))
        if found.complete:  # a rule may forbid its best diagram: more is not known of it
            self.asked.add(shape)
        return found.work * len(trees.features.distinct)

    def _paid(self, shape: Shape) -> int:
        return self.trees.price * (sum(shape) + 1)


def _to_help(running: Iterable[Turn | None]) -> Turn | None:
    """Of the shapes that are searched, the one that fewest threads are at; not bounds by trees."""
    many = Counter(turn for turn in running if turn and turn[0])
    return min(many, key=lambda turn: (many[turn], turn), default=None)


def diagram_of(trees: Unrolled, layers: Layers) -> RawDiagram | None:
    """The engine's layers as a diagram.

    Arcs that lead to one place, and what they leave alone, are left out.
    """
    core, features = trees.tree_core, trees.features
    return folded(
        Draft(
            entry=0,
            layers=[
                [
                    RawNode(split=raw_test(core, features, f, cut), left=left, right=right)
                    for f, cut, left, right in layer
                ]
                for layer in layers
            ],
        )
    )
