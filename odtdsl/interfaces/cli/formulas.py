"""`odt compile` and `odt decode`: files for other solvers, and their answers as trees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from odtdsl.interfaces.cli.commands import Dot, Force, Formulation, Json, OnSpec, Option, Out, Svg
from odtdsl.interfaces.cli.common import (
    OK,
    WRONG,
    missing_in,
    print_json,
    print_lines,
    shows_missing,
    warn,
)
from odtdsl.interfaces.cli.outputs import beside, check_outputs, deliver, files_of, pictures

Depth = Annotated[
    int | None,
    Option(least=0, most=30, help="For formulas: a bound on the depth in addition to the spec's."),
]
Bounds = Annotated[
    list[str] | None,
    Option("--bound", help="For formulas: a bound on each stage of the objective, in order."),
]


@dataclass(frozen=True, kw_only=True)
class Compile(OnSpec):
    """Write the problem for other solvers: as a program (LP, MPS) with readable names, or as a
    formula (CNF, WCNF for MaxSAT, OPB) with comments that say what all is."""

    to: Annotated[
        str | None, Option(help="lp, mps, cnf, wcnf or opb; default by --out, else lp.")
    ] = None
    out: Annotated[Path | None, Option("--out", "-o", help="The file.")] = None
    model: Formulation = None
    depth: Depth = None
    bound: Bounds = None
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Write the problem as LP, MPS, CNF, WCNF or OPB."""
        from odtdsl.base.back_ends import variant
        from odtdsl.driver import pipeline
        from odtdsl.driver.formulas.files import parse_bound

        bounds = tuple(map(parse_bound, self.bound or ()))
        problem = self.problem()
        default = "lp" if self.out is None else pipeline.format_of(self.out)
        form = default if self.to is None else self.to
        pipeline.check_format(form)
        path = self.out or beside(self.spec, f".{form}")
        check_outputs({"out": path}, files_of(problem), self.force)
        analysis = problem.analysis()
        size = pipeline.compile_to(
            analysis, path, form, variant(model=self.model), depth=self.depth, bounds=bounds
        )
        if self.as_json:
            print_json({"file": str(path), "size": dict(size)})
        else:
            counts = (
                f"{name} {count}" if name == "depth" else f"{count} {name}" for name, count in size
            )
            click.echo(f"{path}: " + ", ".join(counts))
        return OK


@dataclass(frozen=True, kw_only=True)
class Decode(OnSpec):
    """Read another solver's model of a formula of `odt compile` as a tree, and audit it."""

    assignment: Annotated[Path, Option(help="What the solver printed or wrote.")]
    to: Annotated[
        str | None, Option(help="cnf, wcnf or opb; default by the contents of the file.")
    ] = None
    depth: Depth = None
    bound: Bounds = None
    out: Out = None
    svg: Svg = None
    dot: Dot = None
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Turn a solver's assignment of a written formula into a tree, audited."""
        from odtdsl.base.diagnostics.model import error
        from odtdsl.driver import pipeline
        from odtdsl.driver.formulas import files
        from odtdsl.driver.formulas.assignment import read
        from odtdsl.driver.formulas.files import parse_bound
        from odtdsl.presentation import console

        problem = self.problem()
        reads = (*files_of(problem), ("the assignment", self.assignment))
        check_outputs({"out": self.out, "svg": self.svg, "dot": self.dot}, reads, self.force)
        form = None if self.to is None else pipeline.formula_format(self.to)
        if form is None and self.to is not None:
            raise error(
                "U303",
                f"`{self.to}` is not a format of formulas",
                helps=("write cnf, wcnf or opb",),
            )
        bounds = tuple(map(parse_bound, self.bound or ()))
        values = read(self.assignment)
        analysis = problem.analysis()
        if not self.as_json:
            warn(analysis.warnings)
        result = files.decode(analysis, values, to=form, depth=self.depth, bounds=bounds)
        assert result.tree is not None, "a model is a tree"
        assert result.audit is not None, "it is audited"

        def answer() -> None:
            if self.as_json:
                print_json(result.to_json())
            else:
                missing = shows_missing(analysis)
                print_lines(console.decoded(result, self.assignment.name, missing=missing))

        notes = missing_in(result.tree, analysis)
        deliver(answer, *pictures(result.tree, self.out, self.svg, self.dot, notes=notes))
        return OK if result.audit.holds else WRONG
