"""Labels of the leaves of a given structure, so that rules hold and the objective is low."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odtdsl.backends.greedy.costs import PenalizedObjective, measures_of, near
from odtdsl.backends.greedy.tables import Node
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, LinearStage, Maxima, MaximaBound

BROKEN = 1e6
"""The violation of a clause that labels cannot mend, against at most about 1 for others."""


def label_leaves(
    core: Core, root: Node, objective: PenalizedObjective, *, flips: bool = True
) -> None:
    """Set the labels of all leaves: by the penalized objective, then by flips while they help.

    A flip helps if rules on the model are broken less, or as much and the objective is
    better.
    """
    leaves = root.leaves()
    options = np.array([leaf_options(core, leaf.rows) for leaf in leaves])
    options[~options.any(axis=1)] = True
    gains = np.array([objective.gains[leaf.rows].sum(axis=0) for leaf in leaves])
    labels = np.where(options, gains, -1).argmax(axis=1)
    _set(leaves, labels)
    if flips and core.n_classes > 1 and (_has_rules(core) or _has_maxima(core)):
        _set(leaves, _Flips(core, root, leaves, options).improve(labels))


def _set(leaves: list[Node], labels: IntArray) -> None:
    for leaf, label in zip(leaves, labels.tolist(), strict=True):
        leaf.label = label


def leaf_options(core: Core, rows: IntArray) -> BoolArray:
    """bool (n_classes,): the labels that all rules on leaves admit for a leaf of these rows."""
    options = np.ones(core.n_classes, dtype=bool)
    for clause in core.clauses:
        if clause.scope is Scope.LEAF:
            some = np.zeros(core.n_classes, dtype=bool)
            for literal in clause.literals:
                if isinstance(literal.atom, Linear):
                    # The constant may be beyond 64 bits, as in `size >= 1e30`.
                    most = literal.atom.at_most - literal.atom.measure.constant
                    within = _of_leaf(core, literal.atom, rows) <= most
                    some |= within == literal.positive
            options &= some
    return options


def _of_leaf(core: Core, atom: Linear, rows: IntArray) -> IntArray:
    """int64 (n_classes,): the measure of a leaf by its label, without the constant."""
    total = np.zeros(core.n_classes, dtype=np.int64)
    if atom.measure.rows is not None:
        total += atom.measure.rows[rows].sum()
    if atom.measure.output is not None:
        total += atom.measure.output[rows].sum(axis=0)
    return total


def _has_rules(core: Core) -> bool:
    return any(
        one.output is not None
        for clause in core.clauses
        if clause.scope is Scope.MODEL
        for x in clause.literals
        if isinstance(x.atom, Linear | MaximaBound)
        for one in measures_of(x.atom)
    )


def _has_maxima(core: Core) -> bool:
    return any(isinstance(stage, LinearStage) and stage.maxima for stage in core.objective)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    """A measure over a denominator, plus factors times the largest of others: all by index."""

    first: int
    over: float
    maxima: tuple[tuple[float, tuple[tuple[int, float], ...]], ...] = ()

    def value(self, totals: FloatArray) -> FloatArray:
        """Of candidates: (..., n_measures) to (...)."""
        value: FloatArray = totals[..., self.first] / self.over
        for factor, parts in self.maxima:
            value = value + factor * np.max([totals[..., i] / over for i, over in parts], axis=0)
        return value


_Bound = tuple[_Sum, float, float]
"""What is bounded, its bound, and the scale of what it exceeds that by."""


class _Flips:
    """Single flips of labels, all judged at once: measures are sums over leaves."""

    def __init__(self, core: Core, root: Node, leaves: list[Node], options: BoolArray) -> None:
        self.core = core
        self.leaves = leaves
        self.options = options
        self.evaluation = Evaluation(core, root.raw())
        self.tables: list[FloatArray] = []
        self.start: list[float] = []
        self.clauses = [self._clause(c) for c in core.clauses if c.scope is Scope.MODEL]
        self.stages = [
            self._sum(stage.measure, stage.maxima)
            for stage in core.objective
            if isinstance(stage, LinearStage)
        ]

    def _measure(self, measure: Additive) -> int:
        """Note a measure: its table (leaves, labels), and its value under the first labels."""
        table = np.zeros((len(self.leaves), self.core.n_classes))
        if measure.output is not None:
            table = np.array([measure.output[leaf.rows].sum(axis=0) for leaf in self.leaves])
        self.tables.append(table)
        self.start.append(near(self.evaluation.of_model(measure)))
        return len(self.tables) - 1

    def _clause(self, clause: Clause) -> list[_Bound] | float:
        """The bounds on sums, or a constant for what stays as it is."""
        linear: list[_Bound] = []
        for literal in clause.literals:
            if isinstance(literal.atom, Linear) and literal.positive:
                output = literal.atom.measure.output
                scale = 1.0
                if output is not None:
                    scale += float((output.max(axis=1) - output.min(axis=1)).sum())
                summed = _Sum(first=self._measure(literal.atom.measure), over=1.0)
                linear.append((summed, near(literal.atom.at_most), scale))
            elif isinstance(literal.atom, MaximaBound):
                summed = self._sum(literal.atom.measure, literal.atom.maxima)
                linear.append((summed, near(literal.atom.at_most), 1.0))
            elif self.evaluation.satisfies((literal,), Scope.MODEL, self.evaluation.visits[0]):
                return 0.0
        return linear or BROKEN

    def _sum(self, measure: Additive, maxima: Maxima) -> _Sum:
        return _Sum(
            first=self._measure(measure),
            over=near(measure.denominator),
            maxima=tuple(
                (near(factor), tuple((self._measure(m), near(m.denominator)) for m in parts))
                for factor, parts in maxima
            ),
        )

    def _violation(self, totals: FloatArray) -> FloatArray:
        """Of candidates: (..., n_measures) to (...)."""
        found = np.zeros(totals.shape[:-1])
        for clause in self.clauses:
            if isinstance(clause, float):
                found += clause
            else:
                excess = [np.maximum(0, one.value(totals) - b) / s for one, b, s in clause]
                found += np.min(excess, axis=0)
        return found

    def _objective(self, totals: FloatArray) -> list[FloatArray]:
        return [stage.value(totals) for stage in self.stages]

    def improve(self, labels: IntArray) -> IntArray:
        """The better of two descents: the steepest, and the cheapest way to valid labels."""
        found = [self._descend(labels), self._descend(self._mend(labels))]
        return min(found, key=lambda item: item[0])[1]

    def _keys(self, labels: IntArray) -> list[FloatArray]:
        """Violation and objective after every flip, (leaf, label) one after the other."""
        totals = self._totals(labels)
        every = np.arange(len(labels))
        moved = totals + self._table - self._table[every, labels][:, None, :]
        flat = moved.reshape(self.options.size, -1)
        violation = np.where(self.options.ravel(), np.round(self._violation(flat), 12), np.inf)
        return [violation, *self._objective(flat)]

    @cached_property
    def _table(self) -> FloatArray:
        if not self.tables:  # the splits alone decide
            return np.zeros((*self.options.shape, 0))
        return np.stack(self.tables, axis=-1)

    def _totals(self, labels: IntArray) -> FloatArray:
        every = np.arange(len(labels))
        of_first = self._table[every, [leaf.label for leaf in self.leaves]].sum(axis=0)
        of_these: FloatArray = self._table[every, labels].sum(axis=0)
        return np.asarray(np.array(self.start) - of_first + of_these, dtype=np.float64)

    def _descend(self, labels: IntArray) -> tuple[tuple[float, ...], IntArray]:
        """Take the best flip while there is one that helps; with what the labels are worth."""
        n_classes = self.options.shape[1]
        labels = labels.copy()
        while True:
            keys = self._keys(labels)
            best = int(np.lexsort(keys[::-1])[0])
            leaf, label = divmod(best, n_classes)
            here = leaf * n_classes + int(labels[leaf])
            now = tuple(float(key[here]) for key in keys)
            if tuple(float(key[best]) for key in keys) >= now:
                return now, labels
            labels[leaf] = label

    def _mend(self, labels: IntArray) -> IntArray:
        """Lower the violation by the flips that cost the objective least for it."""
        labels = labels.copy()
        n_classes = self.options.shape[1]
        for _ in range(2 * len(labels)):
            keys = self._keys(labels)
            here = int(labels[0])
            lowered = keys[0][here] - keys[0]
            helps = lowered > 0
            if not helps.any() or keys[0][here] == 0:
                return labels
            cost = keys[1] - keys[1][here] if len(keys) > 1 else np.zeros(len(lowered))
            price = np.where(helps, cost / np.where(helps, lowered, 1.0), np.inf)
            leaf, label = divmod(int(np.argmin(price)), n_classes)
            labels[leaf] = label
        return labels
