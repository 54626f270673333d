"""Monotone predictions as rows of the pattern-flow model.

`increasing(f)` compares every two leaves over the whole feature space: where some point of
the one and some point of the other agree but in f, and f is less in the first, the label of
the first is not the higher one. Let m be the lowest node above slots t (low) and u (high).
For every label k, unless a reason below is 1,

    sum over c > k of label(t,c) + sum over c <= k of label(u,c) <= 1

The reasons, with `out(n,side,v)` the tests at n that keep value v from a side:

- m tests another column than f (then no two points agree in that one);
- thresholds on f: t lies right of m (then f is less in u);
- values or bins of f: `never(t,u)`, at most the sum over the path to t of `out(n,.,v)` plus
  the sum over the path to u of `out(n,.,w)`, for every v < w;
- for another column c: `apart(t,u,c)`. Values and bins: at most the sum over both paths of
  `out(n,.,v)` for every v, unseen values included. Thresholds: at most the sum over p on one
  path and q on the other, both below m, p to the left and q to the right, of
  `before(p,q,c)`: both test c, and the threshold of p is not above that of q. Where the
  column has missing cells, at most the sum of the tests that send these elsewhere.

A threshold is decided by the rows at its split: by the largest value that goes left and the
smallest that goes right. `gap(n,c,l,r)` is 1 iff these are the values l and r and n tests c:

- `sum of gap(n,c,.,.) = use(n,c)`;
- `at(x, left of n) + sum over l < largest(x) of gap <= 1`, `at(x, right of n) + sum over
  r > least(x) of gap <= 1`, for the values of c among the rows of x;
- `sum over r of gap(n,c,l,r) <= sum over x with largest(x) = l of at(x, left of n)`, and alike
  for r.

With the thresholds of c ranked, `rank(p) - rank(q) <= K (1 - before(p,q,c))`.

The negation asks for a pair of leaves of which all of this is turned: `falls(t,u,k)`, and
for every column a value, or missing cells, or an interval that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.milp.clauses import Rules
from odtdsl.backends.milp.pattern_flow import PatternFlow
from odtdsl.backends.milp.program import Affine, Completion, Numbers, sum_of
from odtdsl.backends.milp.rows import RowMaker
from odtdsl.backends.milp.structure import Tick
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.families import Family, place
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import Core, Monotone

Step = tuple[int, bool]
"""A node of a path and whether the path goes left there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ranked:
    """The thresholds of a column: their number, and `rank(n)` where the node tests it."""

    count: int
    rank: dict[int, Affine]


class FlowRules(Rules):
    """Rules on the pattern-flow model, the monotone ones among them."""

    encoding: PatternFlow

    def __init__(self, encoding: PatternFlow, n_classes: int, tick: Tick) -> None:
        super().__init__(encoding, n_classes, tick)
        self._parts = MonotoneParts(encoding)

    def _monotone(self, atom: Monotone, positive: bool, row: RowMaker) -> None:
        parts = self._parts
        parts.made_for(row)
        cases = list(parts.pairs(atom.column))
        if positive:
            for low, high in cases:
                self._not_falling(atom, row, low, high)
            return
        found = [case for low, high in cases for case in self._falling(atom, low, high)]
        row.at_least_one(found)

    def _falling(self, atom: Monotone, low: int, high: int) -> list[Affine]:
        """Columns of which one is 1 only if the predictions of two slots fall."""
        parts = self._parts
        return [
            parts.falls(atom, low, high, f"c{k}", parts.labels(atom, low, high, k))
            for k in range(self.n_classes - 1)
        ]

    def _not_falling(self, atom: Monotone, row: RowMaker, low: int, high: int) -> None:
        reasons = self._parts.reasons(atom.column, low, high)
        for k in range(self.n_classes - 1):
            labels = self._parts.labels(atom, low, high, k)
            expression = sum_of(list(labels)).add(reasons, -1)
            place = f"{self.encoding.slot_name(low)}_{self.encoding.slot_name(high)}_c{k}"
            row.at_most(expression, 1, 2, place)


class MonotoneParts:
    """The auxiliary columns, shared by all rules of a model."""

    def __init__(self, encoding: PatternFlow) -> None:
        self.encoding = encoding
        self.program = encoding.program
        self.perfect = encoding.perfect
        self.core: Core = encoding.core
        self._ranked: dict[int, _Ranked] = {}
        self._reasons: dict[tuple[int, int, int], Affine] = {}
        self._shared: dict[tuple[int, int, int], Affine] = {}
        self._before: dict[tuple[int, int, int], Affine] = {}
        self._row: RowMaker | None = None

    def made_for(self, row: RowMaker) -> None:
        """Rows from here on belong to a rule (the first one that needs them)."""
        self._row = row

    def add(self, name: str, expression: Affine, upper: int) -> None:
        """A row of the rule."""
        assert self._row is not None, "made for a rule"
        self.program.row(name, self._row.origin, expression, upper=upper)

    # ---- leaves

    def _path(self, slot: int) -> tuple[Step, ...]:
        node = self.perfect.n_branches + slot
        steps: list[Step] = []
        while node > 0:
            parent = (node - 1) // 2
            steps.append((parent, node == 2 * parent + 1))
            node = parent
        return tuple(reversed(steps))

    def _split_at(self, low: int, high: int) -> int:
        """How many steps the paths of two slots share."""
        both = zip(self._path(low), self._path(high), strict=True)
        return next(i for i, (a, b) in enumerate(both) if a != b)

    def pairs(self, column: int) -> Iterator[tuple[int, int]]:
        """The ordered pairs of slots of which the first may have less of the column."""
        ranked = self._is_ranked(column)
        slots = range(self.perfect.n_leaves)
        for low in slots:
            for high in slots:
                if low < high or (low > high and not ranked):
                    yield low, high

    def labels(self, atom: Monotone, low: int, high: int, k: int) -> tuple[Affine, Affine]:
        """Of two slots: the label is above (below) k here, and is not there."""
        label = self.encoding.label
        above, below = (low, high) if atom.increasing else (high, low)
        ones = np.ones(self.core.n_classes, dtype=np.int64)
        return (
            Affine().add_terms(label[above, k + 1 :], ones[k + 1 :]),
            Affine().add_terms(label[below, : k + 1], ones[: k + 1]),
        )

    def _is_ranked(self, column: int) -> bool:
        return any(f.kind == "threshold" for f in self.core.families if f.column == column)

    def _families(self, column: int) -> list[tuple[int, Family]]:
        return [(i, f) for i, f in enumerate(self.core.families) if f.column == column]

    # ---- why two leaves need no order

    def reasons(self, column: int, low: int, high: int) -> Affine:
        """At least 1 only if no two points of the leaves fall; 0-1 parts, summed."""
        key = (column, low, high)
        if key in self._reasons:
            return self._reasons[key]
        meet = self._path(low)[self._split_at(low, high)][0]
        others = [c for c in range(len(self.core.columns)) if c != column]
        found = sum_of([self.encoding.use(meet, c) for c in others])
        if not self._is_ranked(column):
            found.add(self._never(column, low, high))
        else:
            found = Affine(constant=1).add(self.encoding.use(meet, column), -1)
        for c in others:
            found.add(self._apart(c, *sorted((low, high))))
        self._reasons[key] = found
        return found

    def _at_most(self, name: str, bounds: Iterable[Affine]) -> Affine:
        """A column that is at most each of some sums; 0 where one of these is empty."""
        limits = list(bounds)
        if any(not limit.terms for limit in limits):
            return Affine()
        column = self.program.column(name)
        self.program.completed_by(column, _least(limits))
        result = Affine().add_term(column)
        for index, limit in enumerate(limits):
            self.add(f"if_{name}_{index}", result.copy().add(limit, -1), 0)
        return result

    def _never(self, column: int, low: int, high: int) -> Affine:
        """No value in the low leaf is less than one in the high leaf."""
        known = range(self._n_values(column)[0])
        name = self._pair_name("never", column, low, high)
        return (
            self._at_most(
                name,
                [
                    sum_of([*self._outs(column, low, v), *self._outs(column, high, w)])
                    for v in known
                    for w in known
                    if v < w
                ],
            )
            if len(known) > 1
            else Affine(constant=1)
        )

    def _apart(self, column: int, low: int, high: int) -> Affine:
        """No value of the column, nor a missing cell, is in both leaves."""
        key = (column, low, high)
        if key not in self._shared:
            if self._is_ranked(column):
                bounds = [sum_of([b for _, b in self._orders(column, low, high)])]
            else:
                bounds = [
                    sum_of([*self._outs(column, low, v), *self._outs(column, high, v)])
                    for v in range(self._n_values(column)[1])
                ]
            if self._has_missing(column):
                both = (*self._aways(column, low), *self._aways(column, high))
                bounds.append(sum_of(list(both)))
            name = self._pair_name("apart", column, low, high)
            self._shared[key] = self._at_most(name, bounds)
        return self._shared[key]

    def _pair_name(self, kind: str, column: int, low: int, high: int) -> str:
        slots = f"{self.encoding.slot_name(low)},{self.encoding.slot_name(high)}"
        return f"{kind}({slots},{self.encoding.column_names[column]})"

    # ---- values and bins

    def _n_values(self, column: int) -> tuple[int, int]:
        """Known values, and these with one for all that training rows do not have.

        Bins that no row is in are known: they have their place in the order too.
        """
        family = self._families(column)[0][1]
        if family.kind == "bin":
            return len(family.values) - 1, len(family.values) - 1
        return len(family.values), len(family.values) + 1

    def _outs(self, column: int, slot: int, value: int) -> list[Affine]:
        """Per step of a path: 1 iff its test keeps the value away."""
        found: list[Affine] = []
        for node, left in self._path(slot):
            for part in self.encoding.tests[node]:
                family = self.core.families[part.family]
                if family.column != column:
                    continue
                on = Affine()
                test = value
                if family.kind == "bin":
                    test = family.bins.index(value) if value in family.bins else -1
                position = np.flatnonzero(part.tests == test)
                on.add_terms(part.columns[position], np.ones_like(position))
                found.append(part.use(False).add(on, -1) if left else on)
        return found

    def _has_missing(self, column: int) -> bool:
        return any(family.missing is not None for _, family in self._families(column))

    def _aways(self, column: int, slot: int) -> Iterator[Affine]:
        """Per step of a path: 1 iff its test sends missing cells of the column elsewhere."""
        for node, left in self._path(slot):
            for part in self.encoding.tests[node]:
                family = self.core.families[part.family]
                if family.column == column and (family.missing == "left") != left:
                    yield part.use(family.kind == "threshold")

    # ---- thresholds

    def _orders(self, column: int, low: int, high: int) -> Iterator[tuple[tuple[int, int], Affine]]:
        """Nodes p, q below the meeting point, on one path each, that may part the leaves."""
        shared = self._split_at(low, high) + 1
        for p, p_left in self._path(low)[shared:]:
            for q, q_left in self._path(high)[shared:]:
                if p_left != q_left:
                    first, second = (p, q) if p_left else (q, p)
                    if self.encoding.use(p, column).terms and self.encoding.use(q, column).terms:
                        yield (first, second), self._in_order(column, first, second)

    def _in_order(self, column: int, p: int, q: int) -> Affine:
        """1 only if both nodes test the column, and the threshold of p is not above q's."""
        key = (column, p, q)
        if key not in self._before:
            ranked = self.ranked(column)
            name = f"before(n{p},n{q},{self.encoding.column_names[column]})"
            result = Affine().add_term(self.program.column(name, integer=True))
            uses = [self.encoding.use(node, column) for node in (p, q)]
            for index, use in enumerate(uses):
                self.add(f"use_{name}_{index}", result.copy().add(use, -1), 0)
            ranks = ranked.rank[p].copy().add(ranked.rank[q], -1)
            wide = ranks.copy().add(result, ranked.count)
            self.add(f"ranks_{name}", wide, ranked.count)
            self.program.completed_by(next(iter(result.terms)), _ordered(uses, ranks))
            self._before[key] = result
        return self._before[key]

    def ranked(self, column: int) -> _Ranked:
        """The thresholds that nodes below the root may come to have for the column."""
        if column not in self._ranked:
            families = [f for _, f in self._families(column)]
            gaps = {
                level: _gaps(self.core, families[0], level)
                for level in range(1, self.perfect.depth)
            }
            cuts = sorted({cut for found in gaps.values() for _, _, cut in found})
            order = {cut: index for index, cut in enumerate(cuts)}
            rank: dict[int, Affine] = {}
            for level, found in gaps.items():
                for node in self.perfect.at_level(level):
                    if self.encoding.use(node, column).terms:
                        rank[node] = self._rank(column, node, found, order)
            self._ranked[column] = _Ranked(count=max(1, len(cuts)), rank=rank)
        return self._ranked[column]

    def _rank(
        self, column: int, node: int, gaps: list[tuple[int, int, float]], order: dict[float, int]
    ) -> Affine:
        text = f"n{node},{self.encoding.column_names[column]}"
        columns = self.program.columns([f"gap({text},{low},{high})" for low, high, _ in gaps])
        ends = np.array([(low, high) for low, high, _ in gaps], dtype=np.int64).reshape(-1, 2)
        use = self.encoding.use(node, column)
        ones = np.ones_like(columns)
        self.add(f"gaps({text})", Affine().add_terms(columns, ones).add(use, -1), 0)
        self.add(f"a_gap({text})", use.copy().add_terms(columns, -ones), 0)
        sides = [
            (self.perfect.left_slots(node), 0, "left"),
            (self.perfect.right_slots(node), 1, "right"),
        ]
        reach: list[list[tuple[int, Affine]]] = []
        for slots, end, side in sides:
            here = self._reach(column, slots, end)
            reach.append(here)
            self._side_rows(f"{side}({text}", columns, ends[:, end], here, largest=end == 0)
        for done in _gap_values(columns, ends, use, reach):
            self.program.completed_by(*done)
        ranks = np.array([order[cut] for _, _, cut in gaps], dtype=np.int64)
        return Affine().add_terms(columns, ranks)

    def _reach(self, column: int, slots: range, end: int) -> list[tuple[int, Affine]]:
        """Per pattern with the column present: its largest (least) value, and `at` the side."""
        family = self._families(column)[0][1]
        there = (family.codes >= 0) & (family.codes < len(family.values))
        found: list[tuple[int, Affine]] = []
        patterns = self.encoding.patterns
        for x in range(patterns.count):
            codes = family.codes[(patterns.of_row == x) & there]
            if codes.size:
                flows = self.encoding.flow[x, list(slots)]
                at = Affine().add_terms(flows, np.ones_like(flows))
                found.append((int(codes.min() if end else codes.max()), at))
        return found

    def _side_rows(
        self,
        name: str,
        columns: IntArray,
        ends: IntArray,
        reach: list[tuple[int, Affine]],
        *,
        largest: bool,
    ) -> None:
        for index, (value, at) in enumerate(reach):
            wrong = columns[ends < value] if largest else columns[ends > value]
            if len(wrong):
                row = at.copy().add_terms(wrong, np.ones_like(wrong))
                self.add(f"beyond_{name},{index})", row, 1)
        for end in np.unique(ends).tolist():
            mine = columns[ends == end]
            row = Affine().add_terms(mine, np.ones_like(mine))
            row.add(sum_of([at for value, at in reach if value == end]), -1)
            self.add(f"meets_{name},{end})", row, 0)

    # ---- the negation

    def falls(
        self, atom: Monotone, low: int, high: int, place: str, against: Iterable[Affine]
    ) -> Affine:
        """A column that is 1 only if points of the two leaves fall, and all of `against` are 1."""
        name = f"{self._pair_name('falls', atom.column, low, high)}_{place}_{int(atom.increasing)}"
        meet = self._path(low)[self._split_at(low, high)][0]
        limits = [*against, self.encoding.use(meet, atom.column)]
        if not self._is_ranked(atom.column):
            limits.append(self._rises(atom.column, low, high))
        for c in range(len(self.core.columns)):
            if c != atom.column:
                limits.append(self._meets(c, *sorted((low, high))))
        return self._at_most(name, limits)

    def _witness(self, name: str, outs: list[Affine]) -> Affine:
        """A column that is 1 only if all of some 0-1 expressions are 0."""
        column = self.program.column(name)
        result = Affine().add_term(column)
        for index, out in enumerate(outs):
            self.add(f"no_{name}_{index}", result.copy().add(out), 1)
        self.program.completed_by(column, _none(outs))
        return result

    def _rises(self, column: int, low: int, high: int) -> Affine:
        """At least 1 only if some value of the low leaf is less than one of the high leaf."""
        name = self._pair_name("rises", column, low, high)
        known = range(self._n_values(column)[0])
        return sum_of(
            [
                self._witness(
                    f"{name}_{v}_{w}", [*self._outs(column, low, v), *self._outs(column, high, w)]
                )
                for v in known
                for w in known
                if v < w
            ]
        )

    def _meets(self, column: int, low: int, high: int) -> Affine:
        """At least 1 only if some value, or a missing cell, is in both leaves."""
        key = (-1 - column, low, high)
        if key in self._shared:
            return self._shared[key]
        name = self._pair_name("meets", column, low, high)
        found: list[Affine] = []
        if self._has_missing(column):
            both = [*self._aways(column, low), *self._aways(column, high)]
            found.append(self._witness(f"{name}_missing", both))
        if self._is_ranked(column):
            found.append(self._overlap(name, column, low, high))
        else:
            for v in range(self._n_values(column)[1]):
                outs = [*self._outs(column, low, v), *self._outs(column, high, v)]
                found.append(self._witness(f"{name}_{v}", outs))
        self._shared[key] = sum_of(found)
        return self._shared[key]

    def _overlap(self, name: str, column: int, low: int, high: int) -> Affine:
        """1 only if no threshold of one path keeps it below the other, and none at the meeting."""
        ranked = self.ranked(column)
        result = Affine().add_term(self.program.column(name, integer=True))
        meet = self._path(low)[self._split_at(low, high)][0]
        apart = self.encoding.use(meet, column)
        self.add(f"no_{name}", result.copy().add(apart), 1)
        orders = [pair for pair, _ in self._orders(column, low, high)]
        for p, q in orders:  # rank(q) < rank(p) where both test the column
            row = ranked.rank[q].copy().add(ranked.rank[p], -1)
            for part in (result, self.encoding.use(p, column), self.encoding.use(q, column)):
                row.add(part, ranked.count)
            self.add(f"ranks_{name}_n{p}_n{q}", row, 3 * ranked.count - 1)
        before = [apart, *(b for _, b in self._orders(column, low, high))]
        self.program.completed_by(next(iter(result.terms)), _none(before))
        return result


def _gaps(core: Core, family: Family, level: int) -> list[tuple[int, int, float]]:
    """All pairs of values between which a split may fall, and the threshold there."""
    allowed = placing(family, core.filters, level)
    count = len(family.values)
    pairs = [(low, high) for low in range(count) for high in range(low + 1, count)]
    cuts = [(low, high, place(family, allowed, low, high)) for low, high in pairs]
    return [(low, high, cut) for low, high, cut in cuts if cut is not None]


def _least(limits: list[Affine]) -> Completion:
    return lambda point: min([1, *(limit.at(point) for limit in limits)])


def _none(outs: list[Affine]) -> Completion:
    return lambda point: int(all(out.at(point) == 0 for out in outs))


def _ordered(uses: list[Affine], ranks: Affine) -> Completion:
    return lambda point: int(all(use.at(point) > 0 for use in uses) and ranks.at(point) <= 0)


def _gap_values(
    columns: IntArray, ends: IntArray, use: Affine, reach: list[list[tuple[int, Affine]]]
) -> Iterator[tuple[int, Completion]]:
    """Completions of the gaps of one node and column; the first one measures for all."""
    at: dict[str, tuple[int, int] | None] = {"gap": None}

    def measure(point: Numbers) -> None:
        left, right = ([v for v, here in side if here.at(point)] for side in reach)
        tested = use.at(point) > 0 and left and right
        at["gap"] = (max(left), min(right)) if tested else None

    for index, (column, end) in enumerate(zip(columns.tolist(), ends.tolist(), strict=True)):

        def value(
            point: Numbers, first: bool = index == 0, own: tuple[int, ...] = tuple(end)
        ) -> int:
            if first:
                measure(point)
            return int(at["gap"] == own)

        yield column, value
