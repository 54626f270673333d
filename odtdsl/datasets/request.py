"""Data requests: the contents of a `data` statement, with names resolved and defaults filled in."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from odtdsl.base.frozen import dataclass

ORDERS = ("dmy", "mdy")
"""How dates are written where the year is not in front: day first, or month first."""

SourceKind = Literal["file", "sklearn", "openml", "frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFile:
    """Test rows come from a file of their own, read with the options of the training file."""

    __test__ = False  # pytest: not a test class

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestShare:
    """A share of the rows is kept for testing, as `odtdsl.datasets.split` draws it.

    `by`: a column; of its values the share is drawn, and rows of one value stay together.
    """

    __test__ = False

    fraction: Fraction
    by: str | None = None
    stratified: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRequest:
    """Where rows come from and how to read them.

    Attributes
    ----------
    kind, name
        `file` and its path, `sklearn` or `openml` and the name of the set, or `frame`
        (given from Python; the name is what messages call it).
    na
        Marks of missing values. A mark equals a cell with the same text or, where the
        mark is a number, a cell with the same value.
    separator
        None for the default: a tab for `.tsv` and `.tab`, else a comma. A blank stands
        for any run of blanks and tabs.
    decimal, thousands
        How numbers are written, see `odtdsl.datasets.numerals`; None for a point, and for digits
        without groups.
    header
        Whether the first line names the columns; else they are `c1`, `c2`, ...
    encoding
        None for UTF-8, with or without a byte order mark.
    sheet
        Of an Excel file; None for the first one.
    id_column
        The column whose values name the rows.
    test
        Where the test rows come from.
    days, parts, date_order
        Columns of dates that are read as days since 1970-01-01, or as year, month and weekday, and
        whether the day is in front (`dmy`) or the month (`mdy`): see `odtdsl.datasets.dates`.
    dropped
        Columns that no split tests, which may hold anything; groups may speak of their texts.
    """

    kind: SourceKind
    name: str = "frame"
    na: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: bool = True
    encoding: str | None = None
    sheet: str | None = None
    id_column: str | None = None
    test: TestFile | TestShare | None = None
    days: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    date_order: str | None = None
    dropped: tuple[str, ...] = ()
