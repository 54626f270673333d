"""A finished model on rows: where the raw cells of each row lead, and what is tested on the way.

The tests of a model are applied to raw cells here, by code of its own: neither that of
prediction nor that of a search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from odtdsl.auditor.rows import MISSING, AuditRows
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.frozen import dataclass
from odtdsl.datasets.dataset import ColumnType
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import AxisTest, Hyperplane, Node
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Side, Test, Threshold
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.validation import check_tree

MAX_AUDITED_PATHS = 200_000
"""Diagrams with more paths that differ in what they ask are not audited."""

TestedFeatures = tuple[tuple[str, ...], ...]
"""The features that each split of a path tests, from the root down."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathOn:
    """A root-to-leaf path.

    A split of a tree and an axis test have one feature, a hyperplane all that it weighs. On
    diagrams paths that ask the same are one.
    """

    rows: AuditRows
    tested: TestedFeatures


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafOn:
    """A leaf (of a diagram, a terminal that rows reach); `inside` are the places of its rows."""

    rows: AuditRows
    leaf: Leaf
    inside: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitOn:
    """A split.

    Attributes
    ----------
    features
        What it tests: one feature; of a hyperplane all that it weighs.
    test
        None for a hyperplane.
    missing
        The side of missing cells; None for a hyperplane.
    level
        0 at the root.
    left, right
        The places of the rows that it sends each way.
    size
        How many rows the model says reach it.
    """

    rows: AuditRows
    features: tuple[str, ...]
    test: Test | None
    missing: Side | None
    level: int
    left: IntArray
    right: IntArray
    size: int

    @property
    def inside(self) -> IntArray:
        """int64 (size,): the rows that reach the split, those that go left first."""
        return np.concatenate([self.left, self.right])


class ModelOn(ABC):
    """A model on rows.

    Attributes
    ----------
    rows
        The rows that it is audited on.
    predicted
        int64 (n_rows,): the class that each row gets; -1 for number targets.
    leaves
        Leaves from left to right.
    splits
        Splits, each before those below it.
    depth
        Splits on the longest path.
    """

    rows: AuditRows
    predicted: IntArray
    leaves: tuple[LeafOn, ...]
    splits: tuple[SplitOn, ...]
    depth: int
    kind: str

    @property
    @abstractmethod
    def paths(self) -> tuple[PathOn, ...]:
        """All paths."""

    @property
    @abstractmethod
    def paths_taken(self) -> tuple[tuple[frozenset[str], IntArray], ...]:
        """The sets of features that rows are tested on, each with its rows."""


class TreeOn(ModelOn):
    """A tree on rows.

    Attributes
    ----------
    leaf_of
        int64 (n_rows,): position of each row's leaf, from left to right.
    """

    kind = "tree"

    def __init__(self, tree: Tree, rows: AuditRows) -> None:
        if broken := check_tree(tree):
            raise OdtError(broken)
        self.tree, self.rows = tree, rows
        _readable(tree, rows)
        self.predicted = np.full(rows.n_rows, -1, dtype=np.int64)
        self.leaf_of: IntArray = np.zeros(rows.n_rows, dtype=np.int64)
        leaves: list[LeafOn] = []
        splits: list[SplitOn] = []
        tested: list[TestedFeatures] = []
        types = {type_.name: type_ for type_ in tree.features}
        stack: list[tuple[Branch | Leaf, IntArray, TestedFeatures]] = [
            (tree.root, np.arange(rows.n_rows), ())
        ]
        while stack:
            node, inside, above = stack.pop()
            if isinstance(node, Leaf):
                self.leaf_of[inside] = len(leaves)
                if node.label is not None:
                    self.predicted[inside] = node.label
                leaves.append(LeafOn(rows=rows, leaf=node, inside=inside))
                tested.append(above)
                continue
            goes = goes_left(rows, types[node.feature], node.test, node.missing, inside)
            split = SplitOn(
                rows=rows,
                features=(node.feature,),
                test=node.test,
                missing=node.missing,
                level=len(above),
                left=inside[goes],
                right=inside[~goes],
                size=node.size,
            )
            splits.append(split)
            here = (*above, (node.feature,))
            stack += [(node.right, split.right, here), (node.left, split.left, here)]
        self.leaves, self.splits, self._tested = tuple(leaves), tuple(splits), tuple(tested)
        self.depth = max(map(len, tested))

    @cached_property
    def paths(self) -> tuple[PathOn, ...]:
        """One path per leaf, from left to right."""
        return tuple(PathOn(rows=self.rows, tested=tested) for tested in self._tested)

    @cached_property
    def paths_taken(self) -> tuple[tuple[frozenset[str], IntArray], ...]:
        """Per leaf, the features tested on its path, and its rows."""
        return tuple(
            (frozenset(name for names in tested for name in names), leaf.inside)
            for tested, leaf in zip(self._tested, self.leaves, strict=True)
        )


class DiagramOn(ModelOn):
    """A diagram on rows."""

    kind = "diagram"

    def __init__(self, diagram: Diagram, rows: AuditRows) -> None:
        if broken := diagram.faults():
            raise OdtError(broken)
        self.diagram, self.rows, self.depth = diagram, rows, len(diagram.layers)
        _readable(diagram, rows)
        entry = diagram.entry.label
        self.predicted = np.full(rows.n_rows, 0 if entry is None else entry, dtype=np.int64)
        splits: list[SplitOn] = []
        here = {} if entry is not None else {diagram.entry.node: [np.arange(rows.n_rows)]}
        for level, layer in enumerate(diagram.layers):
            below: dict[int | None, list[IntArray]] = {}
            for place, node in enumerate(layer):
                inside = np.concatenate([np.zeros(0, dtype=np.int64), *here.get(place, [])])
                goes = self._goes_left(node, inside)
                split = _split_of(node, rows, level, inside[goes], inside[~goes])
                splits.append(split)
                for arc, some in ((node.left, split.left), (node.right, split.right)):
                    if arc.label is not None:
                        self.predicted[some] = arc.label
                    else:
                        below.setdefault(arc.node, []).append(some)
            here = below
        self.splits = tuple(splits)
        self.leaves = tuple(
            LeafOn(
                rows=rows, leaf=Leaf(label=label), inside=np.flatnonzero(self.predicted == label)
            )
            for label in np.unique(self.predicted).tolist()
        )

    def _goes_left(self, node: Node, inside: IntArray) -> BoolArray:
        types = {type_.name: type_ for type_ in self.diagram.features}
        split = node.split
        if isinstance(split, AxisTest):
            return goes_left(self.rows, types[split.feature], split.test, split.missing, inside)
        return _below(split, self.rows, types, inside)

    @cached_property
    def paths(self) -> tuple[PathOn, ...]:
        """All paths, one for each sequence of tested features.

        Raises U330 beyond `MAX_AUDITED_PATHS` of them.
        """
        ended: dict[TestedFeatures, None] = {}
        here: dict[int | None, dict[TestedFeatures, None]] = {self.diagram.entry.node: {(): None}}
        if self.diagram.entry.node is None:
            ended, here = here[None], {}
        for layer in self.diagram.layers:
            below: dict[int | None, dict[TestedFeatures, None]] = {}
            for place, node in enumerate(layer):
                longer = {(*tested, node.features): None for tested in here.get(place, ())}
                for arc in (node.left, node.right):
                    ends = arc.node is None
                    (ended if ends else below.setdefault(arc.node, {})).update(longer)
            here = below
            if len(ended) + sum(map(len, here.values())) > MAX_AUDITED_PATHS:
                raise error(
                    "U330",
                    f"the diagram has more than {MAX_AUDITED_PATHS} paths that test"
                    " different features",
                    helps=("bound its depth, or remove the path rules",),
                )
        return tuple(PathOn(rows=self.rows, tested=tested) for tested in ended)

    @cached_property
    def paths_taken(self) -> tuple[tuple[frozenset[str], IntArray], ...]:
        """The sets of features that rows are tested on, each with its rows, ascending."""
        used = list(dict.fromkeys(name for split in self.splits for name in split.features))
        tested = np.zeros((self.rows.n_rows, len(used)), dtype=bool)
        for split in self.splits:
            for name in split.features:
                tested[split.inside, used.index(name)] = True
        sets, which = np.unique(tested, axis=0, return_inverse=True)
        return tuple(
            (
                frozenset(name for name, is_tested in zip(used, one, strict=True) if is_tested),
                np.flatnonzero(which.reshape(-1) == place),
            )
            for place, one in enumerate(sets.tolist())
        )


Place = ModelOn | PathOn | LeafOn | SplitOn
"""What a term speaks of."""


def model_on(model: Predictor, rows: AuditRows) -> TreeOn | DiagramOn:
    """A model of either kind on rows."""
    if isinstance(model, Diagram):
        return DiagramOn(model, rows)
    assert isinstance(model, Tree), "a model is a tree or a diagram"
    return TreeOn(model, rows)


def goes_left(
    rows: AuditRows, type_: ColumnType, test: Test, missing: Side, inside: IntArray
) -> BoolArray:
    """bool (len(inside),): which rows a test of one column sends left."""
    found: BoolArray
    if type_.kind != "number":
        assert not isinstance(test, InBin), "bins are of numbers"
        ranks, rank = rows.ranks(type_)[inside], type_.levels.index(test.value)
        under = (ranks >= 0) & (ranks <= rank)
        found = under if isinstance(test, Threshold) else ranks == rank
        return np.where(ranks == MISSING, missing == "left", found)
    numbers = rows.numbers(type_.name)[inside]
    match test:
        case Threshold():
            found = numbers <= float(test.value)
        case Equals():
            found = numbers == float(test.value)
        case InBin():
            under = numbers <= test.high if test.closed else numbers < test.high
            found = (test.low <= numbers) & under
    return np.where(np.isnan(numbers), missing == "left", found)


def _below(
    plane: Hyperplane, rows: AuditRows, types: dict[str, ColumnType], inside: IntArray
) -> BoolArray:
    """bool (len(inside),): which rows a hyperplane sends left; summed in the order of weights."""
    total = np.zeros(len(inside))
    for weight in plane.weights:
        type_ = types[weight.feature]
        if weight.value is not None:
            ranks = rows.ranks(type_)[inside]
            total += weight.weight * (ranks == type_.levels.index(weight.value))
        elif type_.kind != "number":
            total += weight.weight * rows.ranks(type_)[inside]
        else:
            total += weight.weight * rows.numbers(type_.name)[inside]
    found: BoolArray = total < plane.bound
    return found


def _split_of(node: Node, rows: AuditRows, level: int, left: IntArray, right: IntArray) -> SplitOn:
    axis = node.split if isinstance(node.split, AxisTest) else None
    return SplitOn(
        rows=rows,
        features=node.features,
        test=None if axis is None else axis.test,
        missing=None if axis is None else axis.missing,
        level=level,
        left=left,
        right=right,
        size=node.size,
    )


def _readable(model: Predictor, rows: AuditRows) -> None:
    """Let the predictor say what is wrong with cells that its tests cannot read."""
    tested = set(model.tested)
    for type_ in model.features:
        if type_.name in tested and not _fits(model, type_, rows):
            model.apply(rows.table)
            raise error("X201", f"the cells of `{type_.name}` do not fit its type")


def _fits(model: Predictor, type_: ColumnType, rows: AuditRows) -> bool:
    column = rows.column(type_.name)
    if column is None:
        return False
    if isinstance(model, Diagram) and rows.missing(type_.name).any():
        planes = [node.split for node in model.nodes() if isinstance(node.split, Hyperplane)]
        if any(weight.feature == type_.name for plane in planes for weight in plane.weights):
            return False
    if type_.kind == "number":
        return column.numbers is not None
    return type_.kind != "ordered" or bool((rows.ranks(type_) >= MISSING).all())
