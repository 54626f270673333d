"""The checker's part for number targets: what every leaf's output should be.

It shares nothing with the code that made the outputs: a mean is recognised by its residuals,
a median by the weight on either side of it. Under rules on outputs the best output is not
computed again; the leaf's own rows that obey the rules must not predict better than it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.checker_lines import Checked
from odtdsl.data.table import BoolArray, FloatArray
from odtdsl.ir.expr import Apply, TargetArg
from odtdsl.ir.problem import Growth, Problem, RuleDecl
from odtdsl.terms.evaluate import FLOAT_TOLERANCE, applications, holds
from odtdsl.terms.view import LeafView, TreeView

CALLED_FOR = {
    "mse": "the mean of its rows", "mae": "a median of its rows",
    "poisson": "the mean of its rows",
}  # fmt: skip

MOST_ROWS = 30
"""Rows of a leaf that are tried as outputs."""

ROUNDING = 1e-6
"""What a residual may owe to the rounding of values far from 0, times the tolerance of audits."""


def growth_of(problem: Problem, backend: str | None) -> Growth:
    """How leaves were to be filled: as the spec says of `greedy`, else by the best output."""
    name = backend or problem.options.backend
    return problem.options.growth if name == "greedy" else Growth()


def on_outputs(rule: RuleDecl) -> bool:
    """Whether a rule speaks of leaf outputs."""
    return any(call.term == "output" for call in applications(rule.condition))


def softened(line: Checked, rule: RuleDecl, view: TreeView) -> Checked:
    """The line of a rule that leaves may break, with how many do."""
    broken = sum(not holds(rule.condition, leaf) for leaf in view.leaves)
    note = f"{broken} of {len(view.leaves)} leaves break it" if broken else ""
    return replace(line, soft=True, note=note)


def audited_outputs(view: TreeView, growth: Growth) -> Iterator[Checked]:
    """Lines on the outputs of leaves: what they are to be, and the grid that they are on."""
    problem = view.rows.problem
    step = problem.target.step
    soft = growth.leaf in ("relaxed", "average")
    ruled = step is not None or any(on_outputs(rule) for rule in problem.rules)
    if growth.leaf == "average" or (not ruled and growth.leaf in ("optimal", "relaxed")):
        yield _best(view)
    elif growth.leaf == "medoid":
        yield _medoids(view)
    elif growth.leaf == "optimal":
        yield _best_of_rows(view)
    if step is not None:
        yield replace(_grid(view, step), soft=soft)


def kept(view: TreeView) -> BoolArray:
    """bool (n_leaves,): which leaves' outputs keep all rules on outputs, and the grid."""
    problem = view.rows.problem
    rules = [rule for rule in problem.rules if on_outputs(rule)]
    step = problem.target.step
    return np.array([
        all(holds(rule.condition, leaf) for rule in rules)
        and not any(_off_grid(value, step) for value in leaf.leaf.output or ())
        for leaf in view.leaves
    ], dtype=bool)  # fmt: skip


def _off_grid(value: float, step: Fraction | None) -> bool:
    if step is None:
        return False
    return abs(value - float(step) * round(value / float(step))) > 1e-9 * (1 + abs(value))


def _best(view: TreeView) -> Checked:
    """Every leaf's output is what makes the objective's loss least on its rows."""
    loss = loss_called(view.rows.problem)
    worst = Fraction(worst_output(view, loss))
    return Checked(
        rule="tree outputs", text=f"every leaf's output is {CALLED_FOR[loss]}",
        holds=worst <= FLOAT_TOLERANCE, instances=len(view.leaves),
        note="" if worst <= FLOAT_TOLERANCE else f"off by {float(worst):.3g} of the spread",
    )  # fmt: skip


def _medoids(view: TreeView) -> Checked:
    """Every leaf's output is that of one of its rows, where one of these obeys the rules."""
    wrong, loss = 0, loss_called(view.rows.problem)
    for leaf in view.leaves:
        assert leaf.rows.data.targets is not None, "number targets are there"
        truth = leaf.rows.data.targets[leaf.inside]
        if not (truth == np.array(leaf.leaf.output)).all(axis=1).any():
            allowed = _admitted(leaf, len(truth))[1]
            if loss == "poisson":  # an output of 0 is infinitely bad for more
                weights = leaf.rows.weights[leaf.inside]
                more = truth[weights > 0] if weights.any() else truth
                allowed &= ~((truth == 0) & (more.max(axis=0) > 0)).any(axis=1)
            wrong += bool(allowed.any())
    return Checked(
        rule="tree outputs", text="every leaf's output is one of its rows', if one obeys the rules",
        holds=not wrong, instances=len(view.leaves),
        note=f"not in {wrong} leaves" if wrong else "",
    )  # fmt: skip


def _best_of_rows(view: TreeView) -> Checked:
    """No row of a leaf that obeys the rules would be a better output for the leaf."""
    loss = loss_called(view.rows.problem)
    wrong = 0
    for leaf in view.leaves:
        truth, allowed = _admitted(leaf, MOST_ROWS)
        weights = leaf.rows.weights[leaf.inside].astype(np.float64)
        if not allowed.any() or not weights.any():
            continue
        mine = _lost(loss, leaf.rows.problem, truth, weights, np.array(leaf.leaf.output))
        rows = np.flatnonzero(allowed)
        best = min(_lost(loss, leaf.rows.problem, truth, weights, truth[row]) for row in rows)
        wrong += mine > best * (1 + ROUNDING * 1e-3) + ROUNDING * 1e-3
    return Checked(
        rule="tree outputs", text="no row of a leaf that obeys the rules is a better output",
        holds=not wrong, instances=len(view.leaves),
        note=f"one is in {wrong} leaves" if wrong else "",
    )  # fmt: skip


def _admitted(leaf: LeafView, most: int) -> tuple[FloatArray, BoolArray]:
    """The rows of a leaf, and which of the first of them would keep the rules as outputs."""
    truth = leaf.rows.data.targets
    assert truth is not None, "number targets are there"
    inside = truth[leaf.inside]
    problem = leaf.rows.problem
    rules = [rule.condition for rule in problem.rules if on_outputs(rule)]
    kept = np.zeros(len(inside), dtype=bool)
    for at, row in enumerate(inside[:most].tolist()):
        as_output = replace(leaf, leaf=replace(leaf.leaf, output=tuple(row)))
        kept[at] = all(holds(condition, as_output) for condition in rules)
    return inside, kept


def _lost(
    loss: str, problem: Problem, truth: FloatArray, weights: FloatArray, output: FloatArray
) -> float:
    """The loss of a leaf with an output, over the targets that the objective names."""
    apart = truth - output
    if loss == "poisson":
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(truth > 0, np.log(np.where(truth > 0, truth, 1) / output), 0)
        each = truth * logs - truth + output
    else:
        each = np.abs(apart) if loss == "mae" else apart**2
    each = np.where(weights[:, None] > 0, each, 0.0)  # not 0 times infinite
    return float(weights @ each @ _shares(problem, loss, truth.shape[1]))


def _shares(problem: Problem, loss: str, n_targets: int) -> FloatArray:
    """How much each target counts in the objective: all alike if one is not named."""
    for stage in problem.objective:
        for call in applications(stage.measure):
            if call.term == loss and call.args and isinstance(call.args[0], TargetArg):
                if len(problem.objective) > 1 or stage.measure != call:
                    return np.zeros(n_targets)  # sums of losses are left to the objective's line
                one: FloatArray = np.eye(n_targets)[call.args[0].index]
                return one
    return np.full(n_targets, 1.0)


def _grid(view: TreeView, step: Fraction) -> Checked:
    """Every output is a multiple of its target's step."""
    off = sum(
        _off_grid(value, step)
        for leaf in view.leaves for value in leaf.leaf.output or ()
    )  # fmt: skip
    return Checked(
        rule="tree steps", text=f"every output is a multiple of {step}", holds=not off,
        instances=len(view.leaves), note=f"{off} outputs are not" if off else "",
    )  # fmt: skip


def loss_called(problem: Problem) -> str:
    """The loss that outputs are to make least: the first in objective, then rules; or `mse`."""
    said: list[Apply] = []
    for stage in problem.objective:
        said += applications(stage.measure)
    for rule in problem.rules:
        said += applications(rule.condition)
    return next((call.term for call in said if call.term in CALLED_FOR), "mse")


def worst_output(view: TreeView, loss: str) -> float:
    """The largest share by which an output is off; 0 for a leaf whose rows weigh nothing."""
    return max((off for leaf in view.leaves for off in _off(leaf, loss)), default=0.0)


def _off(leaf: LeafView, loss: str) -> Iterator[float]:
    truth = leaf.rows.data.targets
    assert truth is not None, "number targets are there"
    assert leaf.leaf.output is not None, "a tree that fits the targets has outputs"
    weights = leaf.rows.weights[leaf.inside].astype(np.float64)
    if not weights.any():
        return
    off = _off_median if loss == "mae" else _off_mean
    for values, output in zip(truth[leaf.inside].T, leaf.leaf.output, strict=True):
        yield off(values, weights, output)


def _off_mean(values: FloatArray, weights: FloatArray, output: float) -> float:
    """Of a mean the weighted residuals cancel: their sum as a share of their sizes."""
    apart = weights * (values - output)
    size = weights * np.maximum(np.abs(values), abs(output))
    spread = float(np.abs(apart).sum() + ROUNDING * size.sum())
    return abs(float(apart.sum())) / spread if spread else 0.0


def _off_median(values: FloatArray, weights: FloatArray, output: float) -> float:
    """Of a median at most half of the weight lies on either side: the share beyond half."""
    beyond = max(weights[values < output].sum(), weights[values > output].sum())
    return max(0.0, float(beyond / weights.sum()) - 0.5)
