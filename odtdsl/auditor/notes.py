"""Notes on a rule's line of an audit: what its value leaves out, and what its bound counts."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.auditor.meanings import NO_ROW, values_by_group
from odtdsl.auditor.routing import ModelOn, Place
from odtdsl.auditor.rows import NoValue
from odtdsl.base.numbers import counted
from odtdsl.base.printing import printable
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import (
    Apply,
    Compare,
    Condition,
    Const,
    Expr,
    GroupArg,
    applications,
)

COUNTS = ("size", "errors", "count_predicted")
"""Measures that grow with the number of rows."""


def left_out(said: Condition | Expr, place: Place) -> str:
    """Which groups a `gap` or `ratio` leaves out as they have no row to measure; empty if none."""
    if not isinstance(place, ModelOn) or place.rows.training:
        return ""
    groups = dict[str, None]()
    for call in applications(said):
        if call.of is not None:
            values = values_by_group(place, call)
            groups.update((n, None) for n, value in values.items() if isinstance(value, NoValue))
    return f"without {', '.join(groups)}: {NO_ROW}" if groups else ""


def new_values(said: Condition | Expr, place: Place) -> Iterator[tuple[Apply, str, BoolArray]]:
    """What a `gap` or `ratio` over the values of a column leaves out, as no training row has it:
    the call, the column, and the rows, bool (n_rows,).
    """
    if not isinstance(place, ModelOn) or place.rows.training:
        return
    column_of = {
        group.name: group.column for group in place.rows.problem.groups if group.column is not None
    }
    for call in applications(said):
        groups = [arg.name for arg in call.args if isinstance(arg, GroupArg)]
        named = [column_of[name] for name in groups if call.of and name in column_of]
        for column in dict.fromkeys(named):
            new = ~place.rows.missing(column)
            for name in groups:
                new &= ~place.rows.group(name)
            if new.any():
                yield call, column, new


def in_no_group(said: Condition | Expr, place: Place) -> str:
    """How many rows a `gap` or `ratio` leaves out so; empty if none."""
    found = dict[str, None]()
    for _, column, new in new_values(said, place):
        rows = counted(int(new.sum()), "row")
        note = f"without {rows} of other values of `{printable(column)}`"
        found[f"{note}: no training row has them"] = None
    return "; ".join(found)


def in_training_rows(condition: Condition, place: Place) -> str:
    """The note on a bound that is a number of rows, and so of those it was written for."""
    if place.rows.training:
        return ""
    sides = (condition.left, condition.right) if isinstance(condition, Compare) else ()
    counts = any(isinstance(side, Apply) and side.term in COUNTS for side in sides)
    if not counts or not any(isinstance(side, Const) for side in sides):
        return ""
    return "the bound is a number of training rows; a percentage would go by the rows here"
