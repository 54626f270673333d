"""Which sets of constraints conflict, from yes-or-no answers alone; nothing here knows of trees.

A set of constraints is *feasible* if something satisfies all of them; then every subset is
feasible too. A *conflict* is a set that is not feasible. What is left out of a feasible set is a
*correction*: every conflict has a member in common with each correction. So the smallest set
that meets all known corrections is a lower bound of the smallest conflict; once it is a
conflict itself, it is the smallest, and minimal. The same with the parts swapped finds the
smallest set to drop: it meets every conflict.

A question may stay without an answer. What depends on it is then not called proven.

References: Liffiton, Previti, Malik and Marques-Silva, "Fast, flexible MUS enumeration" (2016);
Ignatiev, Previti, Liffiton and Marques-Silva, "Smallest MUS extraction with minimal hitting set
dualization" (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Members = frozenset[int]
Feasible = Callable[[Members], bool | None]
"""Whether a set of constraints is feasible; None where that was not decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSet:
    """A conflict. `minimal`: without any one of its members it is proven feasible."""

    members: Members
    minimal: bool


def shrink(feasible: Feasible, members: Members, order: Sequence[int]) -> ConflictSet:
    """A conflict inside a conflict, by leaving out one constraint after the other.

    What may have to stay, for want of an answer, stays.
    """
    kept, minimal = members, True
    for constraint in order:
        if constraint in kept:
            answer = feasible(kept - {constraint})
            if answer is False:
                kept = kept - {constraint}
            minimal = minimal and answer is not None
    return ConflictSet(members=kept, minimal=minimal)


def grow(feasible: Feasible, members: Members, all_members: Sequence[int]) -> Members:
    """A feasible set that holds a feasible set, with nothing to add that is known to go."""
    for constraint in all_members:
        if constraint not in members and feasible(members | {constraint}):
            members = members | {constraint}
    return members


def smallest_hitting(
    sets: Iterable[Members], *, never_within: Sequence[Members] = ()
) -> Members | None:
    """A smallest set that meets each of `sets` and holds none of `never_within`; None without one.

    By branching on the members of a set that is not met yet, the shortest first; ties go to
    the members of smaller number.
    """
    asked: list[Members] = sorted(set(sets), key=_by_size)
    best: Members | None = None

    def holds_none(chosen: Members) -> bool:
        return not any(one <= chosen for one in never_within)

    def branch(chosen: Members, barred: Members) -> None:
        nonlocal best
        if not holds_none(chosen):
            return
        open_ = [one - barred for one in asked if not one & chosen]
        if not open_:
            if best is None or len(chosen) < len(best):
                best = chosen
            return
        if best is not None and len(chosen) + _apart(open_) >= len(best):
            return
        for constraint in sorted(sorted(open_, key=_by_size)[0]):
            branch(chosen | {constraint}, barred)
            barred = barred | {constraint}

    branch(frozenset(), frozenset())
    return best


def _by_size(members: Members) -> tuple[int, list[int]]:
    return len(members), sorted(members)


def _apart(sets: list[Members]) -> int:
    """How many of the sets have no member in common: at least so many members meet all."""
    seen: Members = frozenset()
    count = 0
    for one in sorted(sets, key=_by_size):
        if not one & seen:
            seen, count = seen | one, count + 1
    return count


class Conflicts:
    """The conflicts among constraints that are infeasible together, smallest first.

    Parameters
    ----------
    first
        Any conflict: if it is minimal, no search asks again whether it is one.

    Attributes
    ----------
    known
        Minimal conflicts, in the order in which they were found.
    complete
        Whether `known` holds every minimal conflict.
    """

    def __init__(self, feasible: Feasible, all_members: Sequence[int], first: ConflictSet) -> None:
        self.feasible, self.all_members, self.first = feasible, tuple(all_members), first
        self.corrections: list[Members] = []
        self.known: list[Members] = []
        self.open: list[Members] = []
        self.complete = False

    def next(self) -> Members | None:
        """The smallest minimal conflict that is not known; None without one, or undecided.

        It is as small as it can be where `open` is still empty.
        """
        while True:
            guess = smallest_hitting(self.corrections, never_within=(*self.known, *self.open))
            if guess is None:
                self.complete = not self.open
                return None
            known = self.first.minimal and self.first.members not in self.known
            if known and len(guess) >= len(self.first.members):  # none is smaller
                self.known.append(self.first.members)
                return self.first.members
            answer = self.feasible(guess)
            if answer is None:
                self.open.append(guess)
                return None
            if answer is False:
                self.known.append(guess)
                return guess
            self._correct(guess)

    def _correct(self, feasible: Members) -> None:
        grown = grow(self.feasible, feasible, self.all_members)
        self.corrections.append(frozenset(self.all_members) - grown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A set without which the rest is feasible. `smallest`: no smaller one does."""

    members: Members
    smallest: bool


def smallest_drop(
    feasible: Feasible, all_members: Members, may_drop: Members, conflicts: Iterable[Members]
) -> Drop | None:
    """The fewest constraints to drop, given some conflicts; None where no set was found to do."""
    known = [one & may_drop for one in conflicts]
    while True:
        drop = smallest_hitting(known)
        if drop is None:
            return None
        answer = feasible(all_members - drop)
        if answer:
            return Drop(members=drop, smallest=True)
        if answer is None:
            return None
        left = all_members - drop
        known.append(shrink(feasible, left, sorted(left & may_drop)).members & may_drop)
