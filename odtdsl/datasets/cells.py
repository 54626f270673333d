"""Cells: from texts and values as a source has them to raw columns.

All sources meet here, so that the same rows give the same table from a file and from a frame:
blanks around a text do not count, empty texts, NaN and the `na` marks are missing. A column whose
texts all read as numbers has them; what it means, and what its texts tell apart, is settled by
its type (`odtdsl.datasets.typing`).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import DataHelp, Diagnostic, OdtError, error, shortened
from odtdsl.base.limits import READING, looking
from odtdsl.datasets.numerals import PLAIN, Numerals
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, RawColumn, Table, Writing
from odtdsl.datasets.writing import Coded, Numbers, Texts, objects

WHOLE = re.compile("[+-]?[0-9]+")
"""Texts of whole numbers."""

HALF_PAIR = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair: Python's texts may hold it, UTF-8 and what is written in it cannot."""

MOST_DIGITS = 4000
"""Python refuses to read integers much longer than this."""

Place = Callable[[int], str]
"""Names the place of a row, counted from 0, in a message: "line 7", "row 5"."""


def row_place(row: int) -> str:
    """The place of a row in a source without lines."""
    return f"row {row} (counted from 0)"


def about(statement: str, name: str) -> str:
    """A statement with a column for its `NAME`, in a message; odd names stand in backticks."""
    if name.isidentifier():
        return f"`{statement.replace('NAME', name)}`"
    quoted = "`" + name.replace("`", "``") + "`"
    return f"`` {statement.replace('NAME', quoted)} ``"


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


def reading(text: str) -> int | float | None:
    """The finite number that a text writes, whole ones exactly; None if it writes none."""
    if WHOLE.fullmatch(text) and len(text) <= MOST_DIGITS:
        return int(text)
    number = number_of(text)
    return number if number is not None and math.isfinite(number) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The `na` marks: as texts, and as numbers where float64 can tell them from others."""

    texts: frozenset[str]
    numbers: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        numbers = (number_of(text) for text in self.texts)
        exact = sorted(x for x in numbers if x is not None and abs(x) < 2**53)
        object.__setattr__(self, "numbers", tuple(exact))

    @classmethod
    def of(cls, marks: Collection[str]) -> Marks:
        """The marks as written in a spec, without the blanks around them."""
        if not marks:
            return NO_MARKS
        return cls(texts=frozenset(mark.strip() for mark in marks))


NO_MARKS = Marks(texts=frozenset())


def column_from_texts(
    name: str,
    cells: Sequence[str | None],
    *,
    marks: Marks = NO_MARKS,
    place: Place = row_place,
    numerals: Numerals = PLAIN,
) -> RawColumn:
    """A column of texts; `None` is missing.

    Raises
    ------
    OdtError
        D106: an infinite number in a column that has nothing but numbers.
    """
    texts: list[str] = ["" if cell is None else cell.strip() for cell in cells]
    numbers = _plain_numbers(texts, marks) if numerals == PLAIN else None
    if numbers is None:
        places: dict[str, int] = {}
        given = ("" if cell is None else cell for cell in cells)
        found = np.array([places.setdefault(c, len(places)) for c in given], dtype=np.int64)
        return column_from_coded(
            name, list(places), found, marks=marks, place=place, numerals=numerals
        )
    return RawColumn(
        name=name,
        numbers=numbers,
        writing=Texts(objects(texts)),
        missing=np.zeros(len(texts), dtype=np.bool_),
        blanks=_differing_blanks(cells),
    )


def column_from_coded(
    name: str,
    words: Sequence[str],
    places: IntArray,
    *,
    marks: Marks = NO_MARKS,
    place: Place = row_place,
    numerals: Numerals = PLAIN,
) -> RawColumn:
    """A column of texts from its different ones and the place of each cell among them.

    Parameters
    ----------
    name
        Of the column.
    words
        With the blanks around them; a text of blanks is missing.
    places
        int64 (n_rows,).
    marks, place, numerals
        As for `column_from_texts`.

    Raises
    ------
    OdtError
        D106: an infinite number in a column that has nothing but numbers.
    """
    bare = [word.strip() for word in words]
    texts = {text: index for index, text in enumerate(dict.fromkeys(bare))}
    read = [_read(text, marks, numerals) for text in texts]
    found = places
    if len(texts) < len(bare):  # some differ in their blanks alone
        found = np.array([texts[text] for text in bare], dtype=np.int64)[places]
    missing: BoolArray = np.array([value is _MISSING for value in read], dtype=np.bool_)[found]
    numbers: FloatArray | None = None
    if not any(isinstance(value, str) for value in read):
        of_texts = np.array([_as_float(value) for value in read], dtype=np.float64) + 0.0
        numbers = of_texts[found]
        if np.isinf(of_texts).any() and (infinite := np.flatnonzero(np.isinf(numbers)).tolist()):
            shown = list(texts)
            raise _infinite(name, [(row, shown[found[row]]) for row in infinite], place)
    return RawColumn(
        name=name,
        numbers=numbers,
        writing=Coded(objects(list(texts)), found),
        missing=missing,
        blanks=_differing_blanks(words),
        marked=marked_as_numbers(texts, marks, numerals),
        numerals=numerals,
    )


def column_from_numbers(
    name: str,
    values: npt.NDArray[Any],
    *,
    absent: BoolArray | None = None,
    writing: Writing | None = None,
    marks: Marks = NO_MARKS,
    place: Place = row_place,
) -> RawColumn:
    """A column of numbers that have no writing of their own.

    Parameters
    ----------
    name
        Of the column.
    values
        (n_rows,): floats, where NaN is missing, or integers, which stay exact.
    absent
        bool (n_rows,): cells that are missing whatever their value.
    writing
        The cells as texts, where they are known.
    marks, place
        As for `column_from_texts`.

    Raises
    ------
    OdtError
        D106: an infinite number.
    """
    if values.dtype.kind == "f":
        numbers = values = np.asarray(values, dtype=np.float64) + 0.0
    else:
        numbers = values.astype(np.float64)
    written = Numbers(values) if writing is None else writing
    if absent is None and not marks.texts and np.isfinite(numbers).all():  # the usual case
        none = np.zeros(len(numbers), dtype=np.bool_)
        return RawColumn(name=name, numbers=numbers, writing=written, missing=none, by_value=True)
    missing: BoolArray = np.isnan(numbers) | np.isin(numbers, marks.numbers)
    if values.dtype.kind in "iu" and marks.texts:
        whole = [int(text) for text in marks.texts if WHOLE.fullmatch(text) and len(text) < 20]
        for mark in whole:
            missing |= values == mark
    if absent is not None:
        missing = missing | absent
    infinite = np.flatnonzero(np.isinf(numbers) & ~missing)
    if len(infinite):
        texts = written.texts()
        raise _infinite(name, [(row, texts[row]) for row in infinite.tolist()], place)
    if (missing & ~np.isnan(numbers)).any():  # else shared with the writing: it may be large
        numbers = np.where(missing, np.nan, numbers)
    return RawColumn(name=name, numbers=numbers, writing=written, missing=missing, by_value=True)


def with_levels(column: RawColumn, levels: Iterable[str], *, ordered: bool) -> RawColumn:
    """The column with the values that its source declares, in that order, each once."""
    texts = dict.fromkeys(level.strip() for level in levels)
    return replace(column, levels=tuple(texts), ordered=ordered)


def all_columns(builders: Iterable[Callable[[], RawColumn]]) -> list[RawColumn]:
    """The columns that the builders give, or the problems of all of them at once."""
    columns: list[RawColumn] = []
    problems: list[Diagnostic] = []
    seen = looking(READING)
    for builder in builders:
        try:
            columns.append(builder())
        except OdtError as problem:
            problems.extend(problem.diagnostics)
        seen(len(columns[-1].missing) if columns else 0)
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
    if len(set(names)) == len(names):
        return
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
                helps=("give every column a different name",),
            )
            for name, at in repeated.items()
        )


def _plain_numbers(texts: list[str], marks: Marks) -> FloatArray | None:
    """The numbers of a column that holds nothing but finite numbers, which is the usual case."""
    try:
        numbers = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        return None
    if not np.isfinite(numbers).all() or any("_" in text for text in texts):
        return None
    if marks.texts and not marks.texts.isdisjoint(texts):
        return None
    if marks.numbers and np.isin(numbers, marks.numbers).any():
        return None
    return numbers + 0.0


def _differing_blanks(cells: Sequence[str | None]) -> tuple[str, ...]:
    """The texts that stand in a column with different blanks around them."""
    bare = {cell for cell in cells if cell}
    padded = [cell for cell in bare if cell != cell.strip()]
    forms: dict[str, int] = {}
    for cell in padded:
        text = cell.strip()
        forms[text] = forms.get(text, 0) + 1
    return tuple(sorted(t for t, count in forms.items() if t and (count > 1 or t in bare)))


def marked_as_numbers(
    texts: Iterable[str], marks: Marks, numerals: Numerals = PLAIN
) -> tuple[str, ...]:
    """The texts that are no marks, but read as the number of one."""
    if not marks.numbers:
        return ()
    plain = {text: numerals.plain(text) for text in texts if text not in marks.texts}
    return tuple(t for t, as_is in plain.items() if as_is and number_of(as_is) in marks.numbers)


_MISSING = None


def _read(text: str, marks: Marks, numerals: Numerals) -> float | str | None:
    """A number, another text, or missing."""
    if text == "" or text in marks.texts:
        return _MISSING
    plain = numerals.plain(text)
    number = None if plain is None else number_of(plain)
    if number is None:
        return text
    return _MISSING if math.isnan(number) or number in marks.numbers else number


def _as_float(value: float | str | None) -> float:
    return value if isinstance(value, float) else math.nan


def mark_missing(text: str) -> str:
    """A help: how a cell that is no number is declared as missing."""
    if text != shortened(text):
        return DataHelp(
            "if it marks a missing value, list it in `na {...}` of the data statement",
            "if it marks a missing value, say so by `--na`",
        )
    cell = text.replace("\\", "\\\\").replace('"', '\\"')
    return DataHelp(
        f'if it marks a missing value, write `na {{"{cell}"}}` in the data statement',
        f"if it marks a missing value, add `--na {shlex.quote(text)}`",
    )


def _infinite(name: str, cells: Sequence[tuple[int, str]], place: Place) -> OdtError:
    row, text = cells[0]
    more = f", and {len(cells) - 1} more" if len(cells) > 1 else ""
    return error(
        "D106",
        f"column `{name}` has an infinite number, `{shortened(text)}`, in {place(row)}{more}",
        notes=("numbers must be finite and at most about 1.8e308",),
        helps=(mark_missing(text),),
    )
