"""Rules that rows alone refute: no search is needed to say that no tree keeps them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, islice

import numpy as np

from odtdsl.backends.exact.lowering import constant_of
from odtdsl.backends.exact.paths import clauses_of
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear

MAX_COMPARED_CELLS = 20_000_000
"""Rows, times classes, times pairs of bounds that are held against each other."""


def hopeless(core: Core) -> bool:
    """Whether every leaf breaks a rule, or two bounds ask more than any tree has of both."""
    cells = core.n_rows * core.n_classes
    alone = [c.literals[0].atom for c in clauses_of(core, Scope.MODEL) if len(c.literals) == 1]
    pairs = combinations((atom for atom in alone if isinstance(atom, Linear)), 2)
    return any(map(broken_by_every_leaf, clauses_of(core, Scope.LEAF))) or any(
        _at_odds(one, other) for one, other in islice(pairs, MAX_COMPARED_CELLS // cells)
    )


def broken_by_every_leaf(clause: Clause) -> bool:
    """Whether no rows and no label of theirs keep a clause: a leaf holds at least one row."""
    return all(
        isinstance(literal.atom, Linear)
        and _least_of_a_leaf(literal.atom.measure) > literal.atom.at_most
        for literal in clause.literals
    )


def _least_of_a_leaf(measure: Additive) -> int:
    each = np.zeros((1, 1), dtype=np.int64)
    for part in (measure.output, None if measure.rows is None else measure.rows[:, None]):
        each = each if part is None else each + part
    below = np.minimum(each, 0).sum(axis=0)
    return measure.constant + int(np.where(below < 0, below, each.min(axis=0)).min())


def _at_odds(one: Linear, other: Linear) -> bool:
    """Whether two bounds ask for less than what rows alone make of the sum of their measures."""
    try:
        both = one.measure + other.measure
    except OdtError:  # R301: the sum would not be exact
        return False
    if both.leaves or both.splits or both.columns is not None:
        return False
    least = constant_of(both) + (0 if both.output is None else int(both.output.min(axis=1).sum()))
    most = Fraction(one.at_most, one.measure.denominator)
    most += Fraction(other.at_most, other.measure.denominator)
    return Fraction(least, both.denominator) > most
