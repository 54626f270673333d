"""How many rows each line of an audit rests on: those that its measures are taken over.

A rate over twelve rows moves by eight points with one of them. Every rule says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from odtdsl.auditor.meanings import BASES, class_of
from odtdsl.auditor.results import RowCount
from odtdsl.auditor.routing import LeafOn, ModelOn, PathOn, Place, SplitOn
from odtdsl.auditor.rows import NoValue
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply, Condition, Expr, GroupArg, applications


def row_counts(said: Condition | Expr, place: Place) -> tuple[RowCount, ...]:
    """The rows that each measure in a condition is taken over, in the order of the text.

    Of a leaf or a split its own rows; nothing where no row is spoken of.
    """
    if isinstance(place, LeafOn | SplitOn):
        name = "leaf" if isinstance(place, LeafOn) else "split"
        return (RowCount(of=f"the tightest {name}", rows=len(place.inside)),)
    if isinstance(place, PathOn):
        return ()
    found: dict[str, RowCount] = {}
    for call in _measures(applications(said)):
        try:
            name, rows = _rows_of(call, place)
        except NoValue:
            continue
        found.setdefault(name, RowCount(of=name, rows=int(rows.sum())))
    return tuple(found.values())


def _measures(calls: list[Apply]) -> Iterator[Apply]:
    """The measures of rows; `gap` and `ratio` as that of each of their groups."""
    inside = [call.of for call in calls if call.of is not None]
    for call in calls:
        if call.of is not None:
            for group in call.args:
                yield replace(call.of, args=(*call.of.args, group))
        elif call.term in BASES and not any(call is one for one in inside):
            yield call


def _rows_of(call: Apply, model: ModelOn) -> tuple[str, BoolArray]:
    over, called = BASES[call.term]
    names = [arg.name for arg in call.args if isinstance(arg, GroupArg)]
    if called:
        classes = model.rows.problem.target.classes
        names.append(called.format(classes[class_of(call)]))
    return ", ".join(names), over(model, call)
