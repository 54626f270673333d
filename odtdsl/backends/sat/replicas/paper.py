"""`--encoding paper`: the study's own, for what it has: no error, least depth, then least size.

Variables, with the study's names: `F(q, f)`, node q tests the Boolean feature f; `X(i, l)`, row
i goes right at level l; `C(s, c)`, slot s predicts class c; `U(s)`, slot s predicts a class;
`H(s, j)`, at least j of the first s slots do. A Boolean feature is one test of a family: a
threshold, a value or a bin.

Every bound on the size has a formula of its own, which starts without rows and takes one row
that is predicted wrong after the other (algorithm 3); the bounds are halved.

Source: Avellaneda, "Efficient inference of optimal decision trees" (AAAI 2020), equations 1 to
10, algorithms 1 to 3. Measured against: `python -m benchmarks.sat`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import Shape, shape_of
from odtdsl.backends.clauses.tree import grown, prefixes
from odtdsl.backends.sat.encoding import Encoding
from odtdsl.backends.sat.search import DepthSolver, Search, checked
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.families import admissible
from odtdsl.problem.ir.forms import Additive, Core, DepthStage, LinearStage, StageForm
from odtdsl.problem.ir.raw import RawLeaf, RawTree, walk


class PaperCode:
    """The study's formula of a perfect tree.

    Parameters
    ----------
    core
        The problem.
    depth
        Of the tree.
    allowed
        bool (n_rows, n_classes): one class per row.
    leaves
        The most slots that may predict a class; None for no bound.
    """

    def __init__(self, core: Core, depth: int, shape: Shape, leaves: int | None = None) -> None:
        self.core, self.depth, self.shape = core, depth, shape
        self.labels = shape.allowed.argmax(axis=1)
        self.tests = tests_of(core)
        self.holds = features_of(core, self.tests)
        self.rows_in: list[int] = []
        self.uncounted: list[int] = []
        self.formula = Formula()
        self._signs = [prefixes(level) for level in range(depth + 1)]
        nodes, slots = 2**depth - 1, 2**depth
        self.f = self.formula.block(self._says, nodes, len(self.tests))
        self.c = self.formula.block(
            lambda s, c: f"C: slot {s + 1} predicts class {c}", slots, core.n_classes
        )
        self._nodes()
        if leaves is not None:
            self._size(leaves)

    @property
    def tree(self) -> PaperCode:
        """The code is both formula and tree."""
        return self

    def _says(self, q: int, f: int) -> str:
        family, test = self.tests[f]
        name = self.core.columns[self.core.families[family].column]
        return f"F: node {q + 1} tests `{name}`, test {test}"

    def _nodes(self) -> None:
        self.formula.group("(1) each node tests something")
        self.formula.rows(self.f)
        self.formula.group("(2) each node tests one thing at most")
        first, second = np.triu_indices(len(self.tests), 1)
        for chosen in self.f:
            self.formula.rows(np.stack([-chosen[first], -chosen[second]], axis=-1))

    def _size(self, most: int) -> None:
        formula, slots = self.formula, 2**self.depth
        used = formula.block(lambda s: f"U: slot {s + 1} predicts a class", slots)
        count = formula.block(
            lambda s, j: f"H: at least {j} of the first {s} slots predict a class",
            slots + 1,
            most + 2,
        )
        formula.group("(7) slots with a class are used", "size")
        formula.rows(np.stack([-self.c.T, np.broadcast_to(used, self.c.T.shape)]).reshape(2, -1).T)
        formula.group("(8) counts do not fall", "size")
        formula.rows(np.stack([-count[:-1], count[1:]]).reshape(2, -1).T)
        formula.group("(9) a used slot counts", "size")
        here = np.broadcast_to(used[:, None], (slots, most + 1))
        formula.rows(np.stack([-here, -count[:-1, :-1], count[1:, 1:]]).reshape(3, -1).T)
        formula.group(f"(10) at most {most} slots are used", "size")
        formula.add(-int(count[-1, -1]))
        formula.add(int(count[0, 0]))

    def add_rows(self, rows: Iterable[int]) -> None:
        """Rows with their classes: algorithms 1 and 2."""
        for row in rows:
            self._add(row)

    def _add(self, row: int) -> None:
        formula = self.formula
        way = formula.block(lambda level: f"X: row {row} goes right at level {level}", self.depth)
        self.rows_in.append(row)
        formula.group(f"(3), (4) row {row} goes where the tests send it")
        turn = np.where(self.holds[row], 1, -1)
        for level in range(self.depth):
            nodes = self.f[2**level - 1 : 2 ** (level + 1) - 1]
            clauses = np.empty((*nodes.shape, level + 2), dtype=np.int64)
            clauses[:, :, :level] = (self._signs[level] * way[:level])[:, None, :]
            clauses[:, :, level] = turn * way[level]
            clauses[:, :, level + 1] = -nodes
            formula.rows(clauses.reshape(-1, level + 2))
        formula.group(f"(5), (6) the class of row {row}")
        away = self._signs[self.depth] * way[None, :]
        sign = np.where(np.arange(self.core.n_classes) == self.labels[row], 1, -1)
        for label in range(self.core.n_classes):
            formula.rows(np.hstack([away, sign[label] * self.c[:, label : label + 1]]))

    def decode(self, true: set[int]) -> RawTree:
        """The tree of a model, without the splits that part no rows.

        Rows of a slot without a class are predicted wrong, whatever the tree then says.
        """

        def split(place: int) -> tuple[int, int]:
            chosen = self.f[place - 1].tolist()
            return self.tests[next(i for i, variable in enumerate(chosen) if variable in true)]

        def label(slot: int, rows: IntArray) -> int:
            named = self.c[slot - 2**self.depth].tolist()
            some = (c for c, variable in enumerate(named) if variable in true)
            found = next(some, None)
            if found is None:
                self.uncounted.append(int(rows[0]))
            return int(np.bincount(self.labels[rows]).argmax()) if found is None else found

        self.uncounted = []
        return grown(self.core, self.depth, split, label)


def tests_of(core: Core) -> list[tuple[int, int]]:
    """The family and the test of each Boolean feature: those that `candidates` leaves."""
    return [
        (f, int(test))
        for f, family in enumerate(core.families)
        for test in np.flatnonzero(admissible(family, family.domain))
    ]


def features_of(core: Core, tests: list[tuple[int, int]]) -> BoolArray:
    """bool (n_rows, n_tests): the Boolean features, true where the test sends the row right."""
    columns = [~core.families[f].goes_left(test) for f, test in tests]
    if not columns:
        return np.zeros((core.n_rows, 0), dtype=bool)
    return np.stack(columns, axis=1)


class RowByRowSolver(DepthSolver):
    """Algorithm 3: one row that is predicted wrong after the other."""

    def _wrong(self, tree: RawTree) -> list[int]:
        return sorted(super()._wrong(tree))[:1]


class PaperSearch(Search):
    """DT_depth, then DT_size."""

    def _open(self, depth: int, shape: Shape, leaves: int | None = None) -> DepthSolver:
        self.close()
        checked(self.limits)
        self.live = RowByRowSolver(
            PaperCode(self.core, depth, shape, leaves), self.limits, self.solver
        )
        return self.live

    def minimize(self, stage: int) -> bool:
        """The least number of leaves at the depth, by halving what is open."""
        assert self.best is not None
        assert self.depth is not None, "the study makes the depth least first"
        least = 1
        while least < (most := _leaves(self.best)):
            middle = (least + most) // 2
            tree = self._open(self.depth, self.shape, middle).tree([])
            if tree is None:
                least = middle + 1
                self.raise_bound(stage, _value(self.core, least))
                self.tell(stage)
            else:
                self.take(tree, stage)
        self._proven(stage)
        return True


def _leaves(tree: RawTree) -> int:
    return sum(isinstance(node, RawLeaf) for node, _ in walk(tree))


def _value(core: Core, leaves: int) -> Fraction:
    stage = core.objective[1]
    assert isinstance(stage, LinearStage)
    return Fraction(
        stage.measure.constant + leaves * stage.measure.leaves, stage.measure.denominator
    )


# ---- what the study does not have


def beyond(core: Core) -> list[tuple[str, str]]:
    """What the study does not have: what, and why."""
    found: list[tuple[str, str]] = []
    if core.tree.leaves is not None:
        found.append(("a bound on leaves", "the study makes leaves least, and bounds none"))
    for family in core.families:
        if family.missing is not None:
            name = core.columns[family.column]
            found.append((f"`{name}`, which has missing cells", "the study has no missing cells"))
    for split_filter in core.filters:
        why = "the study allows every Boolean feature at every node"
        found.append((f"rule `{split_filter.origin.rule}`", why))
    shape = shape_of(core)
    for clause in shape.clauses:
        found.append((f"rule `{clause.origin.rule}`", "the study's one demand is no error"))
    if not (shape.allowed.sum(axis=1) == 1).all():
        why = "the study's trees make no errors; write `rule exact: errors <= 0`"
        found.append(("trees that make errors", why))
    if not _minimized(core.objective):
        why = "the study minimizes `depth`, or `depth then leaves`"
        found.append(("the objective", why))
    return found


def _minimized(objective: tuple[StageForm, ...]) -> bool:
    if not isinstance(objective[0], DepthStage) or len(objective) > 2:
        return False
    return all(
        isinstance(stage, LinearStage)
        and not stage.maxima
        and stage.path_sum is None
        and _leaves_only(stage.measure)
        for stage in objective[1:]
    )


def _leaves_only(measure: Additive) -> bool:
    others = (measure.rows, measure.output, measure.columns)
    return measure.leaves > 0 and not any(one is not None and one.any() for one in others)


class Paper(Encoding):
    """The study's encoding and its algorithms."""

    name = "paper"
    plain = True

    def refuse(self, core: Core) -> None:
        """What the study does not have."""
        found = [
            Diagnostic(
                code="B102",
                message=f"`sat` (paper) cannot express {what}",
                notes=(why,),
                helps=("omit the encoding `paper`",),
            )
            for what, why in beyond(core)
        ]
        if found:
            raise OdtError(found)

    def code(self, core: Core, depth: int) -> PaperCode:
        """Equations 1 and 2."""
        return PaperCode(core, depth, shape_of(core))

    def search(self) -> type[Search]:
        """Algorithm 3, and its bounds on the size."""
        return PaperSearch
