"""The best outputs of the leaves of a tree, under the rules on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir import regression
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree
from odtdsl.problem.ir.regression import loss_in
from odtdsl.problem.outputs.feasible import FeasibleSet, feasible_set


def fitted(core: Core, tree: RawTree) -> RawTree:
    """The tree with the best feasible output in every leaf that holds a row.

    Class trees as they are. A loss of several targets that leaves one out wants the mean of
    it, as near as the rules admit.
    """
    if core.targets is None:
        return tree
    found = feasible_set(core)
    if found is None:
        return regression.fitted(core, tree)
    return _fitted(core, found, tree, np.arange(core.n_rows))


def best_output(core: Core, rows: IntArray) -> tuple[float, ...]:
    """The best feasible output of a leaf of these rows; NaN where none is feasible."""
    found = feasible_set(core)
    if found is None:
        return regression.leaf_output(core, rows)
    return _best_output(core, found, rows)


def _fitted(core: Core, found: FeasibleSet, tree: RawTree, rows: IntArray) -> RawTree:
    if isinstance(tree, RawLeaf):
        return RawLeaf(output=_best_output(core, found, rows)) if rows.size else tree
    assert isinstance(tree, RawSplit)
    left = core.families[tree.family].goes_left(tree.test)[rows]
    return replace(
        tree,
        left=_fitted(core, found, tree.left, rows[left]),
        right=_fitted(core, found, tree.right, rows[~left]),
    )


def _best_output(core: Core, found: FeasibleSet, rows: IntArray) -> tuple[float, ...]:
    """The feasible output of least loss for the rows of a leaf.

    Rows count alike where all of them weigh nothing.
    """
    assert core.targets is not None, "outputs are for number targets"
    loss = loss_in(core)
    weights = np.ones(len(rows)) if loss is None else loss.masses[rows].astype(np.float64)
    if not weights.any():
        weights = np.ones(len(rows))
    factors = target_weights(core)
    if loss is not None and loss.kind == "absolute":
        _, output = found.absolute(core.targets[rows], weights, factors)
        return tuple(output.tolist())
    goal = np.array([regression.leaf_output(core, rows)])
    ask = found.deviance if loss is not None and loss.kind == "poisson" else found.project
    values, outputs = ask(goal, factors)
    if not np.isfinite(values[0]):  # the deviance of what must be 0: its value says so
        _, outputs = found.project(goal, factors)
    return tuple(outputs[0].tolist())


def target_weights(core: Core) -> FloatArray:
    """What a unit of each target's loss weighs, the largest 1: float64 (n_targets,).

    Targets that the loss leaves out have a weight all the same, so small that it decides
    only what the others leave open.
    """
    assert core.targets is not None
    loss = loss_in(core)
    if loss is None:
        return np.ones(core.targets.shape[1])
    largest = max(loss.factors)
    return np.array([max(float(factor / largest), MIN_FACTOR) for factor in loss.factors])


MIN_FACTOR = 1e-9
