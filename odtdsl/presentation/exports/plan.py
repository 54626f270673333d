"""What all exports write down: a model as nested questions to cells, diagrams unrolled.

A format sees columns of numbers or of texts, and three kinds of questions to one of them. What
`predict` does with missing cells, unseen categories and levels that are numbers is settled here,
once, so that no format has an opinion of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.printing import printable
from odtdsl.datasets.cells import number_of
from odtdsl.datasets.dataset import ColumnType, Day, Value
from odtdsl.datasets.levels import by_number, level_text
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Hyperplane, Split, Weight
from odtdsl.predictors.leaves import leaves_of
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold, TreeNode
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree

MOST_SPLITS = 10_000
"""Larger models are not exported: compilers and databases have limits of their own nearby."""

TITLE = rb"[^\n]* by a decision (tree of \d+ splits?|diagram of \d+ nodes?, written as \d+ splits?)"
"""How a `Plan.title` reads, as a regular expression."""

Cell = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that the model tests.

    Attributes
    ----------
    name, position
        Its name, and its place among all features of the model.
    kind
        Whether cells are numbers or texts. Levels that are all numbers make a column of numbers.
    levels
        The known cells by rank; empty for plain numbers.
    ordered
        Whether `predict` refuses a cell that is no level.
    weighed
        Whether `predict` refuses a missing cell, because a hyperplane weighs it.
    by_value
        Whether a text that is no level is the first level that reads as the same number.
    numerals
        Of texts: the numbers that levels read as, each with the texts of these levels. The number
        4 is the level "04" where no other level reads as it; formats that compare texts know only
        "04".
    """

    name: str
    position: int
    kind: Literal["number", "text"]
    levels: tuple[Cell, ...]
    ordered: bool
    weighed: bool
    by_value: bool = False
    numerals: tuple[tuple[int | float, tuple[str, ...]], ...] = ()

    @property
    def level_texts(self) -> tuple[str, ...]:
        """The levels as data write them, whole numbers without a point."""
        return tuple(
            level_text(int(level))
            if not isinstance(level, str) and level.is_integer() and _is_float(int(level))
            else level_text(level)
            for level in self.levels
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """`cell <= value`, of numbers."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """`low <= cell < high`, of numbers (`<=` where `closed`); either end may be infinite."""

    low: float
    high: float
    closed: bool

    @property
    def ends(self) -> tuple[tuple[Literal[">=", "<=", "<"], float], ...]:
        """What cells within compare as, each with its number: of finite ends only."""
        ends: list[tuple[Literal[">=", "<=", "<"], float]] = []
        if not math.isinf(self.low):
            ends.append((">=", self.low))
        if not math.isinf(self.high):
            ends.append(("<=" if self.closed else "<", self.high))
        return tuple(ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The cell is one of the values: numbers or texts, as the column has them; none passes
    where there are none."""

    values: tuple[Cell, ...]


Condition = AtMost | Within | OneOf

Reader = Literal["number", "text", "cell", "known", "there"]
"""What programs read cells with: numbers or texts, both by way of cells; and what refuses cells
that are no level, or missing ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTest:
    """A question to the cell of `columns[column]`; `missing`: whether missing cells pass."""

    column: int
    condition: Condition
    missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What a hyperplane adds: `weight` times the number, the rank, or 1 where the cell is
    `value`."""

    column: int
    weight: float
    value: Cell | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The sum of the terms, from left to right in float64, is below `bound`."""

    terms: tuple[Term, ...]
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A split: rows that pass go to `left`, the others to `right`."""

    question: CellTest | Plane
    left: Item
    right: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A leaf: its position in `Plan.leaves`."""

    leaf: int


Item = Fork | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A model as the exports see it.

    Attributes
    ----------
    kind
        What messages and comments call it.
    root
        The topmost split, or the only leaf.
    columns
        The tested columns, in the order of the features.
    leaves
        What ends say; of a diagram one for each class that is reached.
    features, targets, classes
        As of the model.
    n_splits, n_ends
        Splits and ends, with all repetitions.
    n_nodes
        Of a diagram: the nodes it has itself; None of a tree.
    costs
        Amounts of a spec, each paid once by a path that asks for one of its features.
    """

    kind: Literal["tree", "diagram"]
    root: Item
    columns: tuple[Column, ...]
    leaves: tuple[Leaf, ...]
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...]
    n_splits: int
    n_nodes: int | None
    costs: tuple[tuple[Fraction, frozenset[str]], ...] = ()

    @property
    def title(self) -> str:
        """What it predicts and how large it is, on one line."""
        targets = ", ".join(map(printable, self.targets))
        splits = f"{self.n_splits} split" + "s" * (self.n_splits != 1)
        if self.n_nodes is None:
            return f"{targets} by a decision tree of {splits}"
        nodes = f"{self.n_nodes} node" + "s" * (self.n_nodes != 1)
        return f"{targets} by a decision diagram of {nodes}, written as {splits}"

    @property
    def refusing(self) -> tuple[Column, ...]:
        """Columns of which `predict` refuses some cells."""
        return tuple(c for c in self.columns if c.ordered or c.weighed)

    @property
    def literal(self) -> tuple[Column, ...]:
        """Columns of texts of which some are numbers, to be written as the levels are."""
        return tuple(c for c in self.columns if c.numerals)

    @property
    def readers(self) -> tuple[Reader, ...]:
        """What a program needs to read its columns."""
        needed: dict[Reader, bool] = {
            "number": any(c.kind == "number" for c in self.columns),
            "text": any(c.kind == "text" for c in self.columns),
            "cell": bool(self.columns),
            "known": any(c.ordered for c in self.columns),
            "there": any(c.weighed for c in self.columns),
        }
        return tuple(reader for reader in needed if needed[reader])

    def forks(self) -> Iterator[Fork]:
        """All splits, each before those below it, left before right."""
        stack: list[Item] = [self.root]
        while stack:
            item = stack.pop()
            if isinstance(item, Fork):
                yield item
                stack.extend((item.right, item.left))


def plan_of(model: Predictor) -> Plan:
    """The plan of a model.

    Raises
    ------
    OdtError
        F207 to F210: the model is not well formed; U372: it has more than `MOST_SPLITS` splits,
        those of a diagram counted once for every path that leads to them.
    """
    if broken := model.faults():
        raise OdtError(broken)
    columns = _columns(model)
    reader = _Reader(columns, {type_.name: type_ for type_ in model.features})
    n_splits, n_nodes = model.n_splits, None
    if isinstance(model, Diagram):
        n_splits, n_nodes = _unrolled(model), model.n_splits
    _room(n_splits, n_nodes)
    if isinstance(model, Tree):
        root = _of_tree(model.root, reader)
    else:
        assert isinstance(model, Diagram), "a model is a tree or a diagram"
        root = _of_diagram(model, reader)
    return Plan(
        kind=model.kind,
        root=root,
        columns=columns,
        leaves=tuple(map(_floats, model.leaves)),
        features=model.features,
        targets=leaves_of(model).names(model),
        classes=model.classes,
        n_splits=n_splits,
        n_nodes=n_nodes,
    )


def _floats(leaf: Leaf) -> Leaf:
    if leaf.output is None:
        return leaf
    return replace(leaf, output=tuple(x if isinstance(x, Day) else float(x) for x in leaf.output))


def _room(n_splits: int, n_nodes: int | None) -> None:
    if n_splits <= MOST_SPLITS:
        return
    whole = f"a tree of {n_splits:,} splits"
    if n_nodes is not None:
        whole = (
            f"a diagram of {n_nodes:,} nodes, which becomes {whole} once shared nodes are repeated,"
        )
    raise error(
        "U372",
        f"{whole} is too large to export: the limit is {MOST_SPLITS:,} splits",
        helps=(
            (
                "use fewer layers or splits, or keep the JSON file and predict with "
                "`odtdsl.load_model`"
            ),
        ),
    )


def described(plan: Plan) -> dict[str, Any]:
    """What formats with room for it say of the data: columns with their levels, targets,
    classes."""
    return {
        "features": [type_.name for type_ in plan.features],
        "columns": [
            {"name": c.name, "feature": c.position, "kind": c.kind, "levels": list(c.levels)}
            for c in plan.columns
        ],
        "targets": list(plan.targets),
        "classes": list(plan.classes),
    }


# ---- trees and diagrams


def _of_tree(root: TreeNode, reader: _Reader) -> Item:
    """Backwards each node comes after its children: the left one is on top."""
    order: list[TreeNode] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        if isinstance(node, Branch):
            stack.extend((node.right, node.left))
    leaf = sum(isinstance(node, Leaf) for node in order)
    done: list[Item] = []
    for node in reversed(order):
        if isinstance(node, Leaf):
            leaf -= 1
            done.append(End(leaf=leaf))
        else:
            left, right = done.pop(), done.pop()
            split = AxisTest(feature=node.feature, test=node.test, missing=node.missing)
            done.append(Fork(question=reader.question(split), left=left, right=right))
    return done.pop()


def _of_diagram(diagram: Diagram, reader: _Reader) -> Item:
    """From the last layer up; what is shared here is written out by whoever walks the plan."""
    place = {label: i for i, label in enumerate(diagram.reached)}
    below: list[Item] = []

    def at(arc: Arc) -> Item:
        if arc.node is not None:
            return below[arc.node]
        assert arc.label is not None, "check_diagram: an arc leads somewhere"
        return End(leaf=place[arc.label])

    for layer in reversed(diagram.layers):
        below = [
            Fork(question=reader.question(node.split), left=at(node.left), right=at(node.right))
            for node in layer
        ]
    return at(diagram.entry)


def _unrolled(diagram: Diagram) -> int:
    """Splits of the tree that a diagram makes: each node counts once for each path to it."""
    below: list[int] = []
    for layer in reversed(diagram.layers):
        sizes = [
            1 + sum(0 if arc.node is None else below[arc.node] for arc in (node.left, node.right))
            for node in layer
        ]
        below = sizes
    return 0 if diagram.entry.node is None else below[diagram.entry.node]


# ---- columns and questions


def _columns(model: Predictor) -> tuple[Column, ...]:
    tested = set(model.tested)
    weighed = model.weighed
    return tuple(
        _column(type_, position, type_.name in weighed)
        for position, type_ in enumerate(model.features)
        if type_.name in tested
    )


def _column(type_: ColumnType, position: int, weighed: bool) -> Column:
    numbers = all(not isinstance(level, str) and _is_float(level) for level in type_.levels)
    levels: tuple[Cell, ...] = tuple(
        float(level) if numbers and not isinstance(level, str) else level_text(level)
        for level in type_.levels
    )
    return Column(
        name=type_.name,
        position=position,
        kind="number" if numbers else "text",
        levels=levels,
        ordered=type_.kind == "ordered",
        weighed=weighed,
        by_value=type_.by_value,
        numerals=() if numbers else _numerals(type_.levels),
    )


def _is_float(level: int | float) -> bool:
    """Whether float64 tells a number from all others."""
    return isinstance(level, float) or abs(level) <= 2**53


def _numerals(levels: tuple[Value, ...]) -> tuple[tuple[int | float, tuple[str, ...]], ...]:
    """The numbers that stand for levels, each with their texts."""
    return tuple(
        (number, tuple(level_text(levels[i]) for i in same))
        for number, same in by_number(levels).items()
    )


class _Reader:
    """Turns splits into questions to the columns."""

    def __init__(self, columns: tuple[Column, ...], types: dict[str, ColumnType]) -> None:
        self.columns, self.types = columns, types
        self.at = {column.name: i for i, column in enumerate(columns)}

    def question(self, split: Split) -> CellTest | Plane:
        if isinstance(split, Hyperplane):
            return Plane(terms=tuple(map(self._term, split.weights)), bound=float(split.bound))
        column = self.at[split.feature]
        condition = self._condition(split.test, self.columns[column], self.types[split.feature])
        return CellTest(column=column, condition=condition, missing=split.missing == "left")

    def _term(self, weight: Weight) -> Term:
        at = self.at[weight.feature]
        value = None
        if weight.value is not None:
            rank = self.types[weight.feature].levels.index(weight.value)
            value = self.columns[at].levels[rank]
        return Term(column=at, weight=float(weight.weight), value=value)

    def _condition(self, test: Test, column: Column, type_: ColumnType) -> Condition:
        if isinstance(test, InBin):
            if test.low == -math.inf and test.closed and test.high < math.inf:
                return AtMost(value=_shown(type_, test.high))
            low, high = _shown(type_, test.low), _shown(type_, test.high)
            return Within(low=low, high=high, closed=test.closed)
        if type_.kind == "number":
            value = float(test.value)
            asks = isinstance(test, Threshold)
            return AtMost(value=_shown(type_, value)) if asks else OneOf(values=(value,))
        rank = type_.levels.index(test.value)
        first = 0 if isinstance(test, Threshold) else rank
        assert isinstance(test, (Threshold, Equals)), "a column with levels has no bins"
        values = column.levels[first : rank + 1]
        return OneOf(values=tuple(v for v in values if _readable(v)))


def _shown(type_: ColumnType, value: float) -> float:
    """A float, which people read as a date where it counts days."""
    return type_.shown(float(value))


def _readable(value: Cell) -> bool:
    """Whether a cell can be this level: texts are read without blanks around them, and "" and
    "nan" as missing."""
    if not isinstance(value, str):
        return True
    number = number_of(value)
    return value != "" and value == value.strip() and (number is None or number == number)
