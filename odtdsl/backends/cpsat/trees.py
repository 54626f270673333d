"""A perfect tree of a given depth as clauses and sums, for CP-SAT.

The variables of tests, idle nodes and labels are those of `backends.clauses.tree`; rows have
others. Rows that no test tells apart are one kind k, and `at(k, p)` says that it comes to the node
or slot p: on every level it is at one place. With the place of the kind among the tests of f known,
a test is two clauses of a kind, node and family:

    not at(k, 2q), or not upto(q, f, t);   not at(k, 2q + 1), or not select(q, f), or upto(q, f, t)

`sat` spells places by the row's turns instead, which a SAT solver refutes sooner and which has
no relaxation to speak of. The trees of the formula are the admitted ones, each written once but
for the tests that part rows alike: every split has rows on both sides, and slots that are no
leaf predict the first class.

Source of a variable per row and leaf: Bertsimas and Dunn, "Optimal classification trees"
(Machine Learning, 2017); clauses in place of rows with epsilons are this package's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np

from odtdsl.backends.clauses.diagrams import kinds_of, turns
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import deepest, demands
from odtdsl.backends.clauses.rules import Literal, Rules, Sum
from odtdsl.backends.clauses.sums import Terms, at_most
from odtdsl.backends.clauses.tree import TreeCode
from odtdsl.backends.cpsat.costs import scaled
from odtdsl.backends.cpsat.program import INTEGERS, Cost
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Core,
    DepthStage,
    Linear,
    LinearStage,
    PathMeasure,
    PathSum,
    PathTotal,
)
from odtdsl.problem.ir.raw import RawLeaf, RawModel, RawSplit, RawTree

FEW_TESTS = 50
"""Where all features have so many tests at most, what leaves get wrong is one number per leaf in
the objective, and not a literal per kind: there so measured, and the other way round beyond
(`docs/explanation/sat-measured.md`)."""


class RoutedTree(TreeCode):
    """A perfect tree, and where rows are in it.

    Attributes
    ----------
    one_of
        Sets of literals of which one at most is true.
    first
        int64 (n_kinds,): a row of each kind.
    kind_of
        int64 (n_rows,): the kind of each row.
    at
        By kind, int64 (2^(depth + 1),): the literals of places, as heap indices; 0 is no place.
    """

    def __init__(self, core: Core, depth: int, formula: Formula) -> None:
        self.one_of: list[tuple[int, ...]] = []
        self.first, self.kind_of = kinds_of(core)
        self.at: dict[int, IntArray] = {}
        super().__init__(core, depth, idle=True, single=True, formula=formula)

    def at_most_one(self, literals: list[int], what: str) -> None:
        """Left to the solver."""
        self.one_of.append(tuple(literals))

    def add_row(self, row: int) -> None:
        """The path of the row's kind."""
        kind = int(self.kind_of[row])
        if kind in self.at:
            return
        self.rows_in.append(row)
        name = self.names.row(row)
        places = 2 ** (self.depth + 1) - 1
        at = np.zeros(places + 1, dtype=np.int64)
        at[1:] = self.formula.block(lambda p: f"{name} comes to place {p + 1}", places)
        self.at[kind] = at
        self.formula.group(f"{name} goes where the tests send it")
        self.formula.add(int(at[1]))
        nodes = np.arange(1, 2**self.depth)
        here, left, right = at[nodes], at[2 * nodes], at[2 * nodes + 1]
        self._clauses(-left, here)
        self._clauses(-right, here)
        self._clauses(-here, left, right)
        for level in range(1, self.depth + 1):
            self.one_of.append(tuple(at[list(self.at_level(level))].tolist()))
        assert self.idle is not None
        self._clauses(-self.idle, -right)
        for f in self.families:
            family, upto = self.core.families[f], self.upto[f]
            for turn in turns(family, int(family.codes[row])):
                told = [-upto[:, turn.upto]]
                if turn.above is not None:
                    told.append(upto[:, turn.above])
                self._clauses(*told, -left if turn.right else -right)

    def _clauses(self, *parts: IntArray) -> None:
        """Clauses of one literal of each array."""
        self.formula.rows(np.stack(parts, axis=-1))

    def elsewhere(self, row: int, place: int) -> list[int]:
        """The literals one of which is true where a row does not come to a place."""
        return [-int(self.at[int(self.kind_of[row])][place])]

    def way(self, row: int) -> list[int]:
        """By level, the literal that a row goes right there."""
        at = self.at[int(self.kind_of[row])]
        name = self.names.row(row)
        return [
            int(
                self.formula.any_of(
                    [int(at[place]) for place in self.at_level(level + 1) if place % 2],
                    f"{name} goes right at level {level}",
                )
            )
            for level in range(self.depth)
        ]

    def allow(self, row: int, classes: Sequence[int], unless: tuple[int, ...] = ()) -> None:
        """Clauses: a row is predicted as one of the classes, or a literal of `unless` is true."""
        for slot in self.at_level(self.depth):
            labels = self.label[slot - 2**self.depth, list(classes)].tolist()
            self.formula.add(*self.elsewhere(row, slot), *labels, *unless)

    def point(self, tree: RawTree) -> dict[int, bool]:
        """The variables of tests, labels and rows, as they are for a tree."""
        found: dict[int, bool] = dict.fromkeys(range(1, int(self.label[-1, -1]) + 1), False)
        for at in self.at.values():
            found.update(dict.fromkeys(at[1:].tolist(), False))
        for label in self.label[:, 0].tolist():
            found[label] = True
        self._point(found, tree, 1, list(self.at))
        return found

    def _point(self, found: dict[int, bool], tree: RawTree, place: int, kinds: list[int]) -> None:
        """What a tree below a place makes true."""
        for kind in kinds:
            found[int(self.at[kind][place])] = True
        if isinstance(tree, RawSplit):
            upto = self.upto[tree.family][place - 1]
            found.update(dict.fromkeys(upto[tree.test :].tolist(), True))
            family = self.core.families[tree.family]
            goes = goes_left(family, tree.test, family.codes[self.first[kinds]]).tolist()
            sides = zip(kinds, goes, strict=True)
            parted: tuple[list[int], list[int]] = ([], [])
            for kind, left in sides:
                parted[not left].append(kind)
            self._point(found, tree.left, 2 * place, parted[0])
            self._point(found, tree.right, 2 * place + 1, parted[1])
        elif place >= 2**self.depth:
            labels = self.label[place - 2**self.depth].tolist()
            for label, one in enumerate(labels):
                found[one] = label == tree.label
        else:
            self._no_split(found, place)
            self._point(found, tree, 2 * place, kinds)

    def _no_split(self, found: dict[int, bool], place: int) -> None:
        assert self.idle is not None
        found[int(self.idle[place - 1])] = True
        if 2 * place < 2**self.depth:
            for child in (2 * place, 2 * place + 1):
                self._no_split(found, child)


class RoutedRules(Rules):
    """Rules over a tree in which rows have places."""

    tree: RoutedTree

    def _at(self, row: int, place: int) -> Literal:
        self.tree.add_row(row)
        return int(self.tree.at[int(self.tree.kind_of[row])][place])

    def _model_terms(self, measure: Additive, terms: Terms) -> None:
        """Rows of a kind are predicted alike: what none of their labels avoids is no question."""
        if measure.output is not None:
            tree, output = self.tree, np.zeros_like(measure.output)
            np.add.at(output, tree.first[tree.kind_of], measure.output)
            measure = replace(measure, output=output)
        super()._model_terms(measure, terms)

    def bounded(self, atom: Sum, scope: Scope, place: int, guard: tuple[int, ...]) -> None:
        """Of a leaf: one sum for every class that it may predict."""
        if isinstance(atom, PathTotal):
            terms = self.terms(atom.measure, Scope.MODEL, 0)
            self.add_paths(terms, atom.path_sum)
            at_most(self.formula, terms, atom.at_most, guard)
            return
        output = atom.measure.output if isinstance(atom, Linear) else None
        if not isinstance(atom, Linear) or scope is not Scope.LEAF or output is None:
            super().bounded(atom, scope, place, guard)
            return
        measure = atom.measure
        for label in range(self.tree.core.n_classes):
            rows = output[:, label]
            rows = rows if measure.rows is None else rows + measure.rows
            terms = self.terms(Additive(constant=measure.constant, rows=rows), scope, place)
            at_most(self.formula, terms, atom.at_most, (*guard, -self._label(place, label)))

    # ---- sums over rows of what their paths cost

    def add_paths(self, terms: Terms, paths: PathSum) -> None:
        """What the paths of rows cost, at the nodes where it is paid for the first time."""
        tree = self.tree
        weights = np.zeros(len(tree.first), dtype=np.int64)
        np.add.at(weights, tree.kind_of, paths.weights)
        terms.constant += int(weights.sum()) * paths.measure.constant
        for node in range(1, 2**tree.depth):
            for due, price in self._prices(paths.measure, node):
                for kind in np.flatnonzero(weights).tolist():
                    told = f"{tree.names.row(int(tree.first[kind]))} pays {price} at node {node}"
                    paid = self.all_of([int(tree.at[kind][node]), due], told)
                    terms.add(paid, int(weights[kind]) * price)

    def _prices(self, measure: PathMeasure, node: int) -> Iterator[tuple[Literal, int]]:
        """When rows at a node pay what: literals that its test is one of those with a price."""
        tree, above = self.tree, node // 2
        tests = [
            self.any_of(tree.selects(node, column), f"node {node} tests {self._name(column)}")
            for column in range(len(tree.core.columns))
        ]
        first = [
            self.all_of(
                [here, negated(self.seen(above, column))] if measure.once[column] else [False],
                f"node {node} is the first on its path to test {self._name(column)}",
            )
            for column, here in enumerate(tests)
        ]
        for due, prices in ((tests, measure.per_test), (first, measure.once)):
            for price in sorted(set(prices) - {0}):
                equal = [one for one, paid in zip(due, prices, strict=True) if paid == price]
                yield self.any_of(equal, f"node {node} tests what costs {price}"), price
        for shared in measure.shared:
            some = self.any_of([tests[c] for c in shared.columns], f"node {node} tests of a set")
            new = [some, negated(self.shared(above, shared.columns))]
            yield self.all_of(new, f"node {node} is the first to test of a set"), shared.amount


def _small(form: LinearStage) -> bool:
    """Whether outputs may be sums that integers are compared with, over any denominator."""
    dens = [part.denominator for _, parts in form.maxima for part in parts]
    dens += [factor.denominator for factor, _ in form.maxima]
    dens += [] if form.path_sum is None else [form.path_sum.whole_denominator]
    output, whole = form.measure.output, prod(dens)
    return output is None or 8 * whole * int(np.abs(output).sum()) < INTEGERS


def negated(one: Literal) -> Literal:
    """The negation of a literal or of a truth value."""
    return not one if isinstance(one, bool) else -one


class Trees:
    """A tree with its rules.

    Parameters
    ----------
    tick
        Called often while the formula is built; may raise to end that.
    formula
        Where to; default a new one in which sums stay sums.
    """

    def __init__(
        self, core: Core, tick: Callable[[], None] = lambda: None, formula: Formula | None = None
    ) -> None:
        self.core = core
        self.formula = Formula(sums=True, tick=tick) if formula is None else formula
        self.tree = RoutedTree(core, deepest(core), self.formula)
        self.rules = RoutedRules(self.tree)
        self.one_of = self.tree.one_of
        self._predicts()
        allowed, names, clauses = demands(core)
        for row in self.tree.first.tolist():
            self.tree.add_row(row)
        self.formula.group("rows are predicted as allowed", names)
        for kind, row in enumerate(self.tree.first.tolist()):
            classes = np.flatnonzero(allowed[self.tree.kind_of == kind].all(axis=0)).tolist()
            if len(classes) < core.n_classes:
                self.tree.allow(row, classes)
        self.rules.part_rows()
        for clause in clauses:
            self.rules.add(clause)
        if core.tree.leaves is not None:
            self.formula.group(f"at most {core.tree.leaves} leaves")
            leaves = self.rules.terms(Additive(leaves=1), Scope.MODEL, 0)
            at_most(self.formula, leaves, core.tree.leaves)

    def _predicts(self) -> None:
        """Every slot has a class; those that are no leaf have the first."""
        tree = self.tree
        self.formula.group("each slot predicts a class, the first where it is no leaf")
        for slot in tree.at_level(tree.depth):
            labels = tree.label[slot - 2**tree.depth].tolist()
            self.formula.add(*labels)
            for no_leaf in tree.no_leaf(slot):
                self.formula.add(-no_leaf, labels[0])

    def cost(self, stage: int) -> tuple[Cost, int]:
        """A stage of the objective as an integer expression, and its denominator."""
        form = self.core.objective[stage]
        if isinstance(form, DepthStage):
            return Cost(terms=self.rules.depth()), 1
        assert isinstance(form, LinearStage), "number targets are refused before"
        measure = form.measure
        by_leaf = sum(family.n_tests for family in self.core.families) <= FEW_TESTS
        by_leaf = by_leaf and _small(form)
        if by_leaf:
            form = replace(form, measure=replace(measure, output=None))
        cost, whole = scaled(form, self._terms)
        output = measure.scaled(Fraction(whole // measure.denominator)).output
        if by_leaf and output is not None:
            least, leaves = self._by_leaf(output)
            cost.terms.constant += least
            cost = replace(cost, maxima=(*cost.maxima, *leaves))
        if (paths := form.path_sum) is not None:
            raised = paths.scaled(Fraction(whole // paths.whole_denominator))
            self.rules.add_paths(cost.terms, raised)
        return cost, whole

    def _terms(self, measure: Additive) -> Terms:
        return self.rules.terms(measure, Scope.MODEL, 0)

    def _by_leaf(self, output: IntArray) -> tuple[int, list[tuple[int, tuple[Terms, ...]]]]:
        """What predictions cost: a constant, and by slot the largest of a sum per class, which
        is below 0 unless the slot predicts that class."""
        tree = self.tree
        values = np.zeros((len(tree.first), self.core.n_classes), dtype=np.int64)
        np.add.at(values, tree.kind_of, output)
        least = values.min(axis=1)
        values -= least[:, None]
        found = []
        for slot in tree.at_level(tree.depth):
            parts = [Terms()]
            for label, one in enumerate(tree.label[slot - 2**tree.depth].tolist()):
                part = Terms()
                part.add(-one, -int(values[:, label].sum()))
                for kind in np.flatnonzero(values[:, label]).tolist():
                    part.add(int(tree.at[kind][slot]), int(values[kind, label]))
                parts.append(part)
            found.append((1, tuple(parts)))
        return int(least.sum()), found

    def decode(self, true: set[int]) -> RawModel:
        """The tree of a solution, given its true variables."""
        return self.tree.decode(true)

    def point(self, model: RawModel) -> dict[int, bool]:
        """Values of variables that make a tree; empty for other models."""
        return self.tree.point(model) if isinstance(model, RawLeaf | RawSplit) else {}
