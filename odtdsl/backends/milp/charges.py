"""What the tests on the way of every pattern cost: sums over rows of a path measure.

A pattern x pays for a test of column a at node n iff it is at n and n tests a: a product,
written as a column `tested(x,n,a)` between 0 and 1, with A the columns that cost something:

- `tested(x,n,a) <= use(n,a)`; `sum over a of tested(x,n,a) <= at(x,n)`;
- `sum over a of tested(x,n,a) >= at(x,n) + sum over a of use(n,a) - 1`.

A hyperplane tests several columns at once: there the sums are over one column at a time.

What is paid once (for a column, or for a set that shares an amount) is a column
`charged(x,S)`: at least the sum over S of `tested` at each level where it is paid, at most
their sum over all levels where it is a rebate.

References: the CPTree study, section 4.3, which charges every test again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.backends.milp.encoding import Encoding
from odtdsl.backends.milp.patterns import Patterns
from odtdsl.backends.milp.program import Affine, Completion, any_of, sum_of
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Origin, PathMeasure, PathSum

Tested = dict[tuple[int, int], Affine]
"""By node and column: 1 iff the pattern is at the node, and the node tests the column."""


class Charges:
    """The columns of one encoding, made once for all rules and stages that ask for them."""

    def __init__(self) -> None:
        self._tested: dict[tuple[int, tuple[int, ...]], Tested] = {}
        self._once: dict[tuple[int, tuple[int, ...], bool], Affine] = {}

    def total(self, encoding: Encoding, paths: PathSum, origin: Origin) -> Affine:
        """The numerator of a path sum, equal to its value on every tree."""
        measure = paths.measure
        columns = priced(measure)
        weights = encoding.patterns.sum_rows(paths.weights)
        result = Affine(constant=measure.constant * int(weights.sum()))
        sets: list[tuple[tuple[int, ...], int]] = [
            ((c,), amount) for c, amount in enumerate(measure.once) if amount
        ]
        sets += [(tuple(sorted(set(s.columns))), s.amount) for s in measure.shared if s.amount]
        for x in np.flatnonzero(weights).tolist():
            weight = int(weights[x])
            if measure.per_split:
                result.add(_passed(encoding, x), weight * measure.per_split)
            tested = self._tests(encoding, x, columns, origin)
            for (_, column), on in tested.items():
                result.add(on, weight * measure.per_test[column])
            for some, amount in sets:
                result.add(
                    self._charged(encoding, x, some, tested, weight * amount > 0, origin),
                    weight * amount,
                )
        return result

    def _tests(
        self, encoding: Encoding, x: int, columns: tuple[int, ...], origin: Origin
    ) -> Tested:
        key = (x, columns)
        if key not in self._tested:
            found: Tested = {}
            for node in range(encoding.perfect.n_branches):
                found.update(_at_node(encoding, x, node, columns, origin))
            self._tested[key] = found
        return self._tested[key]

    def _charged(
        self,
        encoding: Encoding,
        x: int,
        some: tuple[int, ...],
        tested: Tested,
        pays: bool,
        origin: Origin,
    ) -> Affine:
        """1 iff the pattern's path tests one of the columns, bounded where the sign needs it."""
        perfect, program = encoding.perfect, encoding.program
        levels = [
            sum_of([tested[n, c] for n in perfect.at_level(j) for c in asking if (n, c) in tested])
            for j in range(perfect.depth)
            for asking in ([(c,) for c in some] if encoding.several else [some])
        ]
        asked = [level for level in levels if level.terms]
        if len(asked) <= 1:
            return sum_of(asked)
        key = (x, some, pays)
        if key not in self._once:
            label = encoding.column_names[some[0]]
            name = f"charged(p{x},{label}{len(some) if len(some) > 1 else ''})"
            column = program.column(name)
            program.completed_by(column, any_of(asked))
            charged = Affine().add_term(column)
            if pays:
                for j, level in enumerate(asked):
                    row = level.copy().add(charged, -1)
                    program.row(f"pays_{name}_{j}", origin, row, upper=0)
            else:
                row = charged.copy().add(sum_of(asked), -1)
                program.row(f"saves_{name}", origin, row, upper=0)
            self._once[key] = charged
        return self._once[key]


def priced(measure: PathMeasure) -> tuple[int, ...]:
    """The columns whose tests cost something, ascending."""
    shared = {c for s in measure.shared if s.amount for c in s.columns}
    pairs = enumerate(zip(measure.per_test, measure.once, strict=True))
    return tuple(c for c, amounts in pairs if any(amounts) or c in shared)


def _passed(encoding: Encoding, x: int) -> Affine:
    """The number of splits on the way of a pattern."""
    below = [encoding.at(x, node) for node in range(1, encoding.perfect.n_branches)]
    return sum_of([encoding.is_active(0), *below]) if encoding.perfect.depth else Affine()


def _at_node(
    encoding: Encoding, x: int, node: int, columns: tuple[int, ...], origin: Origin
) -> Tested:
    program = encoding.program
    at = encoding.at(x, node)
    uses = {c: use for c in columns if (use := encoding.use(node, c)).terms}
    if not at.terms or not uses:  # everything is at the root
        return {(node, c): use for c, use in uses.items()}
    found: Tested = {}
    for c, use in uses.items():
        name = f"tested(p{x},n{node},{encoding.column_names[c]})"
        column = program.column(name)
        program.completed_by(column, _product(use, at))
        found[node, c] = Affine().add_term(column)
        program.row(f"use_{name}", origin, found[node, c].copy().add(use, -1), upper=0)
    for some in [(c,) for c in uses] if encoding.several else [tuple(uses)]:
        place = f"p{x},n{node}" + (f",{encoding.column_names[some[0]]}" if encoding.several else "")
        row = sum_of([found[node, c] for c in some]).add(at, -1)
        program.row(f"asked_at({place})", origin, row, upper=0)
        row.add(sum_of([uses[c] for c in some]), -1)
        program.row(f"asks_at({place})", origin, row, lower=-1)
    return found


def _product(a: Affine, b: Affine) -> Completion:
    return lambda point: a.at(point) * b.at(point)


# ---- bounds


def most_spent(measure: PathMeasure, length: int, *, several: bool = False) -> int:
    """An upper bound of a path measure's numerator on paths of at most `length` splits.

    `several` says that a split may test several columns at once.
    """
    per_test, once = _at_most(measure.per_test, measure.once, length, several=several)
    shared = sum(max(0, s.amount) for s in measure.shared) if length else 0
    return measure.constant + per_test + once + shared + max(0, measure.per_split) * length


def _least_spent(measure: PathMeasure, length: int, *, several: bool) -> int:
    """A lower bound of a path measure's numerator on paths of at most `length` splits."""
    per_test, once = _at_most(
        [-x for x in measure.per_test], [-x for x in measure.once], length, several=several
    )
    shared = sum(min(0, s.amount) for s in measure.shared) if length else 0
    return measure.constant - per_test - once + shared + min(0, measure.per_split) * length


def _at_most(
    per_test: Sequence[int], once: Sequence[int], length: int, *, several: bool
) -> tuple[int, int]:
    """What tests of one path, and what is paid once, add up to at most."""
    dear = sorted((x for x in once if x > 0), reverse=True)
    if several:
        return length * sum(x for x in per_test if x > 0), sum(dear) if length else 0
    return max([0, *per_test]) * length, sum(dear[:length])


def total_range(
    paths: PathSum, patterns: Patterns, length: int, *, several: bool = False
) -> tuple[int, int]:
    """Bounds of a path sum's numerator on models of at most `length` splits per path."""
    weights: IntArray = patterns.sum_rows(paths.weights)
    plus, minus = int(weights[weights > 0].sum()), int(weights[weights < 0].sum())
    least = _least_spent(paths.measure, length, several=several)
    most = most_spent(paths.measure, length, several=several)
    return plus * least + minus * most, plus * most + minus * least
