"""`odt solve` and `odt compare`: a best tree, a list of good ones, or all back ends."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from odtdsl.cli_base import (
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
    print_json,
    print_lines,
    run,
    save_pictures,
    shows_missing,
    warn,
)
from odtdsl.diagnostics.model import error
from odtdsl.files import regular

if TYPE_CHECKING:
    from odtdsl.analysis import Analysis
    from odtdsl.cli_waiting import Waiting
    from odtdsl.near_optimal import Near
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree


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
        from odtdsl.cli_waiting import Waiting
        from odtdsl.limits import parse_gap, parse_seconds
        from odtdsl.proofs import commands

        began = time.monotonic()
        formulation = named(model=model, encoding=encoding)
        wish = _list_wish(all_optimal, near, most, gap)
        check_outputs(spec, out, svg, dot, proof)
        analysis = Problem(spec, data, test, settings).analysis()
        if not as_json:
            warn(analysis.warnings)
        waiting = Waiting(quiet=as_json)
        first = _start_tree(start or _start_of(analysis, spec))
        chosen = using or owner(formulation, solver)
        if proof is not None:
            chosen = _proving(analysis, chosen, wish)
        if wish is not None:
            return _list_trees(
                analysis, *wish, waiting, as_json, (out, svg, dot),
                backend=chosen, seconds=None if within is None else parse_seconds(within),
                threads=threads, seed=seed, start=first,
            )  # fmt: skip
        with waiting:
            result = solving.solve(
                analysis, backend=chosen, formulation=formulation, solver=solver,
                seconds=None if within is None else parse_seconds(within),
                gap=None if gap is None else parse_gap(gap),
                threads=threads, seed=seed, start=first, report=waiting,
            )  # fmt: skip
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
    analysis: Analysis, near: Near | None, most: int, waiting: Waiting, as_json: bool,
    pictures: tuple[Path | None, Path | None, Path | None], **options: Any,
) -> int:  # fmt: skip
    """`--all-optimal` and `--near`; files get the best tree."""
    from odtdsl import console
    from odtdsl.near_optimal import alternatives

    with waiting:
        found = alternatives(analysis, near=near, most=most, report=waiting, **options)
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
        from odtdsl.cli_waiting import Waiting
        from odtdsl.limits import parse_gap, parse_seconds

        analysis = Problem(spec, data, test, settings).analysis()
        if not as_json:
            warn(analysis.warnings)
        with Waiting(quiet=as_json):
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


__all__ = ["compare", "solve"]
