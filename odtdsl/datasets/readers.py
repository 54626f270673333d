"""Readers: from a data request to a table, whatever the source.

`read` gives the rows that a spec names, `read_test` those of its separate test source.
Nothing here knows what a column means; see `odtdsl.datasets.typing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, assert_never

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.files import check_regular, keep_from_writers
from odtdsl.datasets.limits import MAX_BYTES, too_large
from odtdsl.datasets.request import DataRequest, TestFile
from odtdsl.datasets.table import Table

_PARQUET = (".parquet", ".pq")
_ARFF = (".arff",)
_EXCEL = (".xlsx", ".xlsm")
_SHOWN = 5
_NO_DATA = (".odt", ".py", ".md")
"""Files beside a spec that are never its data, however alike their names."""
_LONGEST = 1_000_000
"""Bytes of a script that is looked into."""
_FOREIGN = {
    ".xls": "a spreadsheet",
    ".ods": "a spreadsheet",
    ".json": "JSON",
    ".gz": "compressed",
    ".zip": "compressed",
    ".bz2": "compressed",
    ".xz": "compressed",
}


def read(request: DataRequest, *, base: Path, frame: Any = None) -> Table:
    """The rows that a request names.

    Parameters
    ----------
    request
        What to read. Its `test` and `id_column` are not looked at.
    base
        The folder that paths are relative to: that of the spec.
    frame
        The rows where the request says `frame`: a pandas, polars or Arrow table, a 2-D
        array (columns `c1`, `c2`, ...) or a mapping of names to sequences.

    Raises
    ------
    OdtError
        D101: no such file, or not readable. D102 to D107: a text that is no table, see
        `odtdsl.datasets.delimited`. D108: a kind of file that is not read, or that needs a
        package that is not installed. D109: an option that does not fit the source. D111
        to D113: ARFF. D121 to D123: sets by name. D131 to D135: frames. D148, D149: dates.
    """
    _check_options(request)
    return _dated(_as_written(request, base, frame), request)


def _as_written(request: DataRequest, base: Path, frame: Any) -> Table:
    match request.kind:
        case "file":
            return _read_file(request, base)
        case "sklearn":
            from odtdsl.datasets.bundled import read_sklearn

            return read_sklearn(request)
        case "openml":
            from odtdsl.datasets.bundled import read_openml

            return read_openml(request)
        case "frame":
            return _read_frame(request, frame, "frame")
        case _:
            assert_never(request.kind)


def _dated(table: Table, request: DataRequest, *, strict: bool = True) -> Table:
    """The table with its dates as numbers, where the request asks for any."""
    if not request.days and not request.parts:
        return table
    from odtdsl.datasets.dates import with_dates

    return with_dates(table, request, strict=strict)


def read_test(request: DataRequest, *, base: Path, test_frame: Any = None) -> Table | None:
    """The rows of the separate test source: a frame where one is given, else the test file.

    None where the request has neither; a test share is drawn by `odtdsl.datasets.split`.

    Raises
    ------
    OdtError
        As `read` does.
    """
    if test_frame is not None:
        found = _read_frame(request, test_frame, "test frame")
    elif isinstance(request.test, TestFile):
        found = _read_file(replace(request, kind="file", name=request.test.path), base)
    else:
        return None
    return _dated(found, request, strict=False)


def _read_frame(request: DataRequest, frame: Any, name: str) -> Table:
    from odtdsl.datasets.frames import read_frame

    if frame is None:
        raise error(
            "D131",
            "the spec says `data frame`, but no frame was passed",
            helps=(
                "in Python, pass the frame: `solve(frame=rows)`",
                'elsewhere, use a file: `data "train.csv"`',
            ),
        )
    dates = (*request.days, *request.parts)
    return read_frame(frame, name=name, na=request.na, dates=dates, dropped=request.dropped)


def _read_file(request: DataRequest, base: Path) -> Table:
    suffix = Path(request.name).suffix.lower()
    if suffix in _FOREIGN:
        raise error(
            "D108",
            f"{request.name} is {_FOREIGN[suffix]}, which is not supported",
            helps=("save it as `.csv`, `.tsv`, `.xlsx`, `.parquet` or `.arff`",),
        )
    path = _found(request.name, base)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise too_large(request.name, f"{path.stat().st_size:,} bytes", f"{MAX_BYTES:,}")
        if suffix in _PARQUET:
            from odtdsl.datasets.frames import read_parquet

            return read_parquet(path, request)
        if suffix in _EXCEL:
            from odtdsl.datasets.excel import read_excel

            return read_excel(path, request)
        if suffix in _ARFF:
            from odtdsl.datasets.arff import read_arff

            return read_arff(path, request)
        from odtdsl.datasets.delimited import read_delimited

        return read_delimited(path, request)
    except OSError as problem:
        raise error(
            "D101", f"{request.name} cannot be read: {problem.strerror or problem}"
        ) from None


def read_in_parts(
    request: DataRequest, *, base: Path, stream: BinaryIO | None = None
) -> Iterator[Table]:
    """The rows of a file, or of a stream of text, in parts that fit in memory whatever its length.

    Text and Parquet files come in parts, other kinds whole. A part has all columns; cells are
    read as `read` reads them, but a column may be of numbers in one part and of texts in another,
    and dates are texts, as written: `odtdsl.datasets.dates.with_dates` makes numbers of them.

    Raises
    ------
    OdtError
        As `read`, when the part is read.
    """
    from odtdsl.datasets.parts import parquet_parts, text_parts

    _check_options(request)
    suffix = Path(request.name).suffix.lower()
    if stream is not None:
        yield from text_parts(stream, request)
    elif suffix in _FOREIGN or suffix in (*_ARFF, *_EXCEL):
        yield _read_file(request, base)
    else:
        path = _found(request.name, base)
        try:
            with path.open("rb") as file:
                yield from (parquet_parts if suffix in _PARQUET else text_parts)(file, request)
        except OSError as problem:
            raise error(
                "D101", f"{request.name} cannot be read: {problem.strerror or problem}"
            ) from None


def _found(name: str, base: Path) -> Path:
    """The regular file of a name: no folder, and no device or pipe, which may never end."""
    try:
        path = base / Path(name).expanduser()
        if path.is_file():
            check_regular(path)
            keep_from_writers(path)
            return path
        raise _no_file(name, path)
    except (OSError, RuntimeError) as problem:  # too long, not allowed; `~name` without a home
        reason = getattr(problem, "strerror", None) or problem
        raise error("D101", f"{name} cannot be read: {reason}") from None


def _no_file(name: str, path: Path) -> OdtError:
    if path.is_dir():
        return error(
            "D101", f"{name} is a folder, not a file", helps=("give the path of a file in it",)
        )
    try:
        siblings = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    except (OSError, ValueError):  # ValueError: a zero or half a surrogate pair in the path
        siblings = []
    import difflib  # for messages only

    may_be = [one for one in siblings if Path(one).suffix.lower() not in _NO_DATA]
    near = difflib.get_close_matches(path.name, may_be, n=1)
    alike = [one for one in siblings if Path(one).suffix.lower() == path.suffix.lower()]
    helps = [f'did you mean "{Path(name).parent / near[0]}"?'] if near else []
    if alike and not near:
        more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
        helps = [f"in that folder there are {', '.join(alike[:_SHOWN])}{more}"]
    if (maker := _maker(path, siblings)) is not None:
        helps = [f"`python {maker}` may write it: `{path.stem}` stands in it"]
    return error(
        "D101",
        f"there is no file {name}",
        notes=()
        if Path(name).is_absolute()
        else (f"paths are relative to the spec; the path tried is {path}",),
        helps=helps,
    )


def _maker(path: Path, siblings: Iterable[str]) -> Path | None:
    """The Python script beside a file that names it, as it may be what writes the file."""
    name = rb"\b" + re.escape(path.stem.encode("utf-8", "replace")) + rb"\b"
    for script in (path.with_name(one) for one in siblings if one.endswith(".py")):
        try:
            if script.stat().st_size < _LONGEST and re.search(name, script.read_bytes()):
                return script
        except OSError:
            continue
    return None


def _check_options(request: DataRequest) -> None:
    """Refuse options of text files on other sources: dropping them would hide a mistake."""
    is_file = request.kind == "file"
    suffix = Path(request.name).suffix.lower() if is_file else ""
    excel = suffix in _EXCEL
    binary = not is_file or suffix in _PARQUET or excel
    used = [
        ("separator", request.separator is not None and (binary or suffix in _ARFF)),
        ("decimal", request.decimal is not None and not excel and (binary or suffix in _ARFF)),
        ("thousands", request.thousands is not None and not excel and (binary or suffix in _ARFF)),
        ("header none", not request.header and not excel and (binary or suffix in _ARFF)),
        ("sheet", request.sheet is not None and not excel),
        ("encoding", request.encoding is not None and binary),
    ]
    source = request.name if is_file else f"data {request.kind}"
    wrong = [option for option, is_wrong in used if is_wrong]
    if wrong:
        raise error(
            "D109",
            f"`{'`, `'.join(wrong)}` is not an option for {source}",
            notes=(
                (
                    "`separator`, `decimal`, `thousands`, `header` and `encoding` are options "
                    "of text files; `sheet`, `header`, `decimal`, `thousands` of Excel files"
                ),
            ),
            helps=("leave it out",),
        )
