"""Diagrams on `exact`, shape by shape: what bounds by trees leave open.

A shape says how many splits each layer has. Shapes are asked in rounds of growing effort: what
the trees of a shape lose at least, then its best diagram by branch and bound (`engine.Layered`).
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
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
"""Below what a shape is asked for diagrams (0: only for a bound by trees), what decides among
those asked for the same, and the shape."""

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

FIRST_EFFORT = 10_000_000
"""Rows visited for the bound by trees of a shape; that takes less than a second."""

TURN = 400_000_000
"""Rows visited in a first turn at a search, and as many more as turns before: some seconds, so that
a thread is soon free to look for better diagrams. A search is taken up where it was."""

GROWTH = 3
"""How much more work the next search of a shape may take than its last one, as far as foreseen."""

FIRST_GROWTH = 16
"""How much more work it takes to show that a row is lost than that none is. A search for the next
one after many grows less: so much over the rows lost, until it is measured."""

LEAST_GROWTH = 1.2
"""From a row lost to the next, for what is foreseen."""

LEAST_EFFORT = 40_000_000
"""Rows visited that a search may take in any case, as far as foreseen."""

SHORT = 1_000_000
"""Rows visited by a search that foretells little: any shorter one counts as this long."""

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
    left has passed, for `LATER` of it, until `FRUITLESS` looks in a row have gained nothing: on
    tables whose best diagram is known there is nothing to be gained. Besides, for a moment from
    each better diagram. In the `LAST` of the time to its end, as long as more than `MANY` shapes
    are open: then no proof is near, and searches for what is best if anything find nothing by the
    way. The only thread there is does so for half of it.
    """

    EASY, FIRST, LATER, AGAIN, LAST, MANY = 1.0, 0.05, 0.1, 0.25, 0.25, 32
    FRUITLESS = 2

    def __init__(self, deadline: float | None, threads: int) -> None:
        now = time.monotonic()
        self.threads = threads
        self.first = self.due = now + self.EASY
        self.last = math.inf if deadline is None else deadline - self.LAST * (deadline - now)
        self.before: int | None = None
        self.fruitless = 0
        self.better = False
        self.ending = False
        self.over = Event()
        """Ends the look that runs."""

    def next(
        self, deadline: float, upper: int, still_open: Callable[[], int]
    ) -> tuple[float, bool] | None:
        """Until when to look now, and whether only for a moment; None for not now."""
        now = time.monotonic()
        left = max(0.0, deadline - now)
        self.over.clear()
        if now > self.last:
            self.last = math.inf
            if still_open() > self.MANY:
                self.ending = True
                return deadline if self.threads > 1 else now + left / 2, False
        if now > self.due:
            self.due = now + self.AGAIN * left
            self.fruitless = self.fruitless + 1 if upper == self.before else 0
            if self.fruitless < self.FRUITLESS:
                share = self.FIRST if self.before is None else self.LATER
                self.before, self.better = upper, False
                return now + share * left, False
            self.due = math.inf
        if now > self.first and self.better:
            self.better = False
            return now + self.LATER * left, True
        return None

    def hear(self, better: bool, still_open: Callable[[], int]) -> None:
        """Of a better diagram, or that time has passed: the last look may have become needless."""
        self.better = self.better or better
        if self.ending and still_open() <= self.MANY:
            self.ending = False
            self.over.set()

    def until(self, deadline: float) -> float:
        """When a search that begins now leaves its thread: a long one would miss a look."""
        now = time.monotonic()
        return min(deadline, *(at for at in (self.due, self.last) if at > now), math.inf)


class Efforts:
    """What the searches of a shape took, to foresee what the next takes."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}  # by level, rows visited
        self.closed: list[tuple[int, int]] = []  # levels, and rows visited

    @property
    def last(self) -> float:
        """Rows visited by the last search that was ended, at least `SHORT`; infinite before one."""
        return self.closed[-1][1] if self.closed else math.inf

    def take(self, level: int, work: int, complete: bool = True) -> None:
        """Of a search for what loses so much; of several threads, one after the other."""
        work = self.open[level] = self.spent(level) + work
        if complete:
            self.open = {more: spent for more, spent in self.open.items() if more > level}
            self.closed.append((level, max(SHORT, work)))

    def spent(self, level: int) -> int:
        """On the search for what loses so much, if it is to be continued."""
        return self.open.get(level, 0)

    def leap(self, level: int) -> int:
        """How many levels further than this one, which is not closed, the next search may look.

        By how the last two searches grew, and no further than one that was not ended has shown to
        be too much.
        """
        growth, room = 1 + FIRST_GROWTH / (level + 1), float(GROWTH)
        if self.closed:
            last_level, last = self.closed[-1]
            if len(self.closed) > 1:
                before_level, before = self.closed[-2]
                growth = (last / before) ** (1 / max(1, last_level - before_level))
                room = max(room, LEAST_EFFORT / last)
            for more, spent in self.open.items():
                growth = max(growth, (spent / last) ** (1 / max(1, more - last_level)))
        return max(1, int(math.log(room) / math.log(max(LEAST_GROWTH, growth))))


class Layered:
    """One solve. Bounds are in the steps of `Unrolled`, prices of splits included."""

    def __init__(self, trees: Unrolled) -> None:
        self.trees = trees
        self.bounds: dict[Shape, int] = {}
        self.asked: set[Shape] = set()
        self.efforts: defaultdict[Shape, Efforts] = defaultdict(Efforts)
        self.lost, self.unit, self.spent = 0, 1, 0
        self.features = len(trees.features.distinct)
        self.whole = self._list()
        self.search = self._table() if self.whole else None
        self.found: SimpleQueue[RawDiagram | None] = SimpleQueue()

    def _list(self) -> bool:
        """The shapes with room for something better; whether these are all."""
        if not self.trees.features.tests:
            return True  # no split has a test
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
        least = losses.min(axis=1, keepdims=True)
        self.lost, self.unit = int(least.sum()), int(np.gcd.reduce((losses - least).ravel())) or 1
        features = replace(trees.features, ranks=np.ascontiguousarray(ranks))
        return engine.Layered(features.table(), losses)

    def open(self) -> list[Shape]:
        """Shapes that may hold something better, the most promising first."""
        upper = self.trees.upper()
        left = [shape for shape, bound in self.bounds.items() if bound < upper]
        return sorted(left, key=lambda shape: (self.bounds[shape], shape))

    def still_open(self) -> int:
        """How many there are of these."""
        upper = self.trees.upper()
        return sum(bound < upper for bound in self.bounds.values())

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
        todo: list[tuple[int, Turn]] = [(0, (0, (-sum(s), self.bounds[s]), s)) for s in self.open()]
        self.trees.better = self._lower
        self._lower(self.trees.upper())
        heapify(todo)
        looks = Looks(deadline, most)
        running: dict[Future[engine.LayeredAnswer | None], Turn | None] = {}
        with ThreadPoolExecutor(most) as threads, ExitStack() as at_end:
            at_end.callback(looks.over.set)  # nobody waits for moves
            while todo or any(running.values()):
                # a short search ends before it looks, and there may be thousands
                if self._over(deadline):
                    todo.clear()
                free = len(running) < most and all(running.values())
                if wander and deadline and free:
                    look = looks.next(deadline, self.trees.upper(), self.still_open)
                    if look:
                        told, over = self.found.put, looks.over.is_set
                        running[threads.submit(wander, *look, told, over)] = None
                until = None if deadline is None else looks.until(deadline)
                while todo and len(running) < most:
                    turn = heappop(todo)[1]
                    if self._is_open(turn[2]):
                        running[threads.submit(self._search(turn, until))] = turn
                while not todo and len(running) < most and (helped := _to_help(running.values())):
                    running[threads.submit(self._search(helped, until))] = helped
                ended_now = wait(running, NEWS, return_when=FIRST_COMPLETED).done
                looks.hear(self._hear(), self.still_open)
                for ended in ended_now:
                    found, searched = ended.result(), running.pop(ended)
                    if found is None or searched is None:
                        continue  # moves
                    self._learn(searched, found)
                    shape = searched[2]
                    if self._is_open(shape) and searched not in running.values():
                        turn = self._next(shape)
                        heappush(todo, (self._when(turn), turn))
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

    def _next(self, shape: Shape) -> Turn:
        """The next turn of a shape: for what is best if anything, or more if that is soon done.

        What is asked for rises over all shapes alike, so that no search but the last ones is for
        more than the best diagram needs, whether that is known by then or not. It rises by what a
        split costs at least: where that is many rows, the best diagram is small and soon known.
        """
        level = self._level(shape, self.bounds[shape])
        level += max(self.efforts[shape].leap(level), self.trees.price // self.unit)
        below = min(self._least_of(shape) + level * self.unit, self.trees.upper())
        return below, (len(shape), self.bounds[shape]), shape

    def _when(self, turn: Turn) -> int:
        """What is asked for least comes first.

        A search looks far ahead after one that took next to nothing. It comes by its bound, which
        would else hold down the bound on all.
        """
        below, _, shape = turn
        efforts = self.efforts[shape]
        short = efforts.last <= SHORT
        begun = efforts.spent(self._level(shape, below)) > 0
        return self.bounds[shape] if short and not begun else below

    def _level(self, shape: Shape, value: int) -> int:
        """How much may be lost below a value, in units, besides what all diagrams lose."""
        return -(-max(0, value - self._least_of(shape)) // self.unit)

    def _least_of(self, shape: Shape) -> int:
        return self._paid(shape) + self.lost

    def _over(self, deadline: float | None) -> bool:
        trees = self.trees
        trees.interrupted = trees.interrupted or trees.limits.interrupted()
        late = self.spent >= UNLIMITED if deadline is None else time.monotonic() >= deadline
        return late or trees.interrupted

    def _least(self) -> int:
        if not self.whole:
            return 0
        return min((self.bounds[shape] for shape in self.open()), default=self.trees.upper())

    def _search(
        self, turn: Turn, deadline: float | None
    ) -> Callable[[], engine.LayeredAnswer | None]:
        """What asks the engine about a shape, on any thread."""
        below, _, shape = turn
        trees, search = self.trees, self.search
        assert search is not None
        trees.shape_searches += 1
        limits = engine.Limits(
            work_limit=self._effort(turn, deadline),
            time_limit=None if deadline is None else max(0.0, deadline - time.monotonic()),
            memory_limit=trees.limits.table_bytes(),
            interrupted=trees.limits.interrupted,
        )
        most = min(below, trees.upper()) if below else trees.upper()
        return partial(
            search.solve,
            shape,
            most - self._paid(shape),
            limits,
            bound_only=not below,
            paid=self._paid(shape),
            told=lambda _, layers: self.found.put(diagram_of(trees, layers)),
        )

    def _effort(self, turn: Turn, deadline: float | None) -> int:
        """Rows visited that a turn may take."""
        below, _, shape = turn
        if not below:
            return FIRST_EFFORT
        effort = TURN + self.efforts[shape].spent(self._level(shape, below))
        if deadline:
            return effort
        threads = self.trees.limits.threads  # which may each be at a search of their own
        return max(1, min(effort, (UNLIMITED - self.spent) // (self.features * threads)))

    def _learn(self, turn: Turn, found: engine.LayeredAnswer) -> None:
        """Take an answer about a shape."""
        trees, (below, _, shape) = self.trees, turn
        trees.interrupted = trees.interrupted or found.interrupted
        self.bounds[shape] = max(self.bounds[shape], found.bound + self._paid(shape))
        if found.complete and found.value is not None:
            self.asked.add(shape)  # a rule may forbid its best diagram: more is not known of it
        if below:
            self.efforts[shape].take(self._level(shape, below), found.work, found.complete)
        self.spent += found.work * self.features

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
