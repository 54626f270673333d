"""`odt export`: a saved model for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated

import click

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import Argument, Command, Force, Json, Option
from odtdsl.interfaces.cli.common import OK, Problem, print_json
from odtdsl.interfaces.cli.outputs import check_outputs
from odtdsl.presentation.exports import formats

if TYPE_CHECKING:
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.presentation.exports.plan import Plan


*FIRST, LAST = (file.name for file in iter_modules(formats.__path__))
NAMES = f"{', '.join(FIRST)} or {LAST}"


@dataclass(frozen=True, kw_only=True)
class Export(Command):
    """Write a saved tree or diagram for other programs (rules, SQL, Python, ONNX, ...), each
    with the predictions of `odt predict`."""

    spec: Annotated[
        Path | None, Argument(help="The spec, whose costs a questionnaire adds up.")
    ] = None
    model: Annotated[Path, Argument(help="A saved tree or diagram, or a saved `solve --json`.")]
    to: Annotated[
        str | None,
        Option(help=f"{NAMES}; default by --out."),
    ] = None
    out: Annotated[Path | None, Option("--out", "-o", help="The file.")] = None
    name: Annotated[
        str | None,
        Option(help="Name of the function, SQL table or model; the default depends on the format."),
    ] = None
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Write a saved model in the format of `--to` or of the name of `--out`."""
        from odtdsl.interfaces.api import load_model
        from odtdsl.presentation.exports.plan import plan_of
        from odtdsl.presentation.exports.registry import export_plan, format_named, format_of

        if self.to is None and self.out is None:
            raise error(
                "U370",
                "no export format is given",
                helps=("add `--to sql`, or `--out tree.sql`",),
            )
        form = self.to if self.to is not None else format_of(self.out or Path())
        if format_named(form).binary and self.out is None:
            raise error(
                "U375",
                f"{form} is a binary format: it needs a file",
                helps=(f"add `--out model{format_named(form).suffixes[0]}`",),
            )
        if self.spec is not None and form != "questionnaire":
            raise error(
                "U376",
                f"{form} has no use for a spec",
                helps=("leave it out; a questionnaire takes one, for the costs of its questions",),
            )
        reads = [("the model", self.model), *([("the spec", self.spec)] if self.spec else [])]
        check_outputs({"out": self.out}, reads, self.force)
        model = load_model(self.model)
        plan = replace(plan_of(model), costs=self._costs())
        written = export_plan(plan, form, self.out, name=self.name)
        if self.as_json:
            print_json(_told(plan, form, self.out, written))
        elif self.out is None:
            assert isinstance(written, str), "only text formats are printed"
            click.echo(written, nl=False)
        if plan.n_nodes is not None or (self.out is not None and not self.as_json):
            click.echo(_summary(plan, form, self.out), err=self.out is None or self.as_json)
        if not format_named(form).shows_dates:
            for line in _dates(model):
                click.echo(line, err=True)
        return OK

    def _costs(self) -> tuple[tuple[Fraction, frozenset[str]], ...]:
        """The costs of the spec, if one was given."""
        if self.spec is None:
            return ()
        problem = Problem(self.spec).analysis().problem
        names = [feature.name for feature in problem.features]
        own = zip(problem.costs.features, names, strict=True)
        shared = problem.costs.shared
        return (
            *((amount, frozenset({name})) for amount, name in own if amount),
            *((one.amount, frozenset(names[at] for at in one.features)) for one in shared),
        )


def _dates(model: Predictor) -> Iterator[str]:
    """What programs must make of dates, which only `odt` reads."""
    from odtdsl.base.printing import printable

    for type_ in model.features:
        made = type_.date
        if made is None or type_.name not in model.tested:
            continue
        what = "days since 1970-01-01" if made.part == "days" else f"the {made.part}"
        yield f"`{printable(type_.name)}` is a number there: {what} of `{printable(made.column)}`"


def _told(plan: Plan, form: str, out: Path | None, written: str | bytes) -> dict[str, object]:
    found: dict[str, object] = {
        "format": form,
        "file": None if out is None else str(out),
        "splits": plan.n_splits,
        "nodes": plan.n_nodes,
    }
    return found if out is not None else found | {"text": written}


def _summary(plan: Plan, form: str, out: Path | None) -> str:
    from odtdsl.base.numbers import counted

    where = form if out is None else str(out)
    splits = counted(plan.n_splits, "split")
    if plan.n_nodes is None:
        return f"{where}: a tree of {splits}"
    nodes = counted(plan.n_nodes, "node")
    return f"{where}: a diagram of {nodes}, as a tree of {splits}: shared nodes are repeated"
