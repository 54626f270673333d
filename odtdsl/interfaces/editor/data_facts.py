"""What an editor knows of the data: columns with their values, sizes of groups. Plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from odtdsl.datasets.table import RawColumn, Table
from odtdsl.datasets.writing import number_text

MOST_LEVELS = 200


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
    """

    name: str
    kind: Literal["number", "text", "unknown"]
    low: str | None = None
    high: str | None = None
    levels: tuple[tuple[str, int], ...] = ()
    n_levels: int = 0
    n_missing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the data of a spec; `n_rows` is None if only names were read."""

    source: str
    n_rows: int | None
    columns: tuple[ColumnFacts, ...]
    groups: tuple[tuple[str, int], ...] = ()

    def column(self, name: str) -> ColumnFacts | None:
        """The facts about a column; `None` for an unknown name."""
        return next((column for column in self.columns if column.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """All facts as plain values."""
        return asdict(self)


def from_json(value: dict[str, Any]) -> Facts:
    """The facts that `to_json` wrote."""
    columns = tuple(
        ColumnFacts(**{**one, "levels": tuple((str(k), int(n)) for k, n in one["levels"])})
        for one in value["columns"]
    )
    groups = tuple((str(name), int(count)) for name, count in value["groups"])
    return Facts(source=value["source"], n_rows=value["n_rows"], columns=columns, groups=groups)


def facts_of(table: Table) -> Facts:
    """What there is to say about a table."""
    columns = tuple(_column(column) for column in table.columns.values())
    return Facts(source=table.name, n_rows=table.n_rows, columns=columns)


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
    )


def _counted(texts: list[str]) -> tuple[tuple[str, int], ...]:
    from collections import Counter

    return tuple(sorted(Counter(texts).items(), key=lambda item: (-item[1], item[0])))
