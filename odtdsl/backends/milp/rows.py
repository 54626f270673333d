"""Rows of a rule, under a name and a condition."""

from __future__ import annotations

from odtdsl.backends.milp.program import Affine, Completion, Numbers, Program, sum_of
from odtdsl.problem.ir.forms import Origin

ALWAYS = Affine(constant=1)

RowKey = tuple[frozenset[tuple[int, int]], int]


class RowMaker:
    """Rows under a name and a condition `when` (1, or one binary column).

    `seen` keeps out the rows that a clause has already for another of its instances.
    """

    def __init__(
        self, *, program: Program, name: str, origin: Origin, when: Affine, seen: set[RowKey]
    ) -> None:
        self.program = program
        self.name = name
        self.origin = origin
        self.when = when
        self.seen = seen
        self.needs: list[tuple[Affine, int]] = []

    def truth(self) -> Completion:
        """1 iff all that the rows ask for is so, whatever `when` is."""

        def value(point: Numbers) -> int:
            return int(all(expression.at(point) <= bound for expression, bound in self.needs))

        return value

    def always(self, place: str) -> RowMaker:
        """Rows about auxiliary columns, which hold without a condition."""
        return RowMaker(
            program=self.program,
            name=self.part_name(place),
            origin=self.origin,
            when=ALWAYS,
            seen=self.seen,
        )

    def part_name(self, place: str) -> str:
        """The name of the row of a part of the rule."""
        return f"{self.name}_{place}" if place else self.name

    def part(self, kind: str, place: str) -> str:
        """A name for an auxiliary column."""
        return f"{kind}({flat(self.name)},{place})"

    def at_most(self, expression: Affine, bound: int, most: int, place: str) -> None:
        """`expression <= bound` if `when`; it is at most `most` in any case."""
        if most <= bound:
            return
        self.needs.append((expression.copy(), bound))
        relaxed = expression.copy().add(self.when, most - bound)
        key = (frozenset(relaxed.terms.items()), most - relaxed.constant)
        if key not in self.seen:
            self.seen.add(key)
            self.program.row(self.part_name(place), self.origin, relaxed, upper=most)

    def at_least_one(self, parts: list[Affine], place: str = "") -> None:
        """One of some nonnegative expressions is 1 or more, if `when`."""
        self.needs.append((Affine().add(sum_of(parts), -1), -1))
        row = sum_of(parts).add(self.when, -1)
        self.program.row(self.part_name(place), self.origin, row, lower=0)

    def false(self, expression: Affine, place: str) -> None:
        """A 0-1 expression is 0, if `when`: by a row, which people can delete from a file."""
        if expression.terms:
            self.at_most(expression, 0, 1, place)

    def contradict(self) -> None:
        """Make `when` false: no model satisfies the rule."""
        self.needs.append((ALWAYS, 0))
        self.program.row(self.part_name("never"), self.origin, self.when, upper=0)


def flat(name: str) -> str:
    """A row's name without its brackets, to stand inside those of a column's."""
    return name.removeprefix("rule_").replace("(", "_").replace(")", "")
