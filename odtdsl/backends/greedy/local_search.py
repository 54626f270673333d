"""Local search: one split at a time, the rest of the tree held fixed."""

from __future__ import annotations

import numpy as np

from odtdsl.backends.greedy.costs import PenalizedObjective
from odtdsl.backends.greedy.growth import GINI, SIDES, Grower
from odtdsl.backends.greedy.tables import Node, Tables
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.families import local_gap, place
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree


def alternate(grower: Grower, root: Node, objective: PenalizedObjective) -> None:
    """Give each split, the root first, the test that its two subtrees as they are like best.

    The rows of what is below follow; splits that lose a side give way to the other one.
    (Alternating optimization, Carreira-Perpinan and Tavallali, NeurIPS 2018.)
    """
    tables = grower.tables
    queue = [root]
    while queue and not grower.stopped():
        node = queue.pop(0)
        if not node.children:
            continue
        _retest(grower, node, objective)
        queue.extend(node.children)
    placed = tables.placed(root.raw())
    root.rows, root.family, root.test = placed.rows, placed.family, placed.test
    root.left, root.right, root.label = placed.left, placed.right, placed.label


def _retest(grower: Grower, node: Node, objective: PenalizedObjective) -> None:
    """Replace the test of one split where the gain of its rows rises by it."""
    tables = grower.tables
    left, right = node.children
    rows = node.rows
    gains = np.zeros((tables.core.n_rows, 2), dtype=np.int64)
    gains[rows, 0] = objective.gains[rows, _predictions(tables, left, rows)]
    gains[rows, 1] = objective.gains[rows, _predictions(tables, right, rows)]
    now = int(gains[left.rows, 0].sum() + gains[right.rows, 1].sum())
    height = max(leaf.level for leaf in node.leaves()) - node.level
    columns = grower.rules.choices(node.above, height)
    families, tests, exact, _ = tables.best(node, columns, gains, SIDES)
    if not len(families):
        return
    best = int(np.argmax(exact))
    if int(exact[best]) <= now:
        return
    tree = node.raw()
    assert isinstance(tree, RawSplit)
    tests_left, tests_right = tree.left, tree.right
    tables.split(node, int(families[best]), int(tests[best]))
    for child, below in zip(node.children, (tests_left, tests_right), strict=True):
        _follow(tables, child, below)


def _follow(tables: Tables, node: Node, tree: RawTree) -> None:
    """Put a subtree below a node; splits with an empty side give way to the other one."""
    stack = [(node, tree)]
    while stack:
        node, tree = stack.pop()
        while isinstance(tree, RawSplit):
            tables.split(node, tree.family, tree.test)
            left, right = node.children
            if left.rows.size and right.rows.size:
                stack += [(right, tree.right), (left, tree.left)]
                break
            tree = tree.left if left.rows.size else tree.right
            node.fold()
        else:
            node.label = tree.label


def _predictions(tables: Tables, node: Node, rows: IntArray) -> IntArray:
    """The label that a subtree would give to each of `rows`."""
    ghost = Node(rows=np.arange(len(rows)), level=0, above=())
    labels = np.empty(len(rows), dtype=np.int64)
    stack = [(ghost.rows, node)]
    while stack:
        positions, below = stack.pop()
        if not below.children:
            labels[positions] = below.label
            continue
        left = tables.core.families[below.family].goes_left(below.test)[rows[positions]]
        stack += [
            (positions[left], below.children[0]),
            (positions[~left], below.children[1]),
        ]
    return labels


def with_column(
    grower: Grower, root: Node, column: int, objective: PenalizedObjective, depth: int
) -> None:
    """Make some leaf, or split above two leaves, test a column: the one that loses least."""
    best: tuple[float, Node, int, int] | None = None
    for node in root.nodes():
        bottom = not any(child.children for child in node.children)
        if not bottom or node.level >= depth:
            continue
        if column not in grower.rules.choices(node.above, depth - node.level):
            continue
        families, tests, exact, gini = grower.tables.best(node, [column], objective.gains, GINI)
        if len(families):
            at = int(np.lexsort((gini, exact))[-1])
            leaves = [
                objective.gains[leaf.rows].sum(axis=0).max(initial=0) for leaf in node.leaves()
            ]
            rise = float(exact[at]) - float(sum(leaves))
            if best is None or rise > best[0]:
                best = (rise, node, int(families[at]), int(tests[at]))
    if best is not None:
        best[1].fold()
        grower.tables.split(best[1], best[2], best[3])


def settled(core: Core, tree: RawTree) -> RawTree:
    """The same tree with every threshold test moved to the gap in which its threshold lies.

    A node may use a gap of its rows where any allowed threshold lies in it; back ends that
    look at the gaps of all rows know the test only by the one that holds the threshold.
    """
    done: list[RawTree] = []
    for visit in reversed(Evaluation(core, tree).visits):
        node = visit.node
        if isinstance(node, RawLeaf):
            done.append(node)
            continue
        left, right = done.pop(), done.pop()
        family = core.families[node.family]
        test = node.test
        if family.kind == "threshold":
            gap = local_gap(family, test, family.codes[visit.rows])
            allowed = placing(family, core.filters, visit.level)
            cut = None if gap is None else place(family, allowed, *gap)
            if cut is not None:
                test = int(np.searchsorted(family.values, cut, side="right")) - 1
        done.append(RawSplit(family=node.family, test=test, left=left, right=right))
    return done.pop()
