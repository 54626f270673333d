"""Cells: from texts and values as a source has them to raw columns.

All sources meet here, so that the same rows give the same table from a file and from a frame:
a text that reads as a number is one, blanks around a text do not count, empty texts, NaN and
the `na` marks are missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from odtdsl.data.dataset import Value
from odtdsl.data.table import BoolArray, FloatArray, ObjectArray, RawColumn, Table
from odtdsl.diagnostics.model import Diagnostic, OdtError, error

HALF_PAIR = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair: Python's texts may hold it, UTF-8 and what is written in it cannot."""

Place = Callable[[int], str]
"""Names the place of a row, counted from 0, in a message: "line 7", "row 5"."""


def row_place(row: int) -> str:
    """The place of a row in a source without lines."""
    return f"row {row} (counted from 0)"


def number_of(text: str) -> float | None:
    """The number that a text writes, None if it writes none; NaN and infinities are numbers.

    Reads what Python's `float` reads, except digits grouped by underscores.
    """
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def number_text(value: float) -> str:
    """The shortest text that reads back equal, without `.0` for integers."""
    return repr(value + 0.0).removesuffix(".0")


def canonical(value: float) -> int | float:
    """A number as a level: `int` where it is integral and exact, so that 1.0 is 1."""
    return int(value) if abs(value) <= 2**53 and value == int(value) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The `na` marks: as texts, and as numbers where they are numbers."""

    texts: frozenset[str]
    numbers: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        numbers = (number_of(text) for text in self.texts)
        finite = sorted(x for x in numbers if x is not None and math.isfinite(x))
        object.__setattr__(self, "numbers", tuple(finite))

    @classmethod
    def of(cls, marks: Iterable[str]) -> Marks:
        return cls(texts=frozenset(mark.strip() for mark in marks))


NO_MARKS = Marks.of(())


def column_from_texts(
    name: str,
    cells: Sequence[str | None],
    *,
    marks: Marks = NO_MARKS,
    place: Place = row_place,
) -> RawColumn:
    """A column of texts; `None` is missing.

    Raises
    ------
    OdtError
        D106: an infinite number in a column that has nothing but numbers.
    """
    texts: list[str] = ["" if cell is None else cell.strip() for cell in cells]
    numbers = _plain_numbers(texts, marks)
    if numbers is not None:
        return RawColumn(
            name=name,
            numbers=numbers,
            texts=_objects(texts),
            missing=np.zeros(len(texts), dtype=np.bool_),
        )
    return _column_with_gaps(name, texts, marks, place)


def column_from_numbers(
    name: str,
    numbers: FloatArray,
    *,
    texts: Sequence[str] | None = None,
    marks: Marks = NO_MARKS,
    place: Place = row_place,
) -> RawColumn:
    """A column of numbers; NaN is missing. `texts` are the cells as text, where already known.

    Raises
    ------
    OdtError
        D106: an infinite number.
    """
    numbers = np.asarray(numbers, dtype=np.float64) + 0.0
    written = [number_text(x) for x in numbers.tolist()] if texts is None else texts
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise _infinite(name, [(row, written[row]) for row in infinite.tolist()], place)
    missing = np.isnan(numbers) | np.isin(numbers, marks.numbers)
    numbers[missing] = np.nan
    shown = _objects(written)
    shown[missing] = None
    return RawColumn(name=name, numbers=numbers, texts=shown, missing=missing)


def with_levels(column: RawColumn, levels: Iterable[str], *, ordered: bool) -> RawColumn:
    """The column with the values that its source declares, in that order, each once."""
    texts = [level.strip() for level in levels]
    values: list[Value] = list(texts)
    if column.numbers is not None:
        numbers = [number_of(text) for text in texts]
        values = [canonical(x) for x in numbers if x is not None and math.isfinite(x)]
    return RawColumn(
        name=column.name,
        numbers=column.numbers,
        texts=column.texts,
        missing=column.missing,
        levels=tuple(dict.fromkeys(values)),
        ordered=ordered,
    )


def all_columns(builders: Iterable[Callable[[], RawColumn]]) -> list[RawColumn]:
    """The columns that the builders give, or the problems of all of them at once."""
    columns: list[RawColumn] = []
    problems: list[Diagnostic] = []
    for builder in builders:
        try:
            columns.append(builder())
        except OdtError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise OdtError(problems)
    return columns


def build_table(name: str, columns: Sequence[RawColumn], n_rows: int) -> Table:
    """The table of the columns.

    Raises
    ------
    OdtError
        D104: two columns of one name. D105: no columns or no rows.
    """
    check_names(name, [column.name for column in columns])
    if not columns or n_rows == 0:
        what = "rows" if columns else "columns"
        raise error("D105", f"{name} has no {what}")
    by_name: Mapping[str, RawColumn] = {column.name: column for column in columns}
    return Table(name=name, columns=by_name, n_rows=n_rows)


def check_names(table: str, names: Sequence[str]) -> None:
    """Refuse column names that appear twice.

    Raises
    ------
    OdtError
        D104.
    """
    places: dict[str, list[int]] = {}
    for position, name in enumerate(names, start=1):
        places.setdefault(name, []).append(position)
    repeated = {name: at for name, at in places.items() if len(at) > 1}
    if repeated:
        raise OdtError(
            Diagnostic(
                code="D104",
                message=f"{table} has {len(at)} columns named `{name}`",
                notes=(f"they are columns {', '.join(map(str, at))}, counted from 1",),
                helps=("give every column a name of its own",),
            )
            for name, at in repeated.items()
        )


def _objects(texts: Sequence[str | None]) -> ObjectArray:
    array = np.empty(len(texts), dtype=np.object_)
    array[:] = texts
    return array


def _plain_numbers(texts: list[str], marks: Marks) -> FloatArray | None:
    """The numbers of a column that holds nothing but finite numbers, which is the usual case."""
    try:
        numbers = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        return None
    if not np.isfinite(numbers).all() or any("_" in text for text in texts):
        return None
    if np.isin(numbers, marks.numbers).any():
        return None
    return numbers + 0.0


def _column_with_gaps(name: str, texts: list[str], marks: Marks, place: Place) -> RawColumn:
    read = {text: _read(text, marks) for text in set(texts)}
    missing: BoolArray = np.array([read[text] is _MISSING for text in texts], dtype=np.bool_)
    shown = _objects(texts)
    shown[missing] = None
    if any(isinstance(value, str) for value in read.values()):
        return RawColumn(name=name, numbers=None, texts=shown, missing=missing)
    infinite = [
        (row, text) for row, text in enumerate(texts) if read[text] in (math.inf, -math.inf)
    ]
    if infinite:
        raise _infinite(name, infinite, place)
    numbers = np.array([_as_float(read[text]) for text in texts], dtype=np.float64)
    return RawColumn(name=name, numbers=numbers + 0.0, texts=shown, missing=missing)


_MISSING = None


def _read(text: str, marks: Marks) -> float | str | None:
    """A number, a text that is none, or missing."""
    if text == "" or text in marks.texts:
        return _MISSING
    number = number_of(text)
    if number is None:
        return text
    return _MISSING if math.isnan(number) or number in marks.numbers else number


def _as_float(value: float | str | None) -> float:
    return value if isinstance(value, float) else math.nan


def _infinite(name: str, cells: Sequence[tuple[int, str]], place: Place) -> OdtError:
    row, text = cells[0]
    more = f", and {len(cells) - 1} more" if len(cells) > 1 else ""
    return error(
        "D106",
        f"column `{name}` has an infinite number, `{text}`, in {place(row)}{more}",
        notes=("numbers are finite and no larger than about 1.8e308",),
        helps=(f'if it marks a missing value, write `na {{"{text}"}}` in the data statement',),
    )
