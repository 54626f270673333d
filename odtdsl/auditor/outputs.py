"""The audit of number targets: what every leaf's output should be.

It shares nothing with the code that made the outputs: a mean is recognised by its residuals,
a median by the weight on either side of it. Under rules on outputs the best output is not
computed again; the leaf's own rows that obey the rules must not predict better than it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.auditor.meanings import half_deviance
from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import LeafOn, TreeOn, model_on
from odtdsl.auditor.rows import AuditRows
from odtdsl.auditor.values import FLOAT_TOLERANCE, holds
from odtdsl.base.back_ends import takes
from odtdsl.base.numbers import counted
from odtdsl.datasets.table import BoolArray, FloatArray
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.expr import Apply, TargetArg, applications
from odtdsl.problem.ir.problem import Growth, Problem, RuleDecl

if TYPE_CHECKING:
    from odtdsl.problem.ir.rows import Rows

CALLED_FOR = {
    "mse": "the mean of its rows",
    "mae": "a median of its rows",
    "poisson": "the mean of its rows",
}

MOST_ROWS = 30
"""Rows of a leaf that are tried as outputs."""

ROUNDING = 1e-6
"""What a residual may owe to the rounding of values far from 0, times the tolerance of audits."""


def growth_of(problem: Problem, backend: str | None) -> Growth:
    """How leaves were to be filled: as the spec says, where the back end heeds it; else by the best
    output."""
    name = backend or problem.options.backend
    return problem.options.growth if takes(name, "leaf") else Growth()


def on_outputs(rule: RuleDecl) -> bool:
    """Whether a rule restricts leaf outputs."""
    return any(call.term == "output" for call in applications(rule.condition))


def softened(line: AuditLine, rule: RuleDecl, model: TreeOn) -> AuditLine:
    """The line of a rule that leaves may break, with how many do."""
    broken = sum(not holds(rule.condition, leaf) for leaf in model.leaves)
    note = f"broken in {broken} of {len(model.leaves)} leaves" if broken else ""
    return replace(line, soft=True, note=note)


def audited_outputs(model: TreeOn, growth: Growth) -> Iterator[AuditLine]:
    """Lines on the outputs of leaves: what they should be, and the grid that they are on."""
    problem = model.rows.problem
    step = problem.target.step
    soft = growth.leaf in ("relaxed", "average")
    ruled = step is not None or any(on_outputs(rule) for rule in problem.rules)
    if growth.leaf == "average" or (not ruled and growth.leaf in ("optimal", "relaxed")):
        yield _best(model)
    elif growth.leaf == "medoid":
        yield _medoids(model)
    elif growth.leaf == "optimal":
        yield _best_of_rows(model)
    if step is not None:
        yield replace(_grid(model, step), soft=soft)


def kept(tree: Predictor, rows: Rows) -> BoolArray:
    """bool (n_leaves,): which leaves' outputs satisfy all rules on outputs, and the grid."""
    problem = rows.problem
    model = model_on(tree, AuditRows(problem, rows.data))
    assert isinstance(model, TreeOn), "outputs are of trees"
    rules = [rule for rule in problem.rules if on_outputs(rule)]
    step = problem.target.step
    return np.array(
        [
            all(holds(rule.condition, leaf) for rule in rules)
            and not any(_off_grid(value, step) for value in leaf.leaf.output or ())
            for leaf in model.leaves
        ],
        dtype=bool,
    )


def _off_grid(value: float, step: Fraction | None) -> bool:
    if step is None:
        return False
    return abs(value - float(step) * round(value / float(step))) > 1e-9 * (1 + abs(value))


def _best(model: TreeOn) -> AuditLine:
    """Every leaf's output is what makes the objective's loss least on its rows."""
    loss = _loss_called(model.rows.problem)
    worst = Fraction(_worst_output(model, loss))
    return AuditLine(
        rule="tree outputs",
        text=f"every leaf's output is {CALLED_FOR[loss]}",
        holds=worst <= FLOAT_TOLERANCE,
        instances=len(model.leaves),
        note=""
        if worst <= FLOAT_TOLERANCE
        else f"off by {float(worst):.3g} times the spread of the targets",
    )


def _medoids(model: TreeOn) -> AuditLine:
    """Every leaf's output is that of one of its rows, where one of these obeys the rules."""
    wrong, loss = 0, _loss_called(model.rows.problem)
    for leaf in model.leaves:
        truth = leaf.rows.truth[leaf.inside]
        if not (truth == np.array(leaf.leaf.output)).all(axis=1).any():
            allowed = _admitted(leaf, len(truth))[1]
            if loss == "poisson":  # an output of 0 is infinitely bad for more
                weights = leaf.rows.units[leaf.inside]
                more = truth[weights > 0] if weights.any() else truth
                allowed &= ~((truth == 0) & (more.max(axis=0) > 0)).any(axis=1)
            wrong += bool(allowed.any())
    return AuditLine(
        rule="tree outputs",
        text=(
            "every leaf's output is the target of one of its rows, if any of them satisfies the "
            "rules"
        ),
        holds=not wrong,
        instances=len(model.leaves),
        note=f"broken in {counted(wrong, 'leaf', 'leaves')}" if wrong else "",
    )


def _best_of_rows(model: TreeOn) -> AuditLine:
    """No row of a leaf that obeys the rules would be a better output for the leaf."""
    loss = _loss_called(model.rows.problem)
    wrong = 0
    for leaf in model.leaves:
        truth, allowed = _admitted(leaf, MOST_ROWS)
        weights = leaf.rows.units[leaf.inside].astype(np.float64)
        if not allowed.any() or not weights.any():
            continue
        mine = _lost(loss, leaf.rows.problem, truth, weights, np.array(leaf.leaf.output))
        rows = np.flatnonzero(allowed)
        best = min(_lost(loss, leaf.rows.problem, truth, weights, truth[row]) for row in rows)
        wrong += mine > best * (1 + ROUNDING * 1e-3) + ROUNDING * 1e-3
    return AuditLine(
        rule="tree outputs",
        text="no target of a leaf's rows that satisfies the rules is a better output",
        holds=not wrong,
        instances=len(model.leaves),
        note=f"broken in {counted(wrong, 'leaf', 'leaves')}" if wrong else "",
    )


def _admitted(leaf: LeafOn, most: int) -> tuple[FloatArray, BoolArray]:
    """The rows of a leaf, and which of the first of them would satisfy the rules as outputs."""
    inside = leaf.rows.truth[leaf.inside]
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
        each = half_deviance(truth, output)
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


def _grid(model: TreeOn, step: Fraction) -> AuditLine:
    """Every output is a multiple of its target's step."""
    off = sum(_off_grid(value, step) for leaf in model.leaves for value in leaf.leaf.output or ())
    return AuditLine(
        rule="tree steps",
        text=f"every output is a multiple of {step}",
        holds=not off,
        instances=len(model.leaves),
        note=f"{counted(off, 'output is', 'outputs are')} off the grid" if off else "",
    )


def _loss_called(problem: Problem) -> str:
    """The loss that outputs are to make least: the first in objective, then rules; or `mse`."""
    said: list[Apply] = []
    for stage in problem.objective:
        said += applications(stage.measure)
    for rule in problem.rules:
        said += applications(rule.condition)
    return next((call.term for call in said if call.term in CALLED_FOR), "mse")


def _worst_output(model: TreeOn, loss: str) -> float:
    """The largest relative error of an output; 0 for a leaf whose rows have no weight."""
    return max((off for leaf in model.leaves for off in _off(leaf, loss)), default=0.0)


def _off(leaf: LeafOn, loss: str) -> Iterator[float]:
    assert leaf.leaf.output is not None, "a tree that fits the targets has outputs"
    weights = leaf.rows.units[leaf.inside].astype(np.float64)
    if not weights.any():
        return
    off = _off_median if loss == "mae" else _off_mean
    for values, output in zip(leaf.rows.truth[leaf.inside].T, leaf.leaf.output, strict=True):
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
