"""Large text files, by pyarrow's CSV reader, where it reads what the plain reader reads.

The plain reader (`odtdsl.datasets.delimited`) says what a file means. Whatever could be read in two
ways (quotes inside cells, blanks before quotes, line ends of `\\r` alone, `\\r` in quotes) and
whatever is wrong is left to it, so that meaning and messages have one place. Tests read random
files both ways.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.limits import READING, look
from odtdsl.datasets.cells import Marks, Place, column_from_coded, marked_as_numbers
from odtdsl.datasets.numerals import PLAIN, Numerals
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, ObjectArray, RawColumn
from odtdsl.datasets.writing import LONG, objects

MIN_QUICK_SIZE = 1_000_000
"""Characters of a file; a smaller one is read sooner than pyarrow is imported."""
LEAST_LINES = 150
"""Fewer lines, as long as the first, are read sooner cell by cell than column by column."""

_SEPARATORS = ",;\t|:"
_LEAST_BLOCK, _LARGEST_BLOCK = 1 << 20, 1 << 29
"""Bytes that are read at once; a line has to fit in."""
_LINES_AT_ONCE = 256


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Cells as Arrow keeps them: a chunked array of texts without blanks around, null where empty.

    `rows`: those of the array that are meant, int64 (n_rows,); None for all.
    """

    array: Any
    rows: IntArray | None = None

    def texts(self) -> ObjectArray:
        """The cells as an object array (n_rows,) of texts, with `None` for missing ones."""
        return objects(self._chosen().to_pylist())

    def distinct(self) -> tuple[ObjectArray, IntArray]:
        """The different texts, and the place of each cell among them, int64 (n_rows,)."""
        return coded(self._chosen())

    def take(self, rows: IntArray) -> Strings:
        """The cells of some rows, given by their positions."""
        return Strings(self.array, rows if self.rows is None else self.rows[rows])

    def has_long_numbers(self) -> bool:
        """Whether a cell is too long to be a number that float64 surely holds exactly."""
        return any(_longest(chunk) >= LONG for chunk in self.array.chunks)

    def packed(self, missing: BoolArray) -> tuple[IntArray, bytes]:
        """Bytes of each text in UTF-8, int64 (n_rows,), and all texts one after the other.

        Cells of `missing`, bool (n_rows,), are empty texts.
        """
        from pyarrow import array, compute

        kept = compute.fill_null(compute.if_else(array(missing), "", self._chosen()), "")
        chunks = getattr(kept, "chunks", [kept])
        ends = [_ends(chunk) for chunk in chunks]
        lengths = np.concatenate([np.zeros(0, dtype=np.int64), *map(np.diff, ends)])
        texts = b"".join(
            memoryview(chunk.buffers()[2] or b"")[end[0] : end[-1]]
            for chunk, end in zip(chunks, ends, strict=True)
        )
        return lengths, texts

    def n_different(self, missing: BoolArray) -> int:
        """How many different texts the cells have that are not `missing`, bool (n_rows,)."""
        from pyarrow import array, compute

        kept = self._chosen().filter(array(~missing))
        return int(compute.count_distinct(kept, mode="all").as_py())

    def _chosen(self) -> Any:
        return self.array if self.rows is None else self.array.combine_chunks().take(self.rows)


def coded(array: Any) -> tuple[ObjectArray, IntArray]:
    """The different texts of an Arrow array, and the place of each cell; null is an empty text."""
    from pyarrow import compute

    if array.null_count:  # Arrow does not unify dictionaries that hold nulls
        array = compute.fill_null(array, "")
    found = compute.dictionary_encode(array)
    chunks = found.unify_dictionaries().chunks if hasattr(found, "chunks") else [found]
    if not chunks:
        return objects([]), np.zeros(0, dtype=np.int64)
    words = chunks[0].dictionary.to_pylist()
    places = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    return objects(words), places.astype(np.int64)


def quick_lines(text: str, separator: str) -> list[Any] | None:
    """The cells of a file by columns, its first line among them; None if it is not for here.

    Returns
    -------
    columns
        Chunked Arrow arrays of texts, the blanks around them kept, null where a cell is empty.
    """
    if (
        len(text) < max(MIN_QUICK_SIZE, LEAST_LINES * (text.find("\n") + 1))
        or separator not in _SEPARATORS
    ):
        return None
    width = _width(text, separator)
    if width < 2:  # lines of blanks are cells then, or not
        return None
    content = text.encode("utf-8")
    if not _plain_lines(content) or not _plain_quotes(content, separator):
        return None
    table = _read(content, separator, width)
    if table is None:
        return None
    columns = table.columns
    longest = csv.field_size_limit()
    if any(column.nbytes > longest and _has_longer(column, longest) for column in columns):
        return None
    return list(columns)


def _has_longer(array: Any, most: int) -> bool:
    return any(chunk.nbytes > most and _longest(chunk) > most for chunk in array.chunks)


def _longest(chunk: Any) -> int:
    """The bytes of the longest text of an Arrow array; many small ones want no call of Arrow."""
    return int(np.diff(_ends(chunk)).max(initial=0))


def _ends(chunk: Any) -> IntArray:
    """int64 (n + 1,): where the n texts of an Arrow array begin and end among its bytes."""
    if not len(chunk):
        return np.zeros(1, dtype=np.int64)
    ends: npt.NDArray[np.int32] = np.frombuffer(chunk.buffers()[1], dtype=np.int32)
    return ends[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)


def first_line(columns: list[Any]) -> list[str]:
    """The cells of the first line."""
    return [column[0].as_py() or "" for column in columns]


def quick_column(
    name: str, array: Any, *, marks: Marks, place: Place, numerals: Numerals
) -> RawColumn:
    """The column of an Arrow array of texts.

    Raises
    ------
    OdtError
        D106: an infinite number in a column that has nothing but numbers.
    """
    from pyarrow import compute

    column: RawColumn | None = None
    if numerals == PLAIN and (column := _number_column(name, array, marks)) is None:
        trimmed = compute.utf8_trim_whitespace(array)
        if not trimmed.equals(array) and _keeps_apart(array, trimmed):
            column = _number_column(name, trimmed, marks)
    if column is None:
        words, places = coded(array)
        column = column_from_coded(
            name, words.tolist(), places, marks=marks, place=place, numerals=numerals
        )
    return column


def _number_column(name: str, array: Any, marks: Marks) -> RawColumn | None:
    """The column if its cells are finite numbers, without blanks around them, or empty.

    What arrow reads as a number, Python reads as the same one, but for `nan(1)`.
    """
    import pyarrow
    from pyarrow import compute

    if any(len(mark) >= LONG for mark in marks.texts):  # equal as numbers, apart as texts
        return None
    try:
        cast = compute.cast(array, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None
    numbers: FloatArray = cast.to_numpy()
    missing: BoolArray = np.zeros(len(numbers), dtype=np.bool_)
    if array.null_count:
        numbers = numbers.astype(np.float64)  # null is NaN
        missing = array.is_null().to_numpy()
    if not np.isfinite(numbers).all() and not np.isfinite(numbers[~missing]).all():
        return None
    marked: tuple[str, ...] = ()
    if marks.numbers and (hit := np.isin(numbers, marks.numbers)).any():
        missing = missing | hit
        marked = marked_as_numbers(compute.unique(array.filter(hit)).to_pylist(), marks)
    numbers = numbers + 0.0
    numbers[missing] = np.nan
    return RawColumn(
        name=name, numbers=numbers, writing=Strings(array), missing=missing, marked=marked
    )


def _keeps_apart(array: Any, trimmed: Any) -> bool:
    """Whether no two texts become one where the blanks around them are left out."""
    from pyarrow import compute

    return bool(compute.count_distinct(array).equals(compute.count_distinct(trimmed)))


# ---- what pyarrow and the plain reader read alike


def _width(text: str, separator: str) -> int:
    """The number of cells of the first line that is not empty; 0 if it is not one."""
    reader = csv.reader(_physical_lines(text), delimiter=separator, skipinitialspace=True)
    try:
        return next((len(cells) for cells in reader if cells), 0)
    except csv.Error:
        return 0


def _physical_lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _plain_lines(content: bytes) -> bool:
    r"""Whether `\r` stands nowhere but in `\r\n`."""
    return b"\r" not in content or content.count(b"\r") == content.count(b"\r\n")


def _plain_quotes(content: bytes, separator: str) -> bool:
    r"""Whether quotes open cells at their very start, close them at their end, or are doubled,
    and no quoted cell holds a `\r`.

    Every other quote opens. Inside a quoted cell a doubled one closes and opens again.
    """
    if b'"' not in content:
        return True
    cells: npt.NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8)
    at = np.flatnonzero(cells == ord('"'))
    if len(at) % 2:
        return False
    if b"\r" in content:  # of `\r\n` in a cell Arrow loses the `\n` where a block ends between them
        returns = np.flatnonzero(cells == ord("\r"))
        if (np.searchsorted(at, returns) % 2).any():
            return False
    opening, closing = at[::2], at[1::2]
    doubled = opening[1:] == closing[:-1] + 1
    ends = np.zeros(256, dtype=np.bool_)
    ends[[ord(separator), ord("\n"), ord("\r")]] = True
    opens = ends[cells[opening - 1]] | (opening == 0)
    opens[1:] |= doubled
    closes = ends[cells[(closing + 1) % len(cells)]] | (closing + 1 == len(cells))
    closes[:-1] |= doubled
    return bool(opens.all() and closes.all())


def _read(content: bytes, separator: str, width: int) -> Any | None:
    import pyarrow
    from pyarrow import csv as arrow_csv

    names = [f"f{i}" for i in range(width)]
    line = content.find(b"\n") + 1 or len(content)
    block = min(max(_LEAST_BLOCK, _LINES_AT_ONCE * line), _LARGEST_BLOCK)
    try:
        with arrow_csv.open_csv(
            pyarrow.py_buffer(content),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=block),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator, newlines_in_values=b'"' in content
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        ) as blocks:
            return pyarrow.Table.from_batches(_watched(blocks, width), blocks.schema)
    except pyarrow.ArrowException:
        return None


def _watched(blocks: Iterable[Any], width: int) -> Iterator[Any]:
    """The same blocks; reading ends where the limit of time is over."""
    for block in blocks:
        look(READING, width * block.num_rows)
        yield block
