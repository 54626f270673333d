"""`odt report`: a page to look at, of a spec that is solved or of a model that is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odtdsl.cli_base import (
    STATUS_CODES,
    WRONG,
    Data,
    Json,
    Problem,
    Sets,
    Spec,
    Test,
    Using,
    check_outputs,
    print_json,
    run,
    warn,
    write_file,
)


def report(
    spec: Spec,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; default the spec's name, .html.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A saved model, or a saved `solve --json`: no search.")
    ] = None,
    prices: Annotated[
        bool, typer.Option("--prices", help="Search for the price of each rule too.")
    ] = False,
    no_rows: Annotated[
        bool, typer.Option("--no-rows", help="Leave cells of training rows out of the page.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option(help="The picture alone, with costs, groups and rules.")
    ] = None,
    title: Annotated[str, typer.Option(help="Of the page.")] = "",
    data: Data = None, test: Test = None, settings: Sets = None, using: Using = None,
    within: Annotated[
        str | None, typer.Option(help="Time limit of each search: 60, 60s, 2min, 1h.")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Write one HTML page of the answer: model, audit, errors, costs, timeline, spec."""

    def action() -> int:
        from odtdsl import console, solving
        from odtdsl.cli_waiting import Waiting
        from odtdsl.limits import parse_seconds
        from odtdsl.report.making import subject_of
        from odtdsl.report.page import write
        from odtdsl.report.saved import saved

        path = out or spec.with_suffix(".html")
        check_outputs(spec, path, svg)
        seconds = None if within is None else parse_seconds(within)
        analysis = Problem(spec, data, test, settings).analysis()
        claim = None
        with Waiting(quiet=as_json) as waiting:
            if model is not None:
                result, claim = saved(analysis, model)
            else:
                result = solving.solve(analysis, backend=using, seconds=seconds, report=waiting)
            subject = subject_of(
                result, title=title, prices=prices, seconds=seconds, with_rows=not no_rows,
                claim=claim, tell=waiting.tell,
            )  # fmt: skip
        write(subject, path)
        if svg is not None and result.model is not None:
            write_file(svg, result.to_svg(title=title))
        kept = result.audit is None or result.audit.holds
        if as_json:
            print_json({"file": str(path), "status": result.status, "holds": kept})
        else:
            warn(result.warnings)
            typer.echo(f"{path}: {claim or console.status_line(result)}")
            if not kept:
                typer.echo("the model breaks rules: see the audit in it")
        return STATUS_CODES[result.status] if kept else WRONG

    run(action, as_json)
