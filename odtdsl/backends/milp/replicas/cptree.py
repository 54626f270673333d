"""The CPTree study's first formulation (its section 3), repaired and tightened: `--model cptree`.

Branches i, a < L, levels j < K, binary tests l, values v, patterns x (the study's examples,
merged), classes c. `Q(i,j,l,v)`: branch i asks test l at level j and goes on with value v
(1 passes the test: left). For i < a, `Z0(i,j,a)`: the branches agree up to level j,
`Z1`: they part at level j, `Z2`: they parted before. `S(x,i)`: the pattern is in the leaf.
`H(i,c)`: the leaf's label. `R(x,c)`: the pattern gets another label than c.

The study has exactly L leaves; here `E(i)` says that a branch is there, and the first ones
are, so that "at most L leaves" is one model. Equations, with their numbers in the study:

- (2) `sum over l, v Q(i,j,l,v) <= E(i)`; (3) `sum over j, v Q(i,j,l,v) <= 1`; (4) no level is
  asked after one that is not.
- (5) `Z0(i,K-1,a) = 0`; (6) `Z0 + Z1 + Z2 = 1`; (8) `Z0(i,j,a) <= asked(i,j+1)`; (10) `sum over a
  of Z1(i,j,a) >= asked(i,j)`; (14) `Z1(i,j,a) <= asked(i,j)`.
- (7') `|Q(i,j,l,v) - Q(a,j,l,v)| <= 1 - Z0(i,j,a)`; (11) follows with the next line.
- (9') `Z2(i,j,a) = Z2(i,j-1,a) + Z1(i,j-1,a)`, `Z2(i,0,a) = 1 - E(a)`; `Z0` falls with j and
  `Z1(i,j,a) <= Z0(i,j-1,a)`. As printed, (9) bounds Z2 from below only and overlapping branches
  are feasible.
- (12) siblings ask the same test; (13') the first of them has value 0, the second 1.
- (15) `sum over i S(x,i) = 1`; (16') `S(x,i) + sum over l Q(i,j,l,1-x_l) <= 1`, one clique for
  the study's 2 M rows.
- (17) `sum over c H(i,c) = E(i)`; (18) only where a rule asks for majorities; (19')
  `R(x,c) >= S(x,i) - H(i,c)`, R between 0 and 1.
- Reduced: `sum over x S(x,i) >= E(i)`.

Measured against: `python -m benchmarks.cptree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.base import Support
from odtdsl.backends.milp.charges import Charges
from odtdsl.backends.milp.clauses import Rules
from odtdsl.backends.milp.formulation import Formulation, no_tick
from odtdsl.backends.milp.lowering import Lowered, measures_in, ruled
from odtdsl.backends.milp.patterns import find_patterns, gain_pairs, gains_of, sends_left
from odtdsl.backends.milp.program import SKELETON, Affine, Numbers, Program, safe_names
from odtdsl.backends.milp.rows import RowMaker
from odtdsl.backends.milp.stage_choice import FIRST, StageChoice
from odtdsl.backends.milp.structure import Tick, tests_by_level, usable_tests
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Core, Form, Linear, LinearStage, PathTotal
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree


@dataclass(frozen=True, slots=True)
class Branches:
    """L branches of K levels; level j of branch i is node `i * K + j`, leaf i is slot i."""

    depth: int
    n_leaves: int

    @property
    def n_branches(self) -> int:
        """The number of tests: `depth` for each path."""
        return self.depth * self.n_leaves

    @property
    def ends(self) -> tuple[tuple[int, ...], ...]:
        """The tests of each path, from the root down."""
        return tuple(
            tuple(range(i * self.depth, (i + 1) * self.depth)) for i in range(self.n_leaves)
        )

    def at_level(self, level: int) -> range:
        """The tests of all paths at a level."""
        return range(level, self.n_branches, self.depth)

    def slots(self, node: int) -> range:
        """The slot that a path ends in."""
        return range(node, node + 1)


class CpTree:
    """The model of one problem: columns and rows of the module's docstring."""

    several = False

    def __init__(
        self,
        core: Core,
        depth: int,
        measures: Sequence[Additive],
        tick: Tick = lambda: None,
    ) -> None:
        self.core = core
        self._tick = tick
        full, leaves = 2**depth, core.tree.leaves
        self.perfect = Branches(depth, full if leaves is None else max(1, min(full, leaves)))
        self.program = Program()
        self.charges = Charges()
        levels = tests_by_level(core, depth)
        usable = usable_tests(core, levels)
        self.patterns = find_patterns(core, usable)
        self.column_names = safe_names(core.columns)
        self.tests = [(f, test) for f, found in enumerate(usable) for test in found.tolist()]
        self.passes = self._passes()
        self.alive_columns = self.program.columns(
            [f"E({i})" for i in range(self.perfect.n_leaves)], integer=True
        )
        self.program.fix(int(self.alive_columns[0]), 1)
        self.q = self._q(levels)
        self.z = self._z()
        self.s = self._s()
        self.h = self._h()
        self.r = self._r(list(measures))
        self._choose()
        self._relate()
        self._assign()

    # ---- what rules read

    def use(self, node: int, column: int) -> Affine:
        """1 where the test of the path is on the column, else 0."""
        i, j = divmod(node, self.perfect.depth)
        result = Affine()
        for t, (family, _) in enumerate(self.tests):
            if self.core.families[family].column == column:
                result.add_terms(self.q[i, j, t], np.ones(2, dtype=np.int64))
        return result

    def is_active(self, node: int) -> Affine:
        """1 where the path has a test at this level, else 0."""
        return self._asked(*divmod(node, self.perfect.depth))

    def alive(self, slot: int) -> Affine:
        """1 where the path is one of the tree, else 0."""
        return Affine().add_term(int(self.alive_columns[slot]))

    def slot_name(self, slot: int) -> str:
        """The name of a path."""
        return f"b{slot}"

    def inside(self, pattern: int, slot: int) -> Affine:
        """1 iff the pattern is in the leaf."""
        return Affine().add_term(int(self.s[pattern, slot]))

    def at(self, pattern: int, node: int) -> Affine:
        """1 iff the pattern is on the branch."""
        return self.inside(pattern, node // self.perfect.depth)

    def spread(self, measure: Additive, slots: Sequence[int]) -> Affine:
        """Rows of a measure over the patterns in some leaves; outputs are `CpRules`' part."""
        table = gains_of(measure, self.patterns, self.core.n_classes).worst
        result = Affine()
        for slot in slots:
            result.add_terms(self.s[:, slot], table)
        return result

    def of_model(self, measure: Additive) -> Affine:
        """Numerator of a measure: the value of label c is a constant plus the other gains."""
        gains = gains_of(measure, self.patterns, self.core.n_classes)
        base = int(gains.worst.sum() - gains.gain.sum())
        result = Affine(constant=measure.constant + base)
        x, c = np.nonzero(gains.gain)
        result.add_terms(self.r[x, c], gains.gain[x, c])
        return result.add_terms(
            self.alive_columns, np.full(self.perfect.n_leaves, measure.leaves, dtype=np.int64)
        )

    # ---- columns

    def _passes(self) -> IntArray:
        """int64 (n_tests, n_patterns): 1 where the pattern passes the test."""
        rows: list[IntArray] = []
        for family, test in self.tests:
            codes = self.patterns.codes[family]
            chained = self.core.families[family].kind == "threshold"
            left = codes <= test if chained else (codes == test) | (codes == -1)
            rows.append(left.astype(np.int64))
        return np.array(rows, dtype=np.int64).reshape(len(self.tests), self.patterns.count)

    def _q(self, levels: tuple[tuple[IntArray, ...], ...]) -> IntArray:
        depth, leaves = self.perfect.depth, self.perfect.n_leaves
        texts = [
            f"{self.column_names[self.core.families[f].column]}.{test}" for f, test in self.tests
        ]
        names = [
            f"Q({i},{j},{text},{v})"
            for i in range(leaves)
            for j in range(depth)
            for text in texts
            for v in (0, 1)
        ]
        q = self.program.columns(names, integer=True).reshape(leaves, depth, len(texts), 2)
        for j in range(depth):
            for t, (family, test) in enumerate(self.tests):
                if test not in levels[j][family]:
                    for column in q[:, j, t].ravel().tolist():
                        self.program.fix(column, 0)
        return q

    def _z(self) -> IntArray:
        """int64 (L, K, L, 3): columns for i < a, -1 elsewhere."""
        depth, leaves = self.perfect.depth, self.perfect.n_leaves
        z = np.full((leaves, depth, leaves, 3), -1, dtype=np.int64)
        for i in range(leaves):
            for a in range(i + 1, leaves):
                names = [f"Z{k}({i},{j},{a})" for j in range(depth) for k in range(3)]
                z[i, :, a] = self.program.columns(names, integer=True).reshape(depth, 3)
        return z

    def _s(self) -> IntArray:
        count, leaves = self.patterns.count, self.perfect.n_leaves
        names = [f"S(p{x},{i})" for x in range(count) for i in range(leaves)]
        return self.program.columns(names, integer=True).reshape(count, leaves)

    def _h(self) -> IntArray:
        leaves, classes = self.perfect.n_leaves, self.core.n_classes
        names = [f"H({i},c{c})" for i in range(leaves) for c in range(classes)]
        return self.program.columns(names, integer=True).reshape(leaves, classes)

    def _r(self, measures: list[Additive]) -> IntArray:
        r = np.full((self.patterns.count, self.core.n_classes), -1, dtype=np.int64)
        x, c = np.nonzero(gain_pairs(measures, self.patterns, self.core.n_classes))
        names = [f"R(p{i},c{j})" for i, j in zip(x.tolist(), c.tolist(), strict=True)]
        r[x, c] = self.program.columns(names)
        return r

    # ---- rows

    def _asked(self, i: int, j: int) -> Affine:
        columns = self.q[i, j].ravel()
        return Affine().add_terms(columns, np.ones_like(columns))

    def _row(
        self, name: str, row: Affine, *, lower: int | None = None, upper: int | None = None
    ) -> None:
        sides = {k: v for k, v in (("lower", lower), ("upper", upper)) if v is not None}
        self.program.row(name, SKELETON, row, **sides)

    def _choose(self) -> None:
        leaves, depth = self.perfect.n_leaves, self.perfect.depth
        for i in range(leaves):
            if i:
                row = self.alive(i).add(self.alive(i - 1), -1)
                self._row(f"first({i})", row, upper=0)
            for j in range(depth):
                name = f"({i},{j})"
                self._row(f"eq2{name}", self._asked(i, j).add(self.alive(i), -1), upper=0)
                if j:
                    later = self._asked(i, j).add(self._asked(i, j - 1), -1)
                    self._row(f"eq4{name}", later, upper=0)
            for t in range(len(self.tests)):
                columns = self.q[i, :, t].ravel()
                once = Affine().add_terms(columns, np.ones_like(columns))
                self._row(f"eq3({i},{t})", once, upper=1)
            self._tick()

    def _pairs(self) -> list[tuple[int, int]]:
        leaves = self.perfect.n_leaves
        return [(i, a) for i in range(leaves) for a in range(i + 1, leaves)]

    def _column(self, k: int, i: int, j: int, a: int) -> Affine:
        return Affine().add_term(int(self.z[min(i, a), j, max(i, a), k]))

    def _relate(self) -> None:
        depth, leaves = self.perfect.depth, self.perfect.n_leaves
        for i, a in self._pairs():
            for j in range(depth):
                self._relation(i, j, a)
            if depth:
                self._row(f"eq5({i},{a})", self._column(0, i, depth - 1, a), upper=0)
            else:  # without a level there is one branch
                self._row(f"eq5({i},{a})", self.alive(a), upper=0)
            self._tick()
        for i in range(leaves):
            for j in range(depth):
                siblings = self._asked(i, j)
                for a in range(leaves):
                    if a != i:
                        siblings.add(self._column(1, i, j, a), -1)
                self._row(f"eq10({i},{j})", siblings, upper=0)

    def _relation(self, i: int, j: int, a: int) -> None:
        name = f"({i},{j},{a})"
        z0, z1, z2 = (self._column(k, i, j, a) for k in range(3))
        self._row(f"eq6{name}", z0.copy().add(z1).add(z2), lower=1, upper=1)
        before = self._column(0, i, j - 1, a) if j else self.alive(a)
        self._row(f"eq9a{name}", z0.copy().add(before, -1), upper=0)
        self._row(f"eq9b{name}", z1.copy().add(before, -1), upper=0)
        if j:
            parted = self._column(2, i, j - 1, a).add(self._column(1, i, j - 1, a))
            self._row(f"eq9c{name}", z2.copy().add(parted, -1), lower=0, upper=0)
        else:
            self._row(f"eq9c{name}", z2.copy().add(self.alive(a)), lower=1, upper=1)
        for branch in (i, a):
            self._row(f"eq14_{branch}{name}", z1.copy().add(self._asked(branch, j), -1), upper=0)
            if j + 1 < self.perfect.depth:
                asked = self._asked(branch, j + 1)
                self._row(f"eq8_{branch}{name}", z0.copy().add(asked, -1), upper=0)
        for t in range(len(self.tests)):
            self._agree(i, j, a, t, z0, z1)

    def _agree(self, i: int, j: int, a: int, t: int, z0: Affine, z1: Affine) -> None:
        name = f"({i},{j},{a},{t})"
        mine = [Affine().add_term(c) for c in self.q[i, j, t].tolist()]
        yours = [Affine().add_term(c) for c in self.q[a, j, t].tolist()]
        for v in (0, 1):
            for sign in (1, -1):
                differ = Affine().add(mine[v], sign).add(yours[v], -sign).add(z0)
                self._row(f"eq7_{v}{name}", differ, upper=1)
        for sign in (1, -1):
            tests = Affine()
            for v in (0, 1):
                tests.add(mine[v], sign).add(yours[v], -sign)
            self._row(f"eq12{name}", tests.add(z1), upper=1)
        self._row(f"eq13a{name}", mine[1].add(z1), upper=1)
        self._row(f"eq13b{name}", yours[0].add(z1), upper=1)

    def _assign(self) -> None:
        leaves, depth = self.perfect.n_leaves, self.perfect.depth
        ones = np.ones(leaves, dtype=np.int64)
        for x in range(self.patterns.count):
            self._row(f"eq15(p{x})", Affine().add_terms(self.s[x], ones), lower=1, upper=1)
            against = self.q[:, :, np.arange(len(self.tests)), 1 - self.passes[:, x]]
            for i in range(leaves):
                for j in range(depth):
                    row = Affine().add_term(int(self.s[x, i]))
                    row.add_terms(against[i, j], np.ones(len(self.tests), dtype=np.int64))
                    self._row(f"eq16(p{x},{i},{j})", row, upper=1)
            for c in np.flatnonzero(self.r[x] >= 0).tolist():
                for i in range(leaves):
                    row = Affine().add_term(int(self.s[x, i])).add_term(int(self.h[i, c]), -1)
                    row.add_term(int(self.r[x, c]), -1)
                    self._row(f"eq19(p{x},c{c},{i})", row, upper=0)
            self._tick()
        for i in range(leaves):
            labels = Affine().add_terms(self.h[i], np.ones_like(self.h[i]))
            self._row(f"eq17({i})", labels.add(self.alive(i), -1), lower=0, upper=0)
            held = Affine().add_terms(self.s[:, i], np.ones(self.patterns.count, dtype=np.int64))
            self._row(f"reduced({i})", held.add(self.alive(i), -1), lower=0)
            for x in range(self.patterns.count):
                inside = Affine().add_term(int(self.s[x, i])).add(self.alive(i), -1)
                self._row(f"alive(p{x},{i})", inside, upper=0)

    # ---- trees in and out

    def decode(self, point: Numbers) -> RawTree:
        """The tree of a solution: branches grouped by what they ask."""
        alive = [i for i, c in enumerate(self.alive_columns.tolist()) if point[c] > 0.5]
        return self._decode(point, alive, 0)

    def _decode(self, point: Numbers, branches: list[int], level: int) -> RawTree:
        first = branches[0]
        if level < self.perfect.depth:
            for t, (family, test) in enumerate(self.tests):
                q = self.q[:, level, t].tolist()
                if max(point[q[first][0]], point[q[first][1]]) > 0.5:
                    left = [i for i in branches if point[q[i][1]] > 0.5]
                    right = [i for i in branches if point[q[i][0]] > 0.5]
                    return RawSplit(
                        family=family,
                        test=test,
                        left=self._decode(point, left, level + 1),
                        right=self._decode(point, right, level + 1),
                    )
        return RawLeaf(label=int(np.argmax([point[c] for c in self.h[first].tolist()])))

    def choices(self, tree: RawTree) -> dict[int, int] | None:
        """Branches, tests and labels of a tree, as column to value; None where it does not fit."""
        paths = _paths(tree)
        fits = len(paths) <= self.perfect.n_leaves
        if not fits or max(len(steps) for steps, _ in paths) > self.perfect.depth:
            return None
        columns = [self.alive_columns, self.q, self.h]
        values = dict.fromkeys(np.concatenate([c.ravel() for c in columns]).tolist(), 0)
        for i, (steps, label) in enumerate(paths):
            values[int(self.alive_columns[i])] = 1
            values[int(self.h[i, label])] = 1
            inside = np.ones(self.patterns.count, dtype=bool)
            for j, (family, test, value) in enumerate(steps):
                t = self._same_test(family, test, inside, j)
                if t is None:
                    return None
                values[int(self.q[i, j, t, value])] = 1
                inside &= self.passes[t] == value
        return values

    def _same_test(self, family: int, test: int, inside: BoolArray, level: int) -> int | None:
        """The test itself, or an admissible one of the family that parts the patterns alike."""
        left = sends_left(self.core, self.patterns, inside, family, test)
        if left is None:
            return None
        chained = self.core.families[family].kind == "threshold"
        alike = [
            t
            for t, (f, r) in enumerate(self.tests)
            if f == family
            and (r == test or chained)
            and self.program.column_upper[int(self.q[0, level, t, 0])] > 0
            and ((self.passes[t] == left) | ~inside).all()
        ]
        return min(alike, key=lambda t: (abs(self.tests[t][1] - test), t), default=None)

    def assignment(self, tree: RawTree) -> IntArray | None:
        """All structural columns of a tree, int64 (n_columns,); None where it does not fit."""
        choices = self.choices(tree)
        if choices is None:
            return None
        point = np.zeros(self.program.n_columns, dtype=np.int64)
        point[list(choices)] = list(choices.values())
        q = point[self.q]
        alive = point[self.alive_columns] > 0
        for i, a in self._pairs():
            equal = [bool(alive[a]) and bool((q[i, j] == q[a, j]).all()) for j in range(len(q[i]))]
            parted = not alive[a]
            for j, same in enumerate(equal):
                kind = 2 if parted else 0 if same else 1
                point[self.z[i, j, a, kind]] = 1
                parted = parted or not same
        for i in np.flatnonzero(alive).tolist():
            against = np.einsum("jl,lx->x", q[i, :, :, 0], self.passes)
            against += np.einsum("jl,lx->x", q[i, :, :, 1], 1 - self.passes)
            inside = against == 0
            point[self.s[inside, i]] = 1
            label = int(point[self.h[i]].argmax())
            for c in range(self.core.n_classes):
                columns = self.r[inside, c]
                point[columns[columns >= 0]] = int(c != label)
        return point


def _paths(tree: RawTree) -> list[tuple[tuple[tuple[int, int, int], ...], int]]:
    """Steps (family, test, value) and label of each leaf, from the right: value 0 comes first."""
    if isinstance(tree, RawLeaf):
        return [((), tree.label)]
    sides = ((0, tree.right), (1, tree.left))
    return [
        (((tree.family, tree.test, value), *steps), label)
        for value, side in sides
        for steps, label in _paths(side)
    ]


class CpRules(Rules):
    """Rules on the study's model: a leaf's label switches its sums on, as in (18).

    A branch that is not there has an empty path, so that path rules wait for `E(i)`.
    """

    def _instances(self, scope: Scope) -> list[tuple[str, Affine]]:
        if scope is Scope.PATH:
            leaves = range(self.perfect.n_leaves)
            return [(f"path{i}", self.encoding.alive(i)) for i in leaves]
        return super()._instances(scope)

    def _alone(self, scope: Scope, condition: Affine) -> Affine:
        return condition if scope is Scope.PATH else super()._alone(scope, condition)

    def _linear(
        self, atom: Linear, row: RowMaker, scope: Scope, place: str, condition: Affine
    ) -> None:
        if scope is Scope.MODEL:
            super()._linear(atom, row, scope, place, condition)
            return
        encoding = self.encoding
        assert isinstance(encoding, CpTree)
        slot = int(place[1:])
        gains = gains_of(atom.measure, encoding.patterns, self.n_classes)
        bound = atom.at_most - atom.measure.constant
        for c in range(self.n_classes):
            values = gains.by_label[:, c]
            most = int(np.maximum(values, 0).sum())
            inside = Affine().add_terms(encoding.s[:, slot], values)
            slack = max(0, most - bound)
            inside.add_term(int(encoding.h[slot, c]), slack)
            row.at_most(inside, bound + slack, most + slack, f"c{c}")


_ABSENT = {
    Form.DIAGRAM: "the study has trees only",
    **dict.fromkeys(
        (Form.REGRESSION, Form.OUTPUT_SET, Form.LOSS_BOUND, Form.OBJECTIVE_LOSS),
        "the study predicts classes",
    ),
    Form.TREE_UNBOUNDED: "the study fixes the number and length of branches",
    Form.MISSING_BRANCH: "the study has no missing cells",
    Form.ROOT: "the study has no rules on the root",
    Form.LINEAR_SPLIT: "the study counts rows only in leaves",
    Form.DEPTH: "the study fixes the length of branches",
    Form.MONOTONE: "the study compares training rows, and has no rules about other inputs",
    Form.MAXIMA_BOUND: "the study has no maxima",
    Form.OBJECTIVE_MAX: "the study minimizes errors",
    Form.OBJECTIVE_DEPTH: "the study minimizes errors",
}


class CpTreeStudy(Formulation):
    """The study's model, for what the study has."""

    name = "cptree"

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """What `pattern` expresses, less what the study has no place for."""
        support = super().supports(form, inside_or=inside_or)
        if support.level == "unsupported" or form not in _ABSENT:
            return support
        reason = f"{_ABSENT[form]}; use the default model of `milp`"
        return Support(level="unsupported", reason=reason)

    def places(self, depth: int) -> tuple[str, ...]:
        """Branches and levels, where others have nodes."""
        return (
            "a branch is a path from the root to a leaf; its levels, on which it asks tests, are "
            "counted from 0, the root",
            "where the answer to a test is yes, rows go left",
            "the study's equations (2) to (17) give rows their names: docs/explanation/milp.md",
        )

    def beyond(self, core: Core) -> list[tuple[str, str]]:
        """Thresholds with missing cells, and numbers of splits by feature."""
        found: list[tuple[str, str]] = []
        for family in core.families:
            if family.kind == "threshold" and family.missing is not None:
                name = core.columns[family.column]
                reason = "the study has no missing cells"
                found.append((f"thresholds on `{name}`, which has missing cells", reason))
        measures: list[tuple[str, Additive]] = []
        for clause in core.clauses:
            atoms = [literal.atom for literal in clause.literals]
            found_here = [a for a in atoms if isinstance(a, Linear | PathTotal)]
            measures += [(clause.origin.rule, atom.measure) for atom in found_here]
        for stage in core.objective:
            if isinstance(stage, LinearStage):
                measures.append(("objective", stage.measure))
        for rule, measure in measures:
            if measure.columns is not None and measure.columns.any():
                reason = "a split belongs to several branches, and the study cannot count it once"
                found.append((f"the number of splits by feature in `{rule}`", reason))
        return found

    def lower(
        self, core: Core, depth: int, choice: StageChoice = FIRST, tick: Tick = no_tick
    ) -> Lowered:
        """The program; there is no `lookahead`."""
        study = CpTree(core, depth, measures_in(core, choice), tick)
        return ruled(core, study, CpRules(study, core.n_classes, tick), choice)
