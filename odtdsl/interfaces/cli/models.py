"""`odt predict`, `odt audit` and `odt why`: what is asked of saved models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.common import (
    OK,
    WRONG,
    Data,
    Json,
    Problem,
    Sets,
    Spec,
    Test,
    print_json,
    print_lines,
    run,
    warn,
)
from odtdsl.interfaces.cli.outputs import Force, check_outputs


def predict(
    model: Annotated[Path, typer.Argument(help="A saved tree, or a saved `solve --json`.")],
    data: Annotated[Path, typer.Argument(help="Rows: CSV, TSV, Parquet or ARFF.")],
    na: Annotated[list[str] | None, typer.Option(help="Marks of missing values.")] = None,
    separator: Annotated[str | None, typer.Option(help="Between cells.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal sign of numbers.")] = None,
    thousands: Annotated[str | None, typer.Option(help="Between thousands.")] = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line is data.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A CSV file.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Predict rows with a saved tree or diagram; prints one column, or a JSON list."""

    def action() -> int:
        from odtdsl.base.files import holds, write_text
        from odtdsl.data.readers import read
        from odtdsl.data.request import DataRequest
        from odtdsl.interfaces.api import load_model

        reads = [("the model", model), ("the rows", data)]
        check_outputs({"out": out}, reads, force=True)
        saved = load_model(model)
        request = DataRequest(
            kind="file",
            name=str(data.absolute()),
            na=tuple(na or ()),
            separator=separator,
            decimal=decimal,
            thousands=thousands,
            header=not no_header,
        )
        values = saved.predict(read(request, base=Path())).tolist()
        text = _csv([saved.targets, *(v if isinstance(v, list) else [v] for v in values)])
        if out is not None:
            # Predictions cannot be known as ours, but what would not change is not lost.
            keep = force or holds(out, text)
            check_outputs({"out": out}, reads, force=keep)
            write_text(out, text)
        if as_json:
            print_json({"target": list(saved.targets), "predictions": values})
        elif out is None:
            typer.echo(text, nl=False)
        return OK

    run(action, as_json)


def _csv(rows: Iterable[Iterable[object]]) -> str:
    import csv
    import io

    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def audit(
    spec: Spec,
    model: Annotated[
        Path | None,
        typer.Argument(help="A saved tree, or a saved `solve --json`; not needed with --proof."),
    ] = None,
    proof: Annotated[Path | None, typer.Option(help="Check a proof of `solve --proof`.")] = None,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Check a saved model against a spec and its data, rule by rule; or a proof, step by step."""

    def action() -> int:
        from odtdsl.insight.verification import audited
        from odtdsl.presentation.verification import lines

        if model is None and proof is None:
            raise error("U317", "nothing to audit", helps=("name a saved tree, or `--proof FILE`",))
        told = audited(Problem(spec, data, test, settings).analysis(), model, proof)
        if as_json:
            print_json(told.to_json())
        else:
            print_lines(lines(told))
            warn((*told.warnings, *told.shortfalls))
        return OK if told.holds else WRONG

    run(action, as_json)


def why_(
    spec: Spec,
    model: Annotated[Path, typer.Argument(help="A saved tree, or a saved `solve --json`.")],
    row: Annotated[int | None, typer.Option(help="A training row, from 0.")] = None,
    cell: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of a row of one's own; empty is missing.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="The class that is wished for.")] = None,
    freeze: Annotated[list[str] | None, typer.Option(help="A feature that may not change.")] = None,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Say why a row is predicted so, and the least change that makes it another."""

    def action() -> int:
        from odtdsl.auditor import audit as checker
        from odtdsl.insight.counterfactuals import why
        from odtdsl.interfaces.api import load_tree

        asked = _asked_row(row, cell or [])
        analysis = Problem(spec, data, test, settings).analysis()
        tree = load_tree(model)
        found = why(
            tree,
            analysis.rows,
            asked,
            to=to,
            frozen=freeze or (),
            audit=checker.audit(tree, analysis.rows),
        )
        if as_json:
            print_json(found.to_json())
        else:
            print_lines(found.lines())
        return OK

    run(action, as_json)


def _asked_row(row: int | None, cells: list[str]) -> int | dict[str, str | None]:
    """A training row, or the cells of `--cell`."""
    parts = [cell.partition("=") for cell in cells]
    if (row is None) == (not cells) or not all(name and equals for name, equals, _ in parts):
        raise error(
            "U309",
            "which row is asked for is not plain",
            helps=("write `--row 3`, or `--cell age=41 --cell sex=male` with all that is tested",),
        )
    return row if row is not None else {name.strip(): value or None for name, _, value in parts}


__all__ = ["audit", "predict", "why_"]
