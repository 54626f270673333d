"""Whether a problem never needs a split of two leaves with one label."""

from __future__ import annotations

from typing import assert_never

from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    LossBound,
    MaximaBound,
    Monotone,
    Order,
    OutputSet,
    PathMeasure,
    PathSum,
    PathTotal,
    QuotientStage,
    RegressionStage,
    Root,
    SignedAtom,
    StageForm,
    Used,
)


def idle_splits_go(core: Core) -> bool:
    """Whether any such split may be collapsed: no rule breaks by it, no stage gets worse.

    Sufficient, not necessary: each literal of each rule is asked whether it stays true.
    """
    return all(map(_survives, core.clauses)) and all(map(_no_worse, core.objective))


def _no_worse(stage: StageForm) -> bool:
    match stage:
        case DepthStage():
            return True
        case LinearStage():
            parts = [part for _, parts in stage.maxima for part in parts]
            paths = stage.path_sum is None or _dear(stage.path_sum)
            return paths and all(map(_priced, [stage.measure, *parts]))
        case RegressionStage():
            return _priced(stage.rest)
        case QuotientStage():
            return True
        case _:
            assert_never(stage)


def _priced(measure: Additive) -> bool:
    """Whether leaves and splits cost something, or nothing."""
    return measure.leaves >= 0 and (measure.columns is None or bool((measure.columns >= 0).all()))


def _dear(paths: PathSum) -> bool:
    return bool((paths.weights >= 0).all()) and _longer_is_dearer(paths.measure)


def _longer_is_dearer(measure: PathMeasure) -> bool:
    prices = (*measure.per_test, *measure.once, *(shared.amount for shared in measure.shared))
    return min(prices, default=0) >= 0


def _survives(clause: Clause) -> bool:
    """A rule on splits loses an instance, no more. Both leaves have the same path."""
    if clause.scope is Scope.SPLIT:
        return True
    if clause.scope is Scope.LEAF:
        rows = [one.atom for one in clause.literals if isinstance(one.atom, Linear)]
        if len(rows) > 1 or not all(map(_holds_of_both, rows)):
            return False
        rest = [one for one in clause.literals if not isinstance(one.atom, Linear)]
        return all(map(_stays, rest))
    return all(map(_stays, clause.literals))


def _holds_of_both(atom: Linear) -> bool:
    """Whether a measure of rows holds of two leaves' rows together if it does of each."""
    measure = atom.measure
    parts = [part for part in (measure.rows, measure.output) if part is not None]
    return atom.at_most <= measure.constant or all(bool((part <= 0).all()) for part in parts)


def _stays(literal: SignedAtom) -> bool:
    """Whether a literal on the model, or on the path of both leaves, is still true."""
    atom: Atom = literal.atom
    match atom:
        case Used() | Order():
            return not literal.positive  # fewer tests
        case Root() | Depth() | Link():
            return literal.positive  # no wrong root, no more levels, rows together
        case Budget(measure=measure):
            return _longer_is_dearer(measure)
        case Linear(measure=measure):
            return _priced(measure)
        case MaximaBound():
            return all(map(_priced, atom.measures))
        case PathTotal(measure=measure, path_sum=paths):
            return _priced(measure) and _dear(paths)
        case Monotone():
            return True  # the predictions are the same
        case OutputSet() | LossBound():
            return False
        case _:
            assert_never(atom)
