"""From raw trees to predictors and back, and splits collapsed that say nothing.

A raw tree speaks of gaps between codes; a `Tree` of thresholds in raw units. Which one
comes out is decided by `problem.ir.families.place`: the shortest decimal that is admissible in the
gap among the rows that reach the split.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.backends.answers import values_of
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.predictors.nodes import (
    Branch,
    Equals,
    InBin,
    Leaf,
    Side,
    Test,
    Threshold,
    TreeNode,
    of_days,
)
from odtdsl.predictors.routing import reach, route
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.evaluate import Evaluation, SplitBroken, goes_left, violations
from odtdsl.problem.ir.families import Family, local_gap, place
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import Clause, Core, Monotone, SplitFilter
from odtdsl.problem.ir.raw import RawDiagram, RawLeaf, RawModel, RawSplit, RawTest, RawTree, Visit
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart


def to_tree(core: Core, rows: Rows, raw: RawTree) -> Tree:
    """The predictor that a raw tree stands for, with the counts of its training rows.

    Parameters
    ----------
    core, rows
        The problem in both forms; `core` comes from normalizing `rows`.
    raw
        A tree that breaks no split, filter or candidate rule of `core`.

    Raises
    ------
    OdtError
        X201: a split has no admissible threshold, or a training row goes another way in
        the predictor than in the raw tree. Both are mistakes of this package.
    """
    evaluation = evaluated(core, raw)
    assert isinstance(evaluation, Evaluation), "a tree is evaluated as one"
    tree = unrouted(rows, evaluation)
    other = np.flatnonzero(route(tree, rows.data.table) != evaluation.leaf_of)
    if other.size:
        raise internal(f"row {int(other[0])} of the training data reaches another leaf")
    return tree


def unrouted(rows: Rows, evaluation: Evaluation) -> Tree:
    """As `to_tree`, without routing the rows through it: to compare trees, not to answer."""
    core = evaluation.core
    done: list[TreeNode] = []
    # Backwards each node comes after its children: the left one is on top.
    for visit in reversed(evaluation.visits):
        if isinstance(visit.node, RawSplit):
            left, right = done.pop(), done.pop()
            done.append(_branch(core, rows, visit, visit.node, left, right))
        else:
            done.append(_leaf(rows, visit.rows, visit.node))
    target = rows.problem.target
    return Tree(
        root=done.pop(),
        features=tuple(feature.type for feature in rows.problem.features),
        targets=target.names,
        classes=target.classes,
        task=target.kind,
    )


def internal(what: str) -> OdtError:
    """What is said where an answer cannot be turned into a model: our mistake."""
    return error(
        "X201",
        f"internal error while the answer was turned into a model: {what}",
        helps=("please report it with the spec and the data",),
    )


def _leaf(rows: Rows, inside: IntArray, leaf: RawLeaf) -> Leaf:
    if leaf.output is not None:
        part = ProblemPart.of(rows.problem.target.kind)
        output, curve = part.estimate(rows, inside, leaf.output)
        return Leaf(output=of_days(output, rows.problem.days), size=len(inside), curve=curve)
    if rows.data.labels is None:
        return Leaf(label=leaf.label, size=len(inside))
    sums = np.zeros(rows.n_classes, dtype=np.int64)
    np.add.at(sums, rows.labels[inside], rows.weights[inside])
    weights = tuple(total / rows.weight_denominator for total in sums.tolist())
    return Leaf(label=leaf.label, size=len(inside), class_weights=weights)


def _branch(
    core: Core, rows: Rows, visit: Visit, split: RawSplit, left: TreeNode, right: TreeNode
) -> Branch:
    family = core.families[split.family]
    feature = rows.problem.features[family.column]
    return Branch(
        feature=feature.name,
        test=axis_test(core, rows, split, visit.rows, visit.level),
        left=left,
        right=right,
        missing=missing_side(rows, family, split.test, visit.rows, learned=_asks_order(core)),
        size=len(visit.rows),
    )


def axis_test(
    core: Core, rows: Rows, split: RawSplit | RawTest, inside: IntArray, level: int
) -> Test:
    """The test in raw units of a split that parts the rows `inside` at a level.

    Raises
    ------
    OdtError
        X201: it has no admissible threshold there, a mistake of this package.
    """
    family = core.families[split.family]
    feature = rows.problem.features[family.column]
    levels = feature.type.levels
    match family.kind:
        case "equals":
            return Equals(value=levels[int(family.values[split.test])])
        case "bin":
            edges = bin_test(family, family.bins[split.test])
            low, high = feature.type.shown(edges.low), feature.type.shown(edges.high)
            return InBin(low=low, high=high, closed=edges.closed)
        case "threshold":
            gap = local_gap(family, split.test, family.codes[inside])
            allowed = placing(family, core.filters, level)
            cut = None if gap is None else place(family, allowed, *gap)
            if cut is None:
                raise internal(f"no threshold of `{feature.name}` is admissible at a split")
            return Threshold(value=levels[int(cut)] if levels else feature.type.shown(cut))


def bin_test(family: Family, index: int) -> InBin:
    """A bin by its edges; the outer ones reach to infinity, as `bin_codes` has it."""
    last = len(family.values) - 2
    return InBin(
        low=-math.inf if index == 0 else float(family.values[index]),
        high=math.inf if index == last else float(family.values[index + 1]),
        closed=index == last,
    )


def _asks_order(core: Core) -> bool:
    """Whether a rule speaks of points that no row is: for it the tree was found with its sides."""
    return any(
        isinstance(literal.atom, Monotone) for clause in core.clauses for literal in clause.literals
    )


def missing_side(rows: Rows, family: Family, test: int, inside: IntArray, *, learned: bool) -> Side:
    """Where the feature's missing cells go: by the policy, else as training rows went.

    Where no training row with a missing cell got here: to the side that the search took, if
    rules may depend on it (`learned`), else to the side of more training weight.
    """
    feature = rows.problem.features[family.column]
    if feature.missing == "left" or feature.missing == "right":
        return feature.missing
    if family.missing is not None and (learned or absent_rows(rows, feature.name)[inside].any()):
        return family.missing
    left = goes_left(family, test, family.codes[inside])
    weights = rows.weights[inside]
    return "left" if int(weights[left].sum()) >= int(weights[~left].sum()) else "right"


def absent_rows(rows: Rows, feature: str) -> BoolArray:
    """The training rows where a feature is missing: bool (n_rows,)."""
    column = rows.data.columns[feature]
    cells = column.numbers if column.codes is None else column.codes
    assert cells is not None, "a column holds numbers or codes"
    return np.isnan(cells) if column.codes is None else cells < 0


# ---- from predictors


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCandidate:
    """Why a tree is none of the trees that a core can express."""

    reason: str


def from_tree(core: Core, rows: Rows, tree: Tree) -> RawTree | NoCandidate:
    """The raw tree that parts the training rows as a predictor does.

    Outputs for number targets are not taken over: they are the best for the rows. Tests are
    matched by the rows they part, not by their thresholds. Splits that send all training rows
    one way are left out. Filters and clauses are not asked: see `violations`.

    Raises
    ------
    OdtError
        U201, U203, U204: the tree does not fit the training data, as `Tree.apply` says.
    """
    names = {feature.name: index for index, feature in enumerate(rows.problem.features)}
    classes = {value: index for index, value in enumerate(rows.problem.target.classes)}
    done: list[tuple[RawTree, IntArray]] = []
    for node, inside in reversed(reach(tree, rows.data.table)):
        if isinstance(node, Leaf):
            label = None if node.label is None else classes.get(tree.classes[node.label])
            if (label is None) == (core.targets is None):
                return NoCandidate(reason="a leaf predicts no class or no number of the target")
            done.append((RawLeaf() if label is None else RawLeaf(label=label), inside))
            continue
        (left, left_rows), (right, right_rows) = done.pop(), done.pop()
        if not left_rows.size or not right_rows.size:
            done.append((left if left_rows.size else right, inside))
            continue
        if node.feature not in names:
            return NoCandidate(reason=f"`{node.feature}` is not a feature of the spec")
        goes = np.isin(inside, left_rows, assume_unique=True)
        split = _matching(core, names[node.feature], inside, goes, left, right)
        if split is None:
            return NoCandidate(reason=f"a test of `{node.feature}` is not among its candidates")
        done.append((split, inside))
    from odtdsl.problem.outputs.leaves import fitted  # of numbers, so loaded late

    raw = fitted(core, done.pop()[0])
    if any(isinstance(fault, SplitBroken) for fault in evaluated(core, raw).bad_splits):
        return NoCandidate(reason="a threshold lies in a gap without a candidate")
    return raw


def _matching(
    core: Core, column: int, inside: IntArray, goes: BoolArray, left: RawTree, right: RawTree
) -> RawSplit | None:
    """The split of some family of the column that parts the rows as `goes` says.

    Where none does, one with its sides exchanged: of two values only one has a test.
    """
    found = parting_test(core, column, inside, goes)
    if found is None:
        return None
    split, swapped = found
    first, second = (right, left) if swapped else (left, right)
    return RawSplit(family=split.family, test=split.test, left=first, right=second)


def parting_test(
    core: Core, column: int, inside: IntArray, goes: BoolArray
) -> tuple[RawTest, bool] | None:
    """The test of a column that sends left exactly the rows of `inside` that `goes` says.

    With it, whether it does so with its sides exchanged. None where no test does either.
    """
    for passing, swapped in ((goes, False), (~goes, True)):
        for index, family in enumerate(core.families):
            codes = family.codes[inside]
            test = (
                _only_test(family, codes[passing], codes[~passing])
                if family.column == column
                else None
            )
            if test is not None and np.array_equal(goes_left(family, test, codes), passing):
                return RawTest(family=index, test=test), swapped
    return None


def _only_test(family: Family, passing: IntArray, others: IntArray) -> int | None:
    """The one test that could send exactly cells of these codes left."""
    present = passing[passing >= 0]
    if present.size:
        test = int(present.max())
        return test if test < family.n_tests else None
    if family.kind == "threshold":
        return None
    # Missing cells alone: any test of a value that no other cell has.
    return next((test for test in range(family.n_tests) if test not in others), None)


# ---- collapsing


def simplify(core: Core, raw: RawTree) -> RawTree:
    """The tree without splits whose two sides predict alike, where nothing is lost by it.

    A split is collapsed to a leaf where all leaves below it predict alike, or to a side
    where both sides are the same tree; only if the smaller tree breaks nothing and no stage
    of the objective gets worse. Deeper splits first, left before right, until none is left.
    """
    values: tuple[Fraction, ...] = ()
    while True:
        for smaller, _ in _smaller(raw):
            if not violations(core, smaller):
                values = values or values_of(core, raw)
                now = values_of(core, smaller)
                if all(new <= old for new, old in zip(now, values, strict=True)):
                    raw, values = smaller, now
                    break
        else:
            return raw


def _smaller(raw: RawTree) -> Iterator[tuple[RawTree, RawSplit]]:
    """The tree with one collapse, and the split that it takes away; children before parents."""
    if isinstance(raw, RawLeaf):
        return
    for left, split in _smaller(raw.left):
        yield replace(raw, left=left), split
    for right, split in _smaller(raw.right):
        yield replace(raw, right=right), split
    only = _only_leaf(raw)
    if only is not None:
        yield only, raw
    elif raw.left == raw.right:
        yield raw.left, raw


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSplit:
    """A split that changes no prediction, and the rules that would not hold without it.

    `rules` is empty where only the objective asks for the split.
    """

    column: int
    rules: tuple[str, ...]


def idle_splits(core: Core, raw: RawModel) -> tuple[IdleSplit, ...]:
    """The splits of a simplified tree that predict alike on both sides, each column once.

    None of diagrams, whose splits lead to two places.
    """
    if isinstance(raw, RawDiagram):
        return ()
    found: dict[int, list[str]] = {}
    for smaller, split in _smaller(raw):
        broken = violations(core, smaller)
        rules = [one.origin.rule for one in broken if isinstance(one, Clause | SplitFilter)]
        found.setdefault(core.families[split.family].column, []).extend(rules)
    return tuple(
        IdleSplit(column=column, rules=tuple(dict.fromkeys(rules)))
        for column, rules in found.items()
    )


def _only_leaf(raw: RawTree) -> RawLeaf | None:
    """The leaf that all leaves of a tree equal; None where they differ."""
    if isinstance(raw, RawLeaf):
        return raw
    left = _only_leaf(raw.left)
    return left if left is not None and left == _only_leaf(raw.right) else None
