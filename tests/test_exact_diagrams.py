"""Diagrams on `exact` by name, `auto` step by step, and back ends alone in a comparison."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import islice, product
from typing import Any
from unittest.mock import patch

import pytest
from brute_diagrams import all_diagrams
from sat_trees import without_start
from scale import SCALE, scaled
from tiny_diagrams import PRICES, RULES, core_of

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact import diagrams
from odtdsl.base.back_ends import ENTRIES
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.choice import back_end
from odtdsl.problem.ir.diagrams import DiagramEvaluation

pytestmark = pytest.mark.usefixtures("few_starts")

PARITY = {
    "a": [0, 0, 0, 0, 1, 1, 1, 1],
    "b": [0, 0, 1, 1] * 2,
    "c": [0, 1] * 4,
    "y": list("xyyxyxxy"),
}
SHAPES = {
    "a": [3, 3, 0, 2, 3, 3, 2, 3, 2, 1, 1, 2],
    "b": [1, 0, 2, 1, 2, 0, 0, 2, 3, 0, 2, 3],
    "c": [2, 1, 3, 3, 2, 0, 0, 0, 3, 0, 3, 2],
    "y": list("xyxxxxxyxxyy"),
}
"""Where trees leave a diagram open."""
SPEC = "data frame target y diagram widths 1, 2, 2 minimize errors + splits / 10"
TREE = "data frame target y tree depth <= 3 minimize errors + leaves / 10"
AGAINST_EACH_OTHER = (
    "splits >= 3 and splits <= 2",
    'rate("x") >= 60% and rate("x") <= 50%',
    "errors < 0",
    "uses(a) and splits <= 0",
)


def test_exact_alone_against_all_diagrams() -> None:
    """Without a start, with rules: values, bounds and conflicts are those of the enumeration."""
    seen: Counter[str] = Counter()
    for seed in range(scaled(80, least=12)):
        rng = random.Random(f"exact alone {seed}")
        rules = rng.sample(RULES, rng.randint(0, 2))
        if rng.random() < 0.3:
            rules.append(rng.choice(AGAINST_EACH_OTHER))
        core = core_of(rng, 6, rng.choice(("1, 2", "1, 2, 1")), rng.choice(PRICES), rules)
        every = list(islice(all_diagrams(core), 12_001))
        if len(every) > 12_000:
            continue
        found = (DiagramEvaluation(core, raw) for raw in every)
        values = [e.stage_value(core.objective[0]) for e in found if not e.violations()]
        answer = back_end("exact").solve(core, Limits(), None, None)
        seen[answer.status if values else f"{answer.status}, and there is none"] += 1
        if answer.status == "infeasible":
            assert not values, seed
            continue
        (stage,) = answer.stages
        assert stage.bound is not None
        assert not values or stage.bound <= min(values), seed
        assert (answer.diagram is None) == (answer.status == "unknown")
        if answer.diagram is not None:
            assert not DiagramEvaluation(core, answer.diagram).violations()
            assert stage.value in values, seed
        if answer.status == "optimal":
            assert stage.value == min(values), seed
    assert seen["optimal"] > 30 * SCALE, seen
    assert seen["infeasible, and there is none"] > 5 * SCALE, seen


def test_diagrams_by_name() -> None:
    result = odtdsl.solve(SPEC, frame=PARITY, using="exact")
    assert (result.status, result.objective, result.backend) == ("optimal", Fraction(1, 2), "exact")
    with pytest.raises(OdtError, match="B102"):
        odtdsl.solve(SPEC.replace("minimize", "minimize depth then"), frame=PARITY, using="exact")
    known = {"errors < 0": "infeasible", "errors <= 1 and splits <= 3": "unknown"}
    for rule, status in known.items():
        none = odtdsl.solve(f"{SPEC} rule r: {rule}", frame=PARITY, using="exact")
        assert (none.status, none.model) == (status, None)
        assert odtdsl.solve(f"{SPEC} rule r: {rule}", frame=PARITY).status == "infeasible"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (SPEC, ["start by greedy", "exact by moves", "exact by trees"]),
        (f"{SPEC} rule r: forall path: length >= 3 or not uses(a)", None),
        (SPEC.replace("minimize", "minimize splits then"), None),
        (TREE, ["exact"]),
    ],
)
@pytest.mark.parametrize("using", ["auto", "exact", "sat", "milp", "cpsat"])
def test_the_steps_that_ran_are_those_of_the_plan(
    text: str, steps: list[str] | None, using: str
) -> None:
    plan = odtdsl.plan(text, frame=PARITY, using=using)
    planned = [str(step) for step in plan.choice.steps]
    if not planned:
        assert using == "exact"
        return
    result = odtdsl.solve(text, frame=PARITY, using=using)
    assert list(result.steps) == planned[: len(result.steps)]
    assert result.status == "optimal"
    if using not in ("auto", "exact"):
        searched = [] if "splits then" in text else ["start by search"]
        assert list(result.steps) == planned == ["start by greedy", *searched, using]
    elif steps is not None:
        assert list(result.steps) == steps
    if len(result.steps) < len(planned):
        assert result.backend == "exact"


def test_one_step_after_the_other_until_one_proves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from odtdsl.backends.exact.layered_diagrams import Layered

    text = SPEC.replace("1, 2, 2", "1, 2, 3")
    planned = [str(step) for step in odtdsl.plan(text, frame=SHAPES).choice.steps]
    assert planned[:4] == [
        "start by greedy",
        "exact by moves",
        "exact by trees",
        "exact by shapes",
    ]
    result = odtdsl.solve(text, frame=SHAPES)
    assert list(result.steps) == planned[:4]
    assert result.by == ", then ".join(planned[1:4])
    assert (result.status, result.objective, result.backend) == ("optimal", Fraction(3, 2), "exact")
    monkeypatch.setattr(Layered, "bound", lambda *_: 0)
    result = odtdsl.solve(text, frame=SHAPES)
    assert list(result.steps) == planned
    assert result.steps[-1] == f"{result.backend} on what is left open"
    assert (result.status, result.objective) == ("optimal", Fraction(3, 2))


@pytest.mark.parametrize("using", ["cpsat", "sat", "milp"])
def test_a_back_end_by_name_is_alone(monkeypatch: pytest.MonkeyPatch, using: str) -> None:
    def asked(*_: Any) -> None:
        raise AssertionError("exact was asked")

    monkeypatch.setattr(diagrams.DiagramSearch, "__init__", asked)
    (entry,) = odtdsl.compare(SPEC, frame=PARITY, backends=[using]).entries
    assert entry.result is not None
    assert (entry.result.status, entry.result.objective) == ("optimal", Fraction(1, 2))


FAULTS = ("AlwaysInfeasible", "ProvesItsStart", "BoundTooHigh")
BY_DAY = {*product(FAULTS, ["exact"]), *zip(FAULTS, ["cpsat", "milp", "greedy"], strict=True)}
DISAGREEING = [
    pytest.param(*both, marks=[] if both in BY_DAY else pytest.mark.nightly)
    for both in product(FAULTS, ["exact", "cpsat", "milp", "greedy"])
]


@pytest.mark.parametrize("text", [SPEC, TREE], ids=["diagram", "tree"])
@pytest.mark.parametrize(("fault", "other"), DISAGREEING)
def test_a_wrong_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, text: str, fault: str, other: str
) -> None:
    assert _agreeing(text, other)
    entry = replace(ENTRIES["sat"], home=f"faulty_back_ends:{fault}")
    monkeypatch.setitem(ENTRIES, "sat", entry)
    for order in (["sat", other], [other, "sat"]):
        with pytest.raises(OdtError, match="X102"), without_start():
            odtdsl.compare(text, frame=PARITY, backends=order)
    with pytest.raises(OdtError, match="X101"):  # its own start refutes it
        odtdsl.compare(text, frame=PARITY, backends=["sat", other])


@cache
def _agreeing(text: str, other: str) -> bool:
    """Whether nothing is told where nothing is wrong."""
    entry = replace(ENTRIES["sat"], home="faulty_back_ends:Faultless")
    with patch.dict(ENTRIES, sat=entry):
        return odtdsl.compare(text, frame=PARITY, backends=["sat", other]).status == "optimal"


def test_a_model_that_breaks_relaxed_rules_refutes_nothing() -> None:
    """Leaves that are averaged may leave the rules, and are then better than all that keep them."""
    frame = {"x": [1, 2, 3, 4, 5, 6], "u": [0, 1, 5, 6, 9, 9], "v": [9, 9, 0, 4, 3, 1]}
    text = (
        "data frame target u, v: number tree depth <= 1 minimize mse"
        " rule r: forall leaf: u = 0 or v = 0 solve using greedy(leaf = average)"
    )
    found = odtdsl.compare(text, frame=frame, backends=["exact", "greedy"])
    exact, greedy = found.ran
    assert exact.status == "optimal"
    assert greedy.objective < exact.objective  # type: ignore[operator]


def test_a_later_stage_is_compared_only_after_equal_losses() -> None:
    """A tree with a larger loss may have fewer leaves than the best."""
    frame = {
        "x": [1, 2, 3, 4, 5, 6, 7, 8],
        "z": [1, 1, 2, 2, 1, 1, 2, 2],
        "y": [1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 1.0, 2.0],
    }
    text = "data frame target y: number tree depth <= 2 minimize mse then leaves"
    model = odtdsl.solve(text, frame=frame, using="exact")
    (first, second) = model.stages
    from odtdsl.driver.comparison import contradictions

    assert first.value is not None
    assert second.value is not None
    worse = (
        replace(first, value=first.value + 1, proven=False, bound=Fraction(0)),
        replace(second, value=second.value - 1, proven=False, bound=None),
    )
    kinds = ((1, True), (1, False))
    assert not list(contradictions(model, replace(model, stages=worse), kinds))
