"""`odt compile` and `odt decode`: files for other solvers, and their answers as trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import click

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import (
    Argument,
    Dot,
    Force,
    Formulation,
    Json,
    OnSpec,
    Option,
    Out,
    Svg,
)
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
    Option(
        "--bound",
        help="A bound on each stage of the objective, in order; of programs the stage after them"
        " is minimized.",
    ),
]
Weighted = Annotated[
    bool, Option(help="For programs: all stages of the objective as one weighted sum.")
]


@dataclass(frozen=True, kw_only=True)
class Compile(OnSpec):
    """Write the problem for other solvers: as a program (LP, MPS, MiniZinc) or as a formula (CNF,
    WCNF for MaxSAT, OPB), with comments that say what all is."""

    to: Annotated[
        str | None, Option(help="lp, mps, mzn, cnf, wcnf or opb; default by --out, else lp.")
    ] = None
    file: Annotated[Path | None, Argument(help="The file to write.")] = None
    out: Annotated[Path | None, Option("--out", "-o", help="As FILE.")] = None
    model: Formulation = None
    depth: Depth = None
    bound: Bounds = None
    weighted: Weighted = False
    legend: Annotated[
        Path | None, Option(help="Also write what every variable and row says, as JSON.")
    ] = None
    show: Annotated[
        str | None,
        Option(help="Print the rows or clauses of a rule, and write no file."),
    ] = None
    force: Force = False
    as_json: Json = False

    def _in_order(self) -> Compile:
        """The command with its file as `out`; a spec that came second goes first."""
        spec, file = self.spec, self.file
        assert file is not None, "the caller asks"
        if self.out is not None:
            raise error(
                "U325",
                "the file to write was given twice",
                helps=(f"leave out `{file}` or `--out`",),
            )
        if file.suffix == ".odt" and spec.suffix != ".odt":
            spec, file = file, spec
            click.echo(f"the order is SPEC FILE: read as {spec} {file}", err=True)
        return replace(self, spec=spec, out=file, file=None)

    def run(self) -> int:
        """Write the problem as LP, MPS, MiniZinc, CNF, WCNF or OPB."""
        from odtdsl.base.back_ends import variant
        from odtdsl.driver.formulas import formats
        from odtdsl.driver.formulas.files import parse_bound

        if self.file is not None:
            return self._in_order().run()
        bounds = tuple(map(parse_bound, self.bound or ()))
        given = variant(model=self.model)
        problem = self.problem()
        form = self.to if self.to is not None else formats.format_of(self.out or Path())
        formats.check_format(form)
        if self.show is not None:
            rule = self.show.removeprefix("rule ").strip()
            shown = formats.show_rule(
                problem.analysis(),
                rule,
                form,
                given,
                depth=self.depth,
                bounds=bounds,
                weighted=self.weighted,
            )
            print_lines(shown)
            return OK
        path = self.out or beside(self.spec, f".{form}")
        check_outputs({"out": path, "legend": self.legend}, files_of(problem), self.force)
        analysis = problem.analysis()
        size = formats.compile_to(
            analysis,
            path,
            form,
            given,
            depth=self.depth,
            bounds=bounds,
            weighted=self.weighted,
            legend=self.legend,
        )
        if self.as_json:
            print_json({"file": str(path), "size": dict(size)})
        else:
            from odtdsl.presentation.console import encoding_text

            click.echo(f"{path}: {encoding_text(size)}")
        return OK


@dataclass(frozen=True, kw_only=True)
class Decode(OnSpec):
    """Read another solver's answer to a file of `odt compile` as a tree or diagram, audited."""

    answer: Annotated[Path | None, Argument(help="What the solver printed or wrote.")] = None
    assignment: Annotated[Path | None, Option(help="As ANSWER.")] = None
    to: Annotated[
        str | None, Option(help="lp, mps, mzn, cnf, wcnf or opb; default by the file's contents.")
    ] = None
    model: Formulation = None
    depth: Depth = None
    bound: Bounds = None
    weighted: Weighted = False
    out: Out = None
    svg: Svg = None
    dot: Dot = None
    force: Force = False
    as_json: Json = False

    def _assignment(self) -> Path:
        """The answer, given as an argument or as an option."""
        if (self.answer is None) == (self.assignment is None):
            raise error(
                "U325",
                "the solver's answer must be given, once",
                helps=("write `odt decode spec.odt answer.sol`",),
            )
        found = self.answer or self.assignment
        assert found is not None, "one of them is given"
        return found

    def run(self) -> int:
        """Turn a solver's answer to a written file into a tree or diagram, audited."""
        from odtdsl.base.back_ends import variant
        from odtdsl.driver.formulas import formats
        from odtdsl.driver.formulas.assignment import read_text
        from odtdsl.driver.formulas.files import parse_bound
        from odtdsl.presentation import console

        assignment = self._assignment()
        problem = self.problem()
        reads = (*files_of(problem), ("the assignment", assignment))
        check_outputs({"out": self.out, "svg": self.svg, "dot": self.dot}, reads, self.force)
        if self.to is not None:
            formats.check_format(self.to)
        bounds = tuple(map(parse_bound, self.bound or ()))
        text = read_text(assignment)
        analysis = problem.analysis()
        result = formats.decode_text(
            analysis,
            text,
            assignment,
            self.to,
            variant(model=self.model),
            depth=self.depth,
            bounds=bounds,
            weighted=self.weighted,
        )
        assert result.model is not None, "it is decoded"
        assert result.audit is not None, "it is audited"
        if not self.as_json:
            warn(result.warnings)

        def answer() -> None:
            if self.as_json:
                print_json(result.to_json())
            else:
                missing = shows_missing(analysis)
                print_lines(console.decoded(result, assignment.name, missing=missing))

        notes = missing_in(result.model, analysis)
        deliver(answer, *pictures(result.model, self.out, self.svg, self.dot, notes=notes))
        return OK if result.audit.holds else WRONG
