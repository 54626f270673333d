"""Trees of depth at most 2 by whole subtrees: one column per subtree below a test at the root.

Beside the splits and labels of `structure`, with tests r of the root, its children n = 1, 2 and
what may stand there, a leaf with a label or a test q with a label on each side:

- `below(n,r,...)`: the root tests r, and this subtree stands at n; `alone(c)`: the tree is a leaf;
- `sum of below(n,r,...) = [the root tests r]` for n = 1, 2; `sum of alone + active(n0) = 1`;
- `sum of below(n,.,...) that test q = [n tests q]`;
- `sum of below with label c at slot t, and of alone(c) at the last one, = label(t,c)`.

`[n tests q]` is a column, or in a chain of thresholds the difference of two. All but `below` and
`alone` are binary, and make these 0 or 1. The rows of a subtree are known, and so are all sums
over its leaves: a rule on the tree is one row with a coefficient per subtree. What rules refuse
of a subtree by itself makes no row but leaves its column out: see `parts`.

References: Firat, Crognier, Gabor, Hurkens and Zhang, "Column generation based heuristic for
learning classification trees" (2020), whose columns are paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from odtdsl.backends.milp.charges import Charges
from odtdsl.backends.milp.clauses import Rules
from odtdsl.backends.milp.encoding import Encoding
from odtdsl.backends.milp.formulation import Formulation, no_tick
from odtdsl.backends.milp.lowering import Lowered, deepest, ruled
from odtdsl.backends.milp.parts import Sums, find_parts, is_of_parts, keeping
from odtdsl.backends.milp.program import SKELETON, Affine, safe_name
from odtdsl.backends.milp.stage_choice import FIRST, StageChoice
from odtdsl.backends.milp.structure import Structure, Tick, tests_by_level
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Monotone, Origin, PathSum
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

MAX_SUBTREE_DEPTH = 2
"""Deeper trees have too many subtrees below the root."""

MAX_SUBTREE_COLUMNS = 60_000
"""Columns that may be made, before any is left out."""

WIDEST_SUM = 10**8
"""Sums over the rows of subtrees stay below: at the tolerance of `search.TIGHT`, which HiGHS also
keeps its linear programs to, a column then moves none by more than a tenth of a step."""


def fits(core: Core, depth: int) -> bool:
    """Whether the trees of a problem have few enough subtrees, and no order of predictions."""
    if core.targets is not None or not 1 <= depth <= MAX_SUBTREE_DEPTH:
        return False
    if any(isinstance(x.atom, Monotone) for clause in core.clauses for x in clause.literals):
        return False
    counts = [sum(len(tests) for tests in level) for level in tests_by_level(core, depth)]
    below = core.n_classes + (counts[1] * core.n_classes**2 if depth == MAX_SUBTREE_DEPTH else 0)
    return 2 * counts[0] * below <= MAX_SUBTREE_COLUMNS


class Subtrees(Structure):
    """The model of one problem at depth 1 or 2.

    Attributes
    ----------
    parts
        The subtrees that may stand below the root.
    below
        int64 (n_parts,): columns.
    alone
        int64 (n_classes,): columns, -1 where the leaf may not be alone.
    """

    def __init__(self, core: Core, depth: int, tick: Tick = lambda: None) -> None:
        super().__init__(core, depth, tick)
        self.charges = _PartCharges()
        self.tests_at = tuple(
            tuple(
                (part.family, test)
                for part in self.tests[self.perfect.at_level(level)[0]]
                for test in part.tests.tolist()
            )
            for level in range(depth)
        )
        parts, cells = find_parts(core, self.patterns, self.tests_at, tick)
        self.sums = Sums(core, self.patterns, self.tests_at, cells)
        self.parts, lone = keeping(core, self.sums, parts)
        tick()
        self.below = self.program.columns(self._names())
        self.alone: IntArray = np.full(core.n_classes, -1, dtype=np.int64)
        self.alone[lone] = self.program.columns([f"alone(c{c})" for c in np.flatnonzero(lone)])
        self._lone = np.flatnonzero(lone)
        self._link_root()
        self._link_tests()
        self._link_labels()
        tick()

    # ---- columns and rows

    def _names(self) -> list[str]:
        tests = [
            [f"{self.column_names[self.core.families[f].column]}.{test}" for f, test in level]
            for level in self.tests_at
        ]
        found = []
        parts = self.parts
        for node, root, test, (one, other) in zip(
            parts.node.tolist(),
            parts.root.tolist(),
            parts.test.tolist(),
            parts.labels.tolist(),
            strict=True,
        ):
            what = f"c{other}" if test < 0 else f"{tests[1][test]},c{one},c{other}"
            found.append(f"below(n{node},{tests[0][root]},{what})")
        return found

    def _link_root(self) -> None:
        """Something stands on both sides of a test at the root, or a leaf is alone."""
        none = Affine().add_term(self.active[0])
        none.add_terms(self.alone[self._lone], np.ones_like(self._lone))
        self.program.row("alone", SKELETON, none, lower=1, upper=1)
        tests, columns, values = self._picked(0)
        count = len(self.tests_at[0])
        for side in (0, 1):
            mine = np.flatnonzero(self.parts.side == side)
            self._equal(
                [f"stands(n{1 + side},{r})" for r in range(count)],
                self.parts.root[mine],
                self.below[mine],
                tests,
                columns,
                values,
            )

    def _link_tests(self) -> None:
        for node in range(1, self.perfect.n_branches):
            mine = np.flatnonzero((self.parts.node == node) & (self.parts.test >= 0))
            names = [f"tests(n{node},{q})" for q in range(len(self.tests_at[1]))]
            self._equal(names, self.parts.test[mine], self.below[mine], *self._picked(node))

    def _link_labels(self) -> None:
        parts = self.parts
        classes = np.arange(self.core.n_classes)
        for slot in range(self.perfect.n_leaves):
            place = self._slots == slot
            rows, columns = parts.labels[place], np.broadcast_to(self.below[:, None], place.shape)
            columns = columns[place]
            if slot == self.perfect.n_leaves - 1:
                rows = np.concatenate([rows, self._lone])
                columns = np.concatenate([columns, self.alone[self._lone]])
            names = [f"says({self.slot_name(slot)},c{c})" for c in classes]
            self._equal(names, rows, columns, classes, self.label[slot], np.ones_like(classes))

    def _picked(self, node: int) -> tuple[IntArray, IntArray, IntArray]:
        """`[the node tests q]` for all tests: which test, column and coefficient."""
        tests: list[int] = []
        columns: list[int] = []
        values: list[int] = []
        for part in self.tests[node]:
            own = part.columns.tolist()
            chained = self.core.families[part.family].kind == "threshold"
            first = len(set(tests))
            for i, column in enumerate(own):
                tests.append(first + i)
                columns.append(column)
                values.append(1)
                if chained and i + 1 < len(own):
                    tests.append(first + i)
                    columns.append(own[i + 1])
                    values.append(-1)
        return tuple(np.array(x, dtype=np.int64) for x in (tests, columns, values))  # type: ignore[return-value]

    def _equal(
        self,
        names: list[str],
        rows: IntArray,
        columns: IntArray,
        other_rows: IntArray,
        others: IntArray,
        values: IntArray,
    ) -> None:
        """Rows `sum of columns = sum of values times others`."""
        all_rows = np.concatenate([rows, other_rows])
        order = np.argsort(all_rows, kind="stable")
        starts = np.zeros(len(names) + 1, dtype=np.int64)
        np.cumsum(np.bincount(all_rows, minlength=len(names)), out=starts[1:])
        zeros = np.zeros(len(names), dtype=np.int64)
        self.program.block(
            names,
            SKELETON,
            starts=starts,
            columns=np.concatenate([columns, others])[order],
            values=np.concatenate([np.ones_like(rows), -values])[order],
            lower=zeros,
            upper=zeros,
        )

    @cached_property
    def _slots(self) -> IntArray:
        """int64 (n_parts, 2): the slots of a subtree's leaves, -1 for none."""
        ends = np.array(
            [[self.perfect.slots(n)[0], self.perfect.slots(n)[-1]] for n in (1, 2)], dtype=np.int64
        )
        slots: IntArray = np.where(self.parts.cells >= 0, ends[self.parts.side], -1)
        return slots

    # ---- what clauses read

    def inside(self, pattern: int, slot: int) -> Affine:
        """1 iff the pattern reaches the slot."""
        where = self.sums.cells[self.parts.cells, pattern] & (self._slots == slot)
        found = self.below[where.any(axis=1)]
        result = Affine().add_terms(found, np.ones_like(found))
        if slot == self.perfect.n_leaves - 1:
            result.add_terms(self.alone[self._lone], np.ones_like(self._lone))
        return result

    def at(self, pattern: int, node: int) -> Affine:
        """1 iff the pattern passes the node, or ends there; all do at the root."""
        result = Affine(constant=int(node == 0))
        if node > 0:
            for slot in self.perfect.slots(node):
                result.add(self.inside(pattern, slot))
        return result

    def spread(self, measure: Additive, slots: Sequence[int]) -> Affine:
        """Rows and outputs of a measure over the patterns in some slots; without the constant."""
        values = self.sums.of_leaves(measure, self.parts)
        values = np.where(np.isin(self._slots, list(slots)), values, 0).sum(axis=1)
        result = Affine().add_terms(self.below, values)
        if self.perfect.n_leaves - 1 in slots:
            result.add_terms(self.alone[self._lone], self.sums.of_all(measure)[self._lone])
        return result

    def of_model(self, measure: Additive) -> Affine:
        """Numerator of a measure of the model."""
        result = self.spread(measure, range(self.perfect.n_leaves))
        result.constant = measure.constant + measure.leaves
        for node, active in enumerate(self.active):
            result.add_term(active, measure.leaves)
            if measure.columns is not None:
                for column in self._use[node]:
                    result.add(self.use(node, column), int(measure.columns[column]))
        return result

    def of_paths(self, paths: PathSum) -> Affine:
        """Numerator of a path sum."""
        result = Affine().add_terms(self.below, self.sums.of_paths(paths, self.parts))
        alone = np.full(len(self._lone), self.sums.of_empty_path(paths), dtype=np.int64)
        return result.add_terms(self.alone[self._lone], alone)

    # ---- trees in

    def _among(self, alike: list[int], tests: IntArray, test: int) -> int:
        return min(alike)

    def assignment(self, tree: RawTree) -> IntArray | None:
        """All structural columns of a tree, int64 (n_columns,); None where it does not fit."""
        point = self._chosen_columns(tree)
        if point is None:
            return None
        if isinstance(tree, RawLeaf):
            columns = [int(self.alone[tree.label])]
        else:
            columns = [self._standing(point, tree, side) for side in (0, 1)]
        if min(columns) < 0:
            return None
        point[columns] = 1
        return point

    def _standing(self, point: IntArray, tree: RawSplit, side: int) -> int:
        """The column of the subtree on a side, its tests as chosen; -1 without one."""
        below = tree.right if side else tree.left
        root, test = self._chosen(point, 0), self._chosen(point, 1 + side)
        labels = (
            [-1, below.label]
            if isinstance(below, RawLeaf)
            else [leaf.label for leaf in (below.left, below.right) if isinstance(leaf, RawLeaf)]
        )
        parts = self.parts
        found = (parts.root == root) & (parts.side == side) & (parts.test == test)
        where = np.flatnonzero(found & (parts.labels == labels).all(axis=1))
        return int(self.below[where[0]]) if len(where) else -1

    def _chosen(self, point: IntArray, node: int) -> int:
        """The number of the test that the columns of a node choose; -1 without one."""
        if node >= self.perfect.n_branches:
            return -1
        tests, columns, values = self._picked(node)
        on = np.zeros(len(set(tests.tolist())), dtype=np.int64)
        np.add.at(on, tests, values * point[columns])
        return int(on.argmax()) if on.any() else -1


class _PartCharges(Charges):
    """What paths cost, known for each subtree: no columns are needed."""

    def total(self, encoding: Encoding, paths: PathSum, origin: Origin) -> Affine:
        assert isinstance(encoding, Subtrees)
        return encoding.of_paths(paths)


class SubtreeRules(Rules):
    """Rules on the model: only what `parts.keeping` does not see makes rows."""

    def __init__(self, encoding: Encoding, n_classes: int, tick: Tick) -> None:
        super().__init__(encoding, n_classes, tick)
        self._of_parts = False

    def add(self, clause: Clause) -> None:
        """Add a rule, unless sums over subtrees already hold it."""
        self._of_parts = is_of_parts(clause)
        if not self._of_parts or clause.scope is Scope.SPLIT:
            super().add(clause)

    def _instances(self, scope: Scope) -> list[tuple[str, Affine]]:
        found = super()._instances(scope)
        return found[:1] if self._of_parts else found  # of splits the root's


class WholeSubtrees(Formulation):
    """`pattern` where a problem is not for subtrees: deeper trees, many candidates, wide sums."""

    name = "subtrees"

    def beyond(self, core: Core) -> list[tuple[str, str]]:
        """Diagrams."""
        if isinstance(core.skeleton, TreeSkeleton):
            return []
        return [("diagrams", "its columns are subtrees of trees")]

    def same_as_default(self, core: Core) -> str:
        """Where the subtrees are too many, or their leaves predict numbers."""
        if core.targets is not None:
            return (
                "of trees of numbers `milp` has columns for whole leaves, whatever the formulation"
            )
        if fits(core, deepest(core)):
            return ""
        return (
            "whole subtrees are for trees of depth 1 or 2 with few candidates;"
            " `milp` is then the same by pattern flow"
        )

    def lower(
        self, core: Core, depth: int, choice: StageChoice = FIRST, tick: Tick = no_tick
    ) -> Lowered:
        """The program, where subtrees are few and their sums small enough for floats."""
        found = _lowered(core, depth, choice, tick) if fits(core, depth) else None
        return found or super().lower(core, depth, choice, tick)

    def comments(self, core: Core) -> list[str]:
        """The rules that leave columns out."""
        if not fits(core, deepest(core)):
            return []
        rules = dict.fromkeys(c.origin.rule for c in core.clauses if is_of_parts(c))
        return [
            f"subtrees that break rule_{safe_name(rule)} by themselves have no column"
            for rule in rules
        ]


def _lowered(core: Core, depth: int, choice: StageChoice, tick: Tick) -> Lowered | None:
    encoding = Subtrees(core, depth, tick)
    try:
        lowered = ruled(core, encoding, SubtreeRules(encoding, core.n_classes, tick), choice)
    except OdtError:  # more than nine digits
        return None
    program = lowered.program
    widest = int(np.abs(program.matrix().values).max(initial=0))
    widest = max([widest, *map(abs, program.objective.terms.values())])
    return lowered if widest <= WIDEST_SUM else None
