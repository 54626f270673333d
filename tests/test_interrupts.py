"""A search that is stopped keeps what it has found; `python tests/interrupting.py` runs more."""

from __future__ import annotations

import itertools
import signal
from fractions import Fraction
from typing import Any

import pytest
from interrupting import ENOUGH, TASKS, CountingClock, interrupts, looking
from scale import SCALE, scaled

from odtdsl.auditor.audit import audit
from odtdsl.backends.answers import never_worse, unfounded
from odtdsl.backends.auto import portfolio
from odtdsl.backends.base import Progress, RawAnswer, StageOutcome, Status
from odtdsl.backends.progress import ProgressRelay
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.driver import pipeline
from odtdsl.driver.result import Result
from odtdsl.language.parser import parse
from odtdsl.problem.ir.raw import RawLeaf, RawSplit
from odtdsl.problem.terms.normalize import normalize

pytestmark = pytest.mark.usefixtures("few_starts")

SEEDS = {"exact": 10, "greedy": 6, "milp": 3, "sat": 5, "explain": 3}
"""Random problems of a task; of others four."""


LEVELS = 5 if SCALE >= 1 else 4


def balance(goal: str, levels: int) -> Analysis:
    """The scale of Siegler (1976), of all 625 settings those of so many levels: which side tips."""
    rows = list(itertools.product(range(1, levels + 1), repeat=4))
    frame = {name: [row[i] for row in rows] for i, name in enumerate(("lw", "ld", "rw", "rd"))}
    tips = [(a * b > c * d) - (a * b < c * d) for a, b, c, d in rows]
    text = "data frame\ntarget tip: class\nfeature lw, ld, rw, rd: number\ntree\n"
    text += f"rule p: errors = 0\nminimize {goal}\n"
    source = Source(name="balance", text=text)
    return analyse(parse(source), frame={**frame, "tip": ["BLR"[tip] for tip in tips]})


def stopped(analysis: Analysis, at: int | None) -> tuple[Result, int, int]:
    """The result of `exact` that is interrupted at a look; its looks, to the first tree and all."""
    looks, first = CountingClock(at=at), [0]

    def note(_: Progress) -> None:
        first[0] = first[0] or looks.seen

    with looking(looks, work=50_000):
        return pipeline.solve(analysis, backend="exact", report=note), first[0], looks.seen


def test_a_tree_that_is_made_smaller_before_it_is_shown_takes_its_claim_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a start, the tree of an interrupted second stage has splits that say nothing."""
    monkeypatch.setattr(portfolio, "best_start", lambda *_: None)
    analysis = balance("depth then splits", LEVELS)
    *_, every = stopped(analysis, None)
    found = [stopped(analysis, int(share * every))[0] for share in (0.4, 0.7, 0.95)]
    assert any(result.status == "feasible" for result in found)


@pytest.mark.parametrize("goal", ["depth then leaves", "depth then splits"])
def test_a_tree_without_error_survives_a_stop_at_any_stage(goal: str) -> None:
    analysis = balance(goal, LEVELS)
    whole, first, every = stopped(analysis, None)
    assert whole.status == "optimal"
    least = [stage.value for stage in whole.stages]
    for share in (0.01, 0.4, 0.7, 0.9):
        result, *_ = stopped(analysis, first + 1 + int(share * (every - first)))
        assert result.tree is not None
        assert result.audit is not None
        assert all(line.holds for line in result.audit.lines)
        assert [stage.value for stage in result.stages] >= least


def test_ctrl_c_while_the_answer_is_audited_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*given: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return audit(*given, **named)

    monkeypatch.setattr(pipeline, "audit", pressed)
    result = pipeline.solve(balance("depth then leaves", levels=3))
    assert (result.status, result.interrupted) == ("optimal", True)


def test_a_limit_that_has_passed_leaves_a_tree() -> None:
    result = pipeline.solve(balance("depth then leaves", levels=3), seconds=1e-3)
    assert result.tree is not None
    assert result.timeline[0].incumbent is not None
    assert result.stages[0].value == result.timeline[-1].incumbent


@pytest.mark.parametrize("task", TASKS)
def test_random_interrupts_lose_no_answer(task: str) -> None:
    asked, found, seed = scaled(SEEDS.get(task, 4), least=2), 0, 0
    while seed < asked or (not found and seed < ENOUGH):
        found += interrupts(seed, (task,), each=2).total()
        seed += 1
    assert found, f"{task} takes none of {seed} problems"


# ---- what an answer may claim


def outcome(value: int | None, bound: int | None, *, proven: bool = False) -> StageOutcome:
    as_told = [None if x is None else Fraction(x) for x in (value, bound)]
    return StageOutcome(value=as_told[0], bound=as_told[1], proven=proven)


LEAF = RawLeaf(label=0)
"""Of depth 0, with one leaf."""


@pytest.mark.parametrize(
    ("status", "tree", "stages", "said"),
    [
        ("feasible", LEAF, (outcome(0, 0, proven=True), outcome(1, None)), ""),
        ("optimal", LEAF, (outcome(0, 0, proven=True), outcome(1, 1, proven=True)), ""),
        ("feasible", LEAF, (outcome(1, None),), "the value 1 of a model of value 0"),
        ("feasible", LEAF, (outcome(0, 1),), "a bound of 1 above a model of value 0"),
        ("feasible", LEAF, (outcome(0, None, proven=True),), "told as proven"),
        ("optimal", LEAF, (outcome(0, 0, proven=True), outcome(1, 0)), "not proven"),
        ("infeasible", LEAF, (), "`infeasible` with a model"),
        ("feasible", None, (), "`feasible` without a model"),
        ("unknown", None, (outcome(None, 3),), ""),
    ],
)
def test_claims_that_cannot_be_are_seen(
    status: Status, tree: RawLeaf | None, stages: tuple[StageOutcome, ...], said: str
) -> None:
    core = normalize(balance("depth then leaves", levels=2).rows)
    found = unfounded(core, RawAnswer(status=status, model=tree, stages=stages))
    assert said in found
    assert bool(said) == bool(found)


def test_an_answer_is_no_worse_than_its_start() -> None:
    core = normalize(balance("depth then leaves", levels=2).rows)
    test = RawSplit(family=0, test=0, left=LEAF, right=LEAF)
    answer = RawAnswer(status="feasible", model=test, stages=(outcome(1, 0), outcome(2, None)))
    assert never_worse(core, answer, None) is answer
    assert never_worse(core, answer, test) is answer
    kept = never_worse(core, answer, LEAF)
    assert kept.tree == LEAF
    assert kept.stages == (outcome(0, 0, proven=True), outcome(1, None))
    assert never_worse(core, RawAnswer(status="unknown"), LEAF).status == "feasible"
    wrong = never_worse(core, RawAnswer(status="infeasible"), LEAF)
    assert unfounded(core, wrong) == "`infeasible` with a model"


def test_the_story_of_two_searches_never_goes_back() -> None:
    heard: list[Progress] = []
    told = ProgressRelay(0.0, heard.append)
    for stage, incumbent, bound in (
        (0, 5, None),
        (0, 7, 1),
        (0, None, 0),
        (0, 4, 2),
        (1, 9, None),
        (1, 11, 3),
        (0, 6, 2),
    ):
        told(Progress(stage=stage, incumbent=incumbent, bound=bound, seconds=0.0))  # type: ignore[arg-type]
    assert [(p.stage, p.incumbent, p.bound) for p in heard] == [
        (0, 5, None),
        (0, 5, 1),
        (0, 4, 2),
        (1, 9, None),
        (1, 11, 3),
        (0, 4, 2),
    ]
    assert told.timeline == heard
