"""Trees by pattern flow with ordered thresholds: the structural part of the model.

On a perfect tree of depth D (see `skeleton`), with branch nodes n, leaf slots t and
patterns x (see `patterns`), all columns between 0 and 1:

- `use(n,a)` the node tests column a; `cut(n,a,r)` its threshold index is r or more, for the
  admissible r of the node's level but the first: `use >= cut >= cut ...`;
  `is(n,a,r)` it tests for value or bin r; `active(n)` is the sum of the uses.
- `active(child) <= active(parent)`; slot t is alive iff its gate is active (see
  `Perfect.gate`): `alive(t)` is that column, or 1.
- `label(t,c)`: `sum over c label(t,c) = alive(t)`.
- `flow(x,t)`: `sum over t flow(x,t) = 1`; with `L(x,n)` the sum of the tests that send x left,
  `sum over t left of n flow(x,t) <= L(x,n)` and `sum over t right of n flow(x,t) <= 1 - L(x,n)`.
  `L` of a threshold chain is one of its columns: no big-M, no epsilon.
- `hit(x,c,t) <= label(t,c)`, `sum over c hit(x,c,t) <= flow(x,t)`: counted only where it helps.
- Reduced: `sum over x flow(x,t) >= alive(t)`; for thresholds of columns with missing cells also
  `sum over present x and t left (right) of n flow(x,t) >= use`.

Tests, activity and labels are binary; they determine all the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from odtdsl.data.table import BoolArray, IntArray
from odtdsl.ir.families import Family, admissible, threshold_set
from odtdsl.ir.forms import Additive, Core
from odtdsl.ir.raw import RawTree
from odtdsl.milp.charges import Charges
from odtdsl.milp.clauses import Point
from odtdsl.milp.patterns import Patterns, find_patterns, gain_pairs, gains_of, present, sends_left
from odtdsl.milp.program import FREE, SKELETON, Affine, Program, safe_names
from odtdsl.milp.skeleton import Perfect, place_tree, read_tree

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
        picked = self.columns[:1] if chained else self.columns
        return Affine().add_terms(picked, np.ones_like(picked))


def tests_by_level(core: Core, depth: int) -> tuple[tuple[IntArray, ...], ...]:
    """The admissible tests per level and family, ascending."""
    return tuple(
        tuple(
            np.flatnonzero(admissible(family, threshold_set(family, core.filters, level)))
            .astype(np.int64)
            for family in core.families
        )
        for level in range(depth)
    )  # fmt: skip


def usable_tests(core: Core, levels: tuple[tuple[IntArray, ...], ...]) -> tuple[IntArray, ...]:
    """Per family the tests that any level admits."""
    none = np.zeros(0, dtype=np.int64)
    return tuple(
        np.unique(np.concatenate([none, *(level[i] for level in levels)]))
        for i in range(len(core.families))
    )


class PatternFlow:
    """The model of one problem at one depth.

    Attributes
    ----------
    program
        Where columns and rows go.
    perfect
        The tree that it lives on.
    active
        Column of `active(n)` per branch node.
    tests
        The tests per branch node.
    flow
        int64 (n_patterns, n_slots): columns.
    label
        int64 (n_slots, n_classes): columns.
    hit
        int64 (n_patterns, n_classes, n_slots): columns, -1 where no measure gains.
    """

    def __init__(
        self, core: Core, depth: int, leaves: int | None, measures: Sequence[Additive],
        tick: Tick = lambda: None,
    ) -> None:  # fmt: skip
        self.core = core
        self.perfect = Perfect(depth)
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
        for node in range(self.perfect.n_branches):
            self._branch(node)
        self._shape(leaves)
        self.label = self._labels()
        self.flow = self._flows()
        self.hit = self._hits(list(measures))
        self._reduced()

    # ---- what clauses read

    def use(self, node: int, column: int) -> Affine:
        """1 iff the node tests the column."""
        return self._use[node].get(column, Affine())

    def is_active(self, node: int) -> Affine:
        return Affine().add_term(self.active[node])

    def alive(self, slot: int) -> Affine:
        gate = self.perfect.gate(slot)
        return Affine(constant=1) if gate is None else self.is_active(gate)

    def slot_name(self, slot: int) -> str:
        return f"n{self.perfect.n_branches + slot}"

    def inside(self, pattern: int, slot: int) -> Affine:
        """1 iff the pattern reaches the slot."""
        return Affine().add_term(int(self.flow[pattern, slot]))

    def at(self, pattern: int, node: int) -> Affine:
        """1 iff the pattern passes the node, or ends there; all do at the root."""
        if node == 0:
            return Affine(constant=1)
        flows = self.flow[pattern, list(self.perfect.slots(node))]
        return Affine().add_terms(flows, np.ones_like(flows))

    def spread(self, measure: Additive, slots: Sequence[int]) -> Affine:
        """Rows and outputs of a measure over the patterns in some slots; without the constant.

        Never below the true value, and equal to it for some hits.
        """
        gains = gains_of(measure, self.patterns, self.core.n_classes)
        result = Affine()
        where = np.asarray(slots, dtype=np.int64)
        heavy = np.flatnonzero(gains.worst)
        result.add_terms(
            self.flow[np.ix_(heavy, where)].ravel(), np.repeat(gains.worst[heavy], len(where))
        )
        x, c = np.nonzero(gains.gain)
        result.add_terms(self.hit[x, c][:, where].ravel(), -np.repeat(gains.gain[x, c], len(where)))
        return result

    def of_model(self, measure: Additive) -> Affine:
        """Numerator of a measure of the model, never below the true value."""
        gains = gains_of(measure, self.patterns, self.core.n_classes)
        result = Affine(constant=measure.constant + measure.leaves + int(gains.worst.sum()))
        x, c = np.nonzero(gains.gain)
        n_slots = self.perfect.n_leaves
        result.add_terms(self.hit[x, c].ravel(), -np.repeat(gains.gain[x, c], n_slots))
        for node, active in enumerate(self.active):
            result.add_term(active, measure.leaves)
            if measure.columns is not None:
                for column in self._use[node]:
                    result.add(self.use(node, column), int(measure.columns[column]))
        return result

    # ---- structure

    def _branch(self, node: int) -> None:
        level = self.perfect.level(node)
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
            pairs = np.stack([columns[1:], columns[:-1]], axis=1).ravel()
            zeros = np.zeros(len(columns) - 1, dtype=np.int64)
            made = self.program.column_names[-len(columns) + 1 :]
            self.program.block(
                [f"chain_{later}" for later in made], SKELETON,
                starts=np.arange(len(columns)) * 2, columns=pairs,
                values=np.tile(np.array([1, -1]), len(zeros)), lower=zeros - FREE, upper=zeros,
            )  # fmt: skip
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

    def _shape(self, leaves: int | None) -> None:
        for node in range(1, self.perfect.n_branches):
            parent = (node - 1) // 2
            row = self.is_active(node).add(self.is_active(parent), -1)
            self.program.row(f"below(n{node})", SKELETON, row, upper=0)
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

    # ---- flow

    def _flows(self) -> IntArray:
        count, slots = self.patterns.count, self.perfect.n_leaves
        names = [f"flow(p{x},{self.slot_name(t)})" for x in range(count) for t in range(slots)]
        flow = self.program.columns(names).reshape(count, slots)
        ones = np.ones(count, dtype=np.int64)
        self.program.block(
            [f"once(p{x})" for x in range(count)], SKELETON,
            starts=np.arange(count + 1) * slots, columns=flow.ravel(),
            values=np.ones(count * slots, dtype=np.int64), lower=ones, upper=ones,
        )  # fmt: skip
        for node in range(self.perfect.n_branches):
            self._sides(node, flow)
        return flow

    def _sides(self, node: int, flow: IntArray) -> None:
        """`left` and `right` rows of a node; at the root one equation says both."""
        count = self.patterns.count
        rows, columns = self._left(node)
        ones = np.ones(count, dtype=np.int64)
        left = flow[:, list(self.perfect.left_slots(node))]
        self._side_block(
            f"left(n{node},p", left, rows, columns, -1,
            lower=0 * ones if node == 0 else -FREE * ones, upper=0 * ones,
        )  # fmt: skip
        if node > 0:
            right = flow[:, list(self.perfect.right_slots(node))]
            self._side_block(
                f"right(n{node},p", right, rows, columns, 1, lower=-FREE * ones, upper=ones
            )
        self._tick()

    def _side_block(
        self, name: str, flows: IntArray, rows: IntArray, columns: IntArray, sign: int,
        lower: IntArray, upper: IntArray,
    ) -> None:  # fmt: skip
        count, width = flows.shape
        all_rows = np.concatenate([np.repeat(np.arange(count), width), rows])
        all_columns = np.concatenate([flows.ravel(), columns])
        values = np.concatenate(
            [np.ones(count * width, dtype=np.int64), np.full(len(rows), sign, dtype=np.int64)]
        )
        order = np.argsort(all_rows, kind="stable")
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(all_rows, minlength=count), out=starts[1:])
        self.program.block(
            [f"{name}{x})" for x in range(count)], SKELETON, starts=starts,
            columns=all_columns[order], values=values[order], lower=lower, upper=upper,
        )  # fmt: skip

    def _left(self, node: int) -> tuple[IntArray, IntArray]:
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

    def _hits(self, measures: list[Additive]) -> IntArray:
        count, slots, classes = self.patterns.count, self.perfect.n_leaves, self.core.n_classes
        hit = np.full((count, classes, slots), -1, dtype=np.int64)
        wanted = gain_pairs(measures, self.patterns, classes)
        x, c = np.nonzero(wanted)
        names = [
            f"hit(p{i},c{j},{self.slot_name(t)})"
            for i, j in zip(x.tolist(), c.tolist(), strict=True)
            for t in range(slots)
        ]
        hit[x, c] = self.program.columns(names).reshape(len(x), slots)
        self._hit_rows(hit, x, c)
        return hit

    def _hit_rows(self, hit: IntArray, x: IntArray, c: IntArray) -> None:
        slots = self.perfect.n_leaves
        hits = hit[x, c].ravel()
        labels = self.label[:, c].T.ravel()
        pairs = np.stack([hits, labels], axis=1).ravel()
        names = [f"if_label({self.program.column_names[h][4:]}" for h in hits.tolist()]
        zeros = np.zeros(len(hits), dtype=np.int64)
        self.program.block(
            names, SKELETON, starts=np.arange(len(hits) + 1) * 2, columns=pairs,
            values=np.tile(np.array([1, -1]), len(hits)), lower=zeros - FREE, upper=zeros,
        )  # fmt: skip
        self._tick()
        for pattern in np.unique(x).tolist():
            mine = hit[pattern][hit[pattern, :, 0] >= 0]
            flow = self.flow[pattern]
            block = np.concatenate([mine, flow[None, :]]).T
            values = np.array([1] * len(mine) + [-1], dtype=np.int64)
            nothing = np.zeros(slots, dtype=np.int64)
            self.program.block(
                [f"if_flow(p{pattern},{self.slot_name(t)})" for t in range(slots)], SKELETON,
                starts=np.arange(slots + 1) * block.shape[1], columns=block.ravel(),
                values=np.tile(values, slots), lower=nothing - FREE, upper=nothing,
            )  # fmt: skip
        self._tick()

    def _reduced(self) -> None:
        for slot in range(self.perfect.n_leaves):
            if self.perfect.depth == 0:
                return
            row = Affine().add(self.alive(slot), -1)
            row.add_terms(self.flow[:, slot], np.ones(self.patterns.count, dtype=np.int64))
            self.program.row(f"row_in({self.slot_name(slot)})", SKELETON, row, lower=0)
        for node, parts in enumerate(self.tests):
            for part in parts:
                self._present(node, part)

    def _present(self, node: int, part: NodeTests) -> None:
        """A threshold lies between two values among the rows at the node."""
        family = self.core.families[part.family]
        known = np.flatnonzero(present(family, self.patterns.codes[part.family]))
        if family.kind != "threshold" or len(known) == self.patterns.count:
            return
        name = self.program.column_names[int(part.columns[0])]
        sides = (("left", self.perfect.left_slots(node)), ("right", self.perfect.right_slots(node)))
        for side, slots in sides:
            row = Affine().add(part.use(True), -1)
            flows = self.flow[np.ix_(known, np.asarray(slots))].ravel()
            row.add_terms(flows, np.ones_like(flows))
            self.program.row(f"value_{side}_{name}", SKELETON, row, lower=0)

    # ---- trees in and out

    def decode(self, point: Point) -> RawTree:
        """The tree of a solution; tests, activity and labels are read, nothing else."""
        tests: dict[int, tuple[int, int]] = {}
        for node, active in enumerate(self.active):
            if point[active] > 0.5:
                tests[node] = self._decode_test(node, point)
        labels = {
            slot: int(np.argmax([point[column] for column in columns.tolist()]))
            for slot, columns in enumerate(self.label)
        }
        return read_tree(self.perfect, tests, labels)

    def _decode_test(self, node: int, point: Point) -> tuple[int, int]:
        for part in self.tests[node]:
            on = [j for j, column in enumerate(part.columns.tolist()) if point[column] > 0.5]
            if on:
                return part.family, int(part.tests[on[-1]])
        raise RuntimeError(f"an active node {node} tests nothing")

    def choices(self, tree: RawTree) -> dict[int, int] | None:
        """Tests, activity and labels of a tree, as column to value; None where it does not fit.

        A threshold that no level admits moves to an admissible one that splits the rows at
        the node alike.
        """
        placed = place_tree(self.perfect, tree)
        if placed is None:
            return None
        values: dict[int, int] = dict.fromkeys(self.active, 0)
        values.update((column, 0) for column in self.label.ravel().tolist())
        reach = {0: np.arange(self.patterns.count)}
        for node, parts in enumerate(self.tests):
            for part in parts:
                values.update((column, 0) for column in part.columns.tolist())
            for tested in self._use[node].values():
                values.update((column, 0) for column in tested.terms)
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
            values[int(self.label[slot, label])] = 1
        return values

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
            nearest = sorted(alike, key=lambda j: (abs(int(part.tests[j]) - test), j))
            on = list(range(nearest[0] + 1)) if nearest else []
        else:
            on = np.flatnonzero(part.tests == test).tolist()
        if not on:
            return None
        values.update((int(part.columns[j]), 1) for j in on)
        for column in self.use(node, self.core.families[family].column).terms:
            values[column] = 1
        return left

    def assignment(self, tree: RawTree) -> IntArray | None:
        """All structural columns of a tree, int64 (n_columns,); None where it does not fit."""
        choices = self.choices(tree)
        if choices is None:
            return None
        point = np.zeros(self.program.n_columns, dtype=np.int64)
        point[list(choices)] = list(choices.values())
        slot_of = np.zeros(self.patterns.count, dtype=np.int64)
        for node in range(self.perfect.n_branches):
            slots = self.perfect.slots(node)
            here = (slot_of >= slots[0]) & (slot_of <= slots[-1])
            sent = np.zeros(self.patterns.count, dtype=np.int64)
            rows, columns = self._left(node)
            np.add.at(sent, rows, point[columns])
            slot_of[here & (sent == 0)] += len(slots) // 2
        patterns = np.arange(self.patterns.count)
        point[self.flow[patterns, slot_of]] = 1
        label_of = self.label[slot_of]
        chosen = np.argmax(point[label_of], axis=1)
        hits = self.hit[patterns, chosen, slot_of]
        point[hits[hits >= 0]] = 1
        return point
