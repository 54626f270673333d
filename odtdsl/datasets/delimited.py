"""Text files with separators: CSV, TSV, and files whose cells stand between blanks."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from odtdsl.base.diagnostics.model import DataHelp, OdtError, error
from odtdsl.base.limits import READING, look
from odtdsl.base.numbers import counted
from odtdsl.datasets.cells import (
    HALF_PAIR,
    Marks,
    all_columns,
    build_table,
    check_names,
    column_from_texts,
)
from odtdsl.datasets.numerals import numerals_of
from odtdsl.datasets.quick import first_line, quick_column, quick_lines
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import Table

_NO_FILES = ("idna", "punycode")
"""Codecs of host names, which take time quadratic in the length of a text."""


Line = tuple[int, list[str]]
"""The number of a line, counted from 1, and its cells."""

_SHOWN = 5
_BLANK_CELL = re.compile(r'\s*(?:"((?:[^"]|"")*)"(?=\s|$)|([^\s"]\S*))')


def read_delimited(path: Path, request: DataRequest) -> Table:
    """Read a text file.

    Blanks around cells and names do not count, empty lines are skipped, a column without
    a name is called by its position (`c3`), quoted cells may hold separators and line ends.

    Raises
    ------
    OdtError
        D102: not text in the encoding. D103: rows that do not fit, or quotes that do not
        match. D104: two columns of one name. D105: no columns or no rows. D106: an infinite
        number. D107: a separator that cannot be one, or another one in the file.
        D119: signs of numbers that cannot be.
    """
    text = decode(path.read_bytes(), request.encoding, request.name)
    return read_text(text, request, separator_of(request, path))


def read_text(
    text: str, request: DataRequest, separator: str, names: list[str] | None = None
) -> Table:
    """The table of a text; errors as `read_delimited`.

    `names` are those of the columns, where the text is a part of a file that goes on: all of its
    lines are rows then.
    """
    return _read_quickly(text, request, separator, names) or _read_lines(
        list(_lines(text, separator, request.name)), request, separator, names
    )


def _read_quickly(
    text: str, request: DataRequest, separator: str, names: list[str] | None
) -> Table | None:
    """The table as `_read_lines` gives it; None if only that one can read it."""
    arrays = quick_lines(text, separator)
    if arrays is None or len(arrays[0]) < 2:
        return None
    skipped = 1 if request.header and names is None else 0
    names = names or _names(first_line(arrays), request, separator)
    if len(names) != len(arrays):
        return None  # the plain reader says in which line

    def place(row: int) -> str:
        lines = _lines(text, separator, request.name)
        return f"line {next(islice(lines, row + skipped, None))[0]}"

    marks, numerals = Marks.of(request.na), numerals_of(request.decimal, request.thousands)
    columns = all_columns(
        partial(
            quick_column, name, array.slice(skipped), marks=marks, place=place, numerals=numerals
        )
        for name, array in zip(names, arrays, strict=True)
    )
    if any(column.blanks for column in columns):
        return None  # whether blanks before a text count depends on its quotes, which are gone
    return build_table(request.name, columns, len(arrays[0]) - skipped)


def _read_lines(
    lines: list[Line], request: DataRequest, separator: str, names: list[str] | None
) -> Table:
    if not lines:
        raise error("D105", f"{request.name} is empty")
    body = lines[1:] if request.header and names is None else lines
    names = names or _names(lines[0][1], request, separator)
    _check_widths(body, len(names), request)
    if not body:
        raise error(
            "D105",
            f"{request.name} has only a line of column names, and no rows",
            helps=(
                DataHelp(
                    "if that line is a row, write `header none` in the data statement",
                    "if that line is a row, add `--no-header`",
                ),
            ),
        )
    marks, numerals = Marks.of(request.na), numerals_of(request.decimal, request.thousands)

    def place(row: int) -> str:
        return f"line {body[row][0]}"

    by_column = zip(*(cells for _, cells in body), strict=True)
    columns = all_columns(
        partial(column_from_texts, name, cells, marks=marks, place=place, numerals=numerals)
        for name, cells in zip(names, by_column, strict=True)
    )
    return build_table(request.name, columns, len(body))


def decode(content: bytes, encoding: str | None, name: str) -> str:
    """The text of a file: UTF-8 unless declared otherwise, without its byte order mark.

    Raises
    ------
    OdtError
        D102: an unknown encoding, bytes that it cannot read, or a file that is not text.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    codec = encoding or ("utf-16" if wide else "utf-8")
    try:
        if codecs.lookup(codec).name in _NO_FILES:
            raise LookupError
        text = content.decode(codec)
    except UnicodeError as problem:
        raise _undecodable(content, problem, encoding, name) from None
    except (LookupError, ValueError):  # ValueError: a zero character in the name
        raise error(
            "D102",
            f'"{encoding}" is not a known text encoding',
            helps=('common ones are "utf-8", "latin-1", "cp1252" and "utf-16"',),
        ) from None
    check_text(text, codec, name)
    return text.removeprefix("\ufeff")


def check_text(text: str, codec: str, name: str) -> None:
    """Refuse what no table holds: zeros, and halves of surrogate pairs (D102)."""
    # Some codecs, such as utf-7, give what no text may hold.
    if codecs.lookup(codec).name != "utf-8" and HALF_PAIR.search(text):
        raise error("D102", f"{name} is not {codec} text: it contains half a surrogate pair")
    if "\0" in text:
        raise error(
            "D102",
            f"{name} is not a text file",
            helps=(
                "use a `.csv`, `.tsv`, `.xlsx`, `.parquet` or `.arff` file, with its own ending",
            ),
        )


def _undecodable(
    content: bytes, problem: UnicodeError, encoding: str | None, name: str
) -> OdtError:
    where = ""
    if isinstance(problem, UnicodeDecodeError):
        line = content.count(b"\n", 0, problem.start) + 1
        where = f": byte 0x{content[problem.start]:02x} on line {line}"
    how = DataHelp(
        'give its encoding in the data statement, as in `encoding "latin-1"`',
        "give its encoding, as in `--encoding latin-1`",
    )
    return error("D102", f"{name} is not {encoding or 'UTF-8'} text{where}", helps=(how,))


def separator_of(request: DataRequest, path: Path) -> str:
    """What stands between the cells of a file; D107 where it is no single character."""
    given = request.separator
    if given is None:
        return "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    if given == r"\t":
        return "\t"
    if len(given) != 1 or given in '"\r\n\0':
        raise error(
            "D107",
            f'"{given}" cannot separate cells',
            helps=('a separator must be one character, as in `separator ";"`',),
        )
    return given


def _lines(text: str, separator: str, name: str) -> Iterator[Line]:
    """The lines that are not empty. A cell over several lines counts for its first one."""
    if separator == " ":
        yield from _blank_separated(text, name)
        return
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    start, quoted = 1, '"' in text
    try:
        for cells in reader:
            look(READING, len(cells))
            if len(cells) > 1 or (cells and (cells[0].strip() or quoted)):
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as problem:
        raise error(
            "D103",
            f"{name}, line {start}: {problem}",
            helps=(
                (
                    "a quote may open a cell only at its start; inside the cell, write it twice "
                    '(`""`), and close it at the end'
                ),
            ),
        ) from None


def _blank_separated(text: str, name: str) -> Iterator[Line]:
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if '"' not in line:
            cells = line.split()
        else:
            cells, end = [], 0
            stripped = line.rstrip()
            while end < len(stripped):
                match = _BLANK_CELL.match(stripped, end)
                if match is None:
                    raise error(
                        "D103",
                        f"{name}, line {number}: this quote neither opens nor closes a cell",
                        helps=('inside a quoted cell, write a quote twice (`""`)',),
                    )
                quoted, plain = match.groups()
                cells.append(plain if quoted is None else quoted.replace('""', '"'))
                end = match.end()
        if cells:
            yield number, cells


def _names(first: list[str], request: DataRequest, separator: str) -> list[str]:
    if not request.header:
        return [f"c{i}" for i in range(1, len(first) + 1)]
    names = [cell.strip() or f"c{i}" for i, cell in enumerate(first, start=1)]
    if len(names) == 1:
        _check_other_separator(names[0], request, separator)
    check_names(request.name, names)
    return names


def _check_other_separator(header: str, request: DataRequest, separator: str) -> None:
    """One column whose name holds separators: the file is written with another one."""
    found = max(";\t|,", key=header.count)
    if found == separator or header.count(found) == 0:
        return
    written = r"\t" if found == "\t" else found
    raise error(
        "D107",
        f"{request.name} has only one column, `{header}`",
        helps=(
            DataHelp(
                f'write `separator "{written}"` in the data statement',
                f'add `--separator "{written}"`',
            ),
        ),
    )


def _check_widths(body: Sequence[Line], width: int, request: DataRequest) -> None:
    ragged = [(number, len(cells)) for number, cells in body if len(cells) != width]
    if not ragged:
        return
    number, count = ragged[0]
    listed = ", ".join(str(at) for at, _ in ragged[:_SHOWN])
    more = f" and {len(ragged) - _SHOWN} more" if len(ragged) > _SHOWN else ""
    raise error(
        "D103",
        f"{request.name}, line {number} has {counted(count, 'cell')} where the first line has "
        f"{width}",
        notes=(f"lines with a wrong number of cells: {listed}{more}",) if len(ragged) > 1 else (),
        helps=(
            "put cells that contain the separator in double quotes"
            if count > width
            else "write the separators of empty cells, too; put cells of several lines in double "
            "quotes",
        ),
    )
