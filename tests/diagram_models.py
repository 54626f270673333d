"""Random tiny problems of diagrams with rules, and proofs that back ends have their meaning.

Long runs:

    python tests/diagram_models.py sets --each 200
    python tests/diagram_models.py optimum --each 1000 --using cpsat
    python tests/diagram_models.py optimum --each 1000 --using sat
    python tests/diagram_models.py optimum --each 1000 --using milp
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

from brute_diagrams import Key, all_diagrams, best_priced, key
from pysat.solvers import Solver
from random_specs import Case, case, read, rule

from odtdsl.backends.auto.portfolio import Portfolio
from odtdsl.backends.base import Limits
from odtdsl.backends.clauses.diagram_rules import ruled
from odtdsl.backends.clauses.diagrams import DiagramCode
from odtdsl.backends.clauses.sums import Terms
from odtdsl.backends.cpsat.diagrams import Diagrams
from odtdsl.backends.cpsat.program import Cost, Program
from odtdsl.backends.steps import Step
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.choice import back_end, choose
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram
from odtdsl.problem.terms.normalize import normalize

OBJECTIVES = (
    "errors",
    "error_rate + 0.1 * (splits - 1) / 14",
    "expected_loss then splits",
    "splits - leaves",
    '0.5 * abs(rate("y", g) - rate("y", h)) + errors(h)',
    "depth then errors",
    "loss + nodes / 4",
    "tests(a) + 2 * splits - errors",
    "errors then tests(c) then depth",
    "splits",
    "tests(b) + tests(a) then leaves",
)
MOST = 4_000
"""Problems with more diagrams are left out."""


def problem(name: str, widths: str, using: str, rules: int = 2) -> Core | None:
    """A problem of a name; None where its random rules say nothing that a back end expresses."""
    rng = random.Random(name)
    here = case(rng)
    head = [line for line in here.head.split("\n") if not line.startswith("tree ")]
    here = replace(here, head="\n".join([*head, f"diagram widths {widths}"]))
    lines = [
        line
        for index in range(rng.randint(0, rules))
        for line in rule(rng, here, f"r{index}", rng.choice(("model", "path", "split")))
    ]
    if rng.random() < 0.15:
        lines.append("rule exact: errors <= 0")
    return _read(here, "\n".join(lines), rng.choice(OBJECTIVES), using)


def _read(here: Case, rules: str, objective: str, using: str) -> Core | None:
    try:
        core = normalize(read(here, rules, f"minimize {objective}").rows)
    except OdtError:
        return None
    return None if choose(core, using).name is None else core


def plain(name: str) -> tuple[Core, Fraction]:
    """A problem of 6 to 10 rows and two or three classes without rules, and a price of splits."""
    rng = random.Random(name)
    n, price = rng.randint(6, 10), rng.choice((Fraction(0), Fraction(1, 3), Fraction(1, 2)))
    classes = "nyz"[: rng.randint(2, 3)]
    frame: dict[str, list[Any]] = {
        "a": [float(rng.randint(0, 3)) for _ in range(n)],
        "b": [float(rng.randint(0, 1)) for _ in range(n)],
        "c": [rng.choice("pqr") for _ in range(n)],
        "y": [*classes, *(rng.choice(classes) for _ in range(n - len(classes)))],
    }
    head = "data frame\nfeature a, b: number\nfeature c: category\ntarget y\n"
    head += f"diagram widths {rng.choice(('1, 2', '1, 2, 2'))}"
    here = Case(frame=frame, head=head, classes=tuple(classes), bins=False)
    analysis = read(here, "", f"minimize errors + {price.numerator} * splits / {price.denominator}")
    return normalize(analysis.rows), price


def admitted(core: Core) -> dict[Key, RawDiagram] | None:
    """By enumeration: all diagrams that break nothing; None where there are too many to try."""
    tried = list(islice(all_diagrams(core), MOST + 1))
    if len(tried) > MOST:
        return None
    return {key(core, raw): raw for raw in tried if not DiagramEvaluation(core, raw).violations()}


# ---- sets


def of_clauses(core: Core) -> Iterator[RawDiagram]:
    """By ruling out what was seen: all diagrams of the formula, sums written as clauses."""
    code = ruled(core).code
    with Solver("cadical153", bootstrap_with=code.formula.clauses) as solver:
        while solver.solve():
            true = {x for x in solver.get_model() if x > 0}
            yield code.decode(true)
            solver.add_clause([-x for x in structure(code, true)])


def structure(code: DiagramCode, true: set[int]) -> list[int]:
    """The true literals that make a diagram: of splits, tests and arcs, or the entry."""
    made = [int(x) for x in code.split if int(x) in true]
    if not made:
        return [int(x) for x in code.entry if int(x) in true]
    for q, split in enumerate(code.split.tolist()):
        if split not in true:
            continue
        made += [int(x) for side in (0, 1) for x in code.arc[q][side] if int(x) in true]
        f = next(f for f in code.families if code.select(q, f) in true)
        tests = code.upto[f][q].tolist()
        least = next(t for t, x in enumerate(tests) if x in true)
        made += [tests[-1], tests[least], *([-tests[least - 1]] if least else [])]
    return made


def of_cpsat(core: Core) -> Iterator[RawDiagram]:
    """The same of a model of CP-SAT."""
    code = Diagrams(core)
    program = Program(code.formula, code.one_of)
    program.minimize(Cost(terms=Terms()))
    while True:
        run = program.run(Limits(), None, lambda _value, _bound: None)
        if run.true is None:
            return
        found = code.decode(run.true)
        assert isinstance(found, RawDiagram)
        yield found
        ruled_out = [program._literals[-x] for x in structure(code.code, run.true)]
        program.model.add_bool_or(ruled_out)


def same_set(name: str, *, cpsat: bool) -> Counter[str]:
    """Clauses (and, of small sets, models of CP-SAT) admit what enumeration does."""
    core = problem(name, "1, 2", "cpsat" if cpsat else "sat")
    wanted = None if core is None else admitted(core)
    if core is None or wanted is None:
        return Counter(none=1)
    found = {key(core, raw) for raw in of_clauses(core)}
    assert found == set(wanted), f"{name}: {len(found)} by clauses, {len(wanted)} there are"
    seen = Counter(sets=1, diagrams=len(found), empty=not found)
    if cpsat and len(wanted) <= 40:
        found = {key(core, raw) for raw in of_cpsat(core)}
        assert found == set(wanted), f"{name}: {len(found)} by CP-SAT, {len(wanted)} there are"
        seen["on CP-SAT"] += 1
    return seen


# ---- optima


def same_optimum(name: str, using: str) -> Counter[str]:
    """The answer is the best of the enumeration, in the order of the stages."""
    rng = random.Random(name)
    core = problem(name, "1, 2, 2" if rng.random() < 0.3 else "1, 2", using)
    wanted = None if core is None else admitted(core)
    if core is None or wanted is None:
        return Counter(none=1)
    start = None
    if wanted and rng.random() < 0.5:
        start = rng.choice(list(wanted.values()))
    together = using != "exact" and not back_end("exact").objections(core)
    if rng.random() < 0.5 and together:
        before = back_end("exact").steps_before_another(core)
        steps = (*before, Step(kind="rest", backend=using))
        answer = Portfolio(steps, back_end(using)).solve(core, Limits(), start, None)
    else:
        answer = back_end(using).solve(core, Limits(), start, None)
    values = [
        tuple(DiagramEvaluation(core, raw).stage_value(one) for one in core.objective)
        for raw in wanted.values()
    ]
    if not values:
        assert answer.status == "infeasible", f"{name}: {answer.status}, and there is none"
        return Counter(infeasible=1)
    assert answer.status == "optimal", f"{name}: {answer.status}"
    assert answer.diagram is not None
    assert not DiagramEvaluation(core, answer.diagram).violations(), name
    reached = tuple(stage.value for stage in answer.stages)
    assert reached == min(values), f"{name}: {reached}, and the best is {min(values)}"
    assert all(stage.proven and stage.bound == stage.value for stage in answer.stages), name
    return Counter({"optimal": 1, f"stages {len(core.objective)}": 1, "started": start is not None})


def same_price(name: str, using: str) -> Counter[str]:
    """Without rules, the answer is the best by partitions of the rows."""
    core, price = plain(name)
    answer = back_end(using).solve(core, Limits(), None, None)
    best = best_priced(core, price)
    assert answer.status == "optimal", f"{name}: {answer.status}"
    assert answer.stages[0].value == best, f"{name}: {answer.stages[0].value}, best is {best}"
    return Counter(priced=1)


def main() -> None:
    """Counts as JSON; a difference is told with the name that makes it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sets", "optimum"))
    parser.add_argument("--each", type=int, default=100, help="instances")
    parser.add_argument("--using", choices=("cpsat", "sat", "milp"), default="cpsat")
    options = parser.parse_args()
    found, began = Counter[str](), time.monotonic()
    asked, index = 0, 0
    while asked < options.each:
        name = f"{options.what} {index}"
        try:
            if options.what == "sets":
                seen = same_set(name, cpsat=True)
            elif index % 2:
                seen = same_price(name, options.using)
            else:
                seen = same_optimum(name, options.using)
        except AssertionError as difference:
            seen = Counter(different=1)
            print(f"# {difference}", flush=True)
        found, index = found + seen, index + 1
        asked += not seen["none"]
    told = {"what": options.what, **found, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(told), flush=True)
    raise SystemExit(1 if found["different"] else 0)


if __name__ == "__main__":
    main()
