"""All trees that the clauses of a problem admit, by ruling out each one that is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pysat.solvers import Solver
from worlds import Model

from odtdsl.ir.evaluate import goes_left
from odtdsl.ir.forms import Core
from odtdsl.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.sat.lower import Lowered, shape_of
from odtdsl.sat.search import deepest
from odtdsl.sat.tree import TreeCode

Partition = object
"""A tree by what it does with rows: a label, or a column and the rows and trees of both sides."""


def models_of(core: Core) -> Iterator[RawTree]:
    """Every tree of the full formula: all rows in it, splits that part rows."""
    full = replace(shape_of(core), idle=True, single=True, parts=True, every=True)
    lowered = Lowered(core, deepest(core), full)
    with Solver("cadical153", bootstrap_with=lowered.formula.clauses) as solver:
        while solver.solve():
            true = {x for x in solver.get_model() if x > 0}
            yield lowered.tree.decode(true)
            solver.add_clause([-x for x in _chosen(lowered.tree, true)])


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
