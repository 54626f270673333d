"""`exact` beside `sat` on other data than the study's: which one `auto` takes for least trees."""

from __future__ import annotations

import time
from argparse import Namespace
from fractions import Fraction

from measures import sets
from measures.report import Table
from measures.sat import PAGE, SIZE, problem
from odtdsl.backends.base import BackEnd, Limits, RawAnswer
from odtdsl.backends.clauses.lowering import shape_of
from odtdsl.backends.sat.backend import Sat
from odtdsl.backends.sat.search import agreeing
from odtdsl.driver.choice import back_end
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.terms.normalize import normalize


def choice(args: Namespace) -> None:
    """Least depth, then least size without error, on the decision-diagram study's sets."""
    table = Table(
        "choice",
        (
            "set",
            "rows",
            "thresholds",
            "classes",
            "k",
            "n",
            "`exact`, s",
            "`sat`, s",
        ),
    )
    faster = {"exact": 0, "sat": 0}
    neither = 0
    files = sorted((sets.folder() / "diagrams").glob("*.csv"), key=lambda file: file.stat().st_size)
    for file in files:
        if args.sets and file.stem not in args.sets.split(","):
            continue
        core = normalize(problem(file, SIZE).rows)
        if not agreeing(core, shape_of(core)):
            continue
        sides: list[BackEnd] = [back_end("exact"), Sat()]
        (exact, seconds), (sat, others) = (_run(one, core, args.limit) for one in sides)
        shapes = {_values(one) for one in (exact, sat) if one.status == "optimal"}
        assert len(shapes) <= 1, (file.stem, shapes)
        k, n = shapes.pop() if shapes else (None, None)
        table.add(
            file.stem,
            core.n_rows,
            sum(family.n_tests for family in core.families),
            core.n_classes,
            _depth(k, exact, sat),
            "" if n is None else 2 * n - 1,
            _cell(exact, seconds),
            _cell(sat, others),
        )
        if k is None:
            neither += 1
        else:
            faster["exact" if _cost(exact, seconds) <= _cost(sat, others) else "sat"] += 1
    table.note(
        f"CPU seconds; -: not within {args.limit:g}. `exact` is first on {faster['exact']} sets,"
        f" `sat` on {faster['sat']}, none on {neither}. k: at least so much, where nobody knows."
        " Sets on which no tree is without error are left out."
    )
    if args.docs:
        table.publish(PAGE)


def _run(engine: BackEnd, core: Core, limit: float) -> tuple[RawAnswer, float]:
    """Until proven, or for so many seconds of the processor."""
    began = time.process_time()
    late = Limits(interrupted=lambda: time.process_time() - began > limit)
    answer = engine.solve(core, late, None, None)
    return answer, time.process_time() - began


def _values(answer: RawAnswer) -> tuple[Fraction | None, Fraction | None]:
    depth, leaves = (stage.value for stage in answer.stages)
    return depth, leaves


def _depth(known: Fraction | None, *answers: RawAnswer) -> str:
    if known is not None:
        return str(known)
    bounds = [one.stages[0].bound for one in answers if one.stages]
    return f"{max((bound for bound in bounds if bound is not None), default=0)} or more"


def _cell(answer: RawAnswer, seconds: float) -> str:
    return f"{seconds:.2f}" if answer.status == "optimal" else "-"


def _cost(answer: RawAnswer, seconds: float) -> float:
    return seconds if answer.status == "optimal" else float("inf")
