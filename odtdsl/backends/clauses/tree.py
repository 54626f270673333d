"""A perfect tree of a given depth as clauses, with ordered thresholds.

Nodes are 1, 2, ..., as in a heap: the children of q are 2q and 2q + 1; the leaf slots follow
the nodes and are counted on. Per node q, family f and test t:

- `select(q, f)`: q tests f. `upto(q, f, t)`: it does, and the test is t or a lower one; of the
  last test this is `select` itself.
- `idle(q)`, where trees need not be perfect: q is no split; all rows go left there, and so the
  leftmost slot below q stands for the leaf. Both nodes below an idle one are idle.
- `label(s, c)`: slot s predicts class c.

Per row i, `right(i, l)`: it goes right at level l. Rows may come one after the other; what a
clause says of the path prefix to q is that the row's first levels are those of q. With p the
row's code in f, as far as it goes right below any test: two clauses per row, node and family
(notes of the study's encoding need one per threshold):

    at q: upto(q, f, p - 1) -> right(i, l);   select(q, f), not upto(q, f, p - 1) -> left

Source: Avellaneda, "Efficient inference of optimal decision trees" (AAAI 2020), equations 1 to
6, with prefixes of an order in place of one variable per threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.clauses.formula import Describe, Formula
from odtdsl.backends.clauses.names import Names
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.families import LEFT_CODE, Family
from odtdsl.problem.ir.filters import tests_at
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Turns:
    """What the tests of a node say of one row, as clauses of a same length.

    Attributes
    ----------
    first
        int64 (n, length): the variables of the literals on tests, at the first node.
    stride
        int64 (n, 1): how far those of the next node are.
    signs
        int64 (length,): of the literals.
    way
        int64 (n,): 1 where the row then goes right, -1 for left.
    """

    first: IntArray
    stride: IntArray
    signs: IntArray
    way: IntArray


class TreeCode:
    """The variables and clauses of a perfect tree.

    Parameters
    ----------
    core
        The problem; its rules and objective are not read, but for filters of splits.
    depth
        Of the perfect tree.
    idle
        Whether nodes may be no split.
    single
        Whether a node tests one family at most. Without it a node may select several that send
        every row the same way, and one of them is taken: fewer clauses, and sound where no
        rule speaks of tests.
    counted
        Whether slots that predict a class are counted as leaves. Rows come to such slots only,
        so that a tree has no more leaves: fewer clauses than nodes that are no split, and
        enough where leaves are to be few.
    formula
        Where to; default a new one.
    names
        How meanings speak of tests, classes and rows; default by their indices.
    """

    def __init__(
        self,
        core: Core,
        depth: int,
        *,
        idle: bool,
        single: bool,
        counted: bool = False,
        formula: Formula | None = None,
        names: Names | None = None,
    ) -> None:
        self.core, self.depth = core, depth
        self.formula = Formula() if formula is None else formula
        self.names = Names(core) if names is None else names
        self.families = [i for i, family in enumerate(core.families) if family.n_tests]
        self.rows_in: list[int] = []
        self.right: dict[int, IntArray] = {}
        self._first: dict[tuple[int, ...], int] = {}
        self.uncounted: list[int] = []
        self._idle = idle
        formula, names, nodes = self.formula, self.names, 2**depth - 1
        self.idle = formula.block(lambda q: f"node {q + 1} is no split", nodes) if idle else None
        self.upto: dict[int, IntArray] = {}
        for f in self.families:
            family = core.families[f]
            self.upto[f] = formula.block(self._says(f), nodes, family.n_tests)
        self.label = formula.block(
            lambda s, c: f"slot {2**depth + s} predicts {names.label(c)}",
            2**depth,
            core.n_classes,
        )
        self.holds = (
            formula.block(lambda s: f"slot {2**depth + s} predicts some class", 2**depth)
            if counted
            else None
        )
        self._shape(single)
        self._signs = [prefixes(level) for level in range(depth + 1)]

    def _says(self, family: int) -> Describe:
        def says(q: int, t: int) -> str:
            return f"node {q + 1} tests {self.names.tests(family, t, self.level(q + 1))}"

        return says

    # ---- variables

    def select(self, node: int, family: int) -> int:
        """The literal that a node (from 1) tests a family."""
        return int(self.upto[family][node - 1, -1])

    def selects(self, node: int, column: int) -> list[int]:
        """Literals of the tests of a column at a node."""
        return [
            self.select(node, f) for f in self.families if self.core.families[f].column == column
        ]

    def level(self, node: int) -> int:
        """The level of a node; the root has number 1 and level 0."""
        return node.bit_length() - 1

    def at_level(self, level: int) -> range:
        """The nodes of a level, slots being those of level `depth`."""
        return range(2**level, 2 ** (level + 1))

    def above(self, place: int) -> list[tuple[int, bool]]:
        """The nodes above a node or slot, from the root, and whether the path goes right there."""
        path = []
        while place > 1:
            path.append((place // 2, bool(place & 1)))
            place //= 2
        return path[::-1]

    def no_leaf(self, slot: int) -> list[int]:
        """The literals one of which is true where a slot (as a heap index) is no leaf."""
        if self.idle is None:
            return []
        turns = [node for node, right in self.above(slot) if right]
        return [int(self.idle[turns[-1] - 1])] if turns else []

    def elsewhere(self, row: int, place: int) -> list[int]:
        """The literals one of which is true where a row does not come to a node or slot."""
        way = self.right[row]
        return [
            -int(way[level]) if right else int(way[level])
            for level, (_, right) in enumerate(self.above(place))
        ]

    def way(self, row: int) -> list[int]:
        """By level, the literal that a row goes right there."""
        self.add_row(row)
        found: list[int] = self.right[row].tolist()
        return found

    # ---- the tree

    def _shape(self, single: bool) -> None:
        formula = self.formula
        formula.group("the tests of a family are in order")
        for f in self.families:
            upto = self.upto[f]
            if upto.shape[1] > 1:
                pairs = np.stack([-upto[:, :-1], upto[:, 1:]], axis=-1).reshape(-1, 2)
                formula.rows(pairs)
        formula.group("each node tests something" + (" or is no split" if self._idle else ""))
        for q in range(1, 2**self.depth):
            chosen = [self.select(q, f) for f in self.families]
            formula.add(*chosen, *([int(self.idle[q - 1])] if self.idle is not None else []))
        if single:
            formula.group("each node tests one thing at most")
            for q in range(1, 2**self.depth):
                self.at_most_one([self.select(q, f) for f in self.families], f"node {q}")
        if self.idle is not None:
            self._idle_nodes(single)
        formula.group("each slot predicts one class at most")
        for classes in self.label:
            self.at_most_one([int(c) for c in classes], "classes")
        if self.holds is not None:
            formula.group("slots that predict a class are counted")
            pairs = np.stack([-self.label, np.broadcast_to(self.holds[:, None], self.label.shape)])
            formula.rows(pairs.reshape(2, -1).T)
        self._filters()

    def _idle_nodes(self, single: bool) -> None:
        assert self.idle is not None
        formula = self.formula
        formula.group("below a node that is no split there is none")
        for q in range(1, 2**self.depth // 2):
            for child in (2 * q, 2 * q + 1):
                formula.add(-int(self.idle[q - 1]), int(self.idle[child - 1]))
        if single:
            formula.group("a node that is no split tests nothing")
            for q in range(1, 2**self.depth):
                for f in self.families:
                    formula.add(-int(self.idle[q - 1]), -self.select(q, f))

    def at_most_one(self, literals: list[int], what: str) -> None:
        """By clauses."""
        self.formula.at_most_one(literals, what)

    def _filters(self) -> None:
        core = self.core
        rules = dict.fromkeys(one.origin.rule for one in core.filters)
        self.formula.group("tests that candidates and rules leave out", ", ".join(rules))
        for f in self.families:
            family = core.families[f]
            for level in range(self.depth):
                allowed = tests_at(family, core.filters, level)
                nodes = np.array(self.at_level(level)) - 1
                if not allowed.any():
                    self.formula.rows(-self.upto[f][nodes, -1:])
                    continue
                for test in np.flatnonzero(~allowed):
                    here = self.upto[f][nodes, test]
                    lower = self.upto[f][nodes, test - 1] if test else np.zeros_like(here)
                    self.formula.rows(np.stack([-here, lower], axis=-1))

    # ---- rows

    def add_row(self, row: int) -> None:
        """The path of a training row; what its leaf must predict is for the caller to say.

        Rows that no test tells apart go the same way, and have its variables in common.
        """
        if row in self.right:
            return
        self.rows_in.append(row)
        formula = self.formula
        kind = tuple(int(self.core.families[f].codes[row]) for f in self.families)
        if (first := self._first.setdefault(kind, row)) != row:
            twin = self.names.row(first)
            formula.group(f"{self.names.row(row)} goes where {twin} goes: no test tells them apart")
            self.right[row] = self.right[first]
            return
        name = self.names.row(row)
        way = formula.block(lambda level: f"{name} goes right at level {level}", self.depth)
        self.right[row] = way
        formula.group(f"{name} goes where the tests send it")
        turns = self._turns(row) if self.depth else []
        for level in range(self.depth):
            prefix = self._signs[level] * way[:level][None, :]
            nodes = np.array(self.at_level(level)) - 1
            if self.idle is not None:
                right = np.full((len(nodes), 1), way[level])
                formula.rows(np.hstack([prefix, -self.idle[nodes][:, None], -right]))
            for turn in turns:
                heads = turn.first[None, :, :] + nodes[:, None, None] * turn.stride[None, :, :]
                clauses = np.empty((*heads.shape[:2], level + heads.shape[2] + 1), dtype=np.int64)
                clauses[:, :, :level] = prefix[:, None, :]
                clauses[:, :, level:-1] = heads * turn.signs
                clauses[:, :, -1] = turn.way[None, :] * way[level]
                formula.rows(clauses.reshape(-1, clauses.shape[2]))

    def _turns(self, row: int) -> list[_Turns]:
        """How the tests of a node send a row: clauses of one literal on tests, and of two."""
        ones: list[tuple[int, int, int]] = []
        twos: list[tuple[int, int, int, int]] = []
        for f in self.families:
            family = self.core.families[f]
            code, last = int(family.codes[row]), family.n_tests - 1
            if code == LEFT_CODE:
                ones.append((f, last, -1))
            elif family.kind == "threshold" or code > last:
                if code:
                    above = last if family.kind != "threshold" else min(code - 1, last)
                    ones.append((f, above, 1))
                if code == 0:
                    ones.append((f, last, -1))
                elif code <= last:
                    twos.append((f, last, code - 1, -1))
            else:
                if code:
                    ones.append((f, code - 1, 1))
                    twos.append((f, code, code - 1, -1))
                else:
                    ones.append((f, 0, -1))
                if code < last:
                    twos.append((f, last, code, 1))
        found = []
        for entries, signs in ((ones, (-1,)), (twos, (-1, 1))):
            if entries:
                table = np.array(entries, dtype=np.int64)
                firsts = np.array([self.upto[f][0, 0] for f in table[:, 0].tolist()])
                strides = np.array([self.upto[f].shape[1] for f in table[:, 0].tolist()])
                found.append(
                    _Turns(
                        first=firsts[:, None] + table[:, 1:-1],
                        stride=strides[:, None],
                        signs=np.array(signs),
                        way=table[:, -1],
                    )
                )
        return found

    def allow(self, row: int, classes: Sequence[int], unless: tuple[int, ...] = ()) -> None:
        """The leaf of a row predicts one of these classes, or a literal of `unless` is true."""
        prefix = self._signs[self.depth] * self.right[row][None, :]
        labels = self.label[:, list(classes)]
        more = np.tile(np.array(unless, dtype=np.int64), (len(prefix), 1))
        self.formula.rows(np.hstack([prefix, labels, more]))

    # ---- back to trees

    def decode(self, true: set[int]) -> RawTree:
        """The tree of a model, given by its true variables; splits without rows are left out.

        `uncounted` has one row, not in the formula, of each leaf that the formula has no class
        for, where it counts those with one.
        """
        self.uncounted = []

        def split(place: int) -> tuple[int, int] | None:
            if self.idle is not None and int(self.idle[place - 1]) in true:
                return None
            f = next(f for f in self.families if self.select(place, f) in true)
            return f, next(t for t, v in enumerate(self.upto[f][place - 1].tolist()) if v in true)

        return grown(
            self.core, self.depth, split, lambda slot, rows: self._predicted(true, slot, rows)
        )

    def _predicted(self, true: set[int], slot: int, rows: IntArray) -> int:
        for label, variable in enumerate(self.label[slot - 2**self.depth].tolist()):
            if variable in true:
                return label
        if self.holds is not None:
            self.uncounted.append(int(rows[0]))
        if self.core.labels is None:  # no class is the rows' own: any label will do
            return 0
        return int(np.bincount(self.core.labels[rows], minlength=self.core.n_classes).argmax())


def _empty_side(family: Family, codes: IntArray, left: BoolArray) -> bool:
    """Whether a test leaves a side without rows (of thresholds: without present cells)."""
    present = np.ones(len(codes), dtype=bool)
    if family.kind == "threshold":
        present = (codes >= 0) & (codes < len(family.values))
    return not (left & present).any() or not (~left & present).any()


def prefixes(level: int) -> IntArray:
    """Per node of a level, the signs of the literals that deny its path: (2^level, level)."""
    nodes = np.arange(2**level)
    bits = nodes[:, None] >> np.arange(level - 1, -1, -1)[None, :] & 1
    signs: IntArray = 1 - 2 * bits
    return signs


def grown(
    core: Core,
    depth: int,
    split: Callable[[int], tuple[int, int] | None],
    label: Callable[[int, IntArray], int],
) -> RawTree:
    """A perfect tree without the splits that part no rows.

    Parameters
    ----------
    core, depth
        The problem, and the depth of the perfect tree.
    split
        The family and the test of a node, as a heap index; None: all rows go left.
    label
        The class that a slot, as a heap index, predicts; it is given its rows.
    """

    def node(place: int, rows: IntArray) -> RawTree:
        if place >= 2**depth:
            return RawLeaf(label=label(place, rows))
        chosen = split(place)
        if chosen is None:
            return node(2 * place, rows)
        family = core.families[chosen[0]]
        codes = family.codes[rows]
        left = goes_left(family, chosen[1], codes)
        if _empty_side(family, codes, left):
            return node(2 * place + (left.sum() * 2 < len(rows)), rows)
        return RawSplit(
            family=chosen[0],
            test=chosen[1],
            left=node(2 * place, rows[left]),
            right=node(2 * place + 1, rows[~left]),
        )

    return node(1, np.arange(core.n_rows))
