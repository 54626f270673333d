"""The exact meaning of a core on a raw tree, in integers.

Back ends test their answers against this, and `greedy` judges its candidates by it. The
checker does not use it: that one reads the emitted predictor and the raw cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Literal, assert_never

import numpy as np

from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import LEFT_CODE, Family, local_gap, place
from odtdsl.problem.ir.filters import threshold_set
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    LossBound,
    Maxima,
    MaximaBound,
    Monotone,
    Order,
    OutputSet,
    PathSum,
    PathTotal,
    QuotientStage,
    RegressionStage,
    Root,
    SignedAtom,
    SplitFilter,
    StageForm,
    TargetLoss,
    Used,
)
from odtdsl.problem.ir.monotone import is_monotone
from odtdsl.problem.ir.outputs import admits
from odtdsl.problem.ir.paths import path_holds, path_numerator
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTest, RawTree, Visit
from odtdsl.problem.ir.regression import allowance, loss_of


class NotEvaluable(Exception):
    """A form that has no meaning on a raw tree; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundBroken:
    """The model is deeper, or has more leaves or a wider layer, than the skeleton allows."""

    what: Literal["depth", "leaves", "width"]
    value: int
    at_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBroken:
    """The split at `position` (in the order of `walk`) is no split of its family.

    `range`: there is no such test. `empty`: a side without rows (for thresholds: without a
    row whose cell is present). `candidates`: no candidate threshold lies in the gap.
    """

    position: int
    reason: Literal["range", "empty", "candidates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcsBroken:
    """The node at `position` (layer by layer) of a diagram has both arcs to one place
    (`same`), or no arc leads to it (`unreached`), or of a tree another one too (`shared`)."""

    position: int
    reason: Literal["same", "unreached", "shared"]


Violation = Clause | SplitFilter | BoundBroken | SplitBroken | ArcsBroken


class Measured(ABC):
    """A raw model on the training rows of a core: what trees and diagrams are measured by."""

    core: Core

    @property
    @abstractmethod
    def predicted(self) -> IntArray:
        """int64 (n_rows,): class that the model predicts for each row."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Splits on the longest path."""

    @abstractmethod
    def of_model(self, measure: Additive) -> int:
        """Numerator of a measure of the whole model."""

    @abstractmethod
    def of_loss(self, loss: TargetLoss) -> Fraction:
        """Value of a loss of number targets: a float, as a fraction."""

    @abstractmethod
    def over_paths(self, paths: PathSum) -> int:
        """Numerator of a path sum: every row weighs the path that it takes."""

    @abstractmethod
    def violations(self) -> tuple[Violation, ...]:
        """All that fails, skeleton first, then splits, filters and clauses in their order."""

    def over_rows(self, measure: Additive, rows: IntArray) -> int:
        """Numerator of a measure of a leaf or split that holds `rows`."""
        total = measure.constant
        if measure.rows is not None:
            total += int(measure.rows[rows].sum())
        if measure.output is not None:
            total += int(measure.output[rows, self.predicted[rows]].sum())
        return total

    def with_maxima(self, measure: Additive, maxima: Maxima) -> Fraction:
        """Value of a measure of the model plus multiples of the largest of others."""
        value = Fraction(self.of_model(measure), measure.denominator)
        for factor, parts in maxima:
            value += factor * max(Fraction(self.of_model(part), part.denominator) for part in parts)
        return value

    def stage_value(self, stage: StageForm) -> Fraction:
        """Value of a stage's own (signed, minimized) measure."""
        match stage:
            case DepthStage():
                return Fraction(self.depth)
            case RegressionStage():
                rest = Fraction(self.of_model(stage.rest), stage.rest.denominator)
                return self.of_loss(stage.loss) + rest
            case LinearStage():
                value = self.with_maxima(stage.measure, stage.maxima)
                if (paths := stage.path_sum) is not None:
                    value += Fraction(self.over_paths(paths), paths.whole_denominator)
                return value
            case QuotientStage():
                return -stage.factor * self.of_share(stage)
            case _:
                assert_never(stage)

    def of_share(self, stage: QuotientStage) -> Fraction:
        """The share that a stage makes large; 0 of nothing."""
        over, under = stage.over, stage.under
        whole = Fraction(self.of_model(under), under.denominator)
        return Fraction(self.of_model(over), over.denominator) / whole if whole else whole


class Evaluation(Measured):
    """A raw tree on the training rows of a core.

    Attributes
    ----------
    visits
        Every node, in the order of `walk`.
    """

    def __init__(self, core: Core, tree: RawTree) -> None:
        self.core = core
        self.tree = tree
        self._losses: dict[TargetLoss, Fraction] = {}
        visits: list[Visit] = []
        stack = [Visit(node=tree, level=0, rows=np.arange(core.n_rows), above=())]
        while stack:
            visit = stack.pop()
            visits.append(visit)
            if isinstance(visit.node, RawSplit):
                stack.extend(reversed(children(core, visit, visit.node)))
        self.visits: tuple[Visit, ...] = tuple(visits)

    @cached_property
    def leaves(self) -> tuple[Visit, ...]:
        """Leaves from left to right; with their `above`, also the paths."""
        return tuple(visit for visit in self.visits if isinstance(visit.node, RawLeaf))

    @cached_property
    def splits(self) -> tuple[tuple[Visit, RawSplit], ...]:
        """The splits with their visits, in the order of `walk`."""
        return tuple((v, v.node) for v in self.visits if isinstance(v.node, RawSplit))

    @cached_property
    def leaf_of(self) -> IntArray:
        """int64 (n_rows,): position of each row's leaf, from left to right."""
        found = np.zeros(self.core.n_rows, dtype=np.int64)
        for position, leaf in enumerate(self.leaves):
            found[leaf.rows] = position
        return found

    @cached_property
    def predicted(self) -> IntArray:
        """int64 (n_rows,): label of each row's leaf."""
        labels = [leaf.node.label for leaf in self.leaves if isinstance(leaf.node, RawLeaf)]
        return np.asarray(labels, dtype=np.int64)[self.leaf_of]

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        return max(leaf.level for leaf in self.leaves)

    @cached_property
    def tested(self) -> tuple[int, ...]:
        """The column of each split, in the order of `walk`."""
        return tuple(self.core.families[split.family].column for _, split in self.splits)

    # ---- measures

    def of_model(self, measure: Additive) -> int:
        """The numerator of a measure of the whole tree."""
        total = measure.constant
        if measure.rows is not None:
            total += int(measure.rows.sum())
        if measure.output is not None:
            each = np.arange(self.core.n_rows)
            total += int(measure.output[each, self.predicted].sum())
        if measure.columns is not None:
            total += sum(int(measure.columns[column]) for column in self.tested)
        return total + measure.leaves * len(self.leaves)

    def of_loss(self, loss: TargetLoss) -> Fraction:
        """The value of a loss of number targets, summed over the training rows."""
        if loss not in self._losses:
            outputs = [leaf.node.output for leaf in self.leaves if isinstance(leaf.node, RawLeaf)]
            predicted = np.asarray(outputs, dtype=np.float64)[self.leaf_of]
            self._losses[loss] = loss_of(self.core, loss, predicted)
        return self._losses[loss]

    def over_paths(self, paths: PathSum) -> int:
        """The numerator of a path sum: every row weighs the path to its leaf."""
        return sum(
            int(paths.weights[leaf.rows].sum()) * path_numerator(paths.measure, leaf.above)
            for leaf in self.leaves
        )

    # ---- conditions

    def violations(self) -> tuple[Violation, ...]:
        """All that fails: skeleton, splits and filters, then clauses in their order."""
        broken: list[Violation] = [*self._skeleton(), *self.bad_splits]
        broken.extend(clause for clause in self.core.clauses if not self.keeps(clause))
        return tuple(broken)

    @cached_property
    def bad_splits(self) -> tuple[SplitBroken | SplitFilter, ...]:
        """The splits that may not stand where they are, then the filters that refuse some."""
        broken: list[SplitBroken] = []
        filters: set[int] = set()
        for position, visit in enumerate(self.visits):
            if isinstance(visit.node, RawSplit):
                reason = split_fault(self.core, visit, visit.node)
                if isinstance(reason, tuple):
                    filters.update(reason)
                elif reason is not None:
                    broken.append(SplitBroken(position=position, reason=reason))
        return (*broken, *(self.core.filters[index] for index in sorted(filters)))

    def _skeleton(self) -> tuple[Violation, ...]:
        skeleton = self.core.skeleton
        if isinstance(skeleton, DiagramSkeleton):
            raise NotEvaluable("a diagram is asked for, and the answer is a tree")
        found: list[Violation] = []
        if skeleton.depth is not None and self.depth > skeleton.depth:
            found.append(BoundBroken(what="depth", value=self.depth, at_most=skeleton.depth))
        if skeleton.leaves is not None and len(self.leaves) > skeleton.leaves:
            found.append(
                BoundBroken(what="leaves", value=len(self.leaves), at_most=skeleton.leaves)
            )
        return tuple(found)

    def keeps(self, clause: Clause) -> bool:
        """Whether every instance of the clause's scope satisfies one of its literals."""
        match clause.scope:
            case Scope.MODEL:
                places = self.visits[:1]
            case Scope.PATH | Scope.LEAF:
                places = self.leaves
            case Scope.SPLIT:
                places = tuple(visit for visit, _ in self.splits)
            case _:
                assert_never(clause.scope)
        return all(self.satisfies(clause.literals, clause.scope, place) for place in places)

    def satisfies(self, literals: tuple[SignedAtom, ...], scope: Scope, visit: Visit) -> bool:
        """Whether one instance (a leaf's visit for paths, the root's for the model) holds."""
        return any(self.holds(x.atom, scope, visit) == x.positive for x in literals)

    def holds(self, atom: Atom, scope: Scope, visit: Visit) -> bool:
        """Whether an atom holds on one instance of a scope."""
        tested = self.tested if scope is Scope.MODEL else visit.above
        match atom:
            case Used() | Order() | Budget():
                return path_holds(atom, tuple((column,) for column in tested))
            case Root():
                return not self.tested or self.tested[0] in atom.columns
            case Linear():
                if scope is Scope.MODEL:
                    return self.of_model(atom.measure) <= atom.at_most
                return self.over_rows(atom.measure, visit.rows) <= atom.at_most
            case Depth():
                return self.depth <= atom.at_most
            case Link():
                return bool(self.leaf_of[atom.first] == self.leaf_of[atom.second])
            case Monotone():
                return is_monotone(self.core, self.visits, atom)
            case PathTotal():
                total = self.of_model(atom.measure) + self.over_paths(atom.path_sum)
                return total <= atom.at_most
            case OutputSet():
                output = visit.node.output if isinstance(visit.node, RawLeaf) else None
                if output is None:
                    raise NotEvaluable("a leaf without outputs under a rule on outputs")
                return admits(atom.condition, output)
            case LossBound():
                return self.of_loss(atom.loss) <= atom.at_most + allowance(atom.at_most)
            case MaximaBound():
                return self.with_maxima(atom.measure, atom.maxima) <= atom.at_most
            case _:
                assert_never(atom)


def children(core: Core, visit: Visit, split: RawSplit) -> tuple[Visit, Visit]:
    """The two visits below a split."""
    family = core.families[split.family]
    codes = family.codes[visit.rows]
    left = goes_left(family, split.test, codes)
    above = (*visit.above, family.column)
    level = visit.level + 1
    return (
        Visit(node=split.left, level=level, rows=visit.rows[left], above=above),
        Visit(node=split.right, level=level, rows=visit.rows[~left], above=above),
    )


def goes_left(family: Family, test: int, codes: IntArray) -> BoolArray:
    """Which cells, given by their codes, the test sends left."""
    if family.kind == "threshold":
        return codes <= test
    left: BoolArray = (codes == test) | (codes == LEFT_CODE)
    return left


Fault = Literal["range", "empty", "candidates"] | tuple[int, ...]


def split_fault(core: Core, visit: Visit, split: RawSplit) -> Fault | None:
    """Why a split may not stand where it is; indices of filters where these refuse it."""
    return test_fault(core, RawTest(family=split.family, test=split.test), visit.rows, visit.level)


def test_fault(core: Core, split: RawTest, rows: IntArray, level: int) -> Fault | None:
    """Why a test may not part `rows` at a level; indices of filters where these refuse it.

    Filters that refuse the gap each alone are named; where only their intersection does,
    all that speak of the column and level.
    """
    family = core.families[split.family]
    if not 0 <= split.test < family.n_tests:
        return "range"
    codes = family.codes[rows]
    gap = (split.test, split.test + 1)
    if family.kind == "threshold":
        found = local_gap(family, split.test, codes)
        if found is None:
            return "empty"
        gap = found
    else:
        left = goes_left(family, split.test, codes)
        if not left.any() or left.all():
            return "empty"

    def admits(filters: tuple[SplitFilter, ...]) -> bool:
        allowed = threshold_set(family, filters, level)
        if family.kind != "threshold":
            return bool(allowed)
        return place(family, allowed, *gap) is not None

    if admits(core.filters):
        return None
    if not admits(()):
        return "candidates"
    speaking = tuple(
        index
        for index, rule in enumerate(core.filters)
        if rule.column == family.column and (rule.levels is None or level in rule.levels)
    )
    alone = tuple(index for index in speaking if not admits((core.filters[index],)))
    return alone or speaking


def route(core: Core, tree: RawTree) -> IntArray:
    """int64 (n_rows,): position of each training row's leaf, from left to right."""
    return Evaluation(core, tree).leaf_of


def violations(core: Core, tree: RawTree) -> tuple[Violation, ...]:
    """Every bound, split, filter and clause that the tree breaks; empty for a valid tree.

    Raises
    ------
    NotEvaluable
        The core asks for a diagram, or for outputs that a leaf does not have.
    """
    return Evaluation(core, tree).violations()


def stage_value(core: Core, stage: StageForm, tree: RawTree) -> Fraction:
    """The value of a stage on the tree, in its own signed measure (less is better)."""
    return Evaluation(core, tree).stage_value(stage)


def stage_values(core: Core, tree: RawTree) -> tuple[Fraction, ...]:
    """The values of all stages, to be compared in lexicographic order."""
    evaluation = Evaluation(core, tree)
    return tuple(evaluation.stage_value(stage) for stage in core.objective)
