"""`odt compile` and `odt decode`: files for other solvers, and their answers as trees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odtdsl.interfaces.cli.common import (
    OK,
    WRONG,
    Data,
    Formulation,
    Json,
    Problem,
    Sets,
    Spec,
    Test,
    missing_in,
    print_json,
    print_lines,
    run,
    shows_missing,
    warn,
)
from odtdsl.interfaces.cli.outputs import Force, beside, check_outputs, deliver, files_of, pictures

Depth = Annotated[
    int | None, typer.Option(min=0, max=30, help="Of formulas: a bound beside the spec's.")
]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--bound", help="Of formulas: the objective is this good, stage by stage."),
]


def compile_(
    spec: Spec,
    to: Annotated[
        str | None, typer.Option(help="lp, mps, cnf, wcnf or opb; default by --out, else lp.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file.")] = None,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    model: Formulation = None,
    depth: Depth = None,
    bound: Bounds = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the problem for other solvers: as a program (LP, MPS) with readable names, or as a
    formula (CNF, WCNF for MaxSAT, OPB) with comments that say what all is."""

    def action() -> int:
        from odtdsl.backends.variants import named
        from odtdsl.driver import pipeline
        from odtdsl.driver.formulas.files import parse_bound

        bounds = tuple(map(parse_bound, bound or ()))
        problem = Problem(spec, data, test, settings)
        default = "lp" if out is None else pipeline.format_of(out)
        form = default if to is None else to
        pipeline.check_format(form)
        path = out or beside(spec, f".{form}")
        check_outputs({"out": path}, files_of(problem), force)
        analysis = problem.analysis()
        size = pipeline.compile_to(
            analysis, path, form, named(model=model), depth=depth, bounds=bounds
        )
        if as_json:
            print_json({"file": str(path), "size": dict(size)})
        else:
            counts = (
                f"{name} {count}" if name == "depth" else f"{count} {name}" for name, count in size
            )
            typer.echo(f"{path}: " + ", ".join(counts))
        return OK

    run(action, as_json)


def decode(
    spec: Spec,
    assignment: Annotated[
        Path, typer.Option(help="What the solver printed or wrote.", show_default=False)
    ],
    to: Annotated[
        str | None, typer.Option(help="cnf, wcnf or opb; default by what the file looks like.")
    ] = None,
    depth: Depth = None,
    bound: Bounds = None,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the tree as JSON.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the tree as SVG.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the tree as DOT text.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Read another solver's model of a formula of `odt compile` as a tree, and audit it."""

    def action() -> int:
        from odtdsl.base.diagnostics.model import error
        from odtdsl.driver import pipeline
        from odtdsl.driver.formulas import files
        from odtdsl.driver.formulas.assignment import read
        from odtdsl.driver.formulas.files import parse_bound
        from odtdsl.presentation import console

        problem = Problem(spec, data, test, settings)
        reads = (*files_of(problem), ("the assignment", assignment))
        check_outputs({"out": out, "svg": svg, "dot": dot}, reads, force)
        form = None if to is None else pipeline.formula_format(to)
        if form is None and to is not None:
            raise error(
                "U303", f"`{to}` is no format of formulas", helps=("write cnf, wcnf or opb",)
            )
        bounds = tuple(map(parse_bound, bound or ()))
        values = read(assignment)
        analysis = problem.analysis()
        if not as_json:
            warn(analysis.warnings)
        result = files.decode(analysis, values, to=form, depth=depth, bounds=bounds)
        assert result.tree is not None, "a model is a tree"
        assert result.audit is not None, "it is audited"

        def answer() -> None:
            if as_json:
                print_json(result.to_json())
            else:
                missing = shows_missing(analysis)
                print_lines(console.decoded(result, assignment.name, missing=missing))

        notes = missing_in(result.tree, analysis)
        deliver(answer, *pictures(result.tree, out, svg, dot, notes=notes))
        return OK if result.audit.holds else WRONG

    run(action, as_json)
