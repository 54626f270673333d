"""Quotients in the objective, against brute force over trees and diagrams; limits and refusals."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from goals import plain_goals
from meanings import QUOTIENTS, Goal, Measures
from scale import scaled
from test_every_term import MIXED, PLAIN, Case, case, solved
from tiny_tables import Model

import odtdsl
from odtdsl.backends import quotients
from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver import pipeline
from odtdsl.driver.choice import choose
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core, QuotientStage
from odtdsl.problem.terms.normalize import normalize

pytestmark = pytest.mark.usefixtures("few_starts")

HEAD = """
data sklearn "breast_cancer"
target target positive "malignant"
candidates * at quantiles 6
tree depth <= 2
"""


def times(value: Callable[[Model], Fraction | None], factor: int) -> Callable[[Model], Fraction]:
    """A share times a factor; 0 of nothing."""
    return lambda model: factor * (value(model) or Fraction(0))


def quotient_case(seed: int) -> Case:
    """A random spec that makes a quotient largest, alone or with stages before or after it."""
    rng = random.Random(f"quotients {seed}")
    drawn = case(rng.choice([PLAIN, MIXED, MIXED]), f"quotients {seed}")
    draw = Measures(rng, drawn.tiny)
    made = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        text, value = draw.quotient(rng.choice([*QUOTIENTS]), draw.label(), draw.group())
        factor = rng.choice([1, 1, 3])
        made.append(
            Goal(
                text=f"{factor} * {text}" if factor > 1 else text,
                sign=-1,
                value=times(value, factor),
            )
        )
    others = [one for one in plain_goals(rng, drawn.tiny) if one.text != "depth"][:1]
    stages = rng.choice([made, made, [*made, *others], [*others, *made]])
    return replace(drawn, stages=tuple(stages))


@pytest.mark.parametrize("using", ["exact", "milp", "sat", "cpsat"])
def test_optimum_is_that_of_brute_force(using: str) -> None:
    number = 200 if using == "exact" else 80
    seen = Counter(solved(quotient_case(seed), using) for seed in range(scaled(number, least=8)))
    assert seen["optimal"] >= 4, seen


def core_of(text: str) -> Core:
    source = Source(name="spec", text=text)
    return normalize(analyse(parse(source), source=source).rows)


def test_bounds_of_searches_that_end_early_hold() -> None:
    """A search ended at one of its first looks claims no share that no tree has."""
    open_ = 0
    for seed in range(scaled(200, least=20)):
        drawn = quotient_case(seed)
        drawn = replace(drawn, stages=tuple(one for one in drawn.stages if one.sign < 0)[:1])
        source = Source(name="random", text=drawn.text)
        analysis = analyse(parse(source), source=source, frame=drawn.tiny.frame)
        if drawn.optimum is None or choose(normalize(analysis.rows), "exact").name is None:
            continue
        (best,) = drawn.optimum
        for looks in (1, 3, 10):
            result = pipeline.solve(analysis, backend="exact", stop=Looks(looks))
            (stage,) = result.stages
            assert stage.value is None or stage.value <= best, drawn.text
            assert stage.bound is None or stage.bound >= best, drawn.text
            assert not stage.proven or stage.value == best, drawn.text
            open_ += not stage.proven
    assert open_ >= 5


class Looks:
    """Asks to stop after some looks."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_trees_told_on_the_way_have_thresholds_that_may_stand() -> None:
    """The search under rules merges values between cuts; the trees that it tells are not merged."""
    rows = {"x": [1.5, 0, 1, 0, 0.5, None], "y": list("qqqpqp")}
    spec = "data frame target y missing branch candidates * at {-5, 0.6, 200} tree depth <= 1 "
    result = odtdsl.solve(spec + 'maximize f1("p")', frame=rows, using="exact")
    assert (result.status, result.objective) == ("optimal", Fraction(2, 3))


def test_shares_rise_until_none_is_larger() -> None:
    core = core_of(HEAD + 'maximize f1("malignant")')
    stage = core.objective[0]
    assert isinstance(stage, QuotientStage)
    shares: list[Fraction] = []
    choice = choose(core, "exact")
    from odtdsl.backends.auto.portfolio import Portfolio
    from odtdsl.driver.choice import back_end

    def search(asked: Core, *given: Any) -> RawAnswer:
        measure = asked.objective[0].measure  # type: ignore[union-attr]
        shares.append(Fraction(measure.constant, measure.denominator))
        return Portfolio(choice.steps, back_end("exact")).solve(asked, *given)

    answer = quotients.solve(core, search, Limits(), None, None)
    assert answer.status == "optimal"
    assert shares[1:] == sorted(set(shares[1:])), "each search has a larger share than the last"
    assert 2 <= len(shares) <= 6


def test_f1_with_a_budget_of_leaves_is_proven_and_audited() -> None:
    result = odtdsl.solve(HEAD + 'maximize f1("malignant") then minimize leaves')
    assert result.status == "optimal"
    assert result.audit is not None
    assert result.audit.holds
    value, leaves = result.stages
    assert value.value is not None
    assert Fraction(9, 10) < value.value < 1
    assert leaves.proven
    times = [(at.incumbent, at.bound) for at in result.timeline if at.stage == 0]
    shares = [share for share, _ in times if share is not None]
    assert shares == sorted(shares)
    assert shares[-1] == value.value
    assert all(bound is None or bound >= value.value for _, bound in times)


def test_a_gap_ends_the_searches() -> None:
    result = odtdsl.parse(HEAD + 'maximize f1("malignant") solve gap 20%').solve()
    (stage,) = result.stages
    assert stage.bound is not None
    assert stage.value is not None
    assert stage.bound <= stage.value * Fraction(6, 5)
    assert result.model is not None


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ('minimize f1("malignant")', "only be maximized"),
        ('maximize f1("malignant") - 0.01 * leaves', "alone in its stage"),
        ('maximize f1("malignant") + f1("benign")', "alone in its stage"),
        ('maximize 1 + precision("malignant")', "alone in its stage"),
        ('maximize ratio(rate("malignant"), big, small)', "write `ratio` as a rule"),
    ],
)
def test_what_is_no_single_quotient_is_refused(objective: str, said: str) -> None:
    groups = "group big = `mean radius` > 14 group small = `mean radius` <= 14\n"
    with pytest.raises(OdtError) as refusal:
        odtdsl.solve(HEAD + groups + objective)
    (one,) = refusal.value.diagnostics
    assert one.code == "R205"
    assert said in one.message


@pytest.mark.parametrize("using", ["search"])
def test_a_search_without_proofs_says_who_can(using: str) -> None:
    with pytest.raises(OdtError) as refusal:
        odtdsl.parse(HEAD + 'maximize f1("malignant")').solve(using=using)
    assert [one.code for one in refusal.value.diagnostics] == ["B102"]
    assert "use `exact`" in str(refusal.value)


def test_greedy_growth_takes_it_without_a_proof() -> None:
    result = odtdsl.parse(HEAD + 'maximize f1("malignant")').solve(using="greedy")
    assert result.status == "feasible"
    assert result.model is not None
    assert result.stages[0].value is not None
    assert result.stages[0].value > Fraction(4, 5)


def test_diagrams_take_it() -> None:
    table = {"a": [1, 2, 3, 4, 5, 6, 7, 8], "b": [0, 1] * 4, "y": list("nnpnpppn")}
    text = 'data frame target y diagram widths 1, 2 maximize f1("p") then minimize splits'
    results = [odtdsl.parse(text).solve(using=name, frame=table) for name in ("milp", "sat")]
    assert [one.status for one in results] == ["optimal", "optimal"]
    (one, other) = ([stage.value for stage in result.stages] for result in results)
    assert one == other


@pytest.mark.parametrize("rule", ["", "rule deep: depth >= 1"])
@pytest.mark.parametrize("objective", ['maximize f1("p")', 'minimize errors then maximize f1("p")'])
@pytest.mark.parametrize("digits", [3, 6, 9, 12])
def test_shares_of_too_many_digits_lose_no_answer(digits: int, objective: str, rule: str) -> None:
    rng = random.Random(digits)
    frame: dict[str, Any] = {"a": [rng.randint(0, 3) for _ in range(200)]}
    frame["y"] = ["np"[(a > 1) ^ (rng.random() < 0.3)] for a in frame["a"]]
    frame["w"] = [round(rng.uniform(0.1, 2), digits) for _ in range(200)]
    spec = f'data frame target y: class {{"n", "p"}} weight w tree depth <= 1 {objective} {rule}'
    if digits > 3 and "then" in objective:
        with pytest.raises(odtdsl.OdtError, match="B102"):
            odtdsl.parse(spec).solve(frame=frame, using="exact")
        return
    result = odtdsl.parse(spec).solve(frame=frame, using="exact")
    cells = [(Fraction(str(w)), y == "p", a) for a, y, w in zip(*frame.values(), strict=True)]
    best = Fraction(0)
    for cut in range(-1, 4):
        for low in (True, False):
            chosen = [(w, right) for w, right, a in cells if (a <= cut) == low]
            if cut == -1 or len({a <= cut for a in frame["a"]}) == 2:
                hits = sum((w for w, right in chosen if right), Fraction(0))
                named = sum((w for w, _ in chosen), Fraction(0))
                belong = sum((w for w, right, _ in cells if right), Fraction(0))
                best = max(best, 2 * hits / (named + belong))
    last = result.stages[-1]
    assert last.value is not None
    assert last.bound is not None
    assert last.value == best or "then" in objective
    assert last.value <= last.bound < last.value + Fraction(1, 1000)
    assert result.status == ("optimal" if last.value == last.bound else "feasible")
