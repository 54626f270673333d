"""Rules as clauses on the variables of a perfect tree.

Every clause of the core becomes one clause per instance of its scope: the model, every slot
that is a leaf, every node that is a split. An atom is one literal, defined both ways, but for
sums (`Linear`, `Budget`), which the core never negates: their literal implies the bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from odtdsl.backends.clauses.maxima import bound_maxima
from odtdsl.backends.clauses.sums import Terms, at_most
from odtdsl.backends.clauses.tree import TreeCode
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Depth,
    Linear,
    Link,
    MaximaBound,
    Order,
    PathMeasure,
    PathTotal,
    Root,
    SignedAtom,
    Used,
)

Fixed = bool
Literal = int | Fixed
"""A literal, or a truth value that needs none."""
Sum = Linear | Budget | PathTotal | MaximaBound


class Rules:
    """Clauses, atoms and measures over a tree; definitions are made once each."""

    def __init__(self, tree: TreeCode) -> None:
        self.tree, self.formula = tree, tree.formula
        self.any_of, self.all_of = self.formula.any_of, self.formula.all_of
        self.seen = cache(self._seen)
        self.shared = cache(self._shared_seen)
        self._ordered = cache(self._ordered_to)
        self.at = cache(self._at)
        self._labelled = cache(self._at_label)
        self._costs: dict[tuple[int, frozenset[int]], int] = {}

    # ---- clauses

    def add(self, clause: Clause, guard: tuple[int, ...] = ()) -> None:
        """The clause in every instance of its scope; with the literals of a guard beside it."""
        self.formula.group(f"rule `{clause.origin.rule}`", clause.origin.rule)
        for place, absent in self._places(clause.scope):
            self._instance(clause, place, (*guard, *absent))

    def _places(self, scope: Scope) -> Iterable[tuple[int, list[int]]]:
        """Nodes or slots, each with the literals one of which is true where there is none."""
        tree = self.tree
        match scope:
            case Scope.MODEL:
                yield 0, []
            case Scope.SPLIT:
                for node in range(1, 2**tree.depth):
                    yield node, [] if tree.idle is None else [int(tree.idle[node - 1])]
            case _:
                for slot in tree.at_level(tree.depth):
                    yield slot, tree.no_leaf(slot)

    def _instance(self, clause: Clause, place: int, guard: tuple[int, ...]) -> None:
        if len(clause.literals) == 1:
            self._alone(clause.literals[0], clause.scope, place, guard)
            return
        self.formula.either(
            (self.literal(one, clause.scope, place) for one in clause.literals), guard
        )

    def _alone(self, signed: SignedAtom, scope: Scope, place: int, guard: tuple[int, ...]) -> None:
        """Sums that stand alone need no literal of their own."""
        match signed.atom:
            case Linear() | Budget() | PathTotal() | MaximaBound():
                self.bounded(signed.atom, scope, place, guard)
            case _:
                self.formula.either([self.literal(signed, scope, place)], guard)

    # ---- atoms

    def literal(self, signed: SignedAtom, scope: Scope, place: int) -> Literal:
        """The literal of a signed atom at a place."""
        found = self._atom(signed.atom, scope, place)
        if isinstance(found, bool):
            return found == signed.positive
        return found if signed.positive else -found

    def _atom(self, atom: Atom, scope: Scope, place: int) -> Literal:
        match atom:
            case Used():
                return (
                    self.used(atom.column)
                    if scope is Scope.MODEL
                    else self.seen(place // 2, atom.column)
                )
            case Order():
                return self._ordered(place // 2, atom)
            case Root():
                return self._root(atom)
            case Depth():
                return self._depth(atom)
            case Link():
                return self._link(atom)
            case Linear() | Budget() | PathTotal() | MaximaBound():
                name = f"a sum is at most {atom.at_most}" + (f" at {place}" if place else "")
                bounded = self.formula.variable(name)
                self.bounded(atom, scope, place, (-bounded,))
                return bounded
            case _:
                raise AssertionError(f"{type(atom).__name__} has no clauses")

    def bounded(self, atom: Sum, scope: Scope, place: int, guard: tuple[int, ...]) -> None:
        """A sum is at most its bound, or a literal of the guard is true."""
        assert not isinstance(atom, PathTotal), "sums over paths are refused before"
        if isinstance(atom, MaximaBound):
            bound_maxima(self.formula, atom, lambda one: self.terms(one, scope, place), guard)
            return
        terms = (
            self.terms(atom.measure, scope, place)
            if isinstance(atom, Linear)
            else self.path_terms(atom.measure, place)
        )
        at_most(self.formula, terms, atom.at_most, guard)

    def _name(self, column: int) -> str:
        return f"`{self.tree.core.columns[column]}`"

    def used(self, column: int) -> Literal:
        """Some node tests the column."""
        nodes = range(1, 2**self.tree.depth)
        tests = [one for node in nodes for one in self.tree.selects(node, column)]
        return self.any_of(tests, f"the tree tests {self._name(column)}")

    def _seen(self, node: int, column: int) -> Literal:
        """The node, or one above it, tests the column."""
        if node == 0:
            return False
        above = self.seen(node // 2, column)
        here = self.tree.selects(node, column)
        return self.any_of(
            [above, *here], f"{self._name(column)} is tested at node {node} or above"
        )

    def _ordered_to(self, node: int, atom: Order) -> Literal:
        """The node, or one above it, tests `here` with (without) `above` strictly above it."""
        if node == 0:
            return False
        seen = self.seen(node // 2, atom.above)
        tests = self.any_of(
            self.tree.selects(node, atom.here), f"node {node} tests {self._name(atom.here)}"
        )
        wanted: Literal = seen
        if atom.absent:
            wanted = not seen if isinstance(seen, bool) else -seen
        way = "without" if atom.absent else "with"
        told = f"{self._name(atom.here)} at node {node} {way} {self._name(atom.above)} above"
        here = self.all_of([tests, wanted], told)
        return self.any_of([self._ordered(node // 2, atom), here], f"{told}, or higher up")

    def _root(self, atom: Root) -> Literal:
        tree = self.tree
        if tree.depth == 0:
            return True
        tests = [one for column in atom.columns for one in tree.selects(1, column)]
        no_split = [] if tree.idle is None else [int(tree.idle[0])]
        return self.any_of([*tests, *no_split], "the root tests one of those asked for")

    def _depth(self, atom: Depth) -> Literal:
        tree = self.tree
        if atom.at_most >= tree.depth:
            return True
        assert tree.idle is not None, "rules on the depth need nodes that are no splits"
        level = [int(tree.idle[node - 1]) for node in tree.at_level(atom.at_most)]
        return self.all_of(level, f"the depth is at most {atom.at_most}")

    def _link(self, atom: Link) -> Literal:
        pair = " and ".join(map(self.tree.names.row, (atom.first, atom.second)))
        ways = zip(self.tree.way(atom.first), self.tree.way(atom.second), strict=True)
        same = []
        for level, (x, y) in enumerate(ways):
            alike = self.formula.variable(f"{pair} go the same way at level {level}")
            for clause in ((-alike, -x, y), (-alike, x, -y), (alike, x, y), (alike, -x, -y)):
                self.formula.add(*clause)
            same.append(alike)
        return self.all_of(same, f"{pair} share a leaf")

    # ---- measures

    def depth(self) -> Terms:
        """The depth as a sum."""
        terms = Terms()
        for level in range(self.tree.depth):
            atom = SignedAtom(atom=Depth(at_most=level), positive=False)
            terms.add(self.literal(atom, Scope.MODEL, 0), 1)
        return terms

    def terms(self, measure: Additive, scope: Scope, place: int) -> Terms:
        """The numerator of a measure at a place, as weighted literals and a constant."""
        terms = Terms(constant=measure.constant)
        if scope is Scope.MODEL:
            self._model_terms(measure, terms)
            return terms
        core = self.tree.core
        for row in range(core.n_rows):
            weight = 0 if measure.rows is None else int(measure.rows[row])
            if weight:
                terms.add(self.at(row, place), weight)
            if measure.output is None:
                continue
            for label, value in enumerate(measure.output[row].tolist()):
                if value:
                    terms.add(self._labelled(row, place, label), value)
        return terms

    def _model_terms(self, measure: Additive, terms: Terms) -> None:
        tree = self.tree
        if measure.rows is not None:
            terms.constant += int(measure.rows.sum())
        if measure.output is not None:
            for row in np.flatnonzero(measure.output.any(axis=1)).tolist():
                self._predicted(row, measure.output[row].tolist(), terms)
        if measure.columns is not None:
            for node in range(1, 2**tree.depth):
                for f in tree.families:
                    weight = int(measure.columns[tree.core.families[f].column])
                    if weight:
                        terms.add(tree.select(node, f), weight)
        if measure.leaves:
            self._leaves(measure.leaves, terms)

    def _leaves(self, each: int, terms: Terms) -> None:
        tree = self.tree
        if tree.holds is not None:
            for slot in tree.holds.tolist():
                terms.add(slot, each)
            return
        terms.constant += each
        for node in range(1, 2**tree.depth):
            if tree.idle is None:
                terms.constant += each
            else:
                terms.add(-int(tree.idle[node - 1]), each)

    def _predicted(self, row: int, values: list[int], terms: Terms) -> None:
        """What the prediction of a row adds: the least of its values, and what is above it."""
        least = min(values)
        terms.constant += least
        for value in sorted({v for v in values if v > least}):
            labels = frozenset(label for label, v in enumerate(values) if v == value)
            terms.add(self.costs(row, labels), value - least)

    def costs(self, row: int, labels: frozenset[int]) -> int:
        """A literal that is true where the row is predicted as one of these."""
        key = (row, labels)
        if key not in self._costs:
            self.tree.add_row(row)
            named = " or ".join(self.tree.names.label(label) for label in sorted(labels))
            found = self.formula.variable(f"{self.tree.names.row(row)} is predicted as {named}")
            for slot in self.tree.at_level(self.tree.depth):
                away = self.tree.elsewhere(row, slot)
                for label in sorted(labels):
                    self.formula.add(*away, -self._label(slot, label), found)
            self._costs[key] = found
        return self._costs[key]

    def _label(self, slot: int, label: int) -> int:
        return int(self.tree.label[slot - 2**self.tree.depth, label])

    def _at(self, row: int, place: int) -> Literal:
        """The row comes to a node or slot."""
        self.tree.add_row(row)
        away = self.tree.elsewhere(row, place)
        what = "slot" if place >= 2**self.tree.depth else "node"
        return self.all_of(
            [-x for x in away], f"{self.tree.names.row(row)} comes to {what} {place}"
        )

    def _at_label(self, row: int, slot: int, label: int) -> Literal:
        names = self.tree.names
        told = f"{names.row(row)} comes to slot {slot}, which predicts {names.label(label)}"
        return self.all_of([self.at(row, slot), self._label(slot, label)], told)

    def path_terms(self, measure: PathMeasure, slot: int) -> Terms:
        """The numerator of a path measure, of the path to a slot."""
        tree, parent = self.tree, slot // 2
        terms = Terms(constant=measure.constant)
        for column, weight in enumerate(measure.per_test):
            if weight:
                for node, _ in tree.above(slot):
                    for one in tree.selects(node, column):
                        terms.add(one, weight)
        for column, weight in enumerate(measure.once):
            if weight:
                terms.add(self.seen(parent, column), weight)
        for shared in measure.shared:
            if shared.amount:
                terms.add(self.shared(parent, shared.columns), shared.amount)
        return terms

    def _shared_seen(self, node: int, columns: tuple[int, ...]) -> Literal:
        named = " or ".join(self._name(column) for column in columns)
        return self.any_of(
            [self.seen(node, column) for column in columns],
            f"{named} is tested at node {node} or above",
        )

    # ---- splits that part rows

    def part_rows(self) -> None:
        """Every split has a row on both sides; of thresholds, one whose cell is present."""
        tree, formula, core = self.tree, self.formula, self.tree.core
        rows = range(core.n_rows)
        formula.group("every split has rows on both sides")
        for node in range(1, 2**tree.depth):
            no_split = [] if tree.idle is None else [int(tree.idle[node - 1])]
            for side in (2 * node, 2 * node + 1):
                here = {row: self.at(row, side) for row in rows}
                formula.add(*no_split, *_literals(here.values()))
                for f in tree.families:
                    family = core.families[f]
                    if family.kind != "threshold" or family.missing is None:
                        continue
                    there = (family.codes >= 0) & (family.codes < len(family.values))
                    some = [here[row] for row in np.flatnonzero(there).tolist()]
                    formula.add(-tree.select(node, f), *_literals(some))


def _literals(some: Iterable[Literal]) -> list[int]:
    """Each literal once."""
    return list(dict.fromkeys(x for x in some if not isinstance(x, bool)))
