"""`odt why`: the prediction of one row, explained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.interfaces.cli.commands import Argument, Json, OnSpec, Option
from odtdsl.interfaces.cli.common import OK, print_json, print_lines
from odtdsl.interfaces.cli.models import written

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.datasets.table import Table


@dataclass(frozen=True, kw_only=True)
class Why(OnSpec):
    """Say why a row is predicted so, and the least change that makes it another."""

    model: Annotated[Path, Argument(help="A saved tree, or a saved `solve --json`.")]
    rows: Annotated[
        Path | None, Argument(help="Other rows, of which --row or --id names one; no truth needed.")
    ] = None
    row: Annotated[
        str | None,
        Option(help="Number of a row, from 0: of the spec's data, test rows too, or of DATA."),
    ] = None
    of: Annotated[
        str | None, Option("--id", help="The row with this value of the spec's `id` column.")
    ] = None
    cell: Annotated[
        list[str] | None,
        Option(help="NAME=VALUE: a cell of your own row; an empty value is missing."),
    ] = None
    to: Annotated[str | None, Option(help="The class to change the prediction to.")] = None
    freeze: Annotated[list[str] | None, Option(help="A feature that may not change.")] = None
    as_json: Json = False

    def run(self) -> int:
        """Print why a saved tree predicts what it does for one row, and the smallest change."""
        from odtdsl.insight.counterfactuals import why
        from odtdsl.interfaces.api import load_tree

        cells = _cells(self.cell or [])
        if sum(asked is not None for asked in (self.row, self.of, cells)) != 1:
            raise error(
                "U309",
                "exactly one row must be given",
                helps=(
                    "write `--row 3`, `--id P17`, or `--cell age=41 --cell sex=male` with every "
                    "tested feature",
                ),
            )
        analysis = self.problem().analysis()
        tree = load_tree(self.model)
        found = why(
            tree,
            analysis.rows,
            self._table(analysis) if cells is None else cells,
            to=self.to,
            frozen=self.freeze or (),
        )
        if self.as_json:
            print_json(found.to_json())
        else:
            print_lines(found.lines())
        return OK

    def _table(self, analysis: Analysis) -> Table:
        """The row that is asked for, of the spec's rows or of a file."""
        import numpy as np

        if self.rows is None:
            tables = [analysis.table]
            if analysis.test is not None:
                tables.append(analysis.test.table)  # of a file of its own they are not among these
        else:
            from odtdsl.datasets.readers import read

            request = replace(written(self.spec), kind="file", name=str(self.rows.absolute()))
            tables = [read(replace(request, test=None), base=Path())]
        if self.of is None:
            row = self._number()
            if 0 <= row < tables[0].n_rows:
                return tables[0].take(np.array([row]))
            raise error(
                "U207",
                f"there is no row {row}: {tables[0].name} has {tables[0].n_rows}",
                helps=("rows are counted from 0",),
            )
        return _named(self.of, analysis.problem.data.id_column, tables)

    def _number(self) -> int:
        """What `--row` says."""
        assert self.row is not None, "one of them is given"
        try:
            return int(self.row)
        except ValueError:
            raise error(
                "U207",
                f"`--row {self.row}` is not the number of a row",
                helps=(f"to ask for a row by its name, write `--id {self.row}`",),
            ) from None


def _named(asked: str, column: str | None, tables: list[Table]) -> Table:
    """The row with this value of the `id` column; it must be one."""
    import numpy as np

    if column is None:
        raise error(
            "U207",
            "the spec does not say which column names the rows",
            helps=("add `id NAME` to its data statement, or ask by number: `--row 3`",),
        )
    names: list[str] = []
    for table in tables:
        if column not in table.columns:
            raise error("U207", f"{table.name} has no column `{column}`, which names the rows")
        texts = table.columns[column].texts
        at = np.flatnonzero(texts == asked)
        if len(at) > 1:
            raise error("U207", f"{len(at)} rows of {table.name} have the {column} `{asked}`")
        if len(at):
            return table.take(at)
        names += [text for text in texts.tolist() if text is not None]
    near = closest(asked, names)
    helps = (f"did you mean `{near}`?",) if near else ()
    raise error("U207", f"no row has the {column} `{asked}`", helps=helps)


def _cells(given: list[str]) -> dict[str, str | None] | None:
    """The cells of `--cell` by their names; None without any."""
    parts = [cell.partition("=") for cell in given]
    for cell, (name, equals, _) in zip(given, parts, strict=True):
        if not name or not equals:
            raise error("U309", f"`--cell {cell}` is no cell", helps=("write `--cell age=41`",))
    return {name.strip(): value or None for name, _, value in parts} or None


__all__ = ["Why"]
