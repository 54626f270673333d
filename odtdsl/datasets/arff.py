"""ARFF files (Weka's attribute-relation format), dense ones.

Own reader: scipy's refuses text attributes, hands out bytes and forgets which cells were missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.base.numbers import counted
from odtdsl.datasets.cells import (
    Marks,
    all_columns,
    build_table,
    check_names,
    column_from_texts,
    with_levels,
)
from odtdsl.datasets.delimited import decode
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import RawColumn, Table

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)$", re.IGNORECASE)
_PLAIN = r"[^,\t'\"\s]*+(?:[^\S\t]++[^,\t'\"\s]++)*+"
_CELL = re.compile(rf"\s*+({_QUOTED}|{_PLAIN})\s*(,|\t|$)")  # linear: nothing is read twice
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPED = re.compile(r"\\(.)")
_NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attribute:
    name: str
    levels: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    text: str
    quoted: bool


def read_arff(path: Path, request: DataRequest) -> Table:
    """Read a dense ARFF file; nominal attributes keep the order of their values.

    Raises
    ------
    OdtError
        D111: a line that is no ARFF. D112: a row that does not fit, or a value outside a
        nominal attribute. D113: dates, relations and sparse rows, which are not read. D102,
        D104, D105, D106 as for text files.
    """
    text = decode(path.read_bytes(), request.encoding, request.name)
    lines = [(number, line.strip()) for number, line in enumerate(_LINE_END.split(text), start=1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("%")]
    starts = [i for i, (_, line) in enumerate(lines) if line.lower().startswith("@data")]
    if not starts:
        raise error("D111", f"{request.name} has no line `@data`", helps=(_FORM,))
    attributes = [
        _attribute(number, line, request.name)
        for number, line in lines[: starts[0]]
        if not line.lower().startswith("@relation")
    ]
    check_names(request.name, [attribute.name for attribute in attributes])
    body = lines[starts[0] + 1 :]
    rows = [_row(number, line, len(attributes), request.name) for number, line in body]
    numbers = [number for number, _ in body]
    columns = all_columns(
        partial(_column, attribute, [row[j] for row in rows], numbers, request)
        for j, attribute in enumerate(attributes)
    )
    return build_table(request.name, columns, len(rows))


_FORM = "an ARFF file has lines `@attribute name type`, then a line `@data`, then rows"


def _attribute(number: int, line: str, name: str) -> _Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise error("D111", f"{name}, line {number} is not ARFF: `{line[:60]}`", helps=(_FORM,))
    column, kind = _unquoted(match[1]), match[2].strip()
    word = kind.split()[0].lower() if kind else ""
    if kind.startswith("{") and kind.endswith("}"):
        cells = _cells(kind[1:-1])
        if cells is not None:
            return _Attribute(name=column, levels=tuple(cell.text for cell in cells))
    elif word in (*_NUMERIC, "string"):
        return _Attribute(name=column, levels=None)
    elif word in ("date", "relational"):
        raise error(
            "D113",
            f"{name}, line {number}: attribute `{column}` has type {word}, which is not supported",
            helps=("convert it to numbers or nominal values, or remove it from the file",),
        )
    raise error(
        "D111",
        f"{name}, line {number}: attribute `{column}` has an unknown type: `{kind[:40]}`",
        helps=("the types are numeric, real, integer, string, and nominal values in braces",),
    )


def _row(number: int, line: str, width: int, name: str) -> list[_Cell]:
    if line.startswith("{"):
        raise error(
            "D113",
            f"{name}, line {number} is a sparse row, which is not supported",
            helps=("write the file in dense form, or save it as CSV",),
        )
    cells = _cells(line)
    if cells is None:
        raise error("D112", f"{name}, line {number} has an unmatched quote")
    if len(cells) != width:
        raise error(
            "D112",
            f"{name}, line {number} has {counted(len(cells), 'cell')} for {width} attributes",
        )
    return cells


def _cells(line: str) -> list[_Cell] | None:
    """The cells between commas or tabs; None where quotes do not match."""
    cells: list[_Cell] = []
    end = 0
    while True:
        match = _CELL.match(line, end)
        if match is None:
            return None
        cells.append(_Cell(text=_unquoted(match[1]), quoted=match[1][:1] in ("'", '"')))
        end = match.end()
        if match[2] == "":
            return cells


def _unquoted(text: str) -> str:
    if text[:1] in ("'", '"'):
        return _ESCAPED.sub(r"\1", text[1:-1])
    return text


def _column(
    attribute: _Attribute, cells: Sequence[_Cell], lines: Sequence[int], request: DataRequest
) -> RawColumn:
    texts = [None if cell.text == "?" and not cell.quoted else cell.text for cell in cells]
    column = column_from_texts(
        attribute.name,
        texts,
        marks=Marks.of(request.na),
        place=lambda row: f"line {lines[row]}",
    )
    if attribute.levels is None:
        return column
    allowed = {level.strip() for level in attribute.levels}
    for line, text in zip(lines, column.texts.tolist(), strict=True):
        if text is not None and text not in allowed:
            raise _outside(attribute, request.name, line, text)
    return with_levels(column, attribute.levels, ordered=False)


def _outside(attribute: _Attribute, name: str, line: int, text: str) -> OdtError:
    listed = ", ".join(attribute.levels or ())
    return error(
        "D112",
        f"{name}, line {line}: `{shortened(text)}` is not a value of attribute `{attribute.name}`",
        notes=(f"its values are {listed}",),
    )
