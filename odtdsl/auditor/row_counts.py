"""What each line of an audit rests on: the rows that its measures are taken over, group by group.

A rate over twelve rows moves by eight points with one of them. Every rule says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from odtdsl.auditor.meanings import BASES, MEANINGS, Share, class_of
from odtdsl.auditor.notes import new_values
from odtdsl.auditor.results import GroupValue, RowCount
from odtdsl.auditor.routing import LeafOn, ModelOn, PathOn, Place, SplitOn
from odtdsl.auditor.rows import NoValue
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Apply, Condition, Expr, GroupArg, LabelArg, RowArg, applications

MOST_NEW_VALUES = 20
"""Of more values that no training row has, as identifiers have, a note tells the number alone."""


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


def group_values(said: Condition | Expr, place: Place) -> tuple[GroupValue, ...]:
    """Each measure of a condition in each group that is compared; nothing where none are.

    `gap`, `ratio` and differences are one number: these say which group is ahead, and by what.
    """
    if not isinstance(place, ModelOn):
        return ()
    found: dict[tuple[str, str], GroupValue] = {}
    for call in (*_measures(applications(said)), *_of_new_values(said, place)):
        groups = [arg for arg in call.args if isinstance(arg, GroupArg)]
        others = tuple(arg for arg in call.args if not isinstance(arg, GroupArg))
        name, group = _text(replace(call, args=others)), ", ".join(one.name for one in groups)
        value, rows = _value(call, place)
        one = GroupValue(measure=name, group=group, value=value, rows=rows)
        found.setdefault((name, group), one)
    compared = len({group for _, group in found}) > 1
    return tuple(found.values()) if compared else ()


def _of_new_values(said: Condition | Expr, place: ModelOn) -> Iterator[Apply]:
    """What is compared, of each value that only rows have which trained nothing."""
    for call, column, rows in new_values(said, place):
        assert call.of is not None, "it is over groups"
        names = place.rows.name_values(column, rows).values()
        for name in names if len(names) <= MOST_NEW_VALUES else ():
            yield replace(call.of, args=(*call.of.args, GroupArg(name=name)))


def _value(call: Apply, model: ModelOn) -> tuple[Fraction | None, int]:
    """A measure and its rows; None where there is no row to measure."""
    try:
        value, rows = MEANINGS[call.term](model, call), int(_rows_of(call, model)[1].sum())
    except NoValue:
        return None, 0
    if isinstance(value, Share):
        return (value.over / value.under if value.under else None), rows
    assert not isinstance(value, bool), "measures of rows are numbers"
    return value, rows


def _text(call: Apply) -> str:
    """A measure as specs say it: `rate("yes")`."""
    said = [arg.text if isinstance(arg, LabelArg | RowArg) else arg.name for arg in call.args]
    return f"{call.term}({', '.join(said)})" if said else call.term


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
