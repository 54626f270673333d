"""Rules as rows: every atom on every instance of its scope.

An atom that must hold as soon as a 0-1 expression `when` is 1 becomes rows: with
`when = 1` for a rule that is a single literal, with a binary `holds(rule,...)` for each
literal of a disjunction, of which one must be 1. An indicator may thus be 1 only where its
literal is true, and nothing else is asked of it: literals occur only positively, a
negated atom has its own rows. Auxiliary columns (`pair`, `asked`, `paid`) are bounded from
both sides where signs need it.

Paths: a dead slot has the splits of the living slot that takes its place, so that a rule
on all paths is a rule on all `Perfect.ends`, without a condition. Leaves: all sums over a
dead slot are 0, so that `sum <= bound * alive` needs no big-M.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from odtdsl.backends.milp.charges import most_spent, total_range
from odtdsl.backends.milp.encoding import Encoding
from odtdsl.backends.milp.maxima import bound
from odtdsl.backends.milp.patterns import Gains, gains_of
from odtdsl.backends.milp.program import (
    FREE,
    Affine,
    safe_name,
    sum_of,
    unique,
)
from odtdsl.backends.milp.rows import ALWAYS, RowKey, RowMaker, flat
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Depth,
    Linear,
    Link,
    LossBound,
    MaximaBound,
    Monotone,
    Order,
    OutputSet,
    PathTotal,
    Root,
    SignedAtom,
    Used,
)


class Unsupported(Exception):
    """An atom that reached the lowering although `supports` refuses it."""


class Rules:
    """Lowers clauses into the program of an encoding."""

    def __init__(self, encoding: Encoding, n_classes: int, tick: Callable[[], None]) -> None:
        self.encoding = encoding
        self.program = encoding.program
        self.perfect = encoding.perfect
        self.n_classes = n_classes
        self._tick = tick
        self._seen: set[RowKey] = set()
        self._rules: dict[str, str] = {}
        self._taken: set[str] = set()
        self._pairs: dict[tuple[Order, int], Affine] = {}
        self._payments: dict[tuple[tuple[int, ...], tuple[int, ...], bool], Affine] = {}

    def add(self, clause: Clause) -> None:
        """All rows of a clause."""
        self._seen = set()
        rule = f"rule_{self._rule_name(clause.origin.rule)}"
        for place, condition in self._instances(clause.scope):
            self._instance(clause, f"{rule}({place})" if place else rule, place, condition)
            self._tick()

    def _rule_name(self, rule: str) -> str:
        """A safe name for a rule, another one for every rule."""
        if rule not in self._rules:
            self._rules[rule] = unique([safe_name(rule)], self._taken)[0]
        return self._rules[rule]

    def _instances(self, scope: Scope) -> list[tuple[str, Affine]]:
        match scope:
            case Scope.MODEL:
                return [("", ALWAYS)]
            case Scope.PATH:
                return [(f"path{i}", ALWAYS) for i in range(len(self.perfect.ends))]
            case Scope.LEAF:
                e = self.encoding
                return [(e.slot_name(t), e.alive(t)) for t in range(self.perfect.n_leaves)]
            case Scope.SPLIT:
                nodes = range(self.perfect.n_branches)
                return [(f"n{n}", self.encoding.is_active(n)) for n in nodes]
            case _:
                assert_never(scope)

    def _instance(self, clause: Clause, name: str, place: str, condition: Affine) -> None:
        literals = clause.literals
        if len(literals) == 1:
            when = self._alone(clause.scope, condition)
            self._require(literals[0], clause, name, place, condition, when)
            return
        some = Affine(constant=-condition.constant)
        for column, value in condition.terms.items():
            some.add_term(column, -value)
        for index, literal in enumerate(literals):
            holds = self.program.column(f"holds({flat(name)},{index})", integer=True)
            some.add_term(holds)
            when = Affine().add_term(holds)
            row = self._require(literal, clause, f"{name}_{index}", place, condition, when)
            self.program.completed_by(holds, row.truth())
        self.program.row(name, clause.origin, some, lower=0)

    def _alone(self, scope: Scope, condition: Affine) -> Affine:
        """When the only literal of a clause must hold; `condition` is in its own rows."""
        return ALWAYS

    # ---- atoms

    def _require(
        self,
        literal: SignedAtom,
        clause: Clause,
        name: str,
        place: str,
        condition: Affine,
        when: Affine,
    ) -> RowMaker:
        """Rows that make the literal true on an instance if `condition` and `when` are 1."""
        row = RowMaker(
            program=self.program, name=name, origin=clause.origin, when=when, seen=self._seen
        )
        atom: Atom = literal.atom
        match atom:
            case Used():
                self._used(atom, literal.positive, row, self._nodes(clause.scope, place))
            case Order():
                self._order(atom, literal.positive, row, self._nodes(clause.scope, place))
            case Root():
                self._root(atom, literal.positive, row)
            case Depth():
                self._depth(atom, literal.positive, row)
            case Budget():
                _positive_only(literal)
                self._budget(atom, row, self._nodes(clause.scope, place))
            case Linear():
                _positive_only(literal)
                self._linear(atom, row, clause.scope, place, condition)
            case PathTotal():
                _positive_only(literal)
                self._path_total(atom, row)
            case MaximaBound():
                _positive_only(literal)
                bound(self.encoding, atom, row)
            case Link():
                self._link(atom, literal.positive, row)
            case Monotone():
                self._monotone(atom, literal.positive, row)
            case OutputSet():
                self._on_outputs()
            case LossBound():
                self._loss(atom, literal.positive, row)
            case _:
                assert_never(atom)
        return row

    def _nodes(self, scope: Scope, place: str) -> tuple[int, ...]:
        if scope is Scope.PATH:
            return self.perfect.ends[int(place[4:])]
        return tuple(range(self.perfect.n_branches))

    def _used(self, atom: Used, positive: bool, row: RowMaker, nodes: tuple[int, ...]) -> None:
        uses = [self.encoding.use(node, atom.column) for node in nodes]
        if positive:
            row.at_least_one(uses)
            return
        for node, use in zip(nodes, uses, strict=True):
            row.false(use, f"n{node}")

    def _order(self, atom: Order, positive: bool, row: RowMaker, nodes: tuple[int, ...]) -> None:
        """`nodes` are those of a path, from the root down; `own` adds a hyperplane's own node."""
        here = [self.encoding.use(node, atom.here) for node in nodes]
        above = [self.encoding.use(node, atom.above) for node in nodes]
        own = int(self.encoding.several and atom.above != atom.here and not atom.absent)
        if positive:
            pairs = [
                self._pair(row, atom, nodes[i], here[i], above[: i + own])
                for i in range(len(nodes))
                if here[i].terms
            ]
            row.at_least_one(pairs)
            return
        for i, node in enumerate(nodes):
            if not here[i].terms:
                continue
            if atom.absent:  # tested here only if tested above
                row.at_most(here[i].copy().add(sum_of(above[:i]), -1), 0, 1, f"n{node}")
                continue
            for j in range(i + own):
                if above[j].terms:
                    both = here[i].copy().add(above[j])
                    row.at_most(both, 1, 2, f"n{nodes[j]}_n{node}")

    def _pair(
        self, row: RowMaker, atom: Order, node: int, here: Affine, above: list[Affine]
    ) -> Affine:
        """A column that is 1 only if the node completes the order's pattern."""
        if (atom, node) in self._pairs:
            return self._pairs[atom, node]
        column = self.program.column(row.part("pair", f"n{node}"))
        pair = Affine().add_term(column)
        always = row.always(f"n{node}")
        always.at_most(pair.copy().add(here, -1), 0, 1, "here")
        if atom.absent:
            for i, use in enumerate(above):
                always.at_most(pair.copy().add(use), 1, 2, f"above{i}")
        else:
            always.at_most(pair.copy().add(sum_of(above), -1), 0, 1, "above")
        uses = sum_of(above)
        self.program.completed_by(
            column, lambda p: int(here.at(p) > 0 and (uses.at(p) > 0) != atom.absent)
        )
        self._pairs[atom, node] = pair
        return pair

    def _root(self, atom: Root, positive: bool, row: RowMaker) -> None:
        if self.perfect.depth == 0:
            if not positive:
                row.contradict()
            return
        if self.encoding.several:
            self._root_plane(atom, positive, row)
            return
        listed = sum_of([self.encoding.use(0, column) for column in atom.columns])
        active = self.encoding.is_active(0)
        if positive:
            row.at_most(active.copy().add(listed, -1), 0, 1, "")
        else:
            row.at_least_one([active], "split")
            row.false(listed, "root")

    def _root_plane(self, atom: Root, positive: bool, row: RowMaker) -> None:
        """A hyperplane at the root weighs only what is listed."""
        columns = set(range(len(self.encoding.column_names))) - set(atom.columns)
        others = [self.encoding.use(0, column) for column in sorted(columns)]
        if not positive:
            row.at_least_one(others)
            return
        for column, use in zip(sorted(columns), others, strict=True):
            row.false(use, self.encoding.column_names[column])

    def _depth(self, atom: Depth, positive: bool, row: RowMaker) -> None:
        if not 0 <= atom.at_most < self.perfect.depth:
            if positive != (atom.at_most >= 0):
                row.contradict()
            return
        actives = [self.encoding.is_active(n) for n in self.perfect.at_level(atom.at_most)]
        if not positive:
            row.at_least_one(actives)
            return
        for node, active in zip(self.perfect.at_level(atom.at_most), actives, strict=True):
            row.false(active, f"n{node}")

    def _budget(self, atom: Budget, row: RowMaker, nodes: tuple[int, ...]) -> None:
        measure = atom.measure
        most = most_spent(measure, len(nodes), several=self.encoding.several)
        if most <= atom.at_most:
            return
        spent = Affine(constant=measure.constant)
        for column, amount in enumerate(measure.per_test):
            if amount:
                spent.add(sum_of([self.encoding.use(n, column) for n in nodes]), amount)
        for column, amount in enumerate(measure.once):
            if amount:
                spent.add(self._paid(row, nodes, (column,), amount), amount)
        for shared in measure.shared:
            if shared.amount:
                spent.add(self._paid(row, nodes, shared.columns, shared.amount), shared.amount)
        row.at_most(spent, atom.at_most, most, "")

    def _paid(
        self, row: RowMaker, nodes: tuple[int, ...], columns: tuple[int, ...], amount: int
    ) -> Affine:
        """1 iff a node of the path tests one of the columns, bounded where the sign needs it.

        An amount to pay needs it to be 1 if the path tests one, a rebate to be 0 if not.
        """
        asking = [(c,) for c in columns] if self.encoding.several else [columns]
        at_node = [
            sum_of([self.encoding.use(n, c) for c in set(some)]) for n in nodes for some in asking
        ]
        asked = [use for use in at_node if use.terms]
        if len(asked) <= 1:
            return sum_of(asked)
        key = (nodes, columns, amount > 0)
        if key not in self._payments:
            places = [node for node in nodes for _ in asking]
            self._payments[key] = self._payment(row, places, at_node, columns, amount)
        return self._payments[key]

    def _payment(
        self,
        row: RowMaker,
        places: list[int],
        at_node: list[Affine],
        columns: tuple[int, ...],
        amount: int,
    ) -> Affine:
        label = self.encoding.column_names[columns[0]]
        column = self.program.column(row.part("paid", label))
        paid, uses = Affine().add_term(column), sum_of(at_node)
        self.program.completed_by(column, lambda p: int(uses.at(p) > 0))
        always = row.always(f"paid_{label}")
        if amount < 0:
            always.at_most(paid.copy().add(uses, -1), 0, 1, "")
            return paid
        for node, use in zip(places, at_node, strict=True):
            if use.terms:
                always.at_most(use.copy().add(paid, -1), 0, 1, f"n{node}")
        return paid

    def _path_total(self, atom: PathTotal, row: RowMaker) -> None:
        encoding = self.encoding
        gains = gains_of(atom.measure, encoding.patterns, self.n_classes)
        spent = encoding.charges.total(encoding, atom.path_sum, row.origin)
        most = self._most_of_model(atom.measure, gains)
        depth, several = self.perfect.depth, encoding.several
        most += total_range(atom.path_sum, encoding.patterns, depth, several=several)[1]
        row.at_most(encoding.of_model(atom.measure).add(spent), atom.at_most, most, "")

    def _link(self, atom: Link, positive: bool, row: RowMaker) -> None:
        """Two rows share a leaf iff their patterns' flows agree, slot by slot."""
        of_row = self.encoding.patterns.of_row
        first, second = int(of_row[atom.first]), int(of_row[atom.second])
        if first == second:
            if not positive:
                row.contradict()
            return
        for slot in range(self.perfect.n_leaves):
            one, other = (self.encoding.inside(x, slot) for x in (first, second))
            if positive:
                row.at_most(one.add(other, -1), 0, 1, self.encoding.slot_name(slot))
            else:
                row.at_most(one.add(other), 1, 2, self.encoding.slot_name(slot))

    def _monotone(self, atom: Monotone, positive: bool, row: RowMaker) -> None:
        raise Unsupported("the order of thresholds is for pattern flow")

    def _on_outputs(self) -> None:
        raise Unsupported("labels have no outputs")

    def _loss(self, atom: LossBound, positive: bool, row: RowMaker) -> None:
        raise Unsupported("labels have no outputs")

    def _linear(
        self, atom: Linear, row: RowMaker, scope: Scope, place: str, condition: Affine
    ) -> None:
        measure = atom.measure
        gains = gains_of(measure, self.encoding.patterns, self.n_classes)
        if scope is Scope.MODEL:
            most = self._most_of_model(measure, gains)
            row.at_most(self.encoding.of_model(measure), atom.at_most, most, "")
            return
        bound = atom.at_most - measure.constant
        node = int(place[1:])
        slots = self.perfect.slots(node)
        inside = self.encoding.spread(measure, slots)
        if scope is Scope.LEAF:  # a dead slot is empty: 0 <= 0
            most = int(np.maximum(gains.by_label, 0).sum(axis=0).max(initial=0))
            row.at_most(inside.add(condition, -bound), 0, most - bound, "")
            return
        most = int(np.maximum(gains.by_label.max(axis=1), 0).sum())
        slack = max(0, most - bound)  # rows also pass through inactive nodes
        row.at_most(inside.add(condition, slack), bound + slack, most + slack, "")

    def _most_of_model(self, measure: Additive, gains: Gains) -> int:
        """An upper bound of the numerator on all models."""
        dearest = 0 if measure.columns is None else int(measure.columns.max(initial=-FREE))
        per_split = max(0, dearest + measure.leaves)
        most = measure.constant + measure.leaves + self.perfect.n_branches * per_split
        return most + int(gains.worst.sum())


def _positive_only(literal: SignedAtom) -> None:
    if not literal.positive:
        raise Unsupported("a negated sum: normalization writes it as another sum")
