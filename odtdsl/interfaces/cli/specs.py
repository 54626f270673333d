"""The commands that need a spec and no solver, and the catalogue of terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from odtdsl.base.back_ends import AUTO
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.diagnostics.render import to_json
from odtdsl.interfaces.cli.commands import (
    Argument,
    BackEndOptions,
    Command,
    Json,
    OnSpec,
    Option,
    Spec,
    Using,
)
from odtdsl.interfaces.cli.common import OK, WRONG, Problem, print_json, print_lines, warn

if TYPE_CHECKING:
    from odtdsl.compiler.inseparable import Inseparable


@dataclass(frozen=True, kw_only=True)
class Check(OnSpec):
    """Read a spec and its data; report all mistakes that no other one hides. Needs no solver."""

    as_json: Json = False

    def run(self) -> int:
        """Check the spec against its data.

        Exits with 0 if there is no mistake; that no back end can solve it is a warning.
        """
        from odtdsl.base.numbers import counted
        from odtdsl.compiler.bounds import plainly_refuted
        from odtdsl.compiler.inseparable import inseparable
        from odtdsl.driver.choice import choose, refused
        from odtdsl.problem.terms.normalize import normalize

        analysis = self.problem().analysis()
        notes: list[Diagnostic] = []
        refuted = any(one.code == "R108" for one in analysis.warnings)
        mixed = None
        try:
            core = normalize(analysis.rows)
            refuted = refuted or plainly_refuted(core)
            mixed = inseparable(core, analysis.rows)
            choice = choose(core, analysis.problem.options.backend)
            if choice.name is None:
                wish = analysis.problem.options.backend
                raise refused(choice, wish, analysis.problem.source)
        except OdtError as failure:
            if any(not d.code.startswith("B") for d in failure.diagnostics):
                raise
            notes = [replace(d, severity="warning") for d in failure.diagnostics]
        if self.as_json:
            warnings = [to_json(d) for d in (*analysis.warnings, *notes)]
            found: dict[str, Any] = {"status": "ok", "diagnostics": warnings}
            print_json(found | _mixed_json(mixed))
            return OK
        warn((*analysis.warnings, *notes))
        rows, problem = analysis.rows, analysis.problem
        click.echo(
            (
                f"{self.spec}: {counted(rows.n_rows, 'training row')}, "
                f"{counted(len(problem.features), 'feature')}, "
                f"{counted(len(problem.rules), 'rule')}: "
            )
            + ("but no tree can satisfy the rules" if refuted else "no mistakes found")
            + (f"; but {_solver(problem.options.backend)} cannot solve it" if notes else "")
        )
        if mixed is not None:
            click.echo(_mixed(mixed))
        return OK


def _mixed(found: Inseparable) -> str:
    """What no model can get right, in words."""
    from odtdsl.base.numbers import counted
    from odtdsl.presentation.console import shown

    other = "with another target" if found.errors is None else "of another class"
    look = "looks" if found.rows == 1 else "look"
    said = f"{counted(found.rows, 'row')} {look} to every test like a row {other}"
    if found.errors is not None:
        return f"{said}: no model has fewer errors than {shown(found.errors)}"
    return said if found.mse is None else f"{said}: no model has an mse below {found.mse:.6g}"


def _mixed_json(found: Inseparable | None) -> dict[str, Any]:
    from odtdsl.base.numbers import as_number

    if found is None:
        return {}
    least = {"errors": as_number(found.errors), "mse": as_number(found.mse)}
    return {"inseparable": {"rows": found.rows, **least}}


def _solver(wish: str) -> str:
    return "this version" if wish == AUTO else f"`{wish}`, which it asks for,"


@dataclass(frozen=True, kw_only=True)
class Fmt(Command):
    """Print a spec in its canonical form; comments are kept."""

    spec: Spec
    write: Annotated[bool, Option("--write", "-w", help="Replace the file.")] = False
    check_only: Annotated[
        bool, Option("--check", help="Print nothing; exit with 1 if the file would change.")
    ] = False

    def run(self) -> int:
        """Format the spec.

        Prints it, or writes the file. With `--check` exits with 1 if the file is not formatted.
        """
        from odtdsl.base.files import write_text
        from odtdsl.language.printer import format_source

        source = Problem(self.spec).source
        text = format_source(source)
        if self.check_only:
            return OK if text == source.text else WRONG
        if self.write:
            if text != source.text:
                write_text(self.spec, text)
        else:
            click.echo(text, nl=False)
        return OK


@dataclass(frozen=True, kw_only=True)
class Plan(OnSpec):
    """Say which back end will run and why, and what the others cannot express."""

    using: Using = None
    options: BackEndOptions = None
    dump: Annotated[bool, Option("--dump", help="Also print the core forms.")] = False
    as_json: Json = False

    def run(self) -> int:
        """Print which back end would run, in which steps, and what the others do not support."""
        from odtdsl.base.back_ends import variant
        from odtdsl.compiler.inseparable import inseparable
        from odtdsl.driver import pipeline
        from odtdsl.insight.proofs.commands import certifiable
        from odtdsl.insight.proofs.covered import uncovered, uncovered_lists
        from odtdsl.presentation import console
        from odtdsl.problem.ir.dump import dump_core

        analysis = self.problem().analysis()
        asked = variant(self.options)
        planned = pipeline.plan(analysis, backend=self.using, variant=asked)
        mixed = inseparable(planned.core, analysis.rows)
        if self.as_json:
            told = {
                "uncovered": list(uncovered(planned.core)),
                "uncovered_lists": list(uncovered_lists(planned.core)),
            }
            print_json({**_plan_json(planned), **told, **_mixed_json(mixed)})
        else:
            print_lines(console.planned(planned))
            print_lines(("", certifiable(analysis)))
            if mixed is not None:
                click.echo(_mixed(mixed))
            if self.dump:
                click.echo("\n" + dump_core(planned.core))
        return OK if planned.choice.name is not None else WRONG


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


@dataclass(frozen=True, kw_only=True)
class Rules(Command):
    """List the terms of rules and objectives, or explain one."""

    word: Annotated[list[str] | None, Argument(help="Explain this term, of one word or more.")] = (
        None
    )
    as_json: Json = False

    def run(self) -> int:
        """Print the catalogue of terms, or the page of one."""
        from odtdsl.problem.terms import catalogue

        word = " ".join(self.word or ()) or None
        if self.as_json:
            print_json(catalogue.as_json(word))
        else:
            print_lines(catalogue.as_text(word))
        return OK
