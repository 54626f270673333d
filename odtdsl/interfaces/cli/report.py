"""`odt report`: a page to look at, of a spec that is solved or of a model that is saved."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from odtdsl.interfaces.cli.common import (
    STATUS_CODES,
    WRONG,
    Data,
    Json,
    Problem,
    Sets,
    Spec,
    Test,
    Using,
    print_json,
    print_lines,
    run,
    shows_missing,
    warn,
)
from odtdsl.interfaces.cli.outputs import (
    Force,
    NotWritten,
    beside,
    check_outputs,
    deliver,
    files_of,
)

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis


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
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    using: Using = None,
    within: Annotated[
        str | None, typer.Option(help="Time limit of each search: 60, 60s, 2min, 1h.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write one HTML page of the answer: model, audit, errors, costs, timeline, spec."""

    def action() -> int:
        began = time.monotonic()
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_seconds

        path = out or beside(spec, ".html")
        problem = Problem(spec, data, test, settings)
        reads = (*files_of(problem), ("the model", model))
        check_outputs({"out": path, "svg": svg}, reads, force)
        seconds = None if within is None else parse_seconds(within)
        with counting(began, seconds):
            analysis = problem.analysis()
        with interruptible():
            return made(analysis, path, seconds, began)

    def made(analysis: Analysis, path: Path, seconds: float | None, began: float) -> int:
        from odtdsl.base.files import write_text
        from odtdsl.driver import pipeline
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console
        from odtdsl.presentation.report.assembly import subject_of
        from odtdsl.presentation.report.page import write
        from odtdsl.presentation.report.saved import saved

        claim = None
        with Waiting(quiet=as_json) as waiting:
            if model is not None:
                result, claim = saved(analysis, model)
            else:
                result = pipeline.solve(
                    analysis, backend=using, seconds=seconds, report=waiting, began=began
                )
            subject = subject_of(
                result,
                title=title,
                prices=prices,
                seconds=seconds,
                with_rows=not no_rows,
                claim=claim,
                tell=waiting.tell,
            )
        kept = result.audit is None or result.audit.holds

        def answer() -> None:
            if as_json:
                print_json({"file": str(path), "status": result.status, "holds": kept})
                return
            warn(result.warnings)
            typer.echo(f"{path}: {claim or console.status_line(result)}")
            if not kept:
                typer.echo("the model breaks rules: see the audit in it")

        writes = [lambda: write(subject, path)]
        if svg is not None and result.model is not None:
            writes.append(lambda: write_text(svg, result.to_svg(title=title)))
        try:
            deliver(answer, *writes)
        except NotWritten:
            if not as_json:  # else the page had all of the answer
                print_lines(console.answer(result, missing=shows_missing(analysis)))
            raise
        return STATUS_CODES[result.status] if kept else WRONG

    run(action, as_json)
