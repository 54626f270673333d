"""`odt tune`: choose bounds, prices and limits on rows that were held out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.interfaces.cli.common import (
    INTERRUPTED,
    LIMIT,
    STATUS_CODES,
    Data,
    Json,
    Problem,
    Sets,
    Spec,
    Test,
    Using,
    _setting,
    print_json,
    print_lines,
    run,
    warn,
)
from odtdsl.interfaces.cli.outputs import Force, beside, check_outputs, deliver, files_of, pictures


def tune(
    spec: Spec,
    vary: Annotated[
        list[str],
        typer.Option(
            help="NAME=VALUES: depth=2..5, leaves=4,8,16, alpha=0..0.1 by 0.02, widths=1-2,1-2-4.",
            show_default=False,
        ),
    ],
    cv: Annotated[int, typer.Option(min=2, help="Folds.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Divide the rows so often anew.")] = 1,
    outer: Annotated[
        int, typer.Option(min=0, help="Nested selection: folds that no choice sees.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of all divisions of rows.")] = 0,
    choose: Annotated[
        str, typer.Option(help="one-se: fewest splits within one standard error; or best.")
    ] = "one-se",
    score: Annotated[
        str | None, typer.Option(help='A measure, such as "error_rate" or "maximize accuracy(g)".')
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per processor.")] = 1,
    backend: Annotated[
        str | None, typer.Option(help="Of joblib: loky, threading, dask, ray.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of the cluster's scheduler: tcp://host:8786.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Where runs that are done are kept; default SPEC.tune.json."),
    ] = None,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    using: Using = None,
    within: Annotated[str | None, typer.Option(help="Time limit of each run.")] = None,
    gap: Annotated[str | None, typer.Option(help="Each run stops at this gap: 1%.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=256, help="Of each run.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the model as JSON.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the settings as CSV.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the settings as SVG.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Solve a spec under many settings, score them on held-out rows, choose one, and solve that."""

    def action() -> int:
        from odtdsl.base.files import write_text
        from odtdsl.base.limits import parse_gap, parse_seconds
        from odtdsl.insight.tuning.grid import parse_vary
        from odtdsl.interfaces.api.tuning import tune
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console
        from odtdsl.presentation.tuning import lines

        kept = keep or beside(spec, ".tune.json")
        outputs = {"keep": kept, "out": out, "csv": csv, "svg": svg}
        check_outputs(outputs, files_of(Problem(spec, data, test, settings)), force)
        grid = parse_vary(vary)
        with Waiting(quiet=as_json) as waiting:
            found = tune(
                spec,
                dict(zip(grid.names, grid.values, strict=True)),
                cv=cv,
                repeats=repeats,
                outer=outer,
                seed=seed,
                choose=choose,  # type: ignore[arg-type]  # it is checked there
                score=score,
                jobs=jobs,
                backend=backend,
                address=address,
                keep=kept,
                progress=waiting.runs,
                using=using,
                within=None if within is None else parse_seconds(within),
                gap=None if gap is None else parse_gap(gap),
                threads=threads,
                data=data,
                test=test,
                settings=_lets(settings),
            )
        result = found.result

        def answer() -> None:
            if as_json:
                print_json(found.to_json())
                return
            print_lines(lines(found))
            if result is not None:
                warn(result.warnings)
                print_lines(("", *console.answer(result)))

        writes = list(pictures(None if result is None else result.model, out))
        if csv is not None:
            writes.append(lambda: write_text(csv, found.to_csv()))
        if svg is not None:
            writes.append(lambda: write_text(svg, found.to_svg()))
        if found.unkept is not None:
            writes.append(partial(_raise, OdtError([found.unkept])))
        deliver(answer, *writes)
        if not found.complete:
            return INTERRUPTED
        return LIMIT if result is None else STATUS_CODES[result.status]

    run(action, as_json)


def _raise(failure: OdtError) -> None:
    raise failure


def _lets(settings: list[str] | None) -> dict[str, str]:
    """The texts of `--set`, which are checked."""
    for text in settings or ():
        _setting(text)
    return {name.strip(): value for name, _, value in (t.partition("=") for t in settings or ())}
