"""The command line, `odt COMMAND`: check, fmt, plan, solve, explain, compare, compile, predict,
audit, why, rules.

Exit codes: 0 an answer; 1 spec, data or model wrong (also an audit that fails); 2 usage;
3 infeasible, proven; 4 a limit without an answer; 70 a mistake of odtdsl; 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from odtdsl.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.diagnostics.render import render_text, to_json

if TYPE_CHECKING:
    from odtdsl.analysis import Analysis
    from odtdsl.console import ProgressLine
    from odtdsl.explaining import Curve
    from odtdsl.near_optimal import Near
    from odtdsl.predictors.tree import Tree
    from odtdsl.source import Source
    from odtdsl.syntax import ast

OK, WRONG, USAGE, INFEASIBLE, LIMIT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130
EXPLAINED_CODES = {"feasible": OK, "infeasible": INFEASIBLE, "undecided": LIMIT}
STATUS_CODES = {"optimal": OK, "feasible": OK, "infeasible": INFEASIBLE, "unknown": LIMIT}

app = typer.Typer(
    name="odt", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Optimal decision trees under domain rules, from a short .odt file.",
)  # fmt: skip

Spec = Annotated[Path, typer.Argument(help="The .odt file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Data = Annotated[str | None, typer.Option(help="Training rows, instead of the spec's path.")]
Test = Annotated[str | None, typer.Option(help="Test rows, instead of the spec's.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of a `let`.")]
Using = Annotated[str | None, typer.Option(help="auto, exact, milp, sat or greedy.")]
Formulation = Annotated[
    str | None, typer.Option("--model", help="Formulation of milp: pattern or cptree.")
]


# ---- loading


class _Problem:
    """A spec file, parsed on demand, with the options that change what it reads."""

    def __init__(
        self, path: Path, data: str | None = None, test: str | None = None,
        sets: list[str] | None = None,
    ) -> None:  # fmt: skip
        self.path, self.data, self.test, self.sets = path, data, test, sets or []

    def source(self) -> Source:
        from odtdsl.syntax.parser import read_source

        return read_source(self.path)

    def analysis(self) -> Analysis:
        from odtdsl.analysis import analyse
        from odtdsl.syntax.parser import parse

        source = self.source()
        return analyse(
            parse(source), source=source, base=self.path.parent, data=self.data, test=self.test,
            settings=dict(_setting(text) for text in self.sets),
        )  # fmt: skip


def _setting(text: str) -> tuple[str, ast.Expr]:
    """`alpha=0.5` as a name and the expression that replaces its value."""
    from odtdsl.source import Source
    from odtdsl.syntax import ast
    from odtdsl.syntax.parser import parse

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise error("U304", f"`--set {text}` is no setting", helps=("write `--set alpha=0.5`",))
    source = Source(name="--set", text=f"let {name} = {value}")
    statement = parse(source).statements[0]
    if not isinstance(statement, ast.Let):
        raise error("U304", f"`--set {text}` is no setting", helps=("write `--set alpha=0.5`",))
    return statement.name, statement.value


# ---- output


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _tell(diagnostics: Iterable[Diagnostic], as_json: bool) -> None:
    found = list(diagnostics)
    if as_json:
        _print_json({"status": "error", "diagnostics": [to_json(d) for d in found]})
    else:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        typer.echo("\n\n".join(render_text(d, color=color) for d in found), err=True)


def _warn(diagnostics: Iterable[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        typer.echo(render_text(diagnostic, color=sys.stderr.isatty()) + "\n", err=True)


def _code_of(diagnostics: Iterable[Diagnostic]) -> int:
    codes = [d.code for d in diagnostics if d.severity == "error"]
    if any(code.startswith("X") for code in codes):
        return INTERNAL
    return USAGE if any(code.startswith("U3") and code != "U301" for code in codes) else WRONG


def _run(action: Callable[[], int], as_json: bool) -> None:
    """Run a command; whatever goes wrong becomes a message and an exit code."""
    try:
        code = action()
        sys.stdout.flush()
    except OdtError as failure:
        code = _code_of(failure.diagnostics)
        _tell(failure.diagnostics, as_json)
        if code == INTERNAL:
            _report_file(failure)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (Python flushes it at exit)
        code = OK
    except OSError as failure:
        code = WRONG
        message = f"reading or writing failed: {failure}"
        _tell(
            [Diagnostic(code="F302", message=message)], False
        )  # standard output may be what failed
    except Exception as failure:
        code = INTERNAL
        message = f"a mistake of odtdsl, not yours: {type(failure).__name__}: {failure}"
        _tell([Diagnostic(code="X001", message=message)], as_json)
        _report_file(failure)
    raise typer.Exit(code)


def _report_file(failure: BaseException) -> None:
    """Keep what a bug report needs, outside the working folder."""
    handle, path = tempfile.mkstemp(prefix="odt-report-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("command: " + " ".join(sys.argv) + "\n\n")
        file.write("".join(traceback.format_exception(failure)))
    typer.echo(f"a report was written to {path}; please send it", err=True)


def _write(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    from odtdsl.files import write_text

    write_text(path, text)


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

        analysis = _Problem(spec, data, test, settings).analysis()
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
            _print_json({"status": "ok", "diagnostics": warnings})
            return OK
        _warn((*analysis.warnings, *notes))
        rows, problem = analysis.rows, analysis.problem
        typer.echo(
            f"{spec}: {console.counted(rows.n_rows, 'training row')},"
            f" {console.counted(len(problem.features), 'feature')},"
            f" {console.counted(len(problem.rules), 'rule')}: no mistake found"
            + ("; but this version cannot solve it" if notes else "")
        )
        return OK

    _run(action, as_json)


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

        source = _Problem(spec).source()
        text = format_source(source)
        if check_only:
            return OK if text == source.text else WRONG
        if write:
            if text != source.text:
                _write(spec, text)
        else:
            typer.echo(text, nl=False)
        return OK

    _run(action, False)


@app.command()
def plan(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None, using: Using = None,
    dump: Annotated[bool, typer.Option("--dump", help="Print the core forms too.")] = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Say which back end will run and why, and what the others cannot express."""

    def action() -> int:
        from odtdsl import console, solving
        from odtdsl.ir.dump import dump_core

        analysis = _Problem(spec, data, test, settings).analysis()
        planned = solving.plan(analysis, backend=using)
        if as_json:
            _print_json(_plan_json(planned))
        else:
            _print(console.planned(planned))
            if dump:
                typer.echo("\n" + dump_core(planned.core))
        return OK if planned.choice.name is not None else WRONG

    _run(action, as_json)


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
    model: Formulation = None,
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
        from odtdsl.limits import parse_gap, parse_seconds
        from odtdsl.proofs import commands

        began = time.monotonic()
        wish = _list_wish(all_optimal, near, most, gap)
        _check_outputs(spec, out, svg, dot, proof)
        analysis = _Problem(spec, data, test, settings).analysis()
        if not as_json:
            _warn(analysis.warnings)
        line = console.ProgressLine()
        first = _start_tree(start or _start_of(analysis, spec))
        chosen = using or (None if model is None else "milp")
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
                analysis, backend=chosen, formulation=_formulation(model),
                seconds=None if within is None else parse_seconds(within),
                gap=None if gap is None else parse_gap(gap),
                threads=threads, seed=seed, start=first, report=line,
            )  # fmt: skip
        finally:
            line.clear()
        if result.tree is not None:
            _save_pictures(result.tree, out, svg, dot)
        if not as_json:
            _warn(result.warnings[len(analysis.warnings) :])
            _print(console.answer(result, missing=_shows_missing(analysis)))
        told = {}
        if proof is not None:
            known = len(result.warnings)
            seconds = None if within is None else parse_seconds(within)
            result, made = commands.log(analysis, result, proof, began, seconds)
            told = {"proof": commands.written_json(made, proof)}
            if not as_json:
                _warn(result.warnings[known:])
                _print(commands.written(made, proof, spec))
        if as_json:
            _print_json(result.to_json() | told)
        return STATUS_CODES[result.status]

    _run(action, as_json)


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
        _save_pictures(found.trees[0].tree, *pictures)
    if as_json:
        _print_json(found.to_json())
    else:
        _print(console.listed(found, missing=_shows_missing(analysis)))
    return STATUS_CODES[found.status]


def _shows_missing(analysis: Analysis) -> bool:
    return any(f.missing in ("left", "right", "branch") for f in analysis.problem.features)


def _check_outputs(spec: Path, *outputs: Path | None) -> None:
    """What cannot be written is said before the search, and the spec is not overwritten."""
    from odtdsl.files import check_writable

    for path in outputs:
        if path is not None:
            check_writable(path)
            if path.exists() and path.samefile(spec):
                raise error("U308", f"`{path}` is the spec itself", helps=("choose another name",))


def _start_of(analysis: Analysis, spec: Path) -> Path | None:
    start = analysis.problem.options.start
    return None if start is None else spec.parent / start


def _start_tree(path: Path | None) -> Tree | None:
    if path is None:
        return None
    from odtdsl.api import load_tree

    return load_tree(path)


def _formulation(name: str | None) -> Any:
    if name not in (None, "pattern", "cptree"):
        raise error(
            "U302", f"`--model {name}` is unknown",
            helps=("write `--model pattern` or `--model cptree`",),
        )  # fmt: skip
    return name


def _save_pictures(tree: Tree, out: Path | None, svg: Path | None, dot: Path | None) -> None:
    from odtdsl.predictors.dot import to_dot
    from odtdsl.predictors.json import save
    from odtdsl.predictors.svg import to_svg

    if out is not None:
        save(tree, out)
    if svg is not None:
        _write(svg, to_svg(tree))
    if dot is not None:
        _write(dot, to_dot(tree))


@app.command()
def compare(
    spec: Spec, data: Data = None, test: Test = None, settings: Sets = None,
    on: Annotated[
        list[str] | None, typer.Option(help='A back end, or "milp (cptree)"; default: all.')
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

        analysis = _Problem(spec, data, test, settings).analysis()
        if not as_json:
            _warn(analysis.warnings)
        found = comparing.compare(
            analysis, backends=on, seconds=None if within is None else parse_seconds(within),
            gap=None if gap is None else parse_gap(gap), threads=threads, seed=seed,
        )  # fmt: skip
        if as_json:
            _print_json(found.to_json())
        else:
            _print(console.compared(found))
        return STATUS_CODES[found.status] if found.ran else WRONG

    _run(action, as_json)


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
        _check_outputs(spec, csv, svg)
        analysis = _Problem(spec, data, test, settings).analysis()
        if curve is not None:
            if not as_json:
                _warn(analysis.warnings)
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
            _print_json(found.to_json())
        else:
            _warn(found.untold)
            _print(console.explained(found))
        return EXPLAINED_CODES[found.status]

    _run(action, as_json)


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
        _write(csv, curve.to_csv())
    if svg is not None:
        _write(svg, curve.to_svg())
    if as_json:
        _print_json(curve.to_json())
    else:
        _print(console.traced(curve))
    return EXPLAINED_CODES[curve.status]


@app.command("compile")
def compile_(
    spec: Spec,
    to: Annotated[str, typer.Option(help="lp or mps.")] = "lp",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file.")] = None,
    data: Data = None, test: Test = None, settings: Sets = None, model: Formulation = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Write the problem as an LP or MPS file with readable names."""

    def action() -> int:
        from odtdsl import solving

        analysis = _Problem(spec, data, test, settings).analysis()
        path = out or spec.with_suffix(f".{to}")
        _check_outputs(spec, path)
        size = solving.compile_to(analysis, path, to, _formulation(model) or "pattern")
        if as_json:
            _print_json({"file": str(path), "size": dict(size)})
        else:
            typer.echo(f"{path}: " + ", ".join(f"{count} {name}" for name, count in size))
        return OK

    _run(action, as_json)


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
    """Predict rows with a saved tree; prints one column, or a JSON list."""

    def action() -> int:
        from odtdsl.api import load_tree
        from odtdsl.data.readers import read
        from odtdsl.data.request import DataRequest

        tree = load_tree(model)
        request = DataRequest(
            kind="file", name=str(data.absolute()), na=tuple(na or ()), separator=separator,
            header=not no_header,
        )  # fmt: skip
        values = tree.predict(read(request, base=Path())).tolist()
        if as_json:
            _print_json({"target": list(tree.targets), "predictions": values})
            return OK
        text = _csv([tree.targets, *(v if isinstance(v, list) else [v] for v in values)])
        if out is None:
            typer.echo(text, nl=False)
        else:
            _write(out, text)
        return OK

    _run(action, as_json)


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
    """Check a saved tree against a spec and its data, rule by rule; or a proof, step by step."""

    def action() -> int:
        from odtdsl.auditing import audited

        if model is None and proof is None:
            raise error("U317", "nothing to audit", helps=("name a saved tree, or `--proof FILE`",))
        told = audited(_Problem(spec, data, test, settings).analysis(), model, proof)
        if as_json:
            _print_json(told.to_json())
        else:
            _print(told.lines())
            _warn(told.shortfalls)
        return OK if told.holds else WRONG

    _run(action, as_json)


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
        analysis = _Problem(spec, data, test, settings).analysis()
        tree = load_tree(model)
        found = why(
            tree, analysis.rows, asked, to=to, frozen=freeze or (),
            audit=checker.audit(tree, analysis.rows),
        )  # fmt: skip
        if as_json:
            _print_json(found.to_json())
        else:
            _print(found.lines())
        return OK

    _run(action, as_json)


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
            _print_json(catalogue.as_json(word))
        else:
            _print(catalogue.as_text(word))
        return OK

    _run(action, as_json)


def _version(wanted: bool) -> None:
    if wanted:
        from odtdsl import __version__

        typer.echo(f"odt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Options of all commands."""


def main() -> None:
    """Entry point of `odt`."""
    app(prog_name="odt")
