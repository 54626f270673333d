"""`odt predict`: predictions for a file or a stream of rows, part by part."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import click

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import Argument, Force, Json, Option
from odtdsl.interfaces.cli.common import OK, print_json, warn
from odtdsl.interfaces.cli.models import OnRows, written
from odtdsl.interfaces.cli.outputs import check_outputs

if TYPE_CHECKING:
    from odtdsl.datasets.table import Table
    from odtdsl.driver.unfamiliar import Unfamiliar
    from odtdsl.predictors.predictor import Predictor

Part = Mapping[str, Sequence[Any]]
"""Columns of some rows, by name, in the order in which they are written."""
STDIN = Path("-")


@dataclass(frozen=True, kw_only=True)
class Predict(OnRows):
    """Predict rows with a saved tree or diagram; prints CSV, or writes CSV, Parquet or JSON.

    Rows are read and written part by part, so that memory does not grow with their number.
    """

    rows: Annotated[
        Path,
        Argument(help="Rows: CSV, TSV, Excel, Parquet or ARFF; `-` for CSV from standard input."),
    ]
    id_column: Annotated[
        str | None,
        Option(
            "--id", help="Write this column of the rows first, as their name; default that of SPEC."
        ),
    ] = None
    probabilities: Annotated[
        bool, Option("--probabilities", help="Write the share of each class in the leaf.")
    ] = False
    leaf: Annotated[
        bool, Option("--leaf", help="Write the leaf, counted from 0 as `apply` does.")
    ] = False
    columns: Annotated[
        list[str] | None,
        Option(help='Also write these columns of the rows: "age,sex"; "*" for all.'),
    ] = None
    at: Annotated[
        list[str] | None, Option(help="Of a survival tree: a time at which to say who survives.")
    ] = None
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Write to this file: .csv, .parquet, .json or .jsonl."),
    ] = None
    force: Force = False
    as_json: Json = False

    def answer(self) -> int:
        """Print or write what a saved model predicts for the rows of a file."""
        from odtdsl.base.files import written_whole
        from odtdsl.driver.unfamiliar import Unfamiliar
        from odtdsl.interfaces.api import load_model

        reads = [("the model", self.model)]
        if self.rows != STDIN:
            reads.append(("the rows", self.rows))
        check_outputs({"out": self.out}, reads, force=True)
        saved = load_model(self.model)
        strange = Unfamiliar(saved)
        parts = self._parts(saved, strange)
        if self.as_json:  # one object: it is held whole
            parts = list(parts)
        if self.out is not None:
            before = partial(_check_kept, self.out, self.force)
            with written_whole(self.out, before) as file:
                write = _WRITERS.get(self.out.suffix.lower(), _write_csv)
                write(parts, file)
        if self.as_json:
            print_json(self._as_json(saved, list(parts)))
        elif self.out is None:
            for text in _csv(parts):
                click.echo(text, nl=False)
        warn(strange.warnings())
        return OK

    def _parts(self, saved: Predictor, strange: Unfamiliar) -> Iterable[Part]:
        from odtdsl.datasets.dates import with_dates
        from odtdsl.datasets.readers import read_in_parts

        from_stdin = self.rows == STDIN
        request = self.request("standard input" if from_stdin else str(self.rows.absolute()), saved)
        stream = sys.stdin.buffer if from_stdin else None
        for rows in read_in_parts(request, base=Path(), stream=stream):
            table = with_dates(rows, request, strict=False)
            part = self._part(saved, rows, table, strange)
            strange.look_at(table)
            yield part

    def _part(self, saved: Predictor, rows: Table, table: Table, strange: Unfamiliar) -> Part:
        """What is written of the rows of a table, which has dates as numbers."""
        from odtdsl.predictors.leaves import leaves_of
        from odtdsl.predictors.wording import label_text

        leaves = leaves_of(saved)
        ends = saved.apply(table)
        given = {name: rows.columns[name].texts.tolist() for name in self._passed(rows)}
        made: dict[str, Sequence[Any]] = {
            name: [values[end] for end in ends.tolist()]
            for name, values in leaves.columns(saved).items()
        }
        if self.at:
            times = [_time(one) for one in self.at]
            shares = saved.survival(table, times)
            strange.look_at_times(leaves.curves(saved), ends, times)
            made |= {
                f"survival_{one}": share.tolist()
                for one, share in zip(self.at, shares.T, strict=True)
            }
        if self.probabilities:
            shares = leaves.shares(saved)[ends]
            for name, share in zip(saved.classes, shares.T, strict=True):
                made[f"probability_{label_text(name)}"] = share.tolist()
        if self.leaf:
            made["leaf"] = ends.tolist()
        return given | {_free(name, given): values for name, values in made.items()}

    def _passed(self, table: Table) -> list[str]:
        """The columns of the rows that are written too, each once."""
        named = [] if self.id_column is None else [self.id_column]
        named += [one for one in self._names_of_rows if one in table.columns and not named]
        for words in self.columns or ():
            if words == "*":
                named += table.columns
            else:
                split = (word.strip() for word in words.split(","))
                named += [words] if words in table.columns else split
        for name in named:
            if name not in table.columns:
                raise _no_column(name, table)
        return list(dict.fromkeys(named))

    @cached_property
    def _names_of_rows(self) -> list[str]:
        """The `id` of the spec, if there is one."""
        found = None if self.spec is None else written(self.spec).id_column
        return [] if found is None else [found]

    def _as_json(self, saved: Predictor, parts: Sequence[Part]) -> dict[str, Any]:
        from odtdsl.predictors.leaves import leaves_of

        names = list(leaves_of(saved).columns(saved))
        names += [f"survival_{one}" for one in self.at or ()]
        extra = self.leaf + (len(saved.classes) if self.probabilities else 0)
        last = len(parts[0]) - extra
        written = list(parts[0])[last - len(names) : last]
        values = [row for part in parts for row in zip(*(part[n] for n in written), strict=True)]
        found: dict[str, Any] = {
            "target": names,
            "predictions": [list(row) if len(names) > 1 else row[0] for row in values],
        }
        if len(parts[0]) > len(names):
            found["rows"] = [row for part in parts for row in _records(part)]
        return found


def _time(said: str) -> float:
    try:
        time = float(said)
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time >= 0):
        raise error("U216", f"`--at {said}` is no time: pass a number of at least 0")
    return time


def _free(name: str, taken: Iterable[str]) -> str:
    """The name of a column of ours, beside those of the rows."""
    while name in taken:
        name = f"predicted_{name}"
    return name


def _no_column(name: str, table: Table) -> Exception:
    from odtdsl.base.diagnostics.suggest import closest

    near = closest(name, list(table.columns))
    return error(
        "U207",
        f"{table.name} has no column `{name}`",
        helps=() if near is None else (f"did you mean `{near}`?",),
    )


def _check_kept(out: Path, force: bool, written: Path) -> None:
    """Tables of predictions cannot be known as ours, but what would not change is not lost."""
    from filecmp import cmp

    if not force and out.is_file() and not cmp(out, written, shallow=False):
        check_outputs({"out": out}, (), force=False)


# ---- formats


def _csv(parts: Iterable[Part]) -> Iterator[str]:
    for at, part in enumerate(parts):
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        if not at:
            writer.writerow(part)
        writer.writerows(zip(*part.values(), strict=True))
        yield file.getvalue()


def _write_csv(parts: Iterable[Part], file: BinaryIO) -> None:
    for text in _csv(parts):
        file.write(text.encode("utf-8"))


def _records(part: Part) -> Iterator[dict[str, Any]]:
    for row in zip(*part.values(), strict=True):
        yield dict(zip(part, row, strict=True))


def _write_lines(parts: Iterable[Part], file: BinaryIO) -> None:
    for part in parts:
        for record in _records(part):
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")


def _write_json(parts: Iterable[Part], file: BinaryIO) -> None:
    before = b"["
    for part in parts:
        for record in _records(part):
            file.write(before + json.dumps(record, ensure_ascii=False).encode("utf-8"))
            before = b",\n"
    file.write(b"]\n" if before != b"[" else b"[]\n")


def _write_parquet(parts: Iterable[Part], file: BinaryIO) -> None:
    import pyarrow
    from pyarrow import parquet

    writer = None
    for part in parts:
        schema = None if writer is None else writer.schema
        table = pyarrow.table(dict(part), schema=schema)
        if writer is None:
            # A first part whose cells are all missing would have no type for later ones.
            fields = [
                field.with_type(pyarrow.string()) if pyarrow.types.is_null(field.type) else field
                for field in table.schema
            ]
            writer = parquet.ParquetWriter(file, pyarrow.schema(fields))
            table = table.cast(writer.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


_WRITERS: Mapping[str, Callable[[Iterable[Part], BinaryIO], None]] = {
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
    ".json": _write_json,
    ".jsonl": _write_lines,
    ".ndjson": _write_lines,
}

__all__ = ["Predict"]
