"""Interrupts at every place where a search looks at the clock: no answer may be lost or wrong.

    python tests/interrupting.py --runs 10000
    python tests/interrupting.py --runs 1000 --using sat --seed 7

Random tiny specs (rules in all scopes, objectives of several stages, trees with and without
bounds, diagrams, number targets) are solved to the end once; then each back end solves them again
and is stopped at a look that is drawn among those that it takes: by an interrupt, or by a time
limit on a clock that goes on by a second at each look. Native searches then look all the time.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

from random_specs import case, rule

from odtdsl.backends.answers import same
from odtdsl.backends.base import Progress
from odtdsl.base import _engine
from odtdsl.base.back_ends import entry_of, names
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.driver import pipeline
from odtdsl.driver.alternatives import alternatives
from odtdsl.driver.choice import choose
from odtdsl.driver.result import Result
from odtdsl.insight.explanations.conflicts import explain
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.terms.normalize import normalize

BACK_ENDS = tuple(name for name in names() if entry_of(name).ends)
TASKS = (*BACK_ENDS, "list", "explain")
WORK = 8
"""Visits of rows between two looks of a native search."""
ENOUGH = 300
"""Problems in a row that no task takes, after which there is no use in drawing more."""

OBJECTIVES = (
    "depth then leaves",
    "depth then splits",
    "depth then errors",
    "errors",
    "errors",
    "error_rate + 0.02 * leaves",
    "expected_loss then leaves",
    "errors then leaves",
    "errors then depth",
    "leaves then errors",
    "leaves",
    "errors(g) then errors(h)",
)
TREES = ("tree", "tree depth <= 1", "tree depth <= 2", "tree depth <= 3", "tree leaves <= 4")
DIAGRAMS = ("diagram widths 1, 2", "diagram widths 1, 2, 2")
LOSSES = ("mse", "mae", "mse + 0.05 * leaves", "mse then leaves", "mae then leaves")


@dataclass
class CountingClock:
    """A clock and an interrupt that count how often they are looked at; `at`: where to stop."""

    at: int | None = None
    seen: int = 0
    by_clock: bool = False
    real: Callable[[], float] = field(default=time.monotonic)

    def interrupted(self) -> bool:
        if not self.by_clock:
            self.seen += 1
        return not self.by_clock and self.at is not None and self.seen >= self.at

    def clock(self) -> float:
        if not self.by_clock:
            return self.real()
        self.seen += 1
        return float(self.seen)


@contextmanager
def looking(looks: CountingClock, work: int = WORK) -> Iterator[None]:
    """All searches inside look here, native ones after so many visits of rows.

    The search for good trees takes its turns beside the proof from the start.
    """

    @contextmanager
    def interruptible() -> Iterator[Callable[[], bool]]:
        yield looks.interrupted

    _engine.look_every(work)
    try:
        with (
            patch.object(pipeline, "interruptible", interruptible),
            patch.object(time, "monotonic", looks.clock),
            patch.object(_engine, "Limits", partial(_engine.Limits, alone=0)),
        ):
            yield
    finally:
        _engine.look_every(0)


@dataclass(frozen=True)
class Problem:
    """A spec, and what its best model has; `best` is None where no model satisfies the rules."""

    text: str
    analysis: Analysis
    core: Core
    best: tuple[Fraction, ...] | None


def drawn(seed: int) -> Problem | None:
    """A random problem; None where its text says nothing, or no search ends with a proof."""
    rng = random.Random(f"interrupts {seed}")
    kind = rng.choices(("tree", "diagram", "numbers"), (7, 2, 1))[0]
    text, frame = _numbers(rng) if kind == "numbers" else _classes(rng, kind)
    source = Source(name=f"random {seed}", text=text)
    try:
        analysis = analyse(parse(source), source=source, frame=frame)
        core = normalize(analysis.rows)
        name = next(b for b in ("exact", "cpsat", "sat", "milp") if choose(core, b).name)
        result = pipeline.solve(analysis, backend=name, seconds=20)
    except (OdtError, StopIteration) as refusal:
        if "X101" in str(refusal):
            raise
        return None
    if result.status not in ("optimal", "infeasible"):
        return None
    return Problem(
        text=text,
        analysis=analysis,
        core=core,
        best=values(core, result) if result.status == "optimal" else None,
    )


def _classes(rng: random.Random, kind: str) -> tuple[str, dict[str, list[Any]]]:
    here = case(rng)
    head = [line for line in here.head.split("\n") if not line.startswith("tree ")]
    lines = [
        line
        for index in range(rng.choice((0, 1, 1, 2)))
        for line in rule(rng, here, f"r{index}", rng.choice(("model", "path", "leaf", "split")))
    ]
    if rng.random() < 0.4:
        lines.append("rule p: errors = 0")
    if rng.random() < 0.1:
        lines.append("solve gap 20%")
    shape = rng.choice(TREES if kind == "tree" else DIAGRAMS)
    return "\n".join([*head, shape, f"minimize {rng.choice(OBJECTIVES)}", *lines, ""]), here.frame


def _numbers(rng: random.Random) -> tuple[str, dict[str, list[Any]]]:
    n = rng.randint(5, 12)
    frame: dict[str, list[Any]] = {
        "a": [float(rng.randint(0, 4)) for _ in range(n)],
        "b": [rng.choice("pqr") for _ in range(n)],
        "y": [float(rng.randint(0, 9)) for _ in range(n)],
    }
    lines = [
        "data frame",
        "target y: number",
        rng.choice(TREES),
        f"minimize {rng.choice(LOSSES)}",
    ]
    if rng.random() < 0.4:
        lines.append(f"rule s: forall leaf: size >= {rng.randint(1, 3)}")
    return "\n".join([*lines, ""]), frame


def signs(core: Core) -> list[int]:
    """What turns the values that are told into ones of which less is better."""
    return [1 if isinstance(stage, DepthStage) else int(stage.sign) for stage in core.objective]


def values(core: Core, result: Result) -> tuple[Fraction, ...] | None:
    """The values of a result, less is better."""
    told = [stage.value for stage in result.stages]
    if any(value is None for value in told):
        return None
    return tuple(s * v for s, v in zip(signs(core), told, strict=True) if v is not None)


def run(task: str, here: Problem, looks: CountingClock) -> str:
    """One run with its looks; what came of it."""
    told: list[Progress] = []
    limit = None if not looks.by_clock or looks.at is None else float(looks.at)
    if looks.by_clock and limit is None:
        limit = 1e9
    with looking(looks):
        if task == "explain":
            explain(here.analysis, seconds=limit)
            return "explained"
        if task == "list":
            listed = alternatives(here.analysis, seconds=limit, most=20)
            check(here, listed.result, told)
            assert bool(listed.trees) == (listed.result.tree is not None), "lost, or from nowhere"
            assert all(one.audit.holds for one in listed.trees)
            return listed.stopped or "complete"
        result = pipeline.solve(here.analysis, backend=task, seconds=limit, report=told.append)
    check(here, result, told)
    return result.status


def check(here: Problem, result: Result, told: list[Progress]) -> None:
    """What was announced is kept, what is claimed is true, and every rule holds."""
    core, best, found = here.core, here.best, values(here.core, result)
    sign = signs(core)
    model = result.tree or result.diagram
    incumbents = [sign[0] * p.incumbent for p in told if p.stage == 0 and p.incumbent is not None]
    bounds = [sign[0] * p.bound for p in told if p.stage == 0 and p.bound is not None]
    if model is None:
        assert result.status in ("unknown", "infeasible"), result.status
        assert not incumbents, "announced, and lost"
        assert result.status == "unknown" or best is None, "there is a model"
        return
    assert best is not None, "no model satisfies the rules"
    assert result.status in ("feasible", "optimal"), result.status
    assert result.audit is not None
    assert all(line.holds for line in result.audit.lines)
    assert found is not None
    assert _least(core, best, found), f"{found} is better than the optimum {best}"
    if result.status == "optimal":
        assert _least(core, found, best), f"{found} is told as optimal, and {best} is"
    first = core.objective[0]
    for value in incumbents:
        assert found[0] <= value or same(core, first, found[0], value), f"{value} was announced"
        assert best[0] <= value or same(core, first, best[0], value), f"{value} cannot be"
    for index, stage in enumerate(result.stages):
        if stage.bound is not None:
            bound = sign[index] * stage.bound
            assert bound <= best[index] or same(core, core.objective[index], bound, best[index]), (
                f"stage {index + 1}: a bound of {bound} above the optimum {best}"
            )
        if not stage.proven:
            break
    for bound in bounds:
        assert bound <= best[0] or same(core, first, bound, best[0]), f"the bound {bound} was told"


def _least(core: Core, one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> bool:
    """Whether one is no worse than the other, stage after stage."""
    for stage, a, b in zip(core.objective, one, other, strict=True):
        if not same(core, stage, a, b):
            return a < b
    return True


def applies(task: str, here: Problem) -> bool:
    """Whether a back end, or a question, takes the problem."""
    if task in BACK_ENDS:
        return choose(here.core, task).name is not None
    try:
        if task == "list":
            alternatives(here.analysis, most=1)
        else:
            assert here.core.targets is None, "numbers"
            explain(here.analysis, most=1)
    except (OdtError, AssertionError):
        return False
    return True


def interrupts(seed: int, tasks: tuple[str, ...], each: int) -> Counter[str]:
    """A random problem, stopped at so many looks of every task; what came of each run."""
    found: Counter[str] = Counter()
    here = drawn(seed)
    for task in tasks if here is not None else ():
        assert here is not None
        if not applies(task, here):
            continue
        rng = random.Random(f"{task} {seed}")
        for by_clock in (False, True):
            looks = whole = CountingClock(by_clock=by_clock)
            for again in range(each + 1):
                try:
                    if again:
                        looks = CountingClock(at=rng.randint(1, whole.seen + 1), by_clock=by_clock)
                    came = run(task, here, looks)
                    kept = " of what has a model" if came == "unknown" and here.best else ""
                    found[f"{task}: {came}{kept}"] += bool(again)
                except Exception as problem:
                    how = "clock" if by_clock else "interrupt"
                    problem.add_note(
                        f"{task}, {how} at look {looks.at} of {whole.seen}, seed {seed}:"
                    )
                    problem.add_note(here.text)
                    raise
    return found


def main() -> int:
    """Run until so many interrupts are done; the number of finds decides the exit code."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--runs", type=int, default=10_000)
    asked.add_argument("--using", choices=TASKS, action="append")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--each", type=int, default=10, help="looks of a problem and back end")
    given = asked.parse_args()
    found: Counter[str] = Counter()
    finds, seed, last = 0, given.seed, given.seed
    tasks = tuple(given.using or TASKS)
    while found.total() < given.runs:
        if seed - last > ENOUGH:
            print(f"{', '.join(tasks)}: none of {ENOUGH} problems in a row is taken", flush=True)
            finds += 1
            break
        try:
            came = interrupts(seed, tasks, given.each)
            found += came
            last = seed if came else last
        except Exception as find:
            last = seed
            finds += 1
            notes = getattr(find, "__notes__", (f"seed {seed}, before it was interrupted",))
            print(f"{type(find).__name__}: {find}", *notes, sep="\n", flush=True)
        seed += 1
    print(f"{found.total()} interrupts of {seed - given.seed} problems, {finds} finds")
    for name, count in sorted(found.items()):
        print(f"  {count:6} {name}")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
