"""`odt export`: a saved model for other programs."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated

import typer

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.common import OK, Json, print_json, run
from odtdsl.interfaces.cli.outputs import Force, check_outputs
from odtdsl.presentation.exports import formats

if TYPE_CHECKING:
    from odtdsl.presentation.exports.plan import Plan


*FIRST, LAST = (file.name for file in iter_modules(formats.__path__))
NAMES = f"{', '.join(FIRST)} or {LAST}"


def export(
    model: Annotated[
        Path, typer.Argument(help="A saved tree or diagram, or a saved `solve --json`.")
    ],
    to: Annotated[
        str | None,
        typer.Option(help=f"{NAMES}; default by --out."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file.")] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Of the function, the SQL table or the model; default by the format."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a saved tree or diagram for other programs (rules, SQL, Python, ONNX, ...), each
    with the predictions of `odt predict`."""

    def action() -> int:
        from odtdsl.interfaces.api import load_model
        from odtdsl.presentation.exports.plan import plan_of
        from odtdsl.presentation.exports.registry import export_plan, format_named, format_of

        if to is None and out is None:
            raise error(
                "U370",
                "which format is asked for is not said",
                helps=("add `--to sql`, or `--out tree.sql`",),
            )
        form = to if to is not None else format_of(out or Path())
        if format_named(form).binary and out is None:
            raise error(
                "U375",
                f"{form} is no text: it needs a file",
                helps=(f"add `--out model{format_named(form).suffixes[0]}`",),
            )
        check_outputs({"out": out}, [("the model", model)], force)
        plan = plan_of(load_model(model))
        written = export_plan(plan, form, out, name=name)
        if as_json:
            print_json(_told(plan, form, out, written))
        elif out is None:
            assert isinstance(written, str), "only texts are printed"
            typer.echo(written, nl=False)
        if plan.n_nodes is not None or (out is not None and not as_json):
            typer.echo(_summary(plan, form, out), err=out is None or as_json)
        return OK

    run(action, as_json)


def _told(plan: Plan, form: str, out: Path | None, written: str | bytes) -> dict[str, object]:
    found: dict[str, object] = {
        "format": form,
        "file": None if out is None else str(out),
        "splits": plan.n_splits,
        "nodes": plan.n_nodes,
    }
    return found if out is not None else found | {"text": written}


def _summary(plan: Plan, form: str, out: Path | None) -> str:
    from odtdsl.presentation.console import counted

    where = form if out is None else str(out)
    splits = counted(plan.n_splits, "split")
    if plan.n_nodes is None:
        return f"{where}: a tree of {splits}"
    nodes = counted(plan.n_nodes, "node")
    return f"{where}: a diagram of {nodes}, as a tree of {splits}: shared nodes are repeated"
