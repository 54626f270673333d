"""`odt report`: a page to look at, of a spec that is solved or of a model that is saved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import Argument, Force, Json, OnSpec, Option, Using
from odtdsl.interfaces.cli.common import (
    STATUS_CODES,
    WRONG,
    NotWritten,
    print_json,
    print_lines,
    shows_missing,
    warn,
)
from odtdsl.interfaces.cli.outputs import beside, check_outputs, deliver, files_of

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis


@dataclass(frozen=True, kw_only=True)
class Report(OnSpec):
    """Write one HTML page of the answer: model, audit, errors, costs, timeline, spec."""

    model: Annotated[
        Path | None,
        Argument(help="A saved model, or saved `solve --json`, to report on without a search."),
    ] = None
    rows: Annotated[Path | None, Argument(help="Other rows, to measure the model on.")] = None
    out: Annotated[
        Path | None, Option("--out", "-o", help="Write the page to this file; default SPEC.html.")
    ] = None
    named: Annotated[Path | None, Option("--model", help="As MODEL.")] = None
    prices: Annotated[bool, Option("--prices", help="Also compute the price of each rule.")] = False
    no_rows: Annotated[
        bool, Option("--no-rows", help="Leave the cells of rows out of the page.")
    ] = False
    svg: Annotated[
        Path | None,
        Option(help="Write the picture of the model alone, with costs, groups and rules."),
    ] = None
    title: Annotated[str, Option(help="Title of the page.")] = ""
    using: Using = None
    within: Annotated[str | None, Option(help="Time limit of each search: 60, 60s, 2min, 1h.")] = (
        None
    )
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Solve the spec, or read a saved model, and write the HTML page."""
        began = time.monotonic()
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_seconds

        path = self.out or beside(self.spec, ".html")
        problem = self.problem(self.rows)
        reads = (*files_of(problem), ("the model", self._saved))
        check_outputs({"out": path, "svg": self.svg}, reads, self.force)
        seconds = None if self.within is None else parse_seconds(self.within)
        with counting(began, seconds):
            analysis = problem.analysis()
        with interruptible():
            return self._made(analysis, path, seconds, began)

    @property
    def _saved(self) -> Path | None:
        """The saved model, given as an argument or as an option."""
        if self.model is not None and self.named is not None:
            raise error("U325", "MODEL and `--model` are the same: give one of them")
        return self.model or self.named

    def _made(self, analysis: Analysis, path: Path, seconds: float | None, began: float) -> int:
        from odtdsl.base.files import write_text
        from odtdsl.driver import pipeline
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console
        from odtdsl.presentation.report.assembly import subject_of
        from odtdsl.presentation.report.page import write
        from odtdsl.presentation.report.saved import saved

        claim = None
        with Waiting(quiet=self.as_json) as waiting:
            if self._saved is not None:
                result, claim = saved(analysis, self._saved)
            else:
                result = pipeline.solve(
                    analysis, backend=self.using, seconds=seconds, report=waiting, began=began
                )
            subject = subject_of(
                result,
                title=self.title,
                prices=self.prices,
                seconds=seconds,
                with_rows=not self.no_rows,
                claim=claim,
                tell=waiting.tell,
            )
        kept = result.audit is None or result.audit.holds

        def answer() -> None:
            if self.as_json:
                print_json({"file": str(path), "status": result.status, "holds": kept})
                return
            warn(result.warnings)
            click.echo(f"{path}: {claim or console.status_line(result)}")
            if not kept:
                click.echo("the model breaks rules: see the audit in the report")

        writes = [lambda: write(subject, path)]
        if (svg := self.svg) and result.model is not None:
            writes.append(lambda: write_text(svg, result.to_svg(title=self.title)))
        try:
            deliver(answer, *writes)
        except NotWritten:
            if not self.as_json:  # else the page had all of the answer
                print_lines(console.answer(result, missing=shows_missing(analysis)))
            raise
        return STATUS_CODES[result.status] if kept else WRONG
