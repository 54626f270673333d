"""The rows that a spec names, kept between keystrokes until a file changes.

An editor reads what stands in a text before anybody meant it: so no network, no file beyond
`MAX_BYTES`, and nothing twice. Of larger files the names of columns are read.
"""

from __future__ import annotations

import csv
import io
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets import readers
from odtdsl.datasets.request import DataRequest, TestFile
from odtdsl.datasets.table import Table

MAX_BYTES = 30_000_000
"""The largest file that is read while one types: about 3 s."""

HEAD_BYTES = 200_000
KEPT = 4


class Unread(Exception):
    """The rows are not read here; the message says why, for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    request: DataRequest
    base: str
    stamp: tuple[int, ...]


class Tables:
    """Tables by request and by the stamp of their file (inode, size, time of change)."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Table | OdtError] = OrderedDict()

    def read(self, request: DataRequest, *, base: Path, frame: Any = None) -> Table:
        """As `readers.read`.

        Raises
        ------
        OdtError
            As there.
        Unread
            The rows come from Python or the network, or are too many.
        """
        if request.kind == "frame":
            raise Unread("the rows come from Python")
        if request.kind == "openml":
            raise Unread("the rows come from the network")
        bare = replace(request, test=None, id_column=None)
        return self._once(bare, base, lambda: readers.read(bare, base=base))

    def read_test(
        self, request: DataRequest, *, base: Path, test_frame: Any = None
    ) -> Table | None:
        """As `readers.read_test`."""
        if not isinstance(request.test, TestFile):
            return None
        bare = replace(request, kind="file", name=request.test.path, test=None, id_column=None)
        return self._once(bare, base, lambda: readers.read(bare, base=base))

    def _once(self, request: DataRequest, base: Path, make: Callable[[], Table]) -> Table:
        key = _Key(request=request, base=str(base), stamp=self._stamp(request, base))
        found = self._kept.get(key)
        if found is None:
            try:
                found = make()
            except OdtError as failure:
                found = failure
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        if isinstance(found, OdtError):
            raise OdtError(found.diagnostics)
        return found

    def _stamp(self, request: DataRequest, base: Path) -> tuple[int, ...]:
        if request.kind != "file":
            return ()
        path = _file_of(request, base)
        if path is None:
            return ()
        status = path.stat()
        if status.st_size > MAX_BYTES:
            raise Unread(f"the file has more than {MAX_BYTES // 1_000_000} MB")
        return status.st_ino, status.st_size, status.st_mtime_ns


def _file_of(request: DataRequest, base: Path) -> Path | None:
    """The regular file that a request names, or None."""
    try:
        path = base / Path(request.name).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


def head(request: DataRequest, base: Path) -> tuple[str, ...]:
    """The names of the columns of a file that is too large; none where they are not plain."""
    path = _file_of(request, base) if request.kind == "file" else None
    if path is None:
        return ()
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            from pyarrow.parquet import read_schema

            return tuple(read_schema(path).names)
        with path.open("rb") as stream:
            text = stream.read(HEAD_BYTES).decode(request.encoding or "utf-8-sig", "replace")
        if path.suffix.lower() in (".arff", ".xlsx", ".xlsm") or not request.header:
            return ()
        separator = request.separator or ("\t" if path.suffix.lower() in (".tsv", ".tab") else ",")
        row = next(csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True))
        return tuple(cell.strip() for cell in row if cell.strip())
    except Exception:  # whatever a strange file does to its reader: no names then
        return ()
