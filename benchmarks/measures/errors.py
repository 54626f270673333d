"""`cpsat` beside `exact`, `milp` and `sat`: least errors of trees of a given depth."""

from __future__ import annotations

import time
from argparse import Namespace

from measures import sets
from measures.report import Table
from measures.sat import PAGE
from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver.choice import back_end
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.normalize import normalize

SPEC = 'data "{file}" target {target} tree depth <= {depth} minimize errors'
BACK_ENDS = ("exact", "cpsat", "milp", "sat")
FILES = {
    "iris": "diagrams/iris",
    "hayes-roth": "diagrams/hayes-roth",
    "seeds": "diagrams/seeds",
    "haberman": "cases/haberman",
    "monk1": "sat/monk1",
}


def errors(args: Namespace) -> None:
    """Seconds to a proof, or the best value and bound when time is up."""
    table = Table("errors", ("set", "rows", "depth", "errors", *(f"`{b}`" for b in BACK_ENDS)))
    for name in args.sets.split(",") if args.sets else FILES:
        for depth in map(int, args.depths.split(",")):
            core = normalize(_rows(FILES[name], depth))
            answers = [_run(one, core, args.limit) for one in BACK_ENDS]
            values = {a.stages[0].value for a, _ in answers if a.status == "optimal"}
            assert len(values) == 1, (name, depth, values)
            cells = (_cell(answer, seconds) for answer, seconds in answers)
            table.add(name, core.n_rows, depth, str(values.pop()), *cells)
    table.note(
        "CPU seconds to the proof, the greedy tree to start from given; else errors / bound after"
        f" {args.limit:g} CPU seconds. One thread."
    )
    if args.docs:
        table.publish(PAGE)


def _rows(file: str, depth: int) -> Rows:
    path = sets.folder() / f"{file}.csv"
    target = path.read_text(encoding="utf-8-sig").splitlines()[0].split(",")[-1]
    text = SPEC.format(file=path, target=target, depth=depth)
    source = Source(name=path.name, text=text)
    return analyse(parse(source), source=source).rows


def _run(name: str, core: Core, limit: float) -> tuple[RawAnswer, float]:
    """With a start, until proven or for so many seconds of the processor."""
    start = back_end("greedy").solve(core, Limits(), None, None).tree
    began = time.process_time()
    late = Limits(interrupted=lambda: time.process_time() - began > limit)
    answer = back_end(name).solve(core, late, start, None)
    return answer, time.process_time() - began


def _cell(answer: RawAnswer, seconds: float) -> str:
    if answer.status == "optimal":
        return f"{seconds:.2f}"
    if not answer.stages:
        return "-"
    value, bound = answer.stages[0].value, answer.stages[0].bound
    return f"{value} / {'-' if bound is None else bound}"
