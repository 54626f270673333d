"""What holds on a finished path, given the columns that its splits test, from the root down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from odtdsl.problem.ir.forms import Budget, Order, PathMeasure, Used

TestedColumns = tuple[int, ...]
"""The columns that one split tests: one, or all that a hyperplane weighs."""
TestedPath = tuple[TestedColumns, ...]


def path_holds(atom: Used | Order | Budget, path: TestedPath) -> bool:
    """Whether an atom of paths holds on what a path asks."""
    match atom:
        case Used():
            return any(atom.column in columns for columns in path)
        case Budget():
            tested = [column for columns in path for column in columns]
            return path_numerator(atom.measure, tested, len(path)) <= atom.at_most
        case Order():
            return _order_holds(atom, path)
        case _:
            assert_never(atom)


def _order_holds(atom: Order, path: TestedPath) -> bool:
    above: set[int] = set()
    for columns in path:
        if atom.here in columns:
            both = atom.above in columns and atom.above != atom.here and not atom.absent
            if (atom.above in above or both) != atom.absent:
                return True
        above.update(columns)
    return False


def path_numerator(measure: PathMeasure, tested: Sequence[int], splits: int = 0) -> int:
    """Numerator of a path measure on the columns that a path tests.

    `splits` counts only under hyperplanes, where a split tests several columns.
    """
    distinct = set(tested)
    return (
        measure.constant
        + measure.per_split * splits
        + sum(measure.per_test[column] for column in tested)
        + sum(measure.once[column] for column in distinct)
        + sum(shared.amount for shared in measure.shared if distinct & set(shared.columns))
    )
