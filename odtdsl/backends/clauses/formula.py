"""Clauses in groups, and what every variable means."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import prod

import numpy as np

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import IntArray

Describe = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Variables of one kind, numbered in the order of their indices."""

    first: int
    shape: tuple[int, ...]
    describe: Describe


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Clauses from `first` up to the next group: what they say, and of which rule."""

    title: str
    rule: str
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A sum of positive weights of literals is at most `most`, or a literal of `guard` is true.

    It stands in the last of the first `groups` groups.
    """

    groups: int
    weighted: tuple[tuple[int, int], ...]
    most: int
    guard: tuple[int, ...]


Sum = tuple[int, tuple[tuple[int, int], ...]]
"""A constant and positive weights of literals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundOfMaxima:
    """The sum of each coefficient times the largest of its sums is at most `most`, or a literal
    of `guard` is true.

    Coefficients are above 0 and of any size. It stands in the last of the first `groups` groups.
    """

    groups: int
    parts: tuple[tuple[int, tuple[Sum, ...]], ...]
    most: int
    guard: tuple[int, ...]


class Formula:
    """A formula in conjunctive normal form that can still grow.

    Parameters
    ----------
    sums
        Whether bounds on sums stay sums, in `bounds`, and are not written out as clauses.
    tick
        Called often while the formula grows; may raise to end that.

    Attributes
    ----------
    top
        The number of variables, which are 1 to `top`.
    clauses
        Tuples of literals; a literal is a variable or its negative.
    maxima
        Bounds on sums of maxima, which only formulas with sums have.
    """

    def __init__(self, *, sums: bool = False, tick: Callable[[], None] = lambda: None) -> None:
        self.bounds: list[Bound] | None = [] if sums else None
        self.maxima: list[BoundOfMaxima] = []
        self.tick = tick
        self.top = 0
        self.clauses: list[tuple[int, ...]] = []
        self.groups: list[Group] = []
        self._blocks: list[Block] = []
        self._firsts: list[int] = []

    # ---- variables

    def block(self, describe: Describe, *shape: int) -> IntArray:
        """New variables: int64 of the shape. `describe` takes an index and says what it means."""
        self.tick()
        count = prod(shape)
        first = self.top + 1
        self._blocks.append(Block(first=first, shape=shape, describe=describe))
        self._firsts.append(first)
        self.top += count
        return np.arange(first, first + count, dtype=np.int64).reshape(shape)

    def variable(self, meaning: str) -> int:
        """One new variable."""
        return int(self.block(lambda: meaning))

    def counted(self, top: int, meaning: str) -> None:
        """Variables up to `top` that an encoder has taken for itself."""
        if top > self.top:
            title = self.groups[-1].title if self.groups else ""
            self.block(lambda index: f"{index + 1} {meaning} for {title}", top - self.top)

    def meaning(self, variable: int) -> str:
        """What a variable says when it is true."""
        block = self._blocks[bisect_right(self._firsts, variable) - 1]
        index = np.unravel_index(variable - block.first, block.shape) if block.shape else ()
        return block.describe(*(int(i) for i in index))

    # ---- clauses

    def group(self, title: str, rule: str = "") -> None:
        """Clauses that come now say this."""
        self.tick()
        self.groups.append(Group(title=title, rule=rule, first=len(self.clauses)))

    def add(self, *literals: int) -> None:
        """One clause."""
        self.clauses.append(literals)

    def either(self, literals: Iterable[int | bool], guard: tuple[int, ...]) -> None:
        """One clause of literals, some of which may be known; none where one of them is true."""
        some: list[int] = []
        for one in literals:
            if one is True:
                return
            if one is not False:
                some.append(one)
        self.add(*guard, *some)

    def extend(self, clauses: Iterable[Iterable[int]], guard: tuple[int, ...] = ()) -> None:
        """Several clauses, each with the literals of the guard beside its own."""
        self.tick()
        self.clauses.extend((*guard, *clause) for clause in clauses)

    def rows(self, literals: IntArray) -> None:
        """Clauses as the rows of a matrix, in which 0 stands for no literal."""
        self.tick()
        if (literals != 0).all():
            self.clauses.extend(map(tuple, literals.tolist()))
        else:
            self.clauses.extend(tuple(x for x in row if x) for row in literals.tolist())

    def at_most_one(self, literals: Sequence[int], what: str) -> None:
        """Pairs where few, else a chain of prefixes."""
        if len(literals) <= 5:
            for i, a in enumerate(literals):
                for b in literals[i + 1 :]:
                    self.add(-a, -b)
            return
        seen = self.block(lambda i: f"{what}: one of the first {i + 1}", len(literals) - 1)
        for i, a in enumerate(literals[:-1]):
            self.add(-a, int(seen[i]))
            self.add(-int(seen[i]), -literals[i + 1])
            if i:
                self.add(-int(seen[i - 1]), int(seen[i]))

    def any_of(self, literals: Iterable[int | bool], meaning: str) -> int | bool:
        """A literal that is true iff one of some is; a truth value where that is known."""
        listed = list(literals)
        if any(one is True for one in listed):
            return True
        some = [one for one in listed if one is not False]
        if len(some) < 2:
            return some[0] if some else False
        found = self.variable(meaning)
        self.add(-found, *some)
        for one in some:
            self.add(found, -one)
        return found

    def all_of(self, literals: Iterable[int | bool], meaning: str) -> int | bool:
        """A literal that is true iff all of some are; a truth value where that is known."""
        denied = [not one if isinstance(one, bool) else -one for one in literals]
        found = self.any_of(denied, f"not: {meaning}")
        return not found if isinstance(found, bool) else -found

    def size(self) -> tuple[tuple[str, int], ...]:
        """Counts by name, as `RawAnswer.size`."""
        literals = sum(map(len, self.clauses))
        return (("variables", self.top), ("clauses", len(self.clauses)), ("literals", literals))
