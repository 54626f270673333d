"""Which features the rules and stages of a problem speak of."""

from __future__ import annotations

import numpy as np

from odtdsl.backends.milp.charges import priced
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Core,
    Linear,
    LinearStage,
    MaximaBound,
    Order,
    PathTotal,
    Root,
    Used,
)


def named_features(core: Core) -> frozenset[int]:
    """The indices of the features that a clause or a stage of the objective speaks of.

    Filters are left out: they admit tests or refuse them, and ask nothing of what is tested.
    """
    found: set[int] = set()
    for clause in core.clauses:
        for literal in clause.literals:
            found |= _of_atom(literal.atom, len(core.columns))
    for stage in core.objective:
        if isinstance(stage, LinearStage):
            found |= _weighed(stage.measure, *(part for _, some in stage.maxima for part in some))
            if stage.path_sum is not None:
                found |= set(priced(stage.path_sum.measure))
    return frozenset(found)


def _of_atom(atom: Atom, n_features: int) -> set[int]:
    match atom:
        case Used():
            return {atom.column}
        case Order():
            return {atom.here, atom.above}
        case Root():  # no other feature may be tested
            return set(range(n_features)) - set(atom.columns)
        case Budget():
            return set(priced(atom.measure))
        case Linear():
            return _weighed(atom.measure)
        case PathTotal():
            return _weighed(atom.measure) | set(priced(atom.path_sum.measure))
        case MaximaBound():
            return _weighed(*atom.measures)
        case _:
            return set()


def _weighed(*measures: Additive) -> set[int]:
    """The features whose tests some of the measures count."""
    found: set[int] = set()
    for measure in measures:
        if measure.columns is not None:
            found.update(np.flatnonzero(measure.columns).tolist())
    return found
