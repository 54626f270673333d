"""A layered diagram of given widths as clauses, with ordered thresholds.

Nodes are 0, 1, ..., layer by layer. Rows that no test tells apart are one kind. Per node q,
family f, test t, side s (0 left, 1 right), arc end e (a node of the next layer, or a class):

- `split(q)`: q stands in the diagram. `upto(q, f, t)`: q tests f, by t or a lower test; of the
  last test this is `select(q, f)`.
- `arc(q, s, e)`: the arc of that side leads to e. `ends(q, s)`: it leads to a class.
- `entry(c)`: there is no split, and all rows are of class c.

Per kind k: `side(k, q)`, the test of q sends k right, whether or not k comes there;
`at(k, q)`, it does; `go(k, q, s)`, it takes that arc; `done(k, l)`, it ended above layer l;
`pred(k, c)`, it ends at class c. In every layer a kind is at one node or done, so that what
the arcs imply is all there is.

Nodes of a layer stand in the order in which arcs lead to them, left before right: each diagram
is written once.

Source of the layers and arcs: Florio, Martins, Schiffer, Serra and Vidal, "Optimal decision
diagrams for classification" (AAAI 2023); clauses in place of flows, and prefixes of an order of
thresholds, are this package's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odtdsl.backends.clauses.formula import Describe, Formula
from odtdsl.backends.clauses.names import Names
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.families import LEFT_CODE, Family
from odtdsl.problem.ir.filters import tests_at
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawTest

SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A clause: where a node tests up to `upto` (and not up to `above`), cells go right or left."""

    upto: int
    above: int | None
    right: bool


def turns(family: Family, code: int) -> list[Turn]:
    """What the tests of a family do with a cell."""
    last = family.n_tests - 1
    if code == LEFT_CODE:
        return [Turn(upto=last, above=None, right=False)]
    if family.kind == "threshold" or code > last:
        highest = min(code - 1, last) if family.kind == "threshold" else last
        found = [Turn(upto=highest, above=None, right=True)] if code else []
        if code <= last:
            found.append(Turn(upto=last, above=code - 1 if code else None, right=False))
        return found
    found = [Turn(upto=code, above=code - 1 if code else None, right=False)]
    if code:
        found.append(Turn(upto=code - 1, above=None, right=True))
    if code < last:
        found.append(Turn(upto=last, above=code, right=True))
    return found


class DiagramCode:
    """The variables and clauses of a diagram.

    Parameters
    ----------
    core
        The problem; its rules and objective are not read, but for filters of splits.
    formula
        Where to; default a new one.
    names
        How meanings speak of tests, classes and rows; default by their indices.

    Attributes
    ----------
    kind_of
        int64 (n_rows,): the kind of each row.
    first
        int64 (n_kinds,): a row of each kind.
    one_of
        Where sums stay sums: sets of literals of which one at most is true.
    """

    def __init__(
        self, core: Core, *, formula: Formula | None = None, names: Names | None = None
    ) -> None:
        self.core = core
        self.formula = Formula() if formula is None else formula
        self.names = Names(core) if names is None else names
        self.families = [i for i, family in enumerate(core.families) if family.n_tests]
        self.widths = widths_of(core) if self.families else ()
        self.starts = np.cumsum([0, *self.widths]).tolist()
        self.level = [i for i, width in enumerate(self.widths) for _ in range(width)]
        self.first, self.kind_of = kinds_of(core)
        self.one_of: list[tuple[int, ...]] = []
        self.split = self.formula.block(lambda q: f"node {q + 1} is a split", len(self.level))
        self.upto = {f: self._tests(f) for f in self.families}
        self.arc = [[self._arcs(q, side) for side in (0, 1)] for q in range(len(self.level))]
        self.ends = self.formula.block(
            lambda q, s: f"the {SIDES[s]} arc of node {q + 1} leads to a class", len(self.level), 2
        )
        self.entry = self.formula.block(
            lambda c: f"no split, all rows are {self.names.label(c)}", core.n_classes
        )
        self.at: dict[int, IntArray] = {}
        self.go: dict[int, IntArray] = {}
        self.pred: dict[int, IntArray] = {}
        self._shape()

    # ---- variables

    def _tests(self, family: int) -> IntArray:
        def says(q: int, t: int) -> str:
            return f"node {q + 1} tests {self.names.tests(family, t, self.level[q])}"

        describe: Describe = says
        return self.formula.block(describe, len(self.level), self.core.families[family].n_tests)

    def _arcs(self, node: int, side: int) -> IntArray:
        below = len(self.layer(self.level[node] + 1))

        def says(end: int) -> str:
            to = (
                f"node {self.starts[self.level[node] + 1] + end + 1}"
                if end < below
                else self.names.label(end - below)
            )
            return f"the {SIDES[side]} arc of node {node + 1} leads to {to}"

        return self.formula.block(says, below + self.core.n_classes)

    def layer(self, level: int) -> range:
        """The nodes of a layer; none below the last."""
        if level >= len(self.widths):
            return range(0)
        return range(self.starts[level], self.starts[level + 1])

    def to_node(self, node: int, side: int, below: int) -> int:
        """The literal that an arc leads to a node of the next layer."""
        return int(self.arc[node][side][below - self.starts[self.level[node] + 1]])

    def to_classes(self, node: int, side: int) -> IntArray:
        """The literals that an arc leads to each class."""
        return self.arc[node][side][len(self.layer(self.level[node] + 1)) :]

    def select(self, node: int, family: int) -> int:
        """The literal that a node tests a family."""
        return int(self.upto[family][node, -1])

    def selects(self, node: int, columns: Iterable[int]) -> list[int]:
        """Literals of the tests of some columns at a node."""
        wanted = set(columns)
        return [
            self.select(node, f) for f in self.families if self.core.families[f].column in wanted
        ]

    @property
    def kinds_in(self) -> int:
        """How many kinds of rows are in the formula."""
        return len(self.pred)

    @cached_property
    def counts(self) -> IntArray:
        """int64 (n_kinds,): rows of each kind."""
        return np.bincount(self.kind_of, minlength=len(self.first))

    # ---- the diagram

    def at_most_one(self, literals: Sequence[int], what: str) -> None:
        """By clauses; left to the solver where sums are."""
        if self.formula.bounds is not None:
            self.one_of.append(tuple(literals))
        else:
            self.formula.at_most_one(literals, what)

    def _shape(self) -> None:
        formula = self.formula
        formula.group("the tests of a family are in order")
        for f in self.families:
            upto = self.upto[f]
            if upto.shape[1] > 1:
                formula.rows(np.stack([-upto[:, :-1], upto[:, 1:]], axis=-1).reshape(-1, 2))
        formula.group("a split tests one thing, what is none tests nothing")
        for q, split in enumerate(self.split.tolist()):
            chosen = [self.select(q, f) for f in self.families]
            self._exactly(chosen, split, f"node {q + 1}")
        formula.group("without a split all rows are of one class")
        entry = self.entry.tolist()
        root = int(self.split[0]) if self.level else None
        if root is None:
            formula.add(*entry)
        else:
            formula.add(root, *entry)
            for one in entry:
                formula.add(-root, -one)
        self.at_most_one(entry, "classes")
        self._lead()
        self._order()
        self._filters()

    def _exactly(self, literals: list[int], split: int, what: str) -> None:
        """One of some where there is a split, else none."""
        self.formula.add(-split, *literals)
        for one in literals:
            self.formula.add(-one, split)
        self.at_most_one(literals, what)

    def _lead(self) -> None:
        """Arcs lead to two places; nodes are led to."""
        formula = self.formula
        formula.group("the arcs of a split lead to two places")
        for q, split in enumerate(self.split.tolist()):
            for side in (0, 1):
                self._exactly(self.arc[q][side].tolist(), split, f"arc of {q + 1}")
                ends, inner = int(self.ends[q, side]), len(self.layer(self.level[q] + 1))
                for place, arc in enumerate(self.arc[q][side].tolist()):
                    formula.add(-arc, ends if place >= inner else -ends)
                formula.add(-ends, split)
            for left, right in zip(*(self.arc[q][side].tolist() for side in (0, 1)), strict=True):
                formula.add(-left, -right)
        formula.group("a node is a split where an arc leads to it, and only there")
        for q in range(1, len(self.level)):
            above = self.layer(self.level[q] - 1)
            arcs = [self.to_node(p, side, q) for p in above for side in (0, 1)]
            formula.add(-int(self.split[q]), *arcs)
            for arc in arcs:
                formula.add(-arc, int(self.split[q]))

    def _order(self) -> None:
        """Arcs lead to a node of a layer only after one led to the node before it."""
        formula = self.formula
        formula.group("nodes stand in the order in which arcs lead to them")
        for level in range(len(self.widths) - 1):
            arcs = [(q, side) for q in self.layer(level) for side in (0, 1)]
            below = self.layer(level + 1)
            seen: dict[int, int] = {}
            for place, (q, side) in enumerate(arcs):
                for node in below:
                    if node == below[0]:
                        continue
                    before = seen.get(node - 1)
                    formula.add(-self.to_node(q, side, node), *([] if before is None else [before]))
                if place == len(arcs) - 1:
                    break
                for node in below[:-1]:
                    told = f"one of the first {place + 1} arcs leads to node {node + 1}"
                    now, before = formula.variable(told), seen.get(node)
                    here = self.to_node(q, side, node)
                    formula.add(-now, here, *([] if before is None else [before]))
                    formula.add(-here, now)
                    if before is not None:
                        formula.add(-before, now)
                    seen[node] = now

    def _filters(self) -> None:
        core = self.core
        rules = dict.fromkeys(one.origin.rule for one in core.filters)
        self.formula.group("tests that candidates and rules leave out", ", ".join(rules))
        for f in self.families:
            family = core.families[f]
            for level in range(len(self.widths)):
                allowed = tests_at(family, core.filters, level)
                nodes = np.array(self.layer(level))
                if not allowed.any():
                    self.formula.rows(-self.upto[f][nodes, -1:])
                    continue
                for test in np.flatnonzero(~allowed):
                    here = self.upto[f][nodes, test]
                    lower = self.upto[f][nodes, test - 1] if test else np.zeros_like(here)
                    self.formula.rows(np.stack([-here, lower], axis=-1))

    # ---- rows

    def add_kinds(self, kinds: Iterable[int]) -> None:
        """The ways of some kinds of rows through the diagram; those that are in stay so."""
        new = [kind for kind in kinds if kind not in self.pred]
        if not new:
            return
        formula, many, nodes = self.formula, len(new), len(self.level)

        def row(index: int) -> str:
            return self.names.row(int(self.first[new[index]]))

        pred = formula.block(
            lambda k, c: f"{row(k)} ends as {self.names.label(c)}", many, self.core.n_classes
        )
        at = formula.block(lambda k, q: f"{row(k)} comes to node {q + 1}", many, nodes)
        side = formula.block(lambda k, q: f"node {q + 1} would send {row(k)} right", many, nodes)
        go = formula.block(
            lambda k, q, s: f"{row(k)} goes {SIDES[s]} at node {q + 1}", many, nodes, 2
        )
        for index, kind in enumerate(new):
            self.pred[kind], self.at[kind], self.go[kind] = pred[index], at[index], go[index]
        self._send(new, side)
        self._pass(at, side, go)
        self._arrive(at, go, pred)
        formula.group("a row ends once")
        formula.rows(pred)
        for one in pred.tolist():
            self.at_most_one(one, "classes")

    def _send(self, new: list[int], side: IntArray) -> None:
        """Tests send rows."""
        self.formula.group("tests send rows right or left")
        for f in self.families:
            family, upto = self.core.families[f], self.upto[f]
            codes = family.codes[self.first[new]]
            for code in np.unique(codes).tolist():
                sides = side[codes == code]
                for turn in turns(family, code):
                    parts = [np.broadcast_to(-upto[:, turn.upto], sides.shape)]
                    if turn.above is not None:
                        parts.append(np.broadcast_to(upto[:, turn.above], sides.shape))
                    parts.append(sides if turn.right else -sides)
                    self.formula.rows(np.stack(parts, axis=-1).reshape(-1, len(parts)))

    def _pass(self, at: IntArray, side: IntArray, go: IntArray) -> None:
        """A row at a node takes the arc of its side."""
        self.formula.group("rows go where the tests send them")
        split = np.broadcast_to(self.split, at.shape)
        self._rows(-at, split)
        if at.shape[1]:
            self._rows(at[:, :1], -split[:, :1])
        for s, way in ((0, -side), (1, side)):
            self._rows(-go[..., s], at)
            self._rows(-go[..., s], way)
            self._rows(-at, -way, go[..., s])

    def _rows(self, *parts: IntArray) -> None:
        """Clauses of one literal of each array."""
        whole = np.broadcast_arrays(*parts)
        self.formula.rows(np.stack(whole, axis=-1).reshape(-1, len(parts)))

    def _arrive(self, at: IntArray, go: IntArray, pred: IntArray) -> None:
        """Where arcs lead rows, and that they are nowhere else."""
        formula = self.formula
        levels = len(self.widths)
        done = formula.block(
            lambda k, i: f"a row ended above layer {i + 2}", len(at), max(0, levels - 1)
        )
        formula.group("arcs lead rows to nodes and classes")
        for q in range(len(self.level)):
            level = self.level[q]
            below = list(self.layer(level + 1))
            for s in (0, 1):
                gone, arcs = -go[:, q, s][:, None], -self.arc[q][s][None, :]
                if below:
                    self._rows(gone, arcs[:, : len(below)], at[:, below])
                    self._rows(-go[:, q, s], np.array(-self.ends[q, s]), done[:, level])
                self._rows(gone, arcs[:, len(below) :], pred)
        self._rows(-self.entry[None, :], pred)
        formula.group("a row is at one node of a layer, or has ended")
        for level in range(1, levels):
            if level == 1:
                self._rows(at[:, :1], done[:, :1])
            else:
                self._rows(-done[:, level - 2], done[:, level - 1])
            here = np.hstack([at[:, list(self.layer(level))], done[:, level - 1 : level]])
            formula.rows(here)
            for one in here.tolist():
                self.at_most_one(one, "places")

    def part_rows(self) -> None:
        """Every split has a row on both sides; of thresholds, one whose cell is present."""
        formula, kinds = self.formula, range(len(self.first))
        self.add_kinds(kinds)
        go = np.stack([self.go[kind] for kind in kinds]) if self.level else None
        formula.group("every split has rows on both sides")
        for q, split in enumerate(self.split.tolist()):
            assert go is not None
            for s in (0, 1):
                formula.add(-split, *go[:, q, s].tolist())
                for f in self.families:
                    family = self.core.families[f]
                    if family.kind == "threshold" and family.missing is not None:
                        codes = family.codes[self.first]
                        there = (codes >= 0) & (codes < len(family.values))
                        formula.add(-self.select(q, f), *go[there, q, s].tolist())

    def allow(self, kind: int, classes: BoolArray) -> None:
        """A kind of rows ends as one of some classes."""
        for denied in self.pred[kind][~classes].tolist():
            self.formula.add(-denied)

    # ---- to diagrams and back

    def decode(self, true: set[int]) -> RawDiagram:
        """The diagram of a model, given by its true variables."""
        if not self.level or int(self.split[0]) not in true:
            entry = next(c for c, one in enumerate(self.entry.tolist()) if one in true)
            return RawDiagram(entry=~entry)
        layers: list[tuple[RawNode, ...]] = []
        for level in range(len(self.widths)):
            nodes = [q for q in self.layer(level) if int(self.split[q]) in true]
            if not nodes:
                break
            layers.append(tuple(self._node(q, true) for q in nodes))
        return RawDiagram(layers=tuple(layers))

    def _node(self, node: int, true: set[int]) -> RawNode:
        f = next(f for f in self.families if self.select(node, f) in true)
        test = next(t for t, one in enumerate(self.upto[f][node].tolist()) if one in true)
        inner = len(self.layer(self.level[node] + 1))
        left, right = (
            next(e for e, one in enumerate(self.arc[node][side].tolist()) if one in true)
            for side in (0, 1)
        )
        return RawNode(
            split=RawTest(family=f, test=test),
            left=left if left < inner else ~(left - inner),
            right=right if right < inner else ~(right - inner),
        )

    def assignment(self, raw: RawDiagram) -> dict[int, bool]:
        """The variables of splits, tests, arcs and rows, as they are for a canonical diagram."""
        found = dict.fromkeys(self.entry.tolist(), False)
        evaluation = DiagramEvaluation(self.core, raw)
        visits = {self.starts[v.level] + v.position: v for v in evaluation.visits}
        if raw.entry < 0:
            found[int(self.entry[~raw.entry])] = True
        for q in range(len(self.level)):
            visit = visits.get(q)
            found[int(self.split[q])] = visit is not None
            test = None if visit is None else visit.node.split
            assert test is None or isinstance(test, RawTest)
            for f in self.families:
                here = test is not None and test.family == f
                for t, one in enumerate(self.upto[f][q].tolist()):
                    found[one] = here and test is not None and t >= test.test
            inner = len(self.layer(self.level[q] + 1))
            for side in (0, 1):
                arc = None if visit is None else (visit.node.left, visit.node.right)[side]
                end = None if arc is None else arc if arc >= 0 else inner + ~arc
                for e, one in enumerate(self.arc[q][side].tolist()):
                    found[one] = e == end
                found[int(self.ends[q, side])] = arc is not None and arc < 0
            self._visit(
                found,
                q,
                None if visit is None else visit.rows,
                None if visit is None else visit.left,
            )
        for kind, pred in self.pred.items():
            label = int(evaluation.predicted[self.first[kind]])
            for c, one in enumerate(pred.tolist()):
                found[one] = c == label
        return found

    def _visit(
        self, found: dict[int, bool], node: int, rows: IntArray | None, left: BoolArray | None
    ) -> None:
        """Which kinds come to a node, and which way they go."""
        here = np.zeros(len(self.first), dtype=bool)
        goes = np.zeros(len(self.first), dtype=bool)
        if rows is not None and left is not None:
            here[self.kind_of[rows]] = True
            goes[self.kind_of[rows[left]]] = True
        for kind in self.pred:
            found[int(self.at[kind][node])] = bool(here[kind])
            found[int(self.go[kind][node, 0])] = bool(here[kind] and goes[kind])
            found[int(self.go[kind][node, 1])] = bool(here[kind] and not goes[kind])


def widths_of(core: Core) -> tuple[int, ...]:
    """The most nodes of each layer."""
    return core.diagram.widths


def kinds_of(core: Core) -> tuple[IntArray, IntArray]:
    """A row of each kind, and the kind of each row: rows that no test tells apart are alike."""
    codes = [family.codes for family in core.families]
    table = np.stack(codes, axis=1) if codes else np.zeros((core.n_rows, 1), dtype=np.int64)
    _, first, kind = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), kind.reshape(-1).astype(np.int64)
