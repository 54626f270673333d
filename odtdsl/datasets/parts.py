"""Files of rows in parts, for predictions of more rows than fit in memory."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.delimited import check_text, decode, read_text, separator_of
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import Table

SIZE = 1 << 21
"""Characters of a part, about; a part ends where a line does."""
ROWS = 1 << 16
"""Rows of a part of a Parquet file."""


def parquet_parts(stream: BinaryIO, request: DataRequest) -> Iterator[Table]:
    """The rows of a Parquet file, by pyarrow; D108 where it is none, else as `read_frame`."""
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(stream) as file:
            if not file.metadata.num_rows:
                raise error("D105", f"{request.name} has no rows")
            for batch in file.iter_batches(ROWS):
                part = pyarrow.Table.from_batches([batch])
                dates = (*request.days, *request.parts)
                yield read_frame(part, name=request.name, na=request.na, dates=dates, of_file=True)
    except pyarrow.ArrowException as problem:
        raise error("D108", f"{request.name} is not a Parquet file: {problem}") from None


def text_parts(stream: BinaryIO, request: DataRequest, size: int = SIZE) -> Iterator[Table]:
    """The rows of a text, as `read_delimited` reads them; errors as there, when they are met."""
    separator = separator_of(request, Path(request.name))
    names: list[str] | None = None
    before, head = 0, ""
    for piece in _whole_lines(_texts(stream, request, size), separator):
        text = piece
        if names is None:
            head += text
            try:
                table = read_text(head, request, separator)
            except OdtError as failure:
                if all(one.code == "D105" for one in failure.diagnostics):
                    continue  # no row so far
                raise
            text = head
        elif text.strip():
            here = replace(request, name=f"{request.name} after line {before}")
            table = read_text(text, here, separator, names)
        else:
            continue
        names = list(table.columns)
        before += text.count("\n")
        yield table
    if names is None:
        read_text(head, request, separator)  # says what is missing


def _texts(stream: BinaryIO, request: DataRequest, size: int) -> Iterator[str]:
    """The text in pieces of about `size` characters, without a byte order mark."""
    buffered = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
    first = buffered.read(4)
    wide = first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    codec = request.encoding or ("utf-16" if wide else "utf-8")
    decode(b"", codec, request.name)  # says where there is no such encoding
    decoder, start = codecs.getincrementaldecoder(codec)(), True
    while True:
        block = first + buffered.read(size)
        first = b""
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeError as problem:
            decode(block, codec, request.name)  # says where, unless a character was cut
            raise error("D102", f"{request.name} is not {codec} text: {problem}") from None
        check_text(text, codec, request.name)
        if text:
            yield text.removeprefix("\ufeff") if start else text
            start = False
        if not block:
            return


def _whole_lines(texts: Iterator[str], separator: str) -> Iterator[str]:
    """The same text, in pieces that end where a row does."""
    rest = ""
    for text in texts:
        rest += text
        end = _end_of_rows(rest, separator)
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def _end_of_rows(text: str, separator: str) -> int:
    """Where the last row that is surely whole ends; 0 if none does."""
    if '"' not in text or separator == " ":
        return text.rfind("\n") + 1
    lines = io.StringIO(text, newline="")
    reader = csv.reader(_read(lines), delimiter=separator, skipinitialspace=True, strict=True)
    ends = [0]
    try:
        for _ in reader:
            ends.append(lines.tell())
    except csv.Error as problem:
        if "unexpected end" not in str(problem):
            return len(text)  # reading it says what is wrong
        return ends[-1]
    return ends[-2] if len(ends) > 1 else 0


def _read(lines: io.StringIO) -> Iterator[str]:
    """The lines one by one: a file that is iterated does not tell where it is."""
    while line := lines.readline():
        yield line
