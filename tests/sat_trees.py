"""The trees that the clauses of a problem admit: all of them, each ruled out once it is seen, or
one after the other; and searches with all rows in the formula from the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import numpy as np
from pysat.solvers import Solver
from tiny_tables import Model

from odtdsl.backends.base import Limits
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import Lowered, Shape, deepest, shape_of
from odtdsl.backends.clauses.tree import TreeCode
from odtdsl.backends.cpsat.trees import Trees
from odtdsl.backends.sat.search import DepthSolver, Search
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree

Partition = object
"""A tree by what it does with rows: a label, or a column and the rows and trees of both sides."""


def models_of(core: Core) -> Iterator[RawTree]:
    """Every tree of the full formula: all rows in it, splits that part rows."""
    full = replace(shape_of(core), idle=True, single=True, parts=True, every=True)
    yield from _listed(Lowered(core, deepest(core), full).tree)


def models_of_cpsat(core: Core) -> Iterator[RawTree]:
    """Every tree of the formula for CP-SAT, its sums written out as clauses."""
    trees = Trees(core, formula=Formula())
    for ones in trees.one_of:
        trees.formula.extend((-a, -b) for a, b in combinations(ones, 2))
    yield from _listed(trees.tree)


def _listed(tree: TreeCode) -> Iterator[RawTree]:
    with Solver("cadical153", bootstrap_with=tree.formula.clauses) as solver:
        while solver.solve():
            true = {x for x in solver.get_model() if x > 0}
            yield tree.decode(true)
            solver.add_clause([-x for x in _chosen(tree, true)])


def _chosen(tree: TreeCode, true: set[int]) -> list[int]:
    """The literals of the tree's variables that make this tree: of its splits and leaves."""
    found: list[int] = []
    pending = [1]
    while pending:
        place = pending.pop()
        if place >= 2**tree.depth:
            labels = tree.label[place - 2**tree.depth].tolist()
            found.append(next(x for x in labels if x in true))
            continue
        assert tree.idle is not None
        if int(tree.idle[place - 1]) in true:
            found.append(int(tree.idle[place - 1]))
            pending.append(2 * place)
            continue
        f = next(f for f in tree.families if tree.select(place, f) in true)
        upto = tree.upto[f][place - 1].tolist()
        test = next(t for t, x in enumerate(upto) if x in true)
        found += [tree.select(place, f), upto[test], *([-upto[test - 1]] if test else [])]
        pending += [2 * place, 2 * place + 1]
    return found


class LazyFormula:
    """The formula as the search has it: rows join where a tree is wrong, if the rules permit."""

    def __init__(self, core: Core) -> None:
        lowered = Lowered(core, deepest(core), shape_of(core))
        self.tree, self.all_rows = lowered.tree, lowered.shape.every
        self.live = DepthSolver(lowered, Limits())

    def admits(self, tree: RawTree) -> bool:
        """Whether a tree, its tests and labels assumed, keeps all of the problem."""
        return self.live.tree(self._fixed(tree, 1)) is not None

    def _fixed(self, tree: RawTree, place: int) -> list[int]:
        code = self.tree
        if isinstance(tree, RawLeaf):
            idle = [] if code.idle is None or place >= 2**code.depth else [code.idle[place - 1]]
            labels = code.label[self._slots(place)]
            others = np.delete(labels, tree.label, axis=1).reshape(-1)
            mine = labels[:, tree.label] if code.holds is None else ()  # else one slot may do
            return [*map(int, idle), *(-int(x) for x in others), *map(int, mine)]
        assert isinstance(tree, RawSplit)
        upto = code.upto[tree.family][place - 1].tolist()
        others = [-code.select(place, f) for f in code.families if f != tree.family]  # type: ignore[assignment]
        split = [] if code.idle is None else [-int(code.idle[place - 1])]
        return [
            *split,
            *others,
            upto[tree.test],
            *([-upto[tree.test - 1]] if tree.test else []),
            *self._fixed(tree.left, 2 * place),
            *self._fixed(tree.right, 2 * place + 1),
        ]

    def _slots(self, place: int) -> list[int]:
        """The slots below a node, counted from 0."""
        below = self.tree.depth - self.tree.level(place)
        first = (place << below) - 2**self.tree.depth
        return list(range(first, first + 2**below))


@contextmanager
def without_start() -> Iterator[None]:
    """Searches that no greedy tree begins: what the formula cannot find is not found."""
    with patch("odtdsl.backends.auto.portfolio.best_start", return_value=None):
        yield


@contextmanager
def all_rows_first() -> Iterator[None]:
    """Searches whose formulas have all rows from the start."""
    opened = Search._open

    def open_(self: Search, depth: int, shape: Shape) -> DepthSolver:
        live = opened(self, depth, shape)
        live.lowered.add_rows(range(self.core.n_rows))
        return live

    with patch.object(Search, "_open", open_):
        yield


def rows_of(core: Core, tree: RawTree) -> Partition:
    """What a tree does with the training rows, whichever test says it."""
    return _rows(core, tree, np.arange(core.n_rows))


def _rows(core: Core, tree: RawTree, rows: object) -> Partition:
    assert isinstance(rows, np.ndarray)
    if isinstance(tree, RawLeaf):
        assert core.labels is not None
        return tree.label
    assert isinstance(tree, RawSplit)
    family = core.families[tree.family]
    left = goes_left(family, tree.test, family.codes[rows])
    sides = [(rows[left], tree.left), (rows[~left], tree.right)]
    return family.column, frozenset(
        (sum(1 << row for row in some.tolist()), _rows(core, side, some)) for some, side in sides
    )


def partition_of(model: Model, labels: list[int]) -> Partition:
    """The same of a brute-force model; `labels`: the package's index of each class."""
    if not isinstance(model.root, tuple):
        return labels[model.root.label]
    split, first, second = model.root
    sides = [(split.left_rows, first), (split.rows & ~split.left_rows, second)]
    return split.test.column, frozenset((some, partition_of(kid, labels)) for some, kid in sides)
