"""Rules on paths, splits and leaves as the search for number targets reads them.

Bounds of that search rest on one property: whatever rows are taken away from a node, its best
tree loses no more. States of the path that have it are their own relaxation; for each of the
others there is one beside them that allows more and has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from odtdsl.backends.exact.components import clipped
from odtdsl.backends.exact.features import Features, asks_nothing, ruled_features
from odtdsl.backends.exact.lowering import deepest_of, leaf_bound, leaf_rows, least_leaf_rows
from odtdsl.backends.exact.paths import (
    NEVER,
    Paths,
    clauses_of,
    path_measures,
    paths,
)
from odtdsl.base import engine
from odtdsl.base.kept import kept
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.automata import PathAtom, on_paths, rules_of_paths
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.filters import by_column, tests_at
from odtdsl.problem.ir.forms import (
    Clause,
    Core,
    Linear,
    LinearStage,
    LossBound,
    PathMeasure,
    RegressionStage,
    Root,
    StageForm,
    TargetLoss,
)
from odtdsl.problem.outputs.feasible import feasible_set

Condition = list[tuple[int, int]]
"""Sums over rows and what they are at most; one of them holds."""

MOST_RELAXED = 2_000
"""Relaxed states; with more, one stands for all of them, which allows everything."""


MOST_TOLD, MOST_TOLD_CELLS = 512, 2**22
"""Tests, and rows times tests, whose pairs the engine adds up."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberRules:
    """The automaton with its relaxed states, and the conditions on rows.

    Attributes
    ----------
    core
        The core with only the rules that stand here.
    features
        The tests that may stand at any level.
    measures
        The path measures whose changes `states.delta` has.
    sums
        Sums over rows, as they are asked for.
    """

    core: Core
    features: Features
    states: Paths
    next: npt.NDArray[np.int32]
    relaxed: list[int]
    measures: tuple[PathMeasure, ...]
    sums: Sums

    @property
    def possible(self) -> bool:
        """Whether some path may stand."""
        return self.states.need[0] < NEVER

    def native(self) -> engine.NumberRules:
        """The same in the engine."""
        n_states, extra = len(self.states.need), len(self.next) - len(self.states.need)
        nothing: tuple[tuple[int, ...], ...] = ((),) * extra
        sums = self.sums
        families = [self.core.families[family] for family, _ in self.features.tests]
        first = [f.kind == "threshold" and f.missing == "left" for f in families]
        last = [f.kind == "threshold" and f.missing == "right" for f in families]
        missing = any(first) or any(last)
        assert n_states + extra == len(self.relaxed)
        return engine.NumberRules(
            self.features.table(),
            column=[family.column for family in families] or [0],
            next=np.ascontiguousarray(self.next),
            need=[*(0 if n >= NEVER else n for n in self.states.need), *[0] * extra],  # not met
            relaxed=self.relaxed,
            leaf_rules=(*self.states.leaf_rules, *nothing),
            split_rules=(*self.states.split_rules, *nothing),
            leaf=[sums.condition(clause) for clause in clauses_of(self.core, Scope.LEAF)],
            split=[sums.condition(clause) for clause in clauses_of(self.core, Scope.SPLIT)],
            value=sums.table(),
            allowed_at=self.features.by_level,
            missing_low=first if missing else [],
            missing_high=last if missing else [],
        )


class Sums:
    """The sums over rows that conditions speak of, and that weigh path costs, each once."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.found: dict[bytes, tuple[int, IntArray]] = {}

    def condition(self, clause: Clause) -> Condition:
        """What the literals of a clause ask of sums."""
        return [
            (self._index(atom), clipped(atom.at_most - atom.measure.constant))
            for atom in (literal.atom for literal in clause.literals)
            if isinstance(atom, Linear)
        ]

    def _index(self, atom: Linear) -> int:
        values = np.zeros(self.n_rows, dtype=np.int64)
        if atom.measure.rows is not None:
            values += atom.measure.rows
        if atom.measure.output is not None:
            values += atom.measure.output[:, 0]
        return self.of(values)

    def of(self, values: IntArray) -> int:
        """Index of a sum of row values, int64 (n_rows,)."""
        return self.found.setdefault(values.tobytes(), (len(self.found), values))[0]

    def table(self) -> npt.NDArray[np.int64]:
        """int64 (n_rows, n_sums)."""
        columns = [values for _, values in self.found.values()]
        return np.ascontiguousarray(np.array(columns, dtype=np.int64).reshape(-1, self.n_rows).T)


# ---- which rules stand here


def taken(core: Core) -> tuple[Clause, ...]:
    """The clauses that are kept by the state of the path, and by sums over rows.

    Least sizes of leaves alone, and rules on outputs, have ways of their own.
    """
    of_paths = {id(clause) for clause in rules_of_paths(core)}
    return tuple(
        clause
        for clause in core.clauses
        if id(clause) in of_paths
        or (
            clause.scope in (Scope.LEAF, Scope.SPLIT)
            and leaf_rows(clause) is None
            and all(isinstance(literal.atom, Linear | PathAtom) for literal in clause.literals)
        )
    )


def _of_each_path(clause: Clause) -> Clause:
    """A rule on the model that holds if and only if each path keeps it, as one on paths; those on
    the root are such already."""
    if clause.scope is not Scope.MODEL or isinstance(clause.literals[0].atom, Root):
        return clause
    return replace(clause, scope=Scope.PATH)


def of_tree(core: Core) -> tuple[Clause, ...]:
    """The clauses that only the whole tree keeps or breaks.

    Limits on leaves alone, and one bound on the loss that the search makes least, have ways of
    their own.
    """
    of_paths = {id(clause) for clause in rules_of_paths(core)}
    return tuple(
        clause
        for clause in core.clauses
        if clause.scope is Scope.MODEL
        and id(clause) not in of_paths
        and not bounds_first_loss(core, clause)
        and (not isinstance(clause.atom, Linear) or leaf_bound(clause) is None)
    )


def bounds_first_loss(core: Core, clause: Clause) -> bool:
    """Whether a clause is nothing but a bound on the loss of a first stage without prices."""
    first = core.objective[0] if core.objective else None
    return (
        isinstance(clause.atom, LossBound)
        and isinstance(first, RegressionStage)
        and first.rest.is_constant
        and proportional(clause.atom.loss, first.loss)
    )


def proportional(one: TargetLoss, other: TargetLoss) -> bool:
    """Whether a loss is a multiple of another one."""
    if one.kind != other.kind or one.total != other.total:
        return False
    if not np.array_equal(one.weights, other.weights):
        return False
    a, b = max(one.factors), max(other.factors)
    return bool(a) and [f * b for f in one.factors] == [f * a for f in other.factors]


def asks_tree(core: Core) -> bool:
    """Whether the search must know more of a tree than its loss and the number of its leaves."""
    if of_tree(core) or not core.objective:
        return True
    first, *later = core.objective
    if not isinstance(first, RegressionStage) or first.rest.columns is not None:
        return True
    return first.rest.leaves < 0 or len(later) > 1 or not all(map(counts_leaves, later))


def counts_leaves(stage: StageForm) -> bool:
    """Whether a stage makes the number of leaves least."""
    if not isinstance(stage, LinearStage) or stage.maxima or stage.path_sum is not None:
        return False
    return stage.measure.leaves > 0 and stage.measure.columns is None


@kept  # asked by the start, then by the search
def tells_at_once(core: Core) -> bool:
    """Whether the engine tells all trees under rules on the whole tree from sums over pairs of cuts
    (`solvers/src/outputs_pair_fronts.cpp`).

    It meets good ones at once then, and needs none to begin with.
    """
    if deepest_of(core)[0] > 3 or not all(map(_told_of_pairs, taken(core))):
        return False
    losses = [stage.loss for stage in core.objective if isinstance(stage, RegressionStage)]
    if any(loss.kind != "squared" for loss in losses) or feasible_set(core) is not None:
        return False
    filters = by_column(core.filters)
    tests = 0
    for family in core.families:
        here = filters.get(family.column, [])
        free = asks_nothing(family, here)
        tests += family.n_tests if free else int(tests_at(family, here, 0).sum())
    return tests <= MOST_TOLD and core.n_rows * tests <= MOST_TOLD_CELLS


def _told_of_pairs(clause: Clause) -> bool:
    """Whether a rule is one on paths, or asks of leaves how large sums over their rows are, or of
    splits."""
    return clause.scope in (Scope.LEAF, Scope.SPLIT) or not _of_rows(clause)


def asks_cuts(core: Core) -> bool:
    """Whether levels or missing cells restrict single cuts."""
    return any(rule.levels is not None for rule in core.filters) or any(
        f.kind == "threshold" and f.missing is not None for f in core.families
    )


def asks_rows(core: Core) -> bool:
    """Whether levels, missing cells, or conditions on rows restrict single splits and leaves."""
    return asks_cuts(core) or any(map(_of_rows, taken(core)))


@kept  # asked by the start, then by the search
def scans(core: Core) -> bool:
    """Whether the search by scans takes a problem: one number, under rules on paths and least sizes
    of leaves and splits that count alike."""
    assert core.targets is not None
    if core.targets.shape[1] > 1 or feasible_set(core) is not None:
        return False
    if asks_tree(core) or asks_cuts(core):
        return False
    return _count_alike(core, [clause for clause in taken(core) if _of_rows(clause)])


def _of_rows(clause: Clause) -> bool:
    """Whether rows have a say in a rule."""
    return not on_paths(clause) and clause.scope is not Scope.MODEL


def _count_alike(core: Core, sizes: list[Clause]) -> bool:
    """Whether rules on rows are that leaves, or splits, hold at least so much of one sum; a sum
    that some row adds nothing to has its rule on leaves."""
    sums = Sums(core.n_rows)
    for clause in sizes:
        condition = sums.condition(clause)
        if len(condition) != len(clause.literals) or len(condition) != 1 or condition[0][1] >= 0:
            return False
    if not sums.found:
        return True
    values = sums.table()
    if values.shape[1] > 1 or (values > 0).any():
        return False
    if (values == values[0]).all():
        return True
    of_leaves = any(clause.scope is Scope.LEAF for clause in sizes)
    return of_leaves and least_leaf_rows(core) <= 1


def number_rules(core: Core) -> NumberRules | None:
    """The rules of a core; None where it has none of these.

    Raises
    ------
    TooManyStates
        Of the rules on paths.
    """
    found = _ruled(core)
    return None if found is None else replace(found, sums=Sums(core.n_rows))  # filled by a search


@kept  # asked by `objections`, then by the search
def _ruled(core: Core) -> NumberRules | None:
    clauses = taken(core)
    strict = asks_rows(core) or (scans(core) and least_leaf_rows(core) > 1)
    if not clauses and not strict and not asks_tree(core):
        return None
    depth, _ = deepest_of(core)
    clauses = tuple(map(_of_each_path, clauses))
    asked = replace(core, clauses=clauses)
    measured = replace(core, clauses=(*clauses, *of_tree(core)))
    states = paths(measured, depth)
    following, relaxed = _relaxed(states, strict=strict)
    return NumberRules(
        core=asked,
        features=ruled_features(core, depth),
        states=states,
        next=following,
        relaxed=relaxed,
        measures=path_measures(measured),
        sums=Sums(core.n_rows),
    )


# ---- relaxed states


def _relaxed(states: Paths, *, strict: bool) -> tuple[npt.NDArray[np.int32], list[int]]:
    """The automaton with the relaxed states behind its own, and the one of each state."""
    count = len(states.need)
    if states.closed and not strict:
        return states.next, list(range(count))
    if states.closed:
        beside = np.where(states.next >= 0, states.next + count, -1).astype(np.int32)
        return np.vstack([states.next, beside]), [*range(count, 2 * count)] * 2
    rows, index = _without_some(states)
    added = np.array(rows, dtype=np.int32).reshape(-1, states.next.shape[1])
    first = np.vstack([states.next, np.where(added >= 0, added + count, -1).astype(np.int32)])
    return first, [*(at + count for at in index), *range(count, count + len(rows))]


def _without_some(states: Paths) -> tuple[list[list[int]], list[int]]:
    """Paths that allowed ones become where tests are left out, as sets of states they may be in.

    Returns the row of `next` of each set, and the set of each state.
    """
    behind = _behind(states)
    known: dict[frozenset[int], int] = {}
    for found in behind:
        known.setdefault(found, len(known))
    order, rows = list(known), []
    for found in order:  # grows
        columns: list[int] = []
        for steps in states.next[sorted(found)].T.tolist():
            after = frozenset[int]().union(*(behind[step] for step in steps if step >= 0))
            if after and after not in known:
                known[after] = len(known)
                order.append(after)
            columns.append(known[after] if after else -1)
        rows.append(columns)
        if len(order) > MOST_RELAXED:
            tested = [max(column) >= 0 for column in states.next.T.tolist()]
            return [[0 if some else -1 for some in tested]], [0] * len(behind)
    return rows, [known[found] for found in behind]


def _behind(states: Paths) -> list[frozenset[int]]:
    """By state, it and all that can follow it."""
    behind = [frozenset({state}) for state in range(len(states.need))]
    changed = True
    while changed:
        changed = False
        for state, row in enumerate(states.next.tolist()):
            more = behind[state].union(*(behind[after] for after in row if after >= 0))
            changed = changed or more != behind[state]
            behind[state] = more
    return behind
