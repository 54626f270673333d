"""Dates as numbers: days since 1970-01-01, or their parts.

A column of dates is read as one of numbers, so that all that is known of numbers holds for it;
`Day` is such a number that is shown as a date.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.datasets.cells import row_place
from odtdsl.datasets.dataset import OfDate
from odtdsl.datasets.request import ORDERS, DataRequest
from odtdsl.datasets.table import RawColumn, Table
from odtdsl.datasets.writing import Numbers

PARTS: Mapping[str, Callable[[datetime.date], int]] = {
    "year": lambda day: day.year,
    "month": lambda day: day.month,
    "weekday": lambda day: day.isoweekday(),
}
"""What `parts` makes of a date; Monday is 1."""

EPOCH = datetime.date(1970, 1, 1)
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}")


def date_of(text: str, order: str = "") -> datetime.date | None:
    """The date that a text writes, with or without a time; None where it writes none.

    The year comes first, or the day with points between (04.03.2021); of other dates only
    an order says which number is the day.
    """
    if (found := _YEAR_FIRST.fullmatch(text)) is not None:
        year, month, day = found[1], found[3], found[4]
    elif (found := _YEAR_LAST.fullmatch(text)) is not None and (order or found[2] == "."):
        day, month, year = found[1], found[3], found[4]
        if order == "mdy":
            day, month = month, day
    else:
        return None
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


def order_of(texts: tuple[str, ...]) -> str | None:
    """The order by which all texts are dates: empty where none is needed; None where none, or more
    than one, would do."""
    if all(date_of(text) is not None for text in texts):
        return ""
    fitting = [one for one in ORDERS if all(date_of(text, one) is not None for text in texts)]
    return fitting[0] if len(fitting) == 1 else None


def with_dates(table: Table, request: DataRequest, *, strict: bool = True) -> Table:
    """The table with the columns of dates of a request as numbers.

    `days` take the place of their column; `parts` stand at the end, and their column goes unless
    its days are asked for too. A column that is absent is left to who needs it, unless `strict`.

    Raises
    ------
    OdtError
        D148: a cell that is not a date. D149: no such column, or the name of a part is taken.
    """
    if not request.days and not request.parts:
        return table
    columns = dict(table.columns)
    problems: list[OdtError] = []
    added: dict[str, RawColumn] = {}
    for name in dict.fromkeys((*request.days, *request.parts)):
        raw = table.columns.get(name)
        if raw is None:
            if strict:
                problems.append(_absent(name, table))
            continue
        try:
            if name in request.days:
                columns[name] = of_date(raw, name, "days", request.date_order or "")
            else:
                del columns[name]
            for part in PARTS if name in request.parts else ():
                own = part_name(name, part)
                if own in table.columns:
                    raise _taken(name, own)
                added[own] = of_date(raw, own, part, request.date_order or "")
        except OdtError as problem:
            problems.append(problem)
    if problems:
        raise OdtError(one for problem in problems for one in problem.diagnostics)
    return replace(table, columns={**columns, **added})


def made_of_dates(request: DataRequest) -> dict[str, OfDate]:
    """The columns that are made of dates, each with what of."""
    order = request.date_order or ""
    found = {name: OfDate(column=name, part="days", order=order) for name in request.days}
    for name in request.parts:
        for part in PARTS:
            found[part_name(name, part)] = OfDate(column=name, part=part, order=order)
    return found


def part_name(column: str, part: str) -> str:
    """The column that holds a part of the dates of another."""
    return f"{column}_{part}"


def of_date(raw: RawColumn, name: str, part: str, order: str = "") -> RawColumn:
    """A column of dates as numbers.

    Raises
    ------
    OdtError
        D148: a cell that is not a date.
    """
    texts, places = raw.distinct
    found = [date_of(text, order) for text in texts]
    if None in found:
        raise _no_date(raw, texts[found.index(None)], order)
    days = [day for day in found if day is not None]
    said = [(day - EPOCH).days if part == "days" else PARTS[part](day) for day in days]
    numbers = np.array([*said, math.nan], dtype=np.float64)[places]
    return RawColumn(
        name=name, numbers=numbers, writing=Numbers(numbers), missing=raw.missing, by_value=True
    )


def as_texts(values: Any) -> Any:
    """Dates of a column of a frame as texts; any other column as it is."""
    import narwhals as nw

    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        words = np.datetime_as_string(values, unit="D").astype(object)
        words[np.isnat(values)] = None
        return words
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if series.dtype in (nw.Datetime, nw.Date):
            texts = series.dt.to_string("%Y-%m-%d").to_list()
            gone = series.is_null().to_list()
            return [None if null else text for text, null in zip(texts, gone, strict=True)]
        if series.dtype not in (nw.Object, nw.Categorical):
            return values
        values = series.to_list()
    if isinstance(values, (list, tuple)) or (
        isinstance(values, np.ndarray) and values.dtype == object
    ):
        return [_as_text(one) for one in values]
    return values


def _as_text(one: Any) -> Any:
    if isinstance(one, (datetime.date, np.datetime64)):
        if one != one:  # NaT
            return None
        return str(one) if isinstance(one, np.datetime64) else one.isoformat()
    return one


# ---- mistakes


def _no_date(raw: RawColumn, text: str, order: str) -> OdtError:
    row = int(np.flatnonzero(raw.texts == text)[0])
    helps = ["write `2021-03-04`, or name it a missing value with `na`"]
    if not order and _YEAR_LAST.fullmatch(text) is not None:
        helps = ['add `dates "dmy"` where the day is in front, `dates "mdy"` where the month is']
    return error(
        "D148",
        f"column `{raw.name}` is read as dates, but {row_place(row)} contains `{shortened(text)}`",
        notes=(f"days are in front: `dates {order!r}`",) if order == "dmy" else (),
        helps=helps,
    )


def _absent(name: str, table: Table) -> OdtError:
    near = closest(name, list(table.columns))
    return error(
        "D149",
        f"there is no column `{name}` to read as dates",
        helps=() if near is None else (f"did you mean `{near}`?",),
    )


def _taken(name: str, own: str) -> OdtError:
    return error(
        "D149",
        f"`parts` of `{name}` would make a column `{own}`, which the data have already",
        helps=("give that column another name, or read `days` instead",),
    )
