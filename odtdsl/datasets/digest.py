"""Digests: a fingerprint of the rows that a result was computed from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.datasets.quick import Strings
from odtdsl.datasets.table import FloatArray, IntArray, RawColumn, Table, distinct

_VERSION = b"odtdsl table 1"


def digest(table: Table, types: Iterable[ColumnType] = ()) -> str:
    """SHA-256 over names, types and cells, as 64 hexadecimal digits.

    Equal for the same rows from different sources (a CSV file and a frame), on every
    machine; different for another order of rows or columns. Numbers count by value, other
    cells by text, as do numbers in a column that writes one of them in two ways; missing cells
    as such. The table's name does not count.

    Parameters
    ----------
    table
        The rows.
    types
        The types that a spec gives the columns, where they are to count.
    """
    hasher = hashlib.sha256(_VERSION)
    hasher.update(_record(str(table.n_rows), str(len(table.columns))))
    for column in table.columns.values():
        _add_column(hasher, column)
    for column_type in types:
        levels = (_level(level) for level in column_type.levels)
        step = "" if column_type.step is None else str(column_type.step)
        hasher.update(_record(column_type.name, column_type.kind, step, *levels))
    return hasher.hexdigest()


class Fingerprint:
    """The digest of a table, computed when it is asked for: small solves take less time."""

    __slots__ = ("_found", "_table")

    def __init__(self, table: Table | None, found: str = "") -> None:
        self._table, self._found = table, found

    def __str__(self) -> str:
        if self._table is not None:
            self._found = digest(self._table)
            self._table = None
        return self._found

    def __repr__(self) -> str:
        return repr(str(self))

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Fingerprint) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[type[Fingerprint], tuple[None, str]]:
        return Fingerprint, (None, str(self))


def _add_column(hasher: hashlib._Hash, column: RawColumn) -> None:
    is_number = column.numbers is not None
    hasher.update(_record(column.name, "number" if is_number else "text"))
    hasher.update(np.packbits(column.missing).tobytes())
    if column.numbers is not None:
        cells = np.where(column.missing, 0.0, column.numbers) + 0.0
        hasher.update(cells.astype("<f8").tobytes())
        if _writes_one_number_twice(column, cells):
            hasher.update(_texts(column))
    else:
        hasher.update(_texts(column))


def _texts(column: RawColumn) -> bytes:
    if isinstance(column.writing, Strings):
        return _joined(*column.writing.packed(column.missing))
    return _record(*("" if text is None else text for text in column.texts.tolist()))


def _writes_one_number_twice(column: RawColumn, cells: FloatArray) -> bool:
    """Whether cells that are one number are different texts, and so levels of their own."""
    if column.by_value and not column.writing.has_long_numbers():
        return False
    numbers = len(distinct(cells[~column.missing]))
    if isinstance(column.writing, Strings):
        return column.writing.n_different(column.missing) > numbers
    return len(column.distinct[0]) > numbers


def _record(*texts: str) -> bytes:
    """Texts with their lengths, so that no two lists of texts give the same bytes."""
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return _joined(np.array([len(text) for text in coded], dtype=np.int64), b"".join(coded))


def _joined(lengths: IntArray, texts: bytes) -> bytes:
    return np.concatenate([[len(lengths)], lengths]).astype("<u8").tobytes() + texts


def _level(level: Value) -> str:
    return f"t{level}" if isinstance(level, str) else f"n{float(level)!r}"
