"""The steps that a solve takes are those that the plan tells, the start among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.backends.answers import values_of
from odtdsl.backends.base import Limits, RawAnswer, StageOutcome
from odtdsl.backends.exact.diagrams import DiagramSearch
from odtdsl.backends.registry import back_end
from odtdsl.backends.steps import SEARCHED_START, START, Step, main_of
from odtdsl.base.back_ends import able, proves
from odtdsl.base.back_ends import names as available
from odtdsl.driver import pipeline
from odtdsl.driver.pipeline import Plan
from odtdsl.interfaces.cli.main import app
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.raw import RawDiagram

pytestmark = pytest.mark.usefixtures("start_by_search", "few_starts")
COLUMNS: dict[str, list[Any]] = {
    "a": [0, 0, 0, 0, 1, 1, 1, 1] * 2,
    "b": [0, 0, 1, 1] * 4,
    "c": [0, 1] * 7 + [1, 1],
    "y": list("xyyxyxxyxyyxyxxx"),
    "z": [1.0, 2.5, 3.0, 2.0] * 4,
    "w": [4, 2, 1, 0] * 4,
}


def frame(text: str) -> dict[str, list[Any]]:
    """The features, and the targets of a spec."""
    targets = "y" if "target y" in text else "zw" if "target z, w" in text else "z"
    return {name: COLUMNS[name] for name in ("a", "b", "c", *targets)}


HEADS = {
    "tree": "target y tree depth <= 2",
    "tree without depth": "target y tree leaves <= 3",
    "planes": "target y tree depth <= 1, splits hyperplane",
    "ruled tree": 'target y positive "x" tree depth <= 2 rule r: recall("x") >= 60%',
    "diagram": "target y diagram widths 1, 2",
    "ruled diagram": "target y diagram widths 1, 2 rule r: forall split: size >= 3",
    "number": "target z: number tree depth <= 2",
    "ruled number": "target z: number tree depth <= 2 rule r: forall leaf: size >= 2",
    "outputs": "target z, w: number tree depth <= 2",
    "ruled outputs": "target z, w: number tree depth <= 2 rule r: forall leaf: z + w <= 6",
}
GOALS = {
    "errors": "errors + splits / 10",
    "errors then leaves": "errors then leaves",
    "mse": "mse",
    "mse then leaves": "mse then leaves",
}
PROBLEMS = [
    f"data frame {head} minimize {GOALS[goal]}"
    for name, head in HEADS.items()
    for goal in GOALS
    if goal.startswith("mse") == ("number" in name or "outputs" in name)
]
WISHES = ("auto", *available())


class StepLog(list[tuple[str, str]]):
    """Who was asked for what, in order: back end and kind of step.

    What a back end asks itself within a step, such as `exact` for trees, is of that step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.within = [""]

    def hook(
        self, monkeypatch: pytest.MonkeyPatch, answer: Callable[..., RawAnswer] | None
    ) -> None:
        """Note every call of a back end, of whoever makes it; `answer` stands in for it."""
        for name in available():
            self._note(monkeypatch, type(back_end(name)), "solve", (name, "solve"), answer)
        for kind in ("moves", "trees", "shapes"):
            self._note(monkeypatch, DiagramSearch, f"by_{kind}", ("exact", kind), None)

    def _note(
        self,
        monkeypatch: pytest.MonkeyPatch,
        owner: Any,
        method: str,
        told: tuple[str, str],
        answer: Callable[..., RawAnswer] | None,
    ) -> None:
        real = getattr(owner, method)

        def noted(*given: Any, **named: Any) -> Any:
            if self.within[-1] not in (told[0], "search"):  # which is a part of `exact`
                self.append(told)
            self.within.append(told[0])
            try:
                return (real if answer is None else answer)(*given, **named)
            finally:
                self.within.pop()

        monkeypatch.setattr(owner, method, noted)


def calls(steps: tuple[Step, ...]) -> list[tuple[str, str]]:
    """What the steps of a plan are as calls: a start of several ways takes one of each."""
    return [
        (step.backend, step.kind if step.kind in ("moves", "trees", "shapes") else "solve")
        for step in steps
        for _ in step.ways
    ]


def plans() -> Iterator[tuple[str, str, Plan]]:
    for text in PROBLEMS:
        for using in WISHES:
            plan = odtdsl.plan(text, frame=frame(text), using=using)
            if plan.choice.steps:
                yield text, using, plan


@pytest.mark.parametrize("text", PROBLEMS)
def test_what_runs_is_what_the_plan_tells(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every back end is watched, so that one that is asked behind the plan's back is seen."""
    planned = {w: odtdsl.plan(text, frame=frame(text), using=w).choice.steps for w in WISHES}
    assert any(planned.values())
    monkeypatch.setattr(pipeline, "STEADY", 0.05)  # of `search`, which proves nothing
    asked = StepLog()
    asked.hook(monkeypatch, None)
    for using, steps in planned.items():
        if not steps:
            continue
        asked.clear()
        result = odtdsl.solve(text, frame=frame(text), using=using)
        names = [str(step) for step in steps]
        taken = steps[: len(result.steps)]
        assert list(result.steps) == names[: len(taken)], using
        assert asked == calls(taken), using
        assert len(taken) == len(steps) or result.status in ("optimal", "infeasible"), using
        assert result.backend == main_of(taken).backend


@pytest.mark.parametrize("text", PROBLEMS)
def test_all_steps_run_where_none_closes_the_problem(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = {w: odtdsl.plan(text, frame=frame(text), using=w).choice.steps for w in WISHES}
    asked = StepLog()
    asked.hook(monkeypatch, lambda *_, **__: RawAnswer(status="unknown"))

    def opened(method: str) -> Callable[..., RawAnswer]:
        def nothing(search: DiagramSearch, *_: Any) -> RawAnswer:
            asked.append(("exact", method.removeprefix("by_")))
            core, raw = search.trees.core, RawDiagram(entry=~0)
            value = evaluated(core, raw).stage_value(core.objective[0])
            stage = StageOutcome(value=value, bound=None, proven=False)
            return RawAnswer(status="feasible", model=raw, stages=(stage,))

        return nothing

    for method in ("by_moves", "by_trees", "by_shapes"):
        monkeypatch.setattr(DiagramSearch, method, opened(method))
    for using, steps in planned.items():
        if steps:
            asked.clear()
            result = odtdsl.solve(text, frame=frame(text), using=using)
            assert asked == calls(steps), using
            assert list(result.steps) == [str(step) for step in steps]


def test_every_search_that_wants_a_start_has_one_where_greedy_takes_part() -> None:
    """All that prove something want one, and what makes a model better does."""
    seen, started = set(), set()
    for text, using, plan in plans():
        first, *others = sorted(plan.choice.steps, key=lambda step: step.kind != "start")
        starts = [step.kind for step in plan.choice.steps].count("start")
        plain = not proves(using) and not back_end(using).starts(plan.core)
        bare = plain or bool(back_end("greedy").objections(plan.core))
        searches = using in ("milp", "sat", "cpsat") and not dict(plan.choice.refusals)["search"]
        assert starts == (0 if bare else 1 + searches), (text, using)
        if starts:
            started.add(using)
            assert first.kind == "start"
            assert others
            assert (SEARCHED_START in others) == searches
            plain_start = replace(first, brief=False, late=False, quick=False)
            seen.add(replace(plain_start, ways=START.ways, share=START.share) == START)
    assert seen == {True}
    assert able("improve") in started


def test_the_text_and_the_json_tell_each_step(tmp_path: Any) -> None:
    import pandas as pd

    path = tmp_path / "s.odt"
    for text in PROBLEMS:
        pd.DataFrame(frame(text)).to_csv(tmp_path / "d.csv", index=False)
        path.write_text(text.replace("data frame", 'data "d.csv"'))
        steps = odtdsl.plan(text, frame=frame(text)).choice.steps
        out = CliRunner().invoke(app, ["plan", str(path)]).output
        if len(steps) > 1:
            told = [line.strip() for line in out.splitlines() if line.strip()[:2] in NUMBERS]
            assert len(told) == len(steps)
            for number, (line, step) in enumerate(zip(told, steps, strict=True), start=1):
                assert line.startswith(f"{number}. {step}")
                assert (f"up to {step.share:.0%} of the remaining time" in line) == (step.share < 1)
                assert (f"but at least {step.least:g} s" in line) == (step.least > 0)


NUMBERS = tuple(f"{number}." for number in range(1, 10))


def test_a_start_keeps_to_its_share_and_has_its_least_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline that `greedy` gets is that of the step."""
    import time

    from odtdsl.backends.greedy.backend import GreedyBackEnd

    left: list[float] = []

    def noted(self: Any, core: Any, limits: Any, *_: Any) -> RawAnswer:
        left.append(limits.deadline - time.monotonic())
        return RawAnswer(status="unknown")

    monkeypatch.setattr(GreedyBackEnd, "solve", noted)
    text = next(text for text in PROBLEMS if "tree depth <= 2 rule" in text)
    (step, *_) = odtdsl.plan(text, frame=frame(text)).choice.steps
    for seconds in (100.0, 0.2):
        odtdsl.solve(text, frame=frame(text), within=seconds)
    assert step.share * 90 < left[0] <= step.share * 100
    assert step.least * 0.9 < left[1] <= step.least


def test_a_search_that_ends_at_once_is_not_worse_than_growth() -> None:
    """And one that proves its tree grows none."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 6))
    cells = {f"x{f}": x[:, f] for f in range(6)}
    cells["y"] = np.where(x[:, 0] * x[:, 1] + x[:, 2] > rng.normal(size=3000), "a", "b")
    text = "data frame target y tree depth <= {} minimize errors"
    core = odtdsl.plan(text.format(6), frame=cells).core
    grown = back_end("greedy").for_start("optimal", brief=True).solve(core, Limits(), None, None)
    result = odtdsl.solve(text.format(6), frame=cells, within=0.02)
    assert result.steps == ("exact", "growth by greedy")
    assert result.backend == "exact"
    assert result.objective is not None
    assert grown.stages[0].value is not None
    assert result.objective <= grown.stages[0].value  # type: ignore[operator]
    assert odtdsl.solve(text.format(2), frame=cells).steps == ("exact",)


@pytest.mark.parametrize("using", ["milp", "sat", "cpsat"])
def test_another_back_end_begins_from_what_search_made_of_growth(
    using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 4))
    cells = {f"x{f}": x[:, f] for f in range(4)}
    cells["y"] = np.where(x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] > 0, "a", "b")
    text = "data frame target y tree depth <= 3 minimize errors"
    core = odtdsl.plan(text, frame=cells).core
    grown = odtdsl.solve(text, frame=cells, using="greedy").objective
    begun: list[Any] = []

    def noted(self: Any, core: Any, limits: Any, start: Any, report: Any) -> RawAnswer:
        begun.append(start)
        return RawAnswer(status="unknown")

    monkeypatch.setattr(type(back_end(using)), "solve", noted)
    for _ in range(2):
        result = odtdsl.solve(text, frame=cells, using=using)
    one, again = begun
    assert one == again
    (value,) = values_of(core, one)
    assert value == result.objective
    assert grown is not None
    assert value < grown  # type: ignore[operator]


def test_the_table_says_no_where_numbers_are_beyond_a_back_end() -> None:
    """A form that a back end has, at a cost or not, and cannot take of this size."""
    text = (
        'data frame target y positive "b" tree depth <= 3 minimize errors rule up: increasing(x)'
        ' rule few: recall("b") >= 10%'
    )
    columns = {"x": list(range(200)), "z": [0, 1, 1, 0] * 50, "w": [0, 1] * 100}
    found = odtdsl.plan(text, frame=columns | {"y": list("aabb") * 50})
    refused = {
        (name, one.need.origin.rule)
        for name, reasons in found.choice.refusals
        for one in reasons
        if not one.of_form
    }
    assert ("milp", "up") in refused
    told = {
        (name, one.need.origin.rule): support.level
        for one in found.support
        for name, support in one.by
    }
    assert {told[one] for one in refused} == {"unsupported"}
    assert told["milp", "few"] == "exact"
