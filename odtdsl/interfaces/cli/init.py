"""`odt init`: a first spec for a file of rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from odtdsl.interfaces.cli.commands import Argument, Command, Force, Json, Option
from odtdsl.interfaces.cli.common import OK, Problem, print_json, print_lines
from odtdsl.interfaces.cli.outputs import check_outputs

if TYPE_CHECKING:
    from odtdsl.compiler.draft import Draft


@dataclass(frozen=True, kw_only=True)
class Init(Command):
    """Write a first spec for a file of rows: what its columns are, and statements that solve."""

    rows: Annotated[Path, Argument(help="Rows: CSV, TSV, Excel, Parquet or ARFF.")]
    target: Annotated[
        str | None, Option(help="The column to predict; asked for on a terminal.")
    ] = None
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="The spec; default: ROWS.odt in this folder."),
    ] = None
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Write the spec, and say what was chosen and what to look at.

        On a terminal the target is asked for; elsewhere the likeliest column is taken.
        """
        from odtdsl.base.files import write_text
        from odtdsl.compiler.draft import draft

        spec = Path(f"{self.rows.stem}.odt") if self.out is None else self.out
        check_outputs({"out": spec}, [("the rows", self.rows)], self.force)
        terminal = sys.stdin.isatty() and sys.stdout.isatty() and not self.as_json
        found = draft(self.rows, spec, self.target, _ask if terminal else None)
        write_text(spec, found.text)
        Problem(spec).analysis()  # what it does not understand it says
        if self.as_json:
            print_json(_json(found, spec))
        else:
            print_lines(_lines(found, spec))
        return OK


def _ask(columns: Sequence[str], likely: str) -> str:
    shown = ", ".join(columns[:40]) + (", ..." if len(columns) > 40 else "")
    print_lines([f"columns: {shown}"])
    answer: str = click.prompt("which one is to be predicted?", default=likely)
    return answer


def _lines(found: Draft, spec: Path) -> list[str]:
    from odtdsl.base.numbers import counted

    features = sum(column.role == "feature" for column in found.columns)
    chosen = "; choose another with `--target`" if found.chosen else ""
    lines = [
        f"{spec}: {counted(found.n_rows, 'row')}, {counted(features, 'feature')}; "
        f"`{found.target}` is predicted{chosen}"
    ]
    lines += [f"- left out: `{c.name}`, {c.why}" for c in found.columns if c.role == "left out"]
    lines += [f"- {note}" for note in found.notes]
    return [*lines, f"next: odt solve {spec}"]


def _json(found: Draft, spec: Path) -> dict[str, object]:
    return {
        "spec": str(spec),
        "target": found.target,
        "chosen": found.chosen,
        "rows": found.n_rows,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "missing": column.missing,
                "distinct": column.distinct,
                "values": column.values,
                "role": column.role,
                "why": column.why,
            }
            for column in found.columns
        ],
        "notes": list(found.notes),
        "text": found.text,
    }


__all__ = ["Init"]
