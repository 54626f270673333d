"""The command line, `odt COMMAND`: the commands about a spec alone, and the list of all of them.

Exit codes: 0 an answer; 1 spec, data or model wrong (also an audit that fails); 2 usage;
3 infeasible, proven; 4 a limit without an answer; 70 a mistake of odtdsl; 130 interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.diagnostics.render import to_json
from odtdsl.interfaces.cli.common import (
    OK,
    WRONG,
    Data,
    Encoding,
    Json,
    Problem,
    Sets,
    Solver,
    Spec,
    Test,
    Using,
    leave,
    open_streams,
    print_json,
    print_lines,
    run,
    warn,
)
from odtdsl.interfaces.cli.doctor import doctor
from odtdsl.interfaces.cli.explain import explain
from odtdsl.interfaces.cli.export import export
from odtdsl.interfaces.cli.formulas import compile_, decode
from odtdsl.interfaces.cli.lsp import lsp
from odtdsl.interfaces.cli.models import audit, predict, why_
from odtdsl.interfaces.cli.report import report
from odtdsl.interfaces.cli.solve import compare, solve
from odtdsl.interfaces.cli.tune import tune

if TYPE_CHECKING:
    pass

app = typer.Typer(
    name="odt",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Optimal decision trees under domain rules, from a short .odt file.",
)


# ---- commands


@app.command()
def check(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None, as_json: Json = False
) -> None:
    """Read a spec and its data; report every mistake at once. Needs no solver."""

    def action() -> int:
        from odtdsl.driver.choice import choose, refused
        from odtdsl.presentation import console
        from odtdsl.problem.terms.normalize import normalize

        analysis = Problem(spec, data, test, settings).analysis()
        notes: list[Diagnostic] = []
        try:
            core = normalize(analysis.rows)
            choice = choose(core, analysis.problem.options.backend)
            if choice.name is None:
                wish = analysis.problem.options.backend
                raise refused(choice, wish, analysis.problem.source)
        except OdtError as failure:
            if any(not d.code.startswith("B") for d in failure.diagnostics):
                raise
            notes = [replace(d, severity="warning") for d in failure.diagnostics]
        if as_json:
            warnings = [to_json(d) for d in (*analysis.warnings, *notes)]
            print_json({"status": "ok", "diagnostics": warnings})
            return OK
        warn((*analysis.warnings, *notes))
        rows, problem = analysis.rows, analysis.problem
        typer.echo(
            f"{spec}: {console.counted(rows.n_rows, 'training row')},"
            f" {console.counted(len(problem.features), 'feature')},"
            f" {console.counted(len(problem.rules), 'rule')}: no mistake found"
            + ("; but this version cannot solve it" if notes else "")
        )
        return OK

    run(action, as_json)


@app.command()
def fmt(
    spec: Spec,
    write: Annotated[bool, typer.Option("--write", "-w", help="Replace the file.")] = False,
    check_only: Annotated[
        bool, typer.Option("--check", help="Print nothing; exit 1 where it would change.")
    ] = False,
) -> None:
    """Print a spec in its canonical form; comments are kept."""

    def action() -> int:
        from odtdsl.base.files import write_text
        from odtdsl.language.printer import format_source

        source = Problem(spec).source
        text = format_source(source)
        if check_only:
            return OK if text == source.text else WRONG
        if write:
            if text != source.text:
                write_text(spec, text)
        else:
            typer.echo(text, nl=False)
        return OK

    run(action, False)


@app.command()
def plan(
    spec: Spec,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    using: Using = None,
    encoding: Encoding = None,
    solver: Solver = None,
    dump: Annotated[bool, typer.Option("--dump", help="Print the core forms too.")] = False,
    as_json: Json = False,
) -> None:
    """Say which back end will run and why, and what the others cannot express."""

    def action() -> int:
        from odtdsl.backends.variants import named
        from odtdsl.driver import pipeline
        from odtdsl.presentation import console
        from odtdsl.problem.ir.dump import dump_core

        analysis = Problem(spec, data, test, settings).analysis()
        planned = pipeline.plan(
            analysis, backend=using, formulation=named(encoding=encoding), solver=solver
        )
        if as_json:
            print_json(_plan_json(planned))
        else:
            print_lines(console.planned(planned))
            if dump:
                typer.echo("\n" + dump_core(planned.core))
        return OK if planned.choice.name is not None else WRONG

    run(action, as_json)


def _plan_json(planned: Any) -> dict[str, Any]:
    return {
        "backend": planned.choice.name,
        "reason": planned.choice.reason,
        "steps": [
            {
                "step": str(step),
                "backend": step.backend,
                "share": step.share,
                "least": step.least,
                "size": dict(size),
            }
            for step, size in zip(planned.choice.steps, planned.sizes, strict=True)
        ],
        "size": dict(planned.size),
        "needs": [
            {
                "form": one.need.form.value,
                "rule": one.need.origin.rule,
                "inside_or": one.need.inside_or,
                "support": {
                    name: {"level": support.level, "reason": support.reason}
                    for name, support in one.by
                },
            }
            for one in planned.support
        ],
        "refusals": {
            name: [
                {"form": r.need.form.value, "rule": r.need.origin.rule, "reason": r.reason}
                for r in refusals
            ]
            for name, refusals in planned.choice.refusals
        },
    }


app.command()(solve)
app.command()(compare)
app.command()(explain)
app.command("compile")(compile_)
app.command()(decode)
app.command()(tune)
app.command()(report)
app.command()(doctor)
app.command()(lsp)
app.command()(export)
app.command()(predict)
app.command()(audit)
app.command("why")(why_)


@app.command()
def rules(
    word: Annotated[str | None, typer.Argument(help="One term, in full.")] = None,
    as_json: Json = False,
) -> None:
    """List the terms of rules and objectives, or explain one."""

    def action() -> int:
        from odtdsl.problem.terms import catalogue

        if as_json:
            print_json(catalogue.as_json(word))
        else:
            print_lines(catalogue.as_text(word))
        return OK

    run(action, as_json)


def _version(wanted: bool) -> None:
    if wanted:
        from odtdsl.interfaces.health import versions

        print_lines(versions())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print it, and those of the solvers.",
        ),
    ] = False,
) -> None:
    """Options of all commands."""


def main() -> None:
    """The whole command line, up to the end of the process."""
    open_streams()
    try:
        app(prog_name="odt")
    except SystemExit as ended:
        leave(ended)
