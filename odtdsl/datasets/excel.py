"""Rows of Excel files, by openpyxl: the cells as the file holds them, not as Excel shows them."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.datasets.cells import Marks, column_from_texts
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.limits import MAX_BYTES, MAX_CELLS, too_large
from odtdsl.datasets.numerals import PLAIN, numerals_of
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import Table

Cells = Sequence[Any]


def read_excel(path: Path, request: DataRequest) -> Table:
    """The table of a sheet: its first row that is not empty names the columns.

    Numbers are numbers, dates texts such as `2021-03-04`, formulas their last value; empty rows
    and columns are left out. A column of numbers and texts is of texts, which `decimal` and
    `thousands` may say to be numbers.

    Raises
    ------
    OdtError
        D108: openpyxl is not installed, the file is no Excel file, or has no such sheet. D114: too
        large once unpacked. D103 to D105: columns without a name or with the same one, no rows.
    """
    if find_spec("openpyxl") is None:
        raise error(
            "D108",
            f"reading {request.name} needs openpyxl",
            helps=("pip install 'odtdsl[excel]'", "or save it as `.csv`"),
        )
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(one.file_size for one in packed.infolist())
        if size > MAX_BYTES:
            raise too_large(request.name, f"{size:,} bytes unpacked", f"{MAX_BYTES:,}")
        book = load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError) as problem:
        raise error("D108", f"{request.name} is not an Excel file: {problem}") from None
    try:
        sheets = [sheet.title for sheet in book.worksheets]
        named = request.sheet
        if named is not None and named not in sheets:
            near = closest(named, sheets)
            listed = ", ".join(f'"{sheet}"' for sheet in sheets[:12])
            raise error(
                "D108",
                f"{request.name} has no sheet `{named}`",
                notes=(f"its sheets are {listed}",),
                helps=(f"did you mean `{near}`?",) if near else (),
            )
        sheet = book[named] if named is not None else book.worksheets[0]
        rows = list(_rows(sheet.iter_rows(values_only=True), request.name))
    finally:
        book.close()
    columns = _columns(rows, request)
    found = read_frame(columns, name=request.name, na=request.na)
    numerals = numerals_of(request.decimal, request.thousands)
    if numerals == PLAIN:
        return found
    read = partial(column_from_texts, marks=Marks.of(request.na), numerals=numerals)
    texts = {n: cells for n, cells in columns.items() if any(isinstance(c, str) for c in cells)}
    return replace(found, columns={**found.columns, **{n: read(n, c) for n, c in texts.items()}})


def _rows(rows: Iterator[Cells], name: str) -> Iterator[Cells]:
    """The rows that hold something, as long as they are few enough."""
    count = 0
    for row in rows:
        count += len(row)
        if count > MAX_CELLS:
            raise too_large(name, f"more than {MAX_CELLS:,} cells", f"{MAX_CELLS:,}")
        if any(cell is not None and cell != "" for cell in row):
            yield row


def _columns(rows: list[Cells], request: DataRequest) -> dict[str, list[Any]]:
    """The cells of each column by its name."""
    if len(rows) <= request.header:
        raise error("D105", f"{request.name} has no rows")
    width = max(map(len, rows))
    filled = [
        at for at in range(width) if any(at < len(row) and row[at] is not None for row in rows)
    ]
    names = [f"c{at + 1}" for at in filled]
    if request.header:
        head, *rows = rows
        names = [str(_text(head[at])).strip() if at < len(head) else "" for at in filled]
    found: dict[str, list[Any]] = {}
    for at, name in zip(filled, names, strict=True):
        if name in ("", "None"):
            raise error(
                "D103",
                f"column {at + 1} of {request.name} has no name",
                helps=(_without_a_name(head, rows, len(filled)),),
            )
        if name in found:
            raise error("D104", f"two columns of {request.name} are named `{name}`")
        cells = [row[at] if at < len(row) else None for row in rows]
        found[name] = _alike(cells, request.decimal or ".")
    return found


def _without_a_name(head: Cells, rows: list[Cells], width: int) -> str:
    """What to do about a first row that does not name all columns: often it is a title."""
    full = (at for at, row in enumerate(rows[:20]) if _held(row) == width)
    first = next(full, None)
    if first is None or _held(head) > width / 2:
        return "name it in the first row; if that is data, write `header none`"
    above = "the row" if first == 0 else f"the {first + 1} rows"
    return f"if the names stand below a title, delete {above} above them in the sheet"


def _held(row: Cells) -> int:
    return sum(cell is not None and cell != "" for cell in row)


def _alike(cells: list[Any], decimal: str) -> list[Any]:
    """Cells of one kind: numbers and nothing, or texts and nothing."""
    cells = [None if cell == "" else cell for cell in cells]
    numbers = all(
        cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool))
        for cell in cells
    )
    return cells if numbers else [None if cell is None else _text(cell, decimal) for cell in cells]


def _text(cell: Any, decimal: str = ".") -> str:
    """A cell as a text: a day without its midnight, a whole number without `.0`, others with the
    decimal separator of the texts around them."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).replace(".", decimal) if isinstance(cell, float) else str(cell)
