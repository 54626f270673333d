"""`odt explain`: conflicts of rules, their prices, and curves over a bound."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.common import (
    EXPLAINED_CODES,
    Data,
    Json,
    Problem,
    Sets,
    Spec,
    Test,
    Using,
    print_json,
    print_lines,
    run,
    warn,
)
from odtdsl.interfaces.cli.outputs import Force, check_outputs, deliver, files_of

if TYPE_CHECKING:
    from odtdsl.insight.explanations import Curve


def explain(
    spec: Spec,
    data: Data = None,
    test: Test = None,
    settings: Sets = None,
    using: Using = None,
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
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say which rules conflict and what would do; where none do, what each rule costs."""

    def action() -> int:
        began = time.monotonic()
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_seconds
        from odtdsl.insight import explanations
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console

        _check_curve(curve, {"points": points, "jobs": jobs, "csv": csv, "svg": svg})
        problem = Problem(spec, data, test, settings)
        check_outputs({"csv": csv, "svg": svg}, files_of(problem), force)
        seconds = None if within is None else parse_seconds(within)
        with counting(began, seconds):
            analysis = problem.analysis()
        with interruptible():
            if curve is not None:
                if not as_json:
                    warn(analysis.warnings)
                with Waiting(quiet=as_json) as waiting:
                    traced = explanations.trace(
                        analysis,
                        curve,
                        backend=using,
                        seconds=seconds,
                        tell=waiting.tell,
                        points=points or explanations.MOST_POINTS,
                        jobs=jobs or 1,
                        began=began,
                    )
                return _tell_curve(traced, csv, svg, as_json)
            with Waiting(quiet=as_json) as waiting:
                found = explanations.explain(
                    analysis,
                    backend=using,
                    seconds=seconds,
                    deeper=deeper,
                    tell=waiting.tell,
                    most=explanations.MOST_CONFLICTS if every else 1,
                    began=began,
                )
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
                "U312",
                f"`--{name}` is of a curve, and none was asked for",
                helps=("add `--curve RULE`",),
            )


def _tell_curve(curve: Curve, csv: Path | None, svg: Path | None, as_json: bool) -> int:
    from odtdsl.base.files import write_text
    from odtdsl.presentation import console

    writes = []
    if csv is not None:
        writes.append(lambda: write_text(csv, curve.to_csv()))
    if svg is not None:
        writes.append(lambda: write_text(svg, curve.to_svg()))
    deliver(
        lambda: print_json(curve.to_json()) if as_json else print_lines(console.traced(curve)),
        *writes,
    )
    return EXPLAINED_CODES[curve.status]


__all__ = ["explain"]
