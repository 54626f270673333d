"""What the lowering of rules and stages needs of a model, and the search of an encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from odtdsl.backends.milp.patterns import Patterns
from odtdsl.backends.milp.program import Affine, Numbers, Program
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.forms import Additive, Origin, PathSum
from odtdsl.problem.ir.raw import RawTree


class Shape(Protocol):
    """The nodes of a model: branch nodes, leaf slots, and the nodes of each path."""

    @property
    def depth(self) -> int:
        """The most splits on a path."""

    @property
    def n_branches(self) -> int:
        """How many branch nodes there are, used or not."""

    @property
    def n_leaves(self) -> int:
        """How many leaf slots there are, used or not."""

    @property
    def ends(self) -> tuple[tuple[int, ...], ...]:
        """The branch nodes of each path, from the root down."""

    def at_level(self, level: int) -> range:
        """The branch nodes of a level; the root has level 0."""

    def slots(self, node: int) -> range:
        """The leaf slots below a branch node."""


class PathCharges(Protocol):
    """Sums over rows of what their paths cost."""

    def total(self, encoding: Encoding, paths: PathSum, origin: Origin) -> Affine:
        """The numerator of a path sum, equal to its value on every tree."""


class Encoding(Protocol):
    """What the lowering of rules and stages needs of a model of trees or diagrams."""

    program: Program
    patterns: Patterns
    column_names: tuple[str, ...]

    @property
    def several(self) -> bool:
        """Whether a node may test several columns, as hyperplanes do."""

    @property
    def charges(self) -> PathCharges:
        """What the tests on the way of every pattern cost."""

    @property
    def perfect(self) -> Shape:
        """The nodes that the columns are about."""

    def use(self, node: int, column: int) -> Affine:
        """1 where the node tests the column, else 0."""

    def is_active(self, node: int) -> Affine:
        """1 where the branch node has a split, else 0."""

    def alive(self, slot: int) -> Affine:
        """1 where the slot is a leaf of the model, else 0."""

    def slot_name(self, slot: int) -> str:
        """The name of a leaf slot in the program."""

    def inside(self, pattern: int, slot: int) -> Affine:
        """1 where the rows of a pattern reach the leaf slot, else 0."""

    def at(self, pattern: int, node: int) -> Affine:
        """1 where the rows of a pattern reach the branch node, else 0."""

    def spread(self, measure: Additive, slots: Sequence[int]) -> Affine:
        """The numerator of a measure over the rows that reach some leaf slots."""

    def of_model(self, measure: Additive) -> Affine:
        """The numerator of a measure of the whole model."""


class TreeEncoding(Encoding, Protocol):
    """An encoding of trees, and the way back."""

    def decode(self, point: Numbers) -> RawTree:
        """The tree of a solution."""

    def choices(self, tree: RawTree) -> dict[int, int] | None:
        """The columns that make the tree, as index to value; None where it does not fit."""

    def assignment(self, tree: RawTree) -> IntArray | None:
        """int64 (n_columns,): all structural columns of a tree; None where it does not fit."""
