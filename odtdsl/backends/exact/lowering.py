"""A core as ranks, labels and integer losses: what the engine's search reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from odtdsl.backends.base import Objection
from odtdsl.base import engine
from odtdsl.base.frozen import dataclass
from odtdsl.base.kept import kept
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import LEFT_CODE, Family
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
    SplitFilter,
    demanded,
)
from odtdsl.problem.ir.intervals import FULL
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH

MAX_LOSS_SUM = 2**53
"""Sums of scaled losses stay below this."""

MAX_ENGINE_CLASSES = 255

MOST_CELLS = 2**20
"""Rows times thresholds up to which a search under no rule needs no tree to begin with."""
MOST_BITS = 2**32
"""Rows times tests that the search over bit sets may hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Features:
    """The tests of all families as features with ranks: `rank <= cut` goes left.

    Attributes
    ----------
    ranks
        uint32 (n_features, n_rows), dense from 0.
    distinct
        uint32 (n_features,): ranks of each feature.
    allowed
        Per feature None, or bool (distinct,): where a cut may stand.
    tests
        Per feature its family, and its test where the family's tests are features of their
        own (equality, bins); -1 for thresholds, whose test is the cut.
    by_level
        Per level as `allowed`, where rules tell levels apart; else empty.
    cuts
        Per feature None, or int64 (distinct - 1,): the cuts between its ranks, where ranks
        stand for several values (`merged`); else empty.
    """

    ranks: npt.NDArray[np.uint32]
    distinct: npt.NDArray[np.uint32]
    allowed: tuple[BoolArray | None, ...]
    tests: tuple[tuple[int, int], ...]
    by_level: tuple[tuple[BoolArray | None, ...], ...] = ()
    cuts: tuple[IntArray | None, ...] = ()

    def table(self) -> engine.RankTable:
        """Ranks and allowed cuts, for the engine."""
        return engine.RankTable(self.ranks, self.distinct, self.allowed)


def features(core: Core) -> Features:
    """Tests that the rules on splits refuse everywhere are left out."""
    return ruled_features(core, 1)


def ruled_features(core: Core, depth: int) -> Features:
    """The tests that may stand at any of the first levels.

    Missing cells of a threshold that go left have the least rank, those that go right the
    largest.
    """
    by_levels = any(rule.levels is not None for rule in core.filters)
    levels = range(max(1, depth) if by_levels else 1)
    filters = by_column(core.filters)
    admitted: list[tuple[int, list[BoolArray] | None]] = []
    tests: list[tuple[int, int]] = []
    for index, family in enumerate(core.families):
        here = filters.get(family.column, [])
        if asks_nothing(family, here):
            if family.n_tests:
                admitted.append((index, None))
                tests.append((index, -1))
            continue
        each = [tests_at(family, here, at) for at in levels]
        asked = each[0] if len(each) == 1 else np.any(each, axis=0)
        if not asked.any():
            continue
        admitted.append((index, each))
        if family.kind == "threshold":
            tests.append((index, -1))
        else:
            tests += [(index, test) for test in np.flatnonzero(asked).tolist()]
    # One column without a cut where there is none: the search wants a feature.
    ranks = np.zeros((max(1, len(tests)), core.n_rows), dtype=np.uint32)
    distinct = np.full(len(ranks), 2 if tests else 1, dtype=np.uint32)
    by_level: list[list[BoolArray | None]] = [[] if tests else [None] for _ in levels]
    at = 0
    for index, flags in admitted:
        family = core.families[index]
        if flags is None:
            ranks[at] = family.codes
            distinct[at] = len(family.values)
            for level in by_level:
                level.append(None)
            at += 1
        elif family.kind == "threshold":
            before, after = int(family.missing == "left"), int(family.missing == "right")
            ranks[at] = family.codes + before
            distinct[at] = len(family.values) + before + after
            for level, allowed in zip(by_level, flags, strict=True):
                everywhere = not (before or after) and allowed.all()
                level.append(None if everywhere else np.pad(allowed, (before, 1 + after)))
            at += 1
        else:
            asked = np.flatnonzero(np.any(flags, axis=0))
            _fill_equals(ranks[at : at + len(asked)], family, asked)
            for level, allowed in zip(by_level, flags, strict=True):
                level += [None if allowed[test] else _NOWHERE for test in asked]
            at += len(asked)
    anywhere = tuple(_either([level[f] for level in by_level]) for f in range(len(ranks)))
    return Features(
        ranks=ranks,
        distinct=distinct,
        allowed=anywhere,
        tests=tuple(tests),
        by_level=tuple(tuple(level) for level in by_level) if len(levels) > 1 else (),
    )


def asks_nothing(family: Family, filters: Sequence[SplitFilter]) -> bool:
    """Whether all thresholds of a column without missing cells may stand at all levels.

    `filters`: those of its column.
    """
    numbers = family.kind == "threshold" and not family.whole and family.missing is None
    return numbers and family.domain is FULL and not filters


_NOWHERE = np.zeros(2, dtype=bool)
"""Where the cut of a 0/1 feature may stand at a level that does not admit it."""


def _fill_equals(ranks: npt.NDArray[np.uint32], family: Family, tests: IntArray) -> None:
    """Rank 0 where a test sends a row left, in place: a category may have thousands of levels."""
    ranks[:] = 1
    ranks[:, family.codes == LEFT_CODE] = 0
    found = np.searchsorted(tests, family.codes)
    found[found == len(tests)] = 0
    rows = np.flatnonzero(tests[found] == family.codes)
    ranks[found[rows], rows] = 0


def merged(found: Features) -> Features:
    """The same partitions with one rank for all values between two cuts that may stand.

    No test parts such values, and the search scans fewer of them. The ranks of `found`, which
    may be gigabytes, are replaced where they are.
    """
    if all(allowed is None for allowed in found.allowed):
        return found
    ranks, distinct = found.ranks, found.distinct.copy()
    cuts: list[IntArray | None] = []
    for feature, allowed in enumerate(found.allowed):
        if allowed is None:
            cuts.append(None)
            continue
        kept = allowed[:-1].nonzero()[0]
        below = np.zeros(len(allowed), dtype=np.uint32)
        allowed[:-1].cumsum(out=below[1:])
        ranks[feature] = below[ranks[feature]]
        distinct[feature] = len(kept) + 1
        cuts.append(kept)
    return replace(
        found, ranks=ranks, distinct=distinct, allowed=(None,) * len(cuts), cuts=tuple(cuts)
    )


def kinds_of_rows(ranks: npt.NDArray[np.uint32]) -> IntArray:
    """int64 (n_rows,): rows of equal ranks (n_features, n_rows) have one number, from 0 without a
    gap and in their order, the first feature first.

    Where the first features tell all rows apart, as numbers soon do, the others are not looked at.
    """
    kinds: IntArray = np.zeros(ranks.shape[1], dtype=np.int64)
    for feature in ranks:
        pairs = kinds * (int(feature.max(initial=0)) + 1) + feature
        found, kinds = np.unique(pairs, return_inverse=True)
        if len(found) == len(kinds):
            break
    return kinds


def size_of(core: Core, found: Features | None = None) -> tuple[tuple[str, int], ...]:
    """Rows, columns that splits test, and their tests: thresholds and values, once per side of
    missing cells."""
    found = features(core) if found is None else found
    cuts = sum(
        int(distinct) - 1 if allowed is None else int(allowed.sum())
        for distinct, allowed in zip(found.distinct, found.allowed, strict=True)
    )
    columns = {core.families[family].column for family, _ in found.tests}
    return (("rows", core.n_rows), ("features", len(columns)), ("cuts", cuts))


def _either(flags: list[BoolArray | None]) -> BoolArray | None:
    if len(flags) == 1:
        return flags[0]
    known = [flag for flag in flags if flag is not None]
    return np.any(known, axis=0) if len(known) == len(flags) else None


# ---- losses


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
