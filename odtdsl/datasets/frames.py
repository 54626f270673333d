"""Frames: pandas, polars and Arrow tables through narwhals, arrays, mappings, Parquet files."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers as abstract_numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base import engine
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.cells import (
    HALF_PAIR,
    NO_MARKS,
    Marks,
    about,
    all_columns,
    build_table,
    check_names,
    column_from_coded,
    column_from_numbers,
    column_from_texts,
    row_place,
    with_levels,
)
from odtdsl.datasets.limits import MAX_BYTES, MAX_CELLS, too_large
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import IntArray, RawColumn, Table
from odtdsl.datasets.writing import number_text

_FLOATS = (np.float16, np.float32, np.float64)
"""Floats that float64 holds: there are longer ones."""


def read_frame(
    frame: Any,
    *,
    name: str = "frame",
    na: Sequence[str] = (),
    dates: Collection[str] = (),
    dropped: Collection[str] = (),
    of_file: bool = False,
) -> Table:
    """The table of a frame.

    Numbers stay numbers, integers of any size exact ones, booleans become the texts `False` and
    `True`, texts are read as in a CSV file (so that a text column of numerals is one of
    numbers), categorical columns keep the order of their values where the frame declares one.
    Null, NaN, NA, NaT and empty texts are missing. An index is no column.

    Parameters
    ----------
    frame
        A pandas, polars or Arrow table (or record batch), a 2-D array (columns `x0`, `x1`, ...),
        or a mapping of names to sequences of equal length.
    name
        What messages call it.
    na
        Marks of missing values.
    dates
        Columns that may hold dates, which are read as texts.
    dropped
        Columns that may hold anything; what is no cell is read as its text.
    of_file
        Whether all columns of dates are: those of a table from a file, as in other files.

    Raises
    ------
    OdtError
        D104, D105, D106 as for files. D132: not a frame. D133: columns of unequal length.
        D134: a column of dates or times. D135: a value that is no cell. D136: a name or a text
        with half a surrogate pair.
    """
    marks = Marks.of(na)
    if isinstance(frame, np.ndarray):
        return _read_array(frame, name, marks)
    if isinstance(frame, Mapping):
        return _read_mapping(frame, name, marks, dates, dropped)
    return _read_native(frame, name, marks, dates, dropped, of_file)


def read_parquet(path: Path, request: DataRequest) -> Table:
    """The table of a Parquet file, by pyarrow or polars.

    Raises
    ------
    OdtError
        D108: neither is installed, or the file is no Parquet file. D114: too many cells, or
        texts too long, once unpacked. Else as `read_frame`.
    """
    load = _parquet_reader()
    if load is None:
        raise error(
            "D108",
            f"reading {request.name} needs pyarrow or polars",
            helps=("pip install pyarrow",),
        )
    try:
        frame = [load(path, request.name)]
    except (OSError, OdtError):
        raise
    except Exception as problem:  # each library has its own errors for a broken file
        with path.open("rb") as stream:
            begins = stream.read(4)
        helps = () if begins == b"PAR1" else ("if it holds text, give it the ending `.csv`",)
        raise error(
            "D108", f"{request.name} is not a Parquet file: {problem}", helps=helps
        ) from None
    # Given away, so that each column is freed when it is read: both together may not fit.
    dates = (*request.days, *request.parts)
    marks = Marks.of(request.na)
    return _read_native(frame.pop(), request.name, marks, dates, request.dropped, of_file=True)


def _parquet_reader() -> Callable[[Path, str], Any] | None:
    """What reads Parquet files with the packages that are installed."""
    if find_spec("pyarrow"):
        return _by_pyarrow
    return _by_polars if find_spec("polars") else None


def _by_pyarrow(path: Path, name: str) -> Any:
    """The one file: `read_table` would make columns of folders named `key=value` above it.

    Texts stay in dictionaries until their length is known, since a page may repeat one long
    text a million times.
    """
    from pyarrow import compute, parquet, types

    with path.open("rb") as stream:
        with parquet.ParquetFile(stream) as file:
            _check_cells(name, file.metadata.num_rows, file.metadata.num_columns)
            fields = list(file.schema_arrow)
        texts = [f.name for f in fields if types.is_string(f.type) or types.is_large_string(f.type)]
        stream.seek(0)
        with parquet.ParquetFile(stream, read_dictionary=texts) as file:
            table = file.read()
    table.validate(full=True)  # texts that are no UTF-8, indices beyond their dictionary
    for column in table.columns if len(table) else ():
        if types.is_dictionary(column.type) and types.is_string(column.type.value_type):
            n_bytes = 0
            for chunk in column.chunks:
                lengths = compute.binary_length(chunk.dictionary)
                n_bytes += compute.sum(lengths.take(chunk.indices)).as_py() or 0
            if n_bytes > MAX_BYTES:
                raise too_large(name, f"{n_bytes:,} bytes of text", f"{MAX_BYTES:,}")
    return table


def _by_polars(path: Path, name: str) -> Any:
    """The one file: polars would take `[` and `*` in a name for a pattern."""
    import polars

    lazy = polars.scan_parquet(path, glob=False, hive_partitioning=False)
    n_rows = lazy.select(polars.len()).collect().item()
    _check_cells(name, n_rows, len(lazy.collect_schema()))
    return lazy.collect()


def _check_cells(name: str, n_rows: int, n_columns: int) -> None:
    if n_rows * n_columns > MAX_CELLS:
        raise too_large(name, f"{n_rows:,} rows by {n_columns:,} columns", f"{MAX_CELLS:,} cells")


def column_from_values(name: str, values: Sequence[Any], *, marks: Marks = NO_MARKS) -> RawColumn:
    """A column of Python or numpy scalars, of mixed types too.

    Raises
    ------
    OdtError
        D106: an infinite number among numbers. D134: dates or times. D135: other objects.
        D136: texts with half a surrogate pair.
    """
    kinds = set(map(type, values))
    if kinds == {int} and (whole := np.array(values)).dtype.kind in "iu":  # else beyond 64 bits
        return column_from_numbers(name, whole, marks=marks)
    if str in kinds and kinds <= {str, type(None)} and (repeated := _repeated(values)) is not None:
        return column_from_coded(name, *repeated, marks=marks)
    column = column_from_texts(name, _texts(name, values), marks=marks)
    if column.numbers is None or any(isinstance(value, str) for value in values):
        return column
    return replace(column, by_value=True)


def _texts(name: str, values: Sequence[Any]) -> list[str | None]:
    texts = [_cell_text(name, row, value) for row, value in enumerate(values)]
    _write_as_integers(texts, values)
    for row, text in enumerate(texts):
        if text is not None and not text.isascii() and HALF_PAIR.search(text):
            raise _half(f"column `{name}` contains {text[:40]!a} in {row_place(row)}:")
    return texts


def _repeated(values: Sequence[str | None]) -> tuple[list[str], IntArray] | None:
    """The different texts and the place of each cell, where texts repeat; else None."""
    places: dict[str, int] = {}
    found = [places.setdefault(value or "", len(places)) for value in values]
    if 2 * len(places) > len(found) or any(map(HALF_PAIR.search, places)):
        return None
    return list(places), np.array(found, dtype=np.int64)


def _few_texts(values: npt.NDArray[np.str_]) -> tuple[list[str], IntArray] | None:
    """As `_repeated`, where few texts are different: no Python text is made of each cell."""
    characters = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    if not characters.nbytes:
        return None
    found = engine.few_words(characters.view(np.uint32).reshape(len(values), -1), _FEW)
    if found is None:
        return None
    first, places = found
    words = [str(values[row]) for row in first]
    if 2 * len(words) > len(values) or any(map(HALF_PAIR.search, words)):
        return None
    return words, places


_FEW = 8


def _write_as_integers(texts: list[str | None], values: Sequence[Any]) -> None:
    """Large floats as the integers that they equal, where these stand in the column, too.

    Else they are written `1e+16`, which would be another value than the integer.
    """
    if not any(isinstance(value, float | np.floating) for value in values):
        return
    integers = [int(value) for value in values if isinstance(value, int | np.integer)]
    whole = {value for value in integers if abs(value) >= _LARGE}
    if whole:
        for row, value in enumerate(values):
            if isinstance(value, float | np.floating) and value in whole:
                texts[row] = str(int(value))


_LARGE = 10**15
"""Smaller whole floats are written without an exponent anyway."""


def _half(what: str) -> OdtError:
    return error(
        "D136",
        f"{what} half of a surrogate pair is not a character and cannot be saved in a file",
        notes=("decoding that ignores errors leaves such halves",),
        helps=('replace it, as `text.encode("utf-8", "replace").decode("utf-8")` does',),
    )


def _cell_text(name: str, row: int, value: Any) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value
        case bool() | np.bool_():
            return str(bool(value))
        case int() | np.integer():
            return _whole_text(int(value))
        case float() | np.floating():
            if math.isnan(value):
                return None
            return number_text(float(value)) if float(value) == value else str(value)
        case decimal.Decimal():
            return None if value.is_nan() else _exact_text(value)
        case abstract_numbers.Rational():
            return _quotient_text(int(value.numerator), int(value.denominator))
        case _ if _is_null(value):
            return None
        case _:
            raise _no_cell(name, row, value)


def _whole_text(value: int) -> str:
    """All digits; those of thousands Python refuses to write, and decimal does not."""
    return str(value) if value.bit_length() < 2_000 else str(decimal.Decimal(value))


def _exact_text(value: decimal.Decimal) -> str:
    """The shortest text of the number; all digits where float64 has not enough."""
    text = number_text(float(value))
    if value.is_finite() and decimal.Decimal(text) != value:
        return format(value.normalize(_DIGITS), "f" if abs(value.adjusted()) < 40 else "")
    return text


_DIGITS = decimal.Context(prec=1000)
"""More digits than a number of a frame has."""


def _quotient_text(above: int, below: int) -> str:
    """As `_exact_text`; quotients without an end are cut at 40 digits."""
    if below == 1:
        return _whole_text(above)
    with suppress(OverflowError):
        text = number_text(above / below)
        if Fraction(text) == Fraction(above, below):
            return text
    return str(decimal.Context(prec=40).divide(above, below))


def _is_null(value: Any) -> bool:
    """Whether a value is pandas' NA or NaT or numpy's NaT, which are no Python values."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def _no_cell(name: str, row: int, value: Any) -> OdtError:
    temporal = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    if isinstance(value, temporal):
        return _dates(name, type(value).__name__)
    return error(
        "D135",
        f"column `{name}` contains a value of type `{type(value).__name__}` in {row_place(row)}",
        notes=("a cell must be a number, a text, a truth value, or missing",),
        helps=("convert it to one of these, or remove the column from the frame",),
    )


def _dates(name: str, kind: str) -> OdtError:
    message = f"column `{name}` contains dates or times ({kind}), which splits cannot test"
    return error(
        "D134",
        message,
        helps=(
            f"add {about('days {NAME}', name)} to the data statement to read it as a number of "
            f"days, or {about('parts {NAME}', name)} for year, month and weekday; or convert it, "
            f"or leave it out: {about('drop NAME', name)}",
        ),
    )


def _read_array(array: np.ndarray[Any, Any], name: str, marks: Marks) -> Table:
    if array.ndim != 2:
        raise error(
            "D132",
            f"{name} is an array of {array.ndim} dimensions",
            helps=("pass an array of shape (n_rows, n_columns)",),
        )
    names = [f"x{i}" for i in range(array.shape[1])]
    columns = [(key, array[:, i]) for i, key in enumerate(names)]
    return _collect(name, columns, array.shape[0], marks)


def _read_mapping(
    mapping: Mapping[Any, Any],
    name: str,
    marks: Marks,
    dates: Collection[str],
    dropped: Collection[str],
) -> Table:
    try:
        lengths = {str(key): len(values) for key, values in mapping.items()}
    except TypeError:
        raise error(
            "D132",
            f"{name} is a mapping whose values are not all sequences",
            helps=("pass a mapping from column names to sequences of equal length",),
        ) from None
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{key}` {count}" for key, count in lengths.items())
        raise error("D133", f"the columns of {name} differ in length", notes=(listed,))
    columns = [(str(key), values) for key, values in mapping.items()]
    columns = _with_dates(columns, {*dates, *dropped})
    return _collect(name, columns, next(iter(lengths.values()), 0), marks, dropped)


def _read_native(
    frame: Any,
    name: str,
    marks: Marks,
    dates: Collection[str] = (),
    dropped: Collection[str] = (),
    of_file: bool = False,
) -> Table:
    import narwhals as nw

    if hasattr(frame, "collect"):
        raise _no_frame(frame, "collect it first: `frame.collect()`")
    frame = of_batch(frame)
    if hasattr(frame, "columns"):
        # Of an Arrow table, `columns` are its arrays.
        names = getattr(frame, "column_names", frame.columns)
        check_names(name, [str(key) for key in names])
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        kinds = "a pandas, polars or Arrow table, a 2-D array, or a mapping of names to sequences"
        raise _no_frame(frame, f"pass {kinds}") from None
    # By position: pandas' names may be integers, which would be taken for positions.
    keys = [str(key) for key in wrapped.columns]
    columns = list(zip(keys, wrapped.iter_columns(), strict=True))
    if of_file:
        dates = {*dates, *(key for key, one in columns if one.dtype in (nw.Date, nw.Datetime))}
    columns = _with_dates(columns, {*dates, *dropped})
    n_rows = len(wrapped)
    del frame, wrapped
    return _collect(name, columns, n_rows, marks, dropped)


def of_batch(frame: Any) -> Any:
    """A record batch of Arrow as a table, which narwhals knows; anything else as it is."""
    kind = type(frame)
    if kind.__name__ != "RecordBatch" or kind.__module__.partition(".")[0] != "pyarrow":
        return frame
    from pyarrow import Table as ArrowTable

    return ArrowTable.from_batches([frame])


def _no_frame(frame: Any, help_text: str) -> OdtError:
    what = type(frame).__name__
    return error(
        "D132", f"a value of type `{what}` is not a supported data frame", helps=(help_text,)
    )


def _with_dates(columns: list[tuple[str, Any]], dates: Collection[str]) -> list[tuple[str, Any]]:
    """The columns, those that may hold dates with these as texts."""
    if not dates:
        return columns
    from odtdsl.datasets.dates import as_texts

    return [(key, as_texts(values) if key in dates else values) for key, values in columns]


def _collect(
    name: str,
    columns: list[tuple[str, Any]],
    n_rows: int,
    marks: Marks,
    dropped: Collection[str] = (),
) -> Table:
    """The table of the columns, which are taken out of the list, or the problems of all."""
    for place, (key, _) in enumerate(columns, start=1):
        if HALF_PAIR.search(key):
            raise _half(f"column {place} of {name} is named {key[:40]!a}:")
    columns.reverse()

    def read(key: str, values: Any) -> RawColumn:
        try:
            return _column(key, values, marks)
        except OdtError:
            if key not in dropped:
                raise
        cells = values.tolist() if hasattr(values, "tolist") else list(values)
        texts = [None if value is None or _is_null(value) else str(value) for value in cells]
        return column_from_texts(key, texts, marks=marks)

    done = all_columns(partial(read, *columns.pop()) for _ in range(len(columns)))
    return build_table(name, done, n_rows)


def _column(name: str, values: Any, marks: Marks) -> RawColumn:
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and (values.dtype.kind in "iu" or values.dtype in _FLOATS):
            return column_from_numbers(name, values, marks=marks)
        if values.dtype.kind in "mM":
            raise _dates(name, str(values.dtype))
        if values.dtype.kind == "U" and values.ndim == 1 and (few := _few_texts(values)):
            return column_from_coded(name, *few, marks=marks)
        return column_from_values(name, list(values.tolist()), marks=marks)
    import narwhals as nw

    wrapped = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(wrapped, nw.Series):
        return column_from_values(name, list(values), marks=marks)
    return _series(name, wrapped, marks)


def _series(name: str, series: Any, marks: Marks) -> RawColumn:
    import narwhals as nw

    native = series.to_native()
    held = getattr(native, "dtype", None)
    if isinstance(held, np.dtype) and (held.kind in "iu" or held in _FLOATS):
        return column_from_numbers(name, native.to_numpy(), marks=marks)  # nothing to convert
    kind = series.dtype
    if kind.is_temporal():
        raise _dates(name, str(kind))
    if kind.is_float():
        floats = series.cast(nw.Float64()).fill_null(math.nan).to_numpy()
        return column_from_numbers(name, floats, marks=marks)
    if kind.is_integer() and kind not in (nw.Int128, nw.UInt128):  # numpy has 64 bits
        absent = series.is_null().to_numpy()
        whole = (series.fill_null(0) if absent.any() else series).to_numpy()
        if whole.dtype.kind in "iu":
            return column_from_numbers(name, whole, absent=absent, marks=marks)
    words = _arrow_texts(native)
    if words is not None:
        column = column_from_coded(name, *words, marks=marks)
    else:
        column = column_from_values(name, series.to_list(), marks=marks)
    if isinstance(kind, nw.Categorical | nw.Enum):
        return _with_native_levels(column, series)
    return column


def _arrow_texts(native: Any) -> tuple[list[str], IntArray] | None:
    """The different texts of an Arrow column, and the place of each cell; None of another one.

    A million rows of two words are then two texts.
    """
    if type(native).__module__.partition(".")[0] != "pyarrow":
        return None
    from pyarrow import compute, types

    from odtdsl.datasets.quick import coded

    if types.is_dictionary(native.type):
        native = compute.cast(native, native.type.value_type)
    is_text = types.is_string(native.type) or types.is_large_string(native.type)
    if not is_text or native.null_count == len(native):
        return None
    words, places = coded(compute.fill_null(native, ""))  # an empty text is missing, too
    return words.tolist(), places


def _with_native_levels(column: RawColumn, series: Any) -> RawColumn:
    """The column with the order of its categories, where its library means one.

    polars keeps the categories of all `Categorical` columns in one pool, and Arrow's
    dictionaries stand in the order of appearance unless they say that they are ordered:
    neither says anything about the column.
    """
    native = series.to_native()
    ordered = False
    match type(native).__module__.partition(".")[0]:
        case "pandas" | "modin" | "cudf":
            categories, ordered = list(native.cat.categories), bool(native.cat.ordered)
        case "polars" if type(native.dtype).__name__ == "Enum":
            categories = native.dtype.categories.to_list()
        case "pyarrow" if native.type.ordered:
            categories, ordered = native.unify_dictionaries().chunk(0).dictionary.to_pylist(), True
        case _:
            return column
    texts = _texts(column.name, categories)
    return with_levels(column, [text for text in texts if text is not None], ordered=ordered)
