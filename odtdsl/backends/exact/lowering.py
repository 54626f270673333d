"""A core as labels and integer losses: what the engine's search reads beside the features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from odtdsl.backends.base import Objection
from odtdsl.backends.exact.features import features
from odtdsl.base import engine
from odtdsl.base.frozen import dataclass
from odtdsl.base.kept import kept
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    DepthStage,
    Form,
    Linear,
    LinearStage,
    Origin,
    demanded,
)
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH

MAX_LOSS_SUM = 2**53
"""Sums of scaled losses stay below this."""

MAX_ENGINE_CLASSES = 255

MOST_CELLS = 2**20
"""Rows times thresholds up to which a search under no rule needs no tree to begin with."""
MOST_BITS = 2**32
"""Rows times tests that the search over bit sets may hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Losses:
    """All stages and hard demands as one integer loss per row and label, and a price per leaf.

    The value of a tree is `base` + the sum over rows of `weights[i] * costs[classes[i],
    label]` + `price` * leaves. Stages stand above each other like digits: `units[j]` is what
    one step of stage j weighs, more than all later stages together can. A tree breaks a
    demand iff its value without `base` is `limit` or more.

    Attributes
    ----------
    classes
        int32 (n_rows,): rows with proportional losses are of one class; a row's own class
        where its losses are those of a plain error.
    weights
        int64 (n_rows,), or None where all are 1.
    costs
        int64 (n, n), or None for plain errors.
    """

    classes: npt.NDArray[np.int32]
    n_classes: int
    weights: IntArray | None
    costs: IntArray | None
    price: int
    base: int
    units: tuple[int, ...]
    limit: int | None


def demands(core: Core) -> Iterator[tuple[Clause, Additive]]:
    """Rules that every row gets one of its best labels, such as `errors = 0`."""
    for clause in core.clauses:
        atom = clause.atom
        if clause.scope is Scope.MODEL and isinstance(atom, Linear) and _is_demand(atom):
            yield clause, atom.measure


def _is_demand(atom: Linear) -> bool:
    measure = atom.measure
    if measure.leaves or measure.columns is not None or measure.output is None:
        return False
    return int(measure.output.min(axis=1).sum()) + constant_of(measure) == atom.at_most


def leaf_bound(clause: Clause) -> int | None:
    """The k of a rule `leaves <= k` that stands alone; None for other rules."""
    atom = clause.atom
    return _leaf_bound(atom) if isinstance(atom, Linear) else None


def suits_counts(core: Core) -> bool:
    """Whether the engine will prove trees by counts (`solvers/include/odt/count_search.hpp`).

    That are trees to depth three, many rows, and few thresholds; the engine's own limits are wider.
    """
    if core.targets is not None or core.n_rows < 2**15 or deepest_of(core)[0] > 3:
        return False
    filters = by_column(core.filters)
    tests = [int(tests_at(f, filters.get(f.column, []), 0).sum()) for f in core.families]
    return core.n_classes <= 8 and max(tests, default=0) < 32 and 0 < sum(tests) <= 600


def any_tree_will_do(core: Core) -> bool:
    """Whether no rule keeps a tree out, and cells are so few that the search meets one at once."""
    if core.clauses or any(True for _ in demands(core)):
        return False
    if not all(isinstance(stage, LinearStage) for stage in core.objective):
        return False
    return core.n_rows * sum(family.n_tests for family in core.families) <= MOST_CELLS


def _leaf_bound(atom: Linear) -> int | None:
    """The k of a rule `leaves <= k`; None for other rules."""
    measure = atom.measure
    if not _counts_leaves(measure):
        return None
    labels = 0 if measure.output is None else int(measure.output[:, 0].sum())
    return (atom.at_most - constant_of(measure) - labels) // measure.leaves


def leaf_rows(clause: Clause) -> int | None:
    """The k of a rule that each leaf holds at least k rows; None for other rules."""
    atom = clause.atom
    if clause.scope is not Scope.LEAF or not isinstance(atom, Linear):
        return None
    if atom.measure.rows is None or _varies(atom.measure):
        return None
    each = atom.measure.rows
    if atom.measure.output is not None:
        each = each + atom.measure.output[:, 0]
    if len(each) == 0 or each[0] >= 0 or (each != each[0]).any():
        return None
    return max(1, -((atom.at_most - atom.measure.constant) // -int(each[0])))


def least_leaf_rows(core: Core) -> int:
    """Rows that every leaf must hold, by the rules on sizes of leaves."""
    least = max((rows for clause in core.clauses if (rows := leaf_rows(clause))), default=1)
    return min(least, core.n_rows + 1)  # no leaf has more, and the engine counts in 32 bits


def constant_of(measure: Additive) -> int:
    """What a measure of the model is whatever the tree."""
    return measure.constant + (0 if measure.rows is None else int(measure.rows.sum()))


def _varies(measure: Additive) -> bool:
    """Whether the measure depends on labels."""
    output = measure.output
    return output is not None and bool((output != output[:, :1]).any())


def most_leaves(core: Core, depth: int) -> int:
    """Leaves that a tree of the depth may have, by skeleton and rules."""
    bounds: list[int] = [1 << depth, core.n_rows]
    if core.tree.leaves is not None:
        bounds.append(core.tree.leaves)
    found = map(_leaf_bound, demanded(core.clauses, Linear))
    return min([*bounds, *(bound for bound in found if bound is not None)])


def leaves_that_fit(core: Core, depth: int) -> int:
    """The same, and no more than the rows can fill where each leaf must hold so many."""
    return min(most_leaves(core, depth), core.n_rows // least_leaf_rows(core))


def deepest_of(core: Core) -> tuple[int, bool]:
    """The depth that is searched, and whether a reduced tree could be deeper."""
    needed = core.tree.depth
    if needed is None:  # a tree of so many leaves is no deeper
        needed = max(0, most_leaves(core, MAX_SEARCH_DEPTH) - 1)
    return min(MAX_SEARCH_DEPTH, needed), needed > MAX_SEARCH_DEPTH


def smallest_without_loss(core: Core, depth: int) -> bool:
    """Whether least depth, then (at most) least leaves is asked, all training rows right.

    Only where every row has one right label, nothing bounds the leaves below what depth and
    rows do, and the rows of all tests fit as bits.
    """
    depth_first, *later = core.objective
    if not isinstance(depth_first, DepthStage) or not any(True for _ in demands(core)):
        return False
    for stage in later:
        if not isinstance(stage, LinearStage) or not _counts_leaves(stage.measure):
            return False
    if most_leaves(core, depth) < min(1 << depth, core.n_rows):
        return False
    cuts = int((features(core).distinct.astype(np.int64) - 1).sum())
    found = losses(core, (), depth)
    return (
        found.weights is None
        and found.costs is None
        and found.n_classes > 1
        and cuts * core.n_rows <= MOST_BITS
    )


def _counts_leaves(measure: Additive) -> bool:
    return measure.leaves > 0 and measure.columns is None and not _varies(measure)


def losses(core: Core, stages: tuple[LinearStage, ...], depth: int) -> Losses:
    """Stack demands and stages into one loss; `limit` is None without a demand."""
    leaves = max(1, most_leaves(core, depth))
    shape = (core.n_rows, core.n_classes)
    hard = tuple(measure for _, measure in demands(core))
    return _stacked(hard, tuple(stage.measure for stage in stages), shape, leaves)


@kept  # the objections ask for it, and then the search
def _stacked(
    hard: tuple[Additive, ...], soft: tuple[Additive, ...], shape: tuple[int, int], leaves: int
) -> Losses:
    if len(soft) == 1 and not hard and (errors := _as_errors(soft[0])) is not None:
        return Losses(
            classes=errors[0],
            n_classes=shape[1],
            weights=None,
            costs=None,
            price=soft[0].leaves,
            base=0,
            units=(1,),
            limit=None,
        )
    digits = [digit(measure, shape, leaves) for measure in (*hard, *soft)]
    units: list[int] = []
    unit = 1
    for _, _, span in reversed(digits):
        units.append(unit)
        unit *= span + 1
    units.reverse()
    total = np.zeros(shape, dtype=np.int64)
    price = 0
    for (output, per_leaf, _), weight in zip(digits, units, strict=True):
        total += output * weight
        price += per_leaf * weight
    classes, n_classes, weights, costs = _classes(total)
    return Losses(
        classes=classes,
        n_classes=n_classes,
        weights=weights,
        costs=costs,
        price=price,
        base=0,
        units=tuple(units[len(hard) :]),
        limit=units[len(hard) - 1] if hard else None,
    )


def _span_of(core: Core, stages: tuple[LinearStage, ...], depth: int) -> int:
    """The largest value that the stacked loss can take."""
    leaves = max(1, most_leaves(core, depth))
    measures = [*(m for _, m in demands(core)), *(stage.measure for stage in stages)]
    largest = 1
    for measure in measures:
        largest *= _span(measure, leaves) + 1
    return largest


def _span(measure: Additive, leaves: int) -> int:
    """The largest sum of losses above each row's least, and of prices of leaves."""
    span = measure.leaves * leaves
    if (errors := _as_errors(measure)) is not None:
        span += len(errors[0])
    elif measure.output is not None:
        by_label = np.ascontiguousarray(measure.output.T)
        span += int((by_label.max(axis=0) - by_label.min(axis=0)).sum())
    return span


def least(measure: Additive) -> int:
    """The least numerator that labels alone allow, leaves apart."""
    least_of_rows = 0
    if (errors := _as_errors(measure)) is not None:
        least_of_rows = errors[1]
    elif measure.output is not None:
        least_of_rows = int(_of_rows(np.minimum, measure.output).sum())
    return constant_of(measure) + least_of_rows


def _as_errors(measure: Additive) -> tuple[npt.NDArray[np.int32], int] | None:
    """The right label of each row, and the sum of their losses, where each other loses 1 more."""
    return None if measure.output is None else _of_output(measure)  # kept of those that have one


@kept  # asked for three times before a search
def _of_output(measure: Additive) -> tuple[npt.NDArray[np.int32], int] | None:
    assert measure.output is not None
    return engine.plain_errors(measure.output)


def digit(measure: Additive, shape: tuple[int, int], leaves: int) -> tuple[IntArray, int, int]:
    """Losses above each row's least, the price of a leaf, and the largest sum of both."""
    output = np.zeros(shape, dtype=np.int64) if measure.output is None else measure.output
    return (
        output - _of_rows(np.minimum, output)[:, None],
        measure.leaves,
        _span(measure, leaves),
    )


def _of_rows(fold: np.ufunc, table: IntArray) -> IntArray:
    """The ufunc over each row. Along the short rows themselves numpy takes ten times as long."""
    found: IntArray = fold.reduce(np.ascontiguousarray(table.T), axis=0)
    return found


def _classes(
    total: IntArray,
) -> tuple[npt.NDArray[np.int32], int, IntArray | None, IntArray | None]:
    """Rows with proportional losses as classes, with weights; plain errors where they are."""
    n_rows, n_labels = total.shape
    by_label = np.ascontiguousarray(total.T)  # along short rows numpy takes ten times as long
    weights = by_label.max(axis=0)
    if weights.max(initial=0) > 1:
        weights = np.gcd.reduce(by_label, axis=0)
        by_label = by_label // np.maximum(weights, 1)
    # A plain error: one label costs nothing, each other 1.
    plain = (by_label.sum(axis=0) == n_labels - 1) & (by_label.max(axis=0) <= 1)
    if (plain | (weights == 0)).all():
        costs, n_classes = None, n_labels
        # Of two, a comparison takes a tenth of the time of `argmin`.
        first = by_label[1] < by_label[0] if n_labels == 2 else by_label.argmin(axis=0)
        classes = first.astype(np.int64)
    else:
        kinds, classes = np.unique(by_label.T, axis=0, return_inverse=True)
        n_classes = max(len(kinds), n_labels)
        if n_classes > MAX_ENGINE_CLASSES:  # refused: a table of all kinds could fill the memory
            return classes.astype(np.int32).reshape(n_rows), n_classes, weights, _NO_COSTS
        costs = np.zeros((n_classes, n_classes), dtype=np.int64)
        costs[: len(kinds), :n_labels] = kinds
        # What fills up is no better than the worst label: the first of the best is a label.
        costs[: len(kinds), n_labels:] = kinds.max(axis=1, keepdims=True)
    found = None if (weights == 1).all() else weights
    return classes.astype(np.int32).reshape(n_rows), n_classes, found, costs


_NO_COSTS = np.zeros((0, 0), dtype=np.int64)


# ---- what the engine does not take


def objections(core: Core) -> Iterator[Objection]:
    """Reasons that lie in the numbers or the shape of a problem, not in a form as such."""
    yield from about_rules(core)
    yield from about_objective(core)


def about_rules(core: Core) -> Iterator[Objection]:
    """Rules, and features with missing cells, that are refused whatever the objective."""
    for rule in core.filters:
        if rule.levels is not None:
            yield Objection(
                form=Form.SPLIT_FILTER,
                origin=rule.origin,
                reason="the search does not distinguish levels yet",
            )
    for family in core.families:
        if family.kind == "threshold" and family.missing is not None:
            yield Objection(
                form=Form.MISSING_BRANCH,
                origin=Origin(rule="skeleton"),
                reason=f"the number column `{core.columns[family.column]}` has missing cells",
            )
    hard = {id(clause) for clause, _ in demands(core)}
    for clause in core.clauses:
        if not clause.literals:
            yield Objection(
                form=Form.LINEAR_MODEL, origin=clause.origin, reason="the rule can never hold"
            )
            continue
        atom = clause.literals[0].atom
        if not isinstance(atom, Linear) or leaf_rows(clause) is not None:
            continue
        if id(clause) not in hard and _leaf_bound(atom) is None:
            yield Objection(
                form=Form.LINEAR_MODEL,
                origin=clause.origin,
                reason="the search supports bounds on leaves and `errors = 0`, not this bound yet",
            )


def about_objective(core: Core) -> Iterator[Objection]:
    """Objectives that the search for trees does not take, or not in its 15 digits."""
    origin = Origin(rule="objective")
    later = core.objective[1:]
    if any(isinstance(stage, DepthStage) for stage in later):
        yield Objection(
            form=Form.OBJECTIVE_DEPTH, origin=origin, reason="the depth must be the first stage"
        )
    linear = tuple(stage for stage in core.objective if isinstance(stage, LinearStage))
    for stage in linear:
        if stage.measure.leaves < 0 or stage.measure.columns is not None:
            yield Objection(
                form=Form.OBJECTIVE_LINEAR,
                origin=origin,
                reason="rewards for leaves and prices by feature are not supported yet",
            )
            return
    depth = core.tree.depth if core.tree.depth is not None else 20
    if _span_of(core, linear, depth) >= MAX_LOSS_SUM:
        yield Objection(
            form=Form.OBJECTIVE_LINEAR,
            origin=origin,
            reason="the stages together need more than 15 digits",
        )
    elif losses(core, linear, depth).n_classes > MAX_ENGINE_CLASSES:
        yield Objection(
            form=Form.OBJECTIVE_LINEAR,
            origin=origin,
            reason=f"the rows have more than {MAX_ENGINE_CLASSES} kinds of losses",
        )
