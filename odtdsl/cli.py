"""The command line, `odt COMMAND`: check, fmt, plan, solve, explain, compare, compile, decode,
export, predict, audit, why, rules.

Exit codes: 0 an answer; 1 spec, data or model wrong (also an audit that fails); 2 usage;
3 infeasible, proven; 4 a limit without an answer; 70 a mistake of odtdsl; 130 interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from odtdsl.cli_base import (
    EXPLAINED_CODES,
    OK,
    STATUS_CODES,
    WRONG,
    Data,
    Encoding,
    Formulation,
    Json,
    Problem,
    Sets,
    Solver,
    Spec,
    Test,
    Using,
    check_outputs,
    leave,
    print_json,
    print_lines,
    run,
    save_pictures,
    shows_missing,
    warn,
    write_file,
)
from odtdsl.cli_doctor import doctor
from odtdsl.cli_export import export
from odtdsl.cli_formulas import compile_, decode
from odtdsl.cli_lsp import lsp
from odtdsl.cli_report import report
from odtdsl.cli_tune import tune
from odtdsl.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.diagnostics.render import to_json
from odtdsl.files import regular

if TYPE_CHECKING:
    from odtdsl.analysis import Analysis
    from odtdsl.console import ProgressLine
    from odtdsl.explaining import Curve
    from odtdsl.near_optimal import Near
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree

app = typer.Typer(
    name="odt", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Optimal decision trees under domain rules, from a short .odt file.",
)  # fmt: skip


# ---- commands


@app.command()
def check(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None, as_json: Json = False
) -> None:
    """Read a spec and its data; report every mistake at once. Needs no solver."""

    def action() -> int:
        from odtdsl import console
        from odtdsl.backends.choice import choose, refused
        from odtdsl.terms.normalize import normalize

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
        from odtdsl.syntax.printer import format_source

        source = Problem(spec).source()
        text = format_source(source)
        if check_only:
            return OK if text == source.text else WRONG
        if write:
            if text != source.text:
                write_file(spec, text)
        else:
            typer.echo(text, nl=False)
        return OK

    run(action, False)


@app.command()
def plan(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None, using: Using = None,
    encoding: Encoding = None, solver: Solver = None,
    dump: Annotated[bool, typer.Option("--dump", help="Print the core forms too.")] = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Say which back end will run and why, and what the others cannot express."""

    def action() -> int:
        from odtdsl import console, solving
        from odtdsl.backends.variants import named
        from odtdsl.ir.dump import dump_core

        analysis = Problem(spec, data, test, settings).analysis()
        planned = solving.plan(
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


@app.command()
def solve(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None, using: Using = None,
    model: Formulation = None, encoding: Encoding = None, solver: Solver = None,
    within: Annotated[str | None, typer.Option(help="Time limit: 60, 60s, 2min, 1h.")] = None,
    gap: Annotated[str | None, typer.Option(help="Stop at this relative gap: 1%.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=256)] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**31 - 1)] = None,
    start: Annotated[Path | None, typer.Option(help="A saved tree to start from.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the tree as JSON.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the tree as SVG.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the tree as DOT text.")] = None,
    all_optimal: Annotated[
        bool, typer.Option("--all-optimal", help="List all trees that are as good.")
    ] = False,
    near: Annotated[
        str | None, typer.Option(help="List all nearly as good: 1%, 3 errors, 0.02.")
    ] = None,
    most: Annotated[int | None, typer.Option(help="Trees to list at most (1000).")] = None,
    proof: Annotated[
        Path | None, typer.Option(help="Write a proof that nothing is better (sat).")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Solve a spec: print the tree, its status, and every rule audited."""

    def action() -> int:
        from odtdsl import console, solving
        from odtdsl.backends.variants import named, owner
        from odtdsl.limits import parse_gap, parse_seconds
        from odtdsl.proofs import commands

        began = time.monotonic()
        formulation = named(model=model, encoding=encoding)
        wish = _list_wish(all_optimal, near, most, gap)
        check_outputs(spec, out, svg, dot, proof)
        analysis = Problem(spec, data, test, settings).analysis()
        if not as_json:
            warn(analysis.warnings)
        line = console.ProgressLine()
        first = _start_tree(start or _start_of(analysis, spec))
        chosen = using or owner(formulation, solver)
        if proof is not None:
            chosen = _proving(analysis, chosen, wish)
        if wish is not None:
            return _list_trees(
                analysis, *wish, line, as_json, (out, svg, dot),
                backend=chosen, seconds=None if within is None else parse_seconds(within),
                threads=threads, seed=seed, start=first,
            )  # fmt: skip
        try:
            result = solving.solve(
                analysis, backend=chosen, formulation=formulation, solver=solver,
                seconds=None if within is None else parse_seconds(within),
                gap=None if gap is None else parse_gap(gap),
                threads=threads, seed=seed, start=first, report=line,
            )  # fmt: skip
        finally:
            line.clear()
        if result.model is not None:
            save_pictures(result.model, out, svg, dot, outputs=result.outputs)
        if not as_json:
            warn(result.warnings[len(analysis.warnings) :])
            print_lines(console.answer(result, missing=shows_missing(analysis)))
        told = {}
        if proof is not None:
            known = len(result.warnings)
            seconds = None if within is None else parse_seconds(within)
            result, made = commands.log(analysis, result, proof, began, seconds)
            told = {"proof": commands.written_json(made, proof)}
            if not as_json:
                warn(result.warnings[known:])
                print_lines(commands.written(made, proof, spec))
        if as_json:
            print_json(result.to_json() | told)
        return STATUS_CODES[result.status]

    run(action, as_json)


def _proving(analysis: Analysis, using: str | None, listing: object) -> str:
    from odtdsl.proofs.commands import back_end

    if listing is not None:
        raise error(
            "U316", "`--proof` is of one answer, not of a list of trees",
            helps=("leave out `--all-optimal` and `--near`",),
        )  # fmt: skip
    return back_end(analysis, using)


def _list_wish(
    all_optimal: bool, near: str | None, most: int | None, gap: str | None
) -> tuple[Near | None, int] | None:
    """The tolerance and number of trees of a list; None where one tree is asked for."""
    from odtdsl.near_optimal import MOST, at_least_one, parse_near

    if not all_optimal and near is None:
        if most is not None:
            raise error(
                "U313", "`--most` is for lists of trees",
                helps=("add `--all-optimal`, or `--near 1%`",),
            )  # fmt: skip
        return None
    if gap is not None:
        raise error("U315", "a list begins with the proven best tree", helps=("leave out `--gap`",))
    if all_optimal and near is not None:
        raise error(
            "U315", "`--near` lists the optimal trees too", helps=("leave out `--all-optimal`",)
        )
    return None if near is None else parse_near(near), at_least_one(MOST if most is None else most)


def _list_trees(
    analysis: Analysis, near: Near | None, most: int, line: ProgressLine, as_json: bool,
    pictures: tuple[Path | None, Path | None, Path | None], **options: Any,
) -> int:  # fmt: skip
    """`--all-optimal` and `--near`; files get the best tree."""
    from odtdsl import console
    from odtdsl.near_optimal import alternatives

    try:
        found = alternatives(analysis, near=near, most=most, report=line, **options)
    finally:
        line.clear()
    if found.trees:
        save_pictures(found.trees[0].tree, *pictures)
    if as_json:
        print_json(found.to_json())
    else:
        print_lines(console.listed(found, missing=shows_missing(analysis)))
    return STATUS_CODES[found.status]


def _start_of(analysis: Analysis, spec: Path) -> Path | None:
    start = analysis.problem.options.start
    return None if start is None else regular(spec.parent / start)


def _start_tree(path: Path | None) -> Tree | Diagram | None:
    if path is None:
        return None
    from odtdsl.api import load_model

    return load_model(path)


@app.command()
def compare(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None,
    on: Annotated[
        list[str] | None,
        typer.Option(help='A back end, "milp (cptree)", "sat (paper)"; default: all.'),
    ] = None,
    within: Annotated[str | None, typer.Option(help="Time limit of each run.")] = None,
    gap: Annotated[str | None, typer.Option(help="Stop at this relative gap: 1%.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=256)] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**31 - 1)] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Solve a spec on every back end that can, side by side; their proofs must agree."""

    def action() -> int:
        from odtdsl import comparing, console
        from odtdsl.limits import parse_gap, parse_seconds

        analysis = Problem(spec, data, test, settings).analysis()
        if not as_json:
            warn(analysis.warnings)
        found = comparing.compare(
            analysis, backends=on, seconds=None if within is None else parse_seconds(within),
            gap=None if gap is None else parse_gap(gap), threads=threads, seed=seed,
        )  # fmt: skip
        if as_json:
            print_json(found.to_json())
        else:
            print_lines(console.compared(found))
        return STATUS_CODES[found.status] if found.ran else WRONG

    run(action, as_json)


@app.command()
def explain(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None, using: Using = None,
    within: Annotated[str | None, typer.Option(help="Time limit: 60, 60s, 2min, 1h.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every minimal conflict, up to 20.")] = False,
    deeper: Annotated[
        int, typer.Option(min=0, max=30, help="Levels that are added where the depth is relaxed.")
    ] = 1,
    curve: Annotated[
        str | None, typer.Option(help="A rule with a bound: the objective for every bound.")
    ] = None,
    points: Annotated[
        int | None, typer.Option(min=1, help="Points of the curve at most; default 200.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes for the curve.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the curve as CSV.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the curve as SVG.")] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Say which rules conflict and what would do; where none do, what each rule costs."""

    def action() -> int:
        from odtdsl import console, explaining
        from odtdsl.limits import parse_seconds

        _check_curve(curve, {"points": points, "jobs": jobs, "csv": csv, "svg": svg})
        check_outputs(spec, csv, svg)
        analysis = Problem(spec, data, test, settings).analysis()
        if curve is not None:
            if not as_json:
                warn(analysis.warnings)
            traced = explaining.trace(
                analysis, curve, backend=using,
                seconds=None if within is None else parse_seconds(within),
                points=points or explaining.MOST_POINTS, jobs=jobs or 1,
            )  # fmt: skip
            return _tell_curve(traced, csv, svg, as_json)
        found = explaining.explain(
            analysis, backend=using, seconds=None if within is None else parse_seconds(within),
            most=explaining.MOST_CONFLICTS if every else 1, deeper=deeper,
        )  # fmt: skip
        if as_json:
            print_json(found.to_json())
        else:
            warn(found.untold)
            print_lines(console.explained(found))
        return EXPLAINED_CODES[found.status]

    run(action, as_json)


def _check_curve(curve: str | None, options: dict[str, object]) -> None:
    for name, value in options.items():
        if curve is None and value is not None:
            raise error(
                "U312", f"`--{name}` is of a curve, and none was asked for",
                helps=("add `--curve RULE`",),
            )  # fmt: skip


def _tell_curve(curve: Curve, csv: Path | None, svg: Path | None, as_json: bool) -> int:
    from odtdsl import console

    if csv is not None:
        write_file(csv, curve.to_csv())
    if svg is not None:
        write_file(svg, curve.to_svg())
    if as_json:
        print_json(curve.to_json())
    else:
        print_lines(console.traced(curve))
    return EXPLAINED_CODES[curve.status]


app.command("compile")(compile_)
app.command()(decode)
app.command()(tune)
app.command()(report)
app.command()(doctor)
app.command()(lsp)
app.command()(export)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A saved tree, or a saved `solve --json`.")],
    data: Annotated[Path, typer.Argument(help="Rows: CSV, TSV, Parquet or ARFF.")],
    na: Annotated[list[str] | None, typer.Option(help="Marks of missing values.")] = None,
    separator: Annotated[str | None, typer.Option(help="Between cells.")] = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line is data.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Predict rows with a saved tree or diagram; prints one column, or a JSON list."""

    def action() -> int:
        from odtdsl.api import load_model
        from odtdsl.data.readers import read
        from odtdsl.data.request import DataRequest

        saved = load_model(model)
        request = DataRequest(
            kind="file", name=str(data.absolute()), na=tuple(na or ()), separator=separator,
            header=not no_header,
        )  # fmt: skip
        values = saved.predict(read(request, base=Path())).tolist()
        if as_json:
            print_json({"target": list(saved.targets), "predictions": values})
            return OK
        text = _csv([saved.targets, *(v if isinstance(v, list) else [v] for v in values)])
        if out is None:
            typer.echo(text, nl=False)
        else:
            write_file(out, text)
        return OK

    run(action, as_json)


def _csv(rows: Iterable[Iterable[object]]) -> str:
    import csv
    import io

    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


@app.command()
def audit(
    spec: Spec,
    model: Annotated[
        Path | None,
        typer.Argument(help="A saved tree, or a saved `solve --json`; not needed with --proof."),
    ] = None,
    proof: Annotated[Path | None, typer.Option(help="Check a proof of `solve --proof`.")] = None,
    data: Data = None, test: Test = None, settings: Sets = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Check a saved model against a spec and its data, rule by rule; or a proof, step by step."""

    def action() -> int:
        from odtdsl.auditing import audited

        if model is None and proof is None:
            raise error("U317", "nothing to audit", helps=("name a saved tree, or `--proof FILE`",))
        told = audited(Problem(spec, data, test, settings).analysis(), model, proof)
        if as_json:
            print_json(told.to_json())
        else:
            print_lines(told.lines())
            warn((*told.warnings, *told.shortfalls))
        return OK if told.holds else WRONG

    run(action, as_json)


@app.command("why")
def why_(
    spec: Spec,
    model: Annotated[Path, typer.Argument(help="A saved tree, or a saved `solve --json`.")],
    row: Annotated[int | None, typer.Option(help="A training row, from 0.")] = None,
    cell: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of a row of one's own; empty is missing.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="The class that is wished for.")] = None,
    freeze: Annotated[
        list[str] | None, typer.Option(help="A feature that may not change.")
    ] = None,
    data: Data = None, test: Test = None, settings: Sets = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Say why a row is predicted so, and the least change that makes it another."""

    def action() -> int:
        from odtdsl import checker
        from odtdsl.api import load_tree
        from odtdsl.why import why

        asked = _asked_row(row, cell or [])
        analysis = Problem(spec, data, test, settings).analysis()
        tree = load_tree(model)
        found = why(
            tree, analysis.rows, asked, to=to, frozen=freeze or (),
            audit=checker.audit(tree, analysis.rows),
        )  # fmt: skip
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
            "U309", "which row is asked for is not plain",
            helps=("write `--row 3`, or `--cell age=41 --cell sex=male` with all that is tested",),
        )  # fmt: skip
    return row if row is not None else {name.strip(): value or None for name, _, value in parts}


@app.command()
def rules(
    word: Annotated[str | None, typer.Argument(help="One term, in full.")] = None,
    as_json: Json = False,
) -> None:
    """List the terms of rules and objectives, or explain one."""

    def action() -> int:
        from odtdsl.terms import catalogue

        if as_json:
            print_json(catalogue.as_json(word))
        else:
            print_lines(catalogue.as_text(word))
        return OK

    run(action, as_json)


def _version(wanted: bool) -> None:
    if wanted:
        from odtdsl.doctor import versions

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
    """Entry point of `odt`."""
    try:
        app(prog_name="odt")
    except SystemExit as ended:
        leave(ended)
