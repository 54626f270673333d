"""Prices of rules against brute force over all trees of tiny tables, and what limits leave.

The brute force (`tiny_tables`, `sentences`, `meanings`) uses nothing of the package.
`ODTDSL_SCALE=10` draws 400 random specs.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import pytest
from goals import goals, row_groups
from meanings import Goal, Rule, RuleChecker
from scale import scaled
from sentences import MONOTONE, TERMS, Atoms, rule
from tiny_tables import Model, TinyTable, TooMany, random_world

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.insight.explanations import Explanation, explain, prices
from odtdsl.insight.explanations.prices import Price, Range
from odtdsl.presentation import explanations

pytestmark = pytest.mark.usefixtures("few_starts")

MOST_TREES = 700
KINDS = [(scope, term) for scope, terms in TERMS.items() for term in terms if term not in MONOTONE]
Values = tuple[Fraction, ...]


@dataclass(frozen=True, kw_only=True)
class PriceCase:
    """A random spec that some tree keeps, and the trees of its table one level deeper."""

    tiny: TinyTable
    rules: tuple[Rule, ...]
    stages: tuple[Goal, ...]
    models: list[Model]

    @cached_property
    def text(self) -> str:
        sense = {1: "minimize", -1: "maximize"}
        stages = " then ".join(f"{sense[goal.sign]} {goal.text}" for goal in self.stages)
        written = [one.written(f"r{i}") for i, one in enumerate(self.rules)]
        rows = row_groups(self.tiny) if any(goal.of_rows for goal in self.stages) else []
        return "\n".join([*self.tiny.head(), *rows, stages, *written])

    @cached_property
    def value(self) -> dict[Model, Values]:
        """Of every tree, with less being better."""
        return {
            model: tuple(goal.sign * goal.value(model) for goal in self.stages)
            for model in self.models
        }

    def best(self, *dropped: str) -> Values | None:
        """The least value without some rules, or with a bound of the skeleton relaxed."""
        checker = RuleChecker(
            self.tiny, [r for i, r in enumerate(self.rules) if f"r{i}" not in dropped]
        )
        depth, leaves = self.tiny.depth, self.tiny.leaves
        assert depth is not None
        found = (
            self.value[model]
            for model in self.models
            if model.depth <= depth + ("tree depth" in dropped)
            and (leaves is None or len(model.leaves) <= leaves or "tree leaves" in dropped)
            and checker.admits(model)
        )
        return min(found, default=None)


def priced_case(seed: object) -> PriceCase:
    rng = random.Random(f"priced {seed}")
    while True:
        terms = [rng.choice(KINDS) for _ in range(rng.choice([1, 1, 2, 2, 3, 4]))]
        used = {term for _, term in terms}
        tiny = random_world(rng, kinds=["number"] if "threshold" in used else [])
        if "threshold" in used and not any(c.ranked for c in tiny.columns):
            continue
        if tiny.depth is None or tiny.depth > 2 or tiny.wide:
            continue
        depth, leaves = tiny.depth, tiny.leaves
        tiny.depth, tiny.leaves = depth + 1, None
        try:
            models = tiny.models(MOST_TREES)
        except TooMany:
            continue
        tiny.depth, tiny.leaves = depth, leaves
        atoms = Atoms(rng, tiny, models)
        made = PriceCase(
            tiny=tiny,
            rules=tuple(rule(atoms, scope, term) for scope, term in terms),
            stages=tuple(goals(rng, tiny)),
            models=models,
        )
        if made.best() is not None:
            return made


def explained(one: PriceCase, using: str, seconds: float | None = None) -> Explanation | None:
    """None where the back end cannot express it."""
    try:
        analysis = odtdsl.parse(one.text).analyse(frame=one.tiny.frame)
        return explain(analysis, backend=using, seconds=seconds)
    except OdtError as problem:
        if {d.code for d in problem.diagnostics} <= {"B102", "B221"}:
            return None
        raise


def agrees(one: PriceCase, using: str) -> bool | None:
    """Whether every price is that of brute force; then if some rule binds."""
    found = explained(one, using)
    if found is None:
        return None
    shown = f"{one.text}\n{one.tiny.frame}"
    assert found.status == "feasible", shown
    assert found.prices is not None, shown
    best = one.best()
    assert best is not None
    assert _values(found.prices.best, one) == best, shown
    everything = tuple(f"r{i}" for i in range(len(one.rules)))
    for price in found.prices.prices:
        dropped = (price.name,) if price.constraint is not None else everything
        fewer = one.best(*dropped)
        assert fewer is not None, shown
        assert price.proven, shown
        assert _values(price.without, one) == fewer, (price.name, shown)
        assert price.binds == (fewer < best), (price.name, shown)
        for part, mine, theirs in zip(price.price, best, fewer, strict=True):
            assert part == Range(low=mine - theirs, high=mine - theirs), (price.name, shown)
    names = [price.name for price in found.prices.prices]
    assert names[: len(everything)] == list(everything)
    assert ("all rules" in names) == (len(everything) > 1)
    assert list(explanations.explained(found))
    return any(price.binds for price in found.prices.prices)


def _values(found: tuple[Range | None, ...], one: PriceCase) -> Values:
    """What is proven, with less being better."""
    assert all(part is not None and part.proven for part in found)
    return tuple(
        goal.sign * part.low
        for goal, part in zip(one.stages, found, strict=True)
        if part is not None and part.low is not None
    )


def test_prices_on_exact() -> None:
    """All prices are those of brute force, and some rule binds."""
    seen = [agrees(priced_case(seed), "exact") for seed in range(scaled(40, least=10))]
    assert sum(answer is not None for answer in seen) >= len(seen) * 8 // 10
    assert any(seen)


@pytest.mark.parametrize("block", range(scaled(2)))
def test_prices_on_milp(block: int) -> None:
    seen = [agrees(priced_case(f"milp {seed}"), "milp") for seed in range(5 * block, 5 * block + 5)]
    assert any(answer is not None for answer in seen)


# ---- one spec by hand

FRAME = {
    "age": [30, 35, 40, 45, 50, 55, 60, 65],
    "chol": [180, 260, 200, 270, 190, 280, 210, 290],
    "sick": ["no", "no", "yes", "yes", "yes", "yes", "yes", "yes"],
}
HEAD = "data frame target sick tree depth <= 1 minimize error_rate "


def prices_of(rules: str, head: str = HEAD) -> dict[str, Price]:
    found = odtdsl.parse(head + rules).explain(frame=FRAME)
    assert found.prices is not None
    return {price.name: price for price in found.prices.prices}


def test_the_price_in_the_units_of_the_objective_and_in_rows() -> None:
    found = prices_of("rule no_age: not uses(age) rule easy: forall leaf: size >= 1")
    price = found["no_age"]
    assert price.binds
    assert price.price == (Range(low=Fraction(1, 8), high=Fraction(1, 8)),)
    assert price.rows == Range(low=Fraction(1), high=Fraction(1))
    assert price.errors == 1
    assert price.tree is not None
    assert price.tree.root.feature == "age"
    easy = found["easy"]
    assert not easy.binds
    assert (easy.value, easy.bound, easy.slack) == (1, 1, 0)
    assert easy.price == (Range(low=Fraction(0), high=Fraction(0)),)


def test_two_rules_can_be_free_alone_and_dear_together() -> None:
    """Each does what the other does."""
    head = HEAD.replace("error_rate", "errors")
    found = prices_of("rule a: not uses(age) rule b: not uses(age)", head)
    assert [found[name].price[0].low for name in ("a", "b", "all rules")] == [0, 0, 1]


# ---- what need not be searched


def test_what_follows_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best tree without any rule keeps all of them: one search more tells all prices."""
    found = odtdsl.parse(
        HEAD + "rule a: forall leaf: size >= 1 rule b: uses(age) rule c: forall path: length <= 1"
    ).explain(frame=FRAME, deeper=0)
    assert found.prices is not None
    assert found.prices.searches == 2
    assert all(price.binds is False for price in found.prices.prices)


# ---- limits


class GivesUp:
    """`solve` that gives up from some search on."""

    def __init__(self, patience: int, interrupted: bool) -> None:
        self.patience, self.interrupted, self.asked = patience, interrupted, 0
        self.real = solve

    def __call__(self, *args: object, **options: object) -> Result:
        self.asked += 1
        if self.asked > self.patience:
            options["seconds"] = 1e-9
        result: Result = self.real(*args, **options)  # type: ignore[arg-type]
        if self.asked > self.patience and self.interrupted:
            object.__setattr__(result, "interrupted", True)
        return result


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("patience", [0, 1, 2, 3])
def test_giving_up_leaves_true_ranges(
    patience: int, interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    unproven = 0
    for seed in range(scaled(30)):
        one = priced_case(f"giving {seed}")
        monkeypatch.undo()
        giving = GivesUp(patience, interrupted)
        monkeypatch.setattr(prices, "solve", giving)
        found = explained(one, "exact")
        if found is None or found.prices is None:
            continue
        best = one.best()
        assert best is not None
        everything = tuple(f"r{i}" for i in range(len(one.rules)))
        for price in found.prices.prices:
            fewer = one.best(*((price.name,) if price.constraint is not None else everything))
            assert fewer is not None
            assert price.binds in (None, fewer < best)
            unproven += price.binds is None
            _within(price.price[0], best[0] - fewer[0])
            goal = one.stages[0]
            _within(price.without[0], goal.sign * fewer[0])
        assert list(explanations.explained(found))
        assert not interrupted or giving.asked <= patience + 1
    assert unproven or patience > 1


def _within(part: Range | None, value: Fraction) -> None:
    assert part is not None
    assert part.low is None or part.low <= value
    assert part.high is None or value <= part.high


def test_greedy_proves_no_price() -> None:
    found = odtdsl.parse(HEAD + "rule no_age: not uses(age)").explain(using="greedy", frame=FRAME)
    assert found.status == "feasible"
    assert found.prices is not None
    assert [price.binds for price in found.prices.prices] == [None] * len(found.prices.prices)


def hard() -> odtdsl.Model:
    rng = random.Random(0)
    frame = {f"f{i}": [rng.random() for _ in range(400)] for i in range(12)}
    frame["y"] = [rng.choice("pn") for _ in range(400)]  # type: ignore[misc]
    model = odtdsl.Model().data(frame).target("y").tree(depth=5).minimize("errors")
    return model.rule("r", "forall leaf: size >= 3")


def test_a_time_limit_is_kept_and_says_what_is_proven() -> None:
    began = time.monotonic()
    found = hard().explain(within=3)
    assert time.monotonic() - began < 20
    assert found.status == "feasible"
    assert found.prices is not None
    (rule_, depth) = found.prices.prices
    assert rule_.binds is None
    assert depth.binds is None
    text = "\n".join(explanations.explained(found))
    assert "undecided" in text
    assert " to " in text


def test_ctrl_c_ends_with_what_is_known() -> None:
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    began = time.monotonic()
    timer.start()
    found = hard().explain()
    timer.join()
    assert time.monotonic() - began < 20
    assert found.interrupted
    assert found.status == "feasible"
