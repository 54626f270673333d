"""Splits and labels of a perfect tree as columns: what the models of trees have in common.

On a perfect tree of depth D (see `skeleton`), with branch nodes n and leaf slots t:

- `use(n,a)` the node tests column a; `cut(n,a,r)` its threshold index is r or more, for the
  admissible r of the node's level but the first: `use >= cut >= cut ...`;
  `is(n,a,r)` it tests for value or bin r; `active(n)` is the sum of the uses.
- `active(child) <= active(parent)`; slot t is alive iff its gate is active (see
  `Perfect.gate`): `alive(t)` is that column, or 1.
- `label(t,c)`: `sum over c label(t,c) = alive(t)`.

All are binary. A tree is read from them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.milp.charges import Charges
from odtdsl.backends.milp.patterns import Patterns, find_patterns, sends_left
from odtdsl.backends.milp.program import SKELETON, Affine, Numbers, Program, safe_names
from odtdsl.backends.milp.skeleton import Perfect, place_tree, read_tree
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawTree

Tick = Callable[[], None]
"""Called often while building; raises to stop."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTests:
    """The tests of one family at one node.

    Attributes
    ----------
    tests
        int64 (k,): the admissible tests, ascending.
    columns
        int64 (k,): thresholds: column j is 1 iff the test is `tests[j]` or a later one; else iff
        the test is `tests[j]`.
    """

    family: int
    tests: IntArray
    columns: IntArray

    def use(self, chained: bool) -> Affine:
        """1 where the node tests the column; of a chain of thresholds its first column tells."""
        picked = self.columns[:1] if chained else self.columns
        return Affine().add_terms(picked, np.ones_like(picked))


def tests_by_level(core: Core, depth: int) -> tuple[tuple[IntArray, ...], ...]:
    """The admissible tests per level and family, ascending."""
    filters = by_column(core.filters)
    return tuple(
        tuple(
            np.flatnonzero(tests_at(family, filters.get(family.column, []), level)).astype(np.int64)
            for family in core.families
        )
        for level in range(depth)
    )


def usable_tests(core: Core, levels: tuple[tuple[IntArray, ...], ...]) -> tuple[IntArray, ...]:
    """Per family the tests that any level admits."""
    return tuple(_any_of([level[i] for level in levels]) for i in range(len(core.families)))


def _any_of(of_levels: Sequence[IntArray]) -> IntArray:
    """The numbers in any of several ascending arrays, which are often alike."""
    if not of_levels:
        return np.zeros(0, dtype=np.int64)
    first, *others = of_levels
    if all(np.array_equal(first, other) for other in others):
        return first
    return np.unique(np.concatenate(of_levels))


class Splits:
    """The tests of a number of nodes as columns, and which are active.

    Attributes
    ----------
    program
        Where columns and rows go.
    active
        Column of `active(n)` per branch node.
    tests
        The tests per branch node.
    several
        A node tests one column.
    """

    several = False

    def __init__(self, core: Core, depth: int, levels: Sequence[int], tick: Tick) -> None:
        """`levels` are those of the nodes, in their order, below `depth`."""
        self.core = core
        self.program = Program()
        self.charges = Charges()
        self._tick = tick
        tick()
        self._levels = tests_by_level(core, depth)
        self.patterns: Patterns = find_patterns(core, usable_tests(core, self._levels))
        tick()
        self.column_names = safe_names(core.columns)
        self._use: list[dict[int, Affine]] = []
        self.tests: list[tuple[NodeTests, ...]] = []
        self.active: list[int] = []
        for node, level in enumerate(levels):
            self._branch(node, level)

    def use(self, node: int, column: int) -> Affine:
        """1 iff the node tests the column."""
        return self._use[node].get(column, Affine())

    def is_active(self, node: int) -> Affine:
        """1 where the branch node has a split, else 0."""
        return Affine().add_term(self.active[node])

    def _branch(self, node: int, level: int) -> None:
        found: list[NodeTests] = []
        for index, family in enumerate(self.core.families):
            usable = self._levels[level][index]
            if len(usable):
                found.append(self._family_columns(node, index, family, usable))
                self._tick()
        self.tests.append(tuple(found))
        self._use.append(self._uses(node))
        active = self.program.column(f"active(n{node})", integer=True)
        self.active.append(active)
        one = Affine().add_term(active, -1)
        for tested in self._use[node].values():
            one.add(tested)
        self.program.row(f"test(n{node})", SKELETON, one, lower=0, upper=0)
        self._tick()

    def _family_columns(self, node: int, index: int, family: Family, usable: IntArray) -> NodeTests:
        name = f"n{node},{self.column_names[family.column]}"
        twins = sum(other.column == family.column for other in self.core.families)
        if twins > 1:
            name += f",missing_{family.missing}"
        if family.kind == "threshold":
            names = [f"use({name})", *(f"cut({name},{r})" for r in usable[1:].tolist())]
        elif len(usable) == 1 and twins == 1:
            names = [f"use({name})"]
        else:
            names = [f"is({name},{r})" for r in usable.tolist()]
        columns = self.program.columns(names, integer=True)
        if family.kind == "threshold" and len(columns) > 1:
            made = self.program.column_names[-len(columns) + 1 :]
            pairs = np.stack([columns[1:], columns[:-1]], axis=1)
            self.program.alike([f"chain_{later}" for later in made], SKELETON, pairs, (1, -1))
        return NodeTests(family=index, tests=usable, columns=columns)

    def _uses(self, node: int) -> dict[int, Affine]:
        sums: dict[int, Affine] = {}
        for part in self.tests[node]:
            family = self.core.families[part.family]
            tested = part.use(family.kind == "threshold")
            sums.setdefault(family.column, Affine()).add(tested)
        for column, tested in sums.items():
            if len(tested.terms) > 1:  # a column of its own keeps rules short
                name = f"use(n{node},{self.column_names[column]})"
                own = self.program.column(name, integer=True)
                row = tested.copy().add_term(own, -1)
                self.program.row(f"sum_{name}", SKELETON, row, lower=0, upper=0)
                sums[column] = Affine().add_term(own)
        return sums

    def lefts(self, node: int) -> tuple[IntArray, IntArray]:
        """Pairs of a pattern and a column of a test that sends it left."""
        rows: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        columns: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        for part in self.tests[node]:
            codes = self.patterns.codes[part.family]
            if self.core.families[part.family].kind == "threshold":
                ranks = np.searchsorted(part.tests, codes)
                reached = np.flatnonzero(ranks < len(part.tests))
                rows.append(reached)
                columns.append(part.columns[ranks[reached]])
                continue
            for test, column in zip(part.tests.tolist(), part.columns.tolist(), strict=True):
                reached = np.flatnonzero((codes == test) | (codes == -1))
                rows.append(reached)
                columns.append(np.full(len(reached), column, dtype=np.int64))
        return np.concatenate(rows), np.concatenate(columns)

    def _zeros(self, node: int) -> dict[int, int]:
        """All columns of a node's tests, at 0."""
        found = {self.active[node]: 0}
        for part in self.tests[node]:
            found.update((column, 0) for column in part.columns.tolist())
        for tested in self._use[node].values():
            found.update((column, 0) for column in tested.terms)
        return found

    def _decode_test(self, node: int, point: Numbers) -> tuple[int, int]:
        for part in self.tests[node]:
            on = [j for j, column in enumerate(part.columns.tolist()) if point[column] > 0.5]
            if on:
                return part.family, int(part.tests[on[-1]])
        raise RuntimeError(f"an active node {node} tests nothing")

    def _among(self, alike: list[int], tests: IntArray, test: int) -> int:
        """Which of the thresholds that part the rows at a node alike stands for a given one."""
        return min(alike, key=lambda j: (abs(int(tests[j]) - test), j))

    def _choose(
        self, node: int, family: int, test: int, here: IntArray, values: dict[int, int]
    ) -> BoolArray | None:
        part = next((p for p in self.tests[node] if p.family == family), None)
        if part is None:
            return None
        inside = np.zeros(self.patterns.count, dtype=bool)
        inside[here] = True
        sent = sends_left(self.core, self.patterns, inside, family, test)
        if sent is None:
            return None
        left: BoolArray = sent[here]
        codes = self.patterns.codes[family][here]
        if self.core.families[family].kind == "threshold":
            alike = [j for j, r in enumerate(part.tests.tolist()) if ((codes <= r) == left).all()]
            on = list(range(self._among(alike, part.tests, test) + 1)) if alike else []
        else:
            on = np.flatnonzero(part.tests == test).tolist()
        if not on:
            return None
        values.update((int(part.columns[j]), 1) for j in on)
        for column in self.use(node, self.core.families[family].column).terms:
            values[column] = 1
        return left


class Structure(Splits):
    """Splits and labels of one problem at one depth.

    Attributes
    ----------
    perfect
        The tree that it lives on.
    label
        int64 (n_slots, n_classes): columns.
    """

    def __init__(self, core: Core, depth: int, tick: Tick) -> None:
        self.perfect = Perfect(depth)
        levels = [self.perfect.level(node) for node in range(self.perfect.n_branches)]
        super().__init__(core, depth, levels, tick)
        self._shape()
        self.label = self._labels()

    # ---- what clauses read

    def alive(self, slot: int) -> Affine:
        """1 where the slot is a leaf of the tree, else 0."""
        gate = self.perfect.gate(slot)
        return Affine(constant=1) if gate is None else self.is_active(gate)

    def slot_name(self, slot: int) -> str:
        """The name of a leaf slot, numbered after the branch nodes."""
        return f"n{self.perfect.n_branches + slot}"

    # ---- structure

    def _shape(self) -> None:
        for node in range(1, self.perfect.n_branches):
            parent = (node - 1) // 2
            row = self.is_active(node).add(self.is_active(parent), -1)
            self.program.row(f"below(n{node})", SKELETON, row, upper=0)
        leaves = self.core.tree.leaves
        if leaves is not None and leaves < self.perfect.n_leaves:
            row = Affine()
            for active in self.active:
                row.add_term(active)
            self.program.row("leaves", SKELETON, row, upper=leaves - 1)

    def _labels(self) -> IntArray:
        labels: list[IntArray] = []
        for slot in range(self.perfect.n_leaves):
            name = self.slot_name(slot)
            columns = self.program.columns(
                [f"label({name},c{c})" for c in range(self.core.n_classes)], integer=True
            )
            row = Affine().add_terms(columns, np.ones_like(columns)).add(self.alive(slot), -1)
            self.program.row(f"one_label({name})", SKELETON, row, lower=0, upper=0)
            labels.append(columns)
        return np.array(labels, dtype=np.int64)

    # ---- trees in and out

    def decode(self, point: Numbers) -> RawTree:
        """The tree of a solution; tests, activity and labels are read, nothing else."""
        tests: dict[int, tuple[int, int]] = {}
        for node, active in enumerate(self.active):
            if point[active] > 0.5:
                tests[node] = self._decode_test(node, point)
        labels = {
            slot: int(np.argmax(point[columns])) if len(columns) else -1
            for slot, columns in enumerate(self.label)
        }
        return read_tree(self.perfect, tests, labels)

    def _chosen_columns(self, tree: RawTree) -> IntArray | None:
        """int64 (n_columns,): the `choices` of a tree, else 0; None where it does not fit."""
        choices = self.choices(tree)
        if choices is None:
            return None
        point = np.zeros(self.program.n_columns, dtype=np.int64)
        point[list(choices)] = list(choices.values())
        return point

    def choices(self, tree: RawTree) -> dict[int, int] | None:
        """Tests, activity and labels of a tree, as column to value; None where it does not fit.

        A threshold that no level admits moves to an admissible one that splits the rows at
        the node alike.
        """
        placed = place_tree(self.perfect, tree)
        if placed is None:
            return None
        values: dict[int, int] = dict.fromkeys(self.label.ravel().tolist(), 0)
        reach = {0: np.arange(self.patterns.count)}
        for node in range(self.perfect.n_branches):
            values.update(self._zeros(node))
            split = placed.splits.get(node)
            if split is None:
                continue
            values[self.active[node]] = 1
            here = reach[node]
            left = self._choose(node, split.family, split.test, here, values)
            if left is None:
                return None
            reach[2 * node + 1], reach[2 * node + 2] = here[left], here[~left]
        for slot, label in placed.labels.items():
            if label >= 0:
                values[int(self.label[slot, label])] = 1
        return values
