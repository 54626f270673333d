"""What an editor knows of the data: columns with their values, sizes of groups. Plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from odtdsl.datasets.table import FloatArray, IntArray, RawColumn, Table, ranked
from odtdsl.datasets.writing import number_text

MOST_LEVELS = 200
BARS = 12
"""Of equal width between the least and the largest number."""
FIRST_ROWS = 8
FIRST_COLUMNS = 40
MOST_COMPARED = 200_000
"""Rows among which equal ones are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """A column.

    Attributes
    ----------
    low, high
        The least and the largest number as text; None for texts.
    levels
        The most frequent values as texts, at most 200, with their rows; of numbers only where
        they are few.
    n_levels, n_missing
        The number of distinct values, and of missing cells.
    bars
        The rows in each part of the range, for numbers with more values than `levels` holds.
    """

    name: str
    kind: Literal["number", "text", "unknown"]
    low: str | None = None
    high: str | None = None
    levels: tuple[tuple[str, int], ...] = ()
    n_levels: int = 0
    n_missing: int = 0
    bars: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """The rows of a table.

    Attributes
    ----------
    n_incomplete
        Rows with a missing cell.
    n_repeated
        Rows that are equal to an earlier one in all columns; None where they were not compared.
    first
        The first rows as texts, None where missing, of at most `FIRST_COLUMNS` columns.
    """

    n_incomplete: int
    n_repeated: int | None
    first: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the data of a spec; `n_rows` is None if only names were read."""

    source: str
    n_rows: int | None
    columns: tuple[ColumnFacts, ...]
    groups: tuple[tuple[str, int], ...] = ()
    rows: RowFacts | None = None

    def column(self, name: str) -> ColumnFacts | None:
        """The facts about a column; `None` for an unknown name."""
        return next((column for column in self.columns if column.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """All facts as plain values."""
        return asdict(self)


def from_json(value: dict[str, Any]) -> Facts:
    """The facts that `to_json` wrote."""
    columns = tuple(
        ColumnFacts(
            **{
                **one,
                "levels": tuple((str(k), int(n)) for k, n in one["levels"]),
                "bars": tuple(map(int, one["bars"])),
            }
        )
        for one in value["columns"]
    )
    groups = tuple((str(name), int(count)) for name, count in value["groups"])
    rows = value.get("rows")
    return Facts(
        source=value["source"],
        n_rows=value["n_rows"],
        columns=columns,
        groups=groups,
        rows=rows and RowFacts(**{**rows, "first": tuple(map(tuple, rows["first"]))}),
    )


def facts_of(table: Table) -> Facts:
    """What there is to say about a table."""
    columns = tuple(_column(column) for column in table.columns.values())
    return Facts(source=table.name, n_rows=table.n_rows, columns=columns, rows=_rows(table))


def _rows(table: Table) -> RowFacts:
    columns = list(table.columns.values())
    incomplete = np.zeros(table.n_rows, dtype=np.bool_)
    for column in columns:
        incomplete |= column.missing
    at = np.arange(min(table.n_rows, FIRST_ROWS))
    shown = [
        [None if gone else str(text) for text, gone in zip(texts, column.missing[at], strict=True)]
        for column in columns[:FIRST_COLUMNS]
        for texts in (column.writing.take(at).texts(),)
    ]
    return RowFacts(
        n_incomplete=int(incomplete.sum()),
        n_repeated=_repeated(columns, table.n_rows) if table.n_rows <= MOST_COMPARED else None,
        first=tuple(zip(*shown, strict=True)),
    )


def _repeated(columns: list[RawColumn], n_rows: int) -> int:
    """How many rows are equal to an earlier one."""
    kind, kinds = np.zeros(n_rows, dtype=np.int64), min(n_rows, 1)
    for column in columns:
        if kinds == n_rows:
            return 0
        cells = column.distinct[1] if column.numbers is None else ranked(column.numbers)[1]
        pairs = kind * (n_rows + 1) + np.where(column.missing, n_rows, cells)
        found, kind = np.unique(pairs, return_inverse=True)
        kinds = len(found)
    return n_rows - kinds


def _column(column: RawColumn) -> ColumnFacts:
    n_missing = int(column.missing.sum())
    present = ~column.missing
    if column.numbers is None:
        found = _counted(column.texts[present].tolist())
        return ColumnFacts(
            name=column.name,
            kind="text",
            levels=found[:MOST_LEVELS],
            n_levels=len(found),
            n_missing=n_missing,
        )
    values, counts = np.unique(column.numbers[present], return_counts=True)
    few = len(values) <= 20
    levels = [(number_text(v), n) for v, n in zip(values.tolist(), counts.tolist(), strict=True)]
    return ColumnFacts(
        name=column.name,
        kind="number",
        n_levels=len(values),
        n_missing=n_missing,
        low=number_text(float(values[0])) if len(values) else None,
        high=number_text(float(values[-1])) if len(values) else None,
        levels=tuple(levels) if few else (),
        bars=() if few else _bars(values, counts),
    )


def _bars(values: FloatArray, counts: IntArray) -> tuple[int, ...]:
    low, high = float(values[0]), float(values[-1])
    # Halves, as the range itself may be too large for a float.
    share = (values / 2 - low / 2) / (high / 2 - low / 2)
    place = np.minimum((share * BARS).astype(np.int64), BARS - 1)
    return tuple(np.bincount(place, counts, BARS).astype(int).tolist())


def _counted(texts: list[str]) -> tuple[tuple[str, int], ...]:
    from collections import Counter

    return tuple(sorted(Counter(texts).items(), key=lambda item: (-item[1], item[0])))
