"""`cpsat` on diagrams: what its models admit, what it answers, and its limits.

Long runs: see `diagram_models`.
"""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scale import SCALE, scaled

pytest.importorskip("ortools")

from diagram_models import plain, problem, same_optimum, same_price, same_set

import odtdsl
from odtdsl.backends.base import Limits, Progress
from odtdsl.backends.cpsat import backend
from odtdsl.backends.cpsat.search import Search
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.choice import back_end, choose
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.raw import RawDiagram

pytestmark = pytest.mark.usefixtures("few_starts")


def test_models_admit_what_enumeration_does() -> None:
    seen = sum((same_set(f"sets {i}", cpsat=True) for i in range(scaled(12, least=5))), Counter())
    assert seen["sets"] > 7 * SCALE
    assert seen["diagrams"] > 300 * SCALE
    assert seen["on CP-SAT"] > SCALE


def test_answers_are_the_best_of_the_enumeration() -> None:
    seen = sum(
        (same_optimum(f"optimum {i}", "cpsat") for i in range(scaled(40, least=8))), Counter()
    )
    assert seen["optimal"] > 4 * SCALE
    assert seen["infeasible"] > SCALE
    assert seen["started"] > SCALE


def test_answers_without_rules_are_the_best_by_partitions() -> None:
    assert sum((same_price(f"price {i}", "cpsat") for i in range(scaled(6))), Counter())[
        "priced"
    ] == scaled(6)


XOR = {"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "y": ["even", "odd", "odd", "even"] * 5}
HEAD = "data frame target y diagram widths 1, 2 minimize errors + splits / 10"


def test_a_shared_spec_from_front_to_end() -> None:
    result = odtdsl.solve(HEAD, frame=XOR, using="cpsat")
    assert (result.status, result.backend) == ("optimal", "cpsat")
    assert result.objective == Fraction(3, 10)
    assert result.diagram is not None
    assert result.diagram.widths == (1, 2)
    assert result.audit is not None
    assert result.audit.holds
    core, _ = plain("size")
    names = [name for name, _ in back_end("cpsat").size(core)]
    assert names == ["variables", "clauses", "literals", "sums"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("splits <= 1", 10),
        ("forall path: not uses(b)", 10),
        ("forall split: size >= 11", 10),
        ("forall split: size >= 10", Fraction(3, 10)),
        ("splits >= 4", None),
        ("errors <= 9 and splits <= 2", Fraction(52, 10)),
    ],
)
def test_rules(rule: str, value: Fraction | None) -> None:
    result = odtdsl.solve(f"{HEAD}\nrule r: {rule}", frame=XOR, using="cpsat")
    if value is None:
        assert result.status == "infeasible"
    else:
        assert (result.status, result.objective) == ("optimal", value)


def test_a_hint_and_a_floor_do_not_change_the_answer() -> None:
    core, price = plain("hinted")
    best = back_end("cpsat").solve(core, Limits(), None, None)
    value = best.stages[0].value
    assert value is not None
    start = RawDiagram(entry=~0)
    seen: list[Progress] = []
    for floor in (None, value, value - price):
        again = Search(core, Limits(), start, seen.append, floor).run()
        assert (again.status, again.stages[0].value) == ("optimal", value)
    assert any(one.incumbent is not None for one in seen)
    at_best = Search(core, Limits(), best.diagram, None, value).run()
    assert at_best.status == "optimal"
    assert dict(at_best.counters)["runs"] == 0, "a start as good as the floor needs no search"


def test_one_thread_and_seed_give_one_answer() -> None:
    core, _ = plain("seeded")
    answers = {
        repr(back_end("cpsat").solve(core, Limits(seed=3), None, None).diagram) for _ in range(3)
    }
    assert len(answers) == 1


def test_limits_are_kept() -> None:
    core, _ = plain("limits")
    past = back_end("cpsat").solve(core, Limits(deadline=time.monotonic()), None, None)
    assert (past.status, past.diagram) == ("unknown", None)
    start = RawDiagram(entry=~0)
    told = back_end("cpsat").solve(core, Limits(interrupted=lambda: True), start, None)
    assert (told.status, told.interrupted, told.diagram) == ("feasible", True, start)


def test_what_it_lacks_is_refused_with_the_reason() -> None:
    spec = f"{HEAD}\nrule r: expected_cost <= 2\ncost a = 1"
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(spec, frame=XOR, using="cpsat")
    assert caught.value.diagnostics[0].code == "B102"
    assert "the sum of the path costs" in caught.value.diagnostics[0].notes[0]


def test_paths_that_remember_too_much_are_refused() -> None:
    names = [f"f{i}" for i in range(16)]
    table = {name: [0, 1, 1, 0] for name in names} | {"y": ["p", "n", "p", "n"]}
    costs = ", ".join(f"{name} = {2**i}" for i, name in enumerate(names))
    spec = (
        f"data frame target y cost {costs} diagram widths {', '.join(['1', *'22222'])}"
        " minimize errors rule r: forall path: cost <= 30000"
    )
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(spec, frame=table, using="cpsat")
    assert caught.value.diagnostics[0].code == "B102"
    assert "states" in caught.value.diagnostics[0].notes[0]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "installed", lambda: False)
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(HEAD, frame=XOR, using="cpsat")
    assert caught.value.diagnostics[0].code == "B104"
    assert "odtdsl[cpsat]" in caught.value.diagnostics[0].helps[0]
    core, _ = plain("extra")
    refusals = dict(choose(core, "auto").refusals)["cpsat"]
    assert "odtdsl[cpsat]" in refusals[0].reason


def test_highs_runs_in_the_same_process() -> None:
    tree = "data frame target y tree depth <= 2 minimize errors"
    assert odtdsl.solve(HEAD, frame=XOR, using="cpsat").status == "optimal"
    assert odtdsl.solve(tree, frame=XOR, using="milp").status == "optimal"


def test_hints_are_points_of_the_model() -> None:
    """A start that is best is found again by its hint alone."""
    from odtdsl.backends.cpsat.code import coded
    from odtdsl.backends.cpsat.program import Program

    tried = 0
    for index in range(12):
        core = problem(f"hint {index}", "1, 2, 2", "cpsat", rules=1)
        if core is None:
            continue
        answer = back_end("greedy").solve(core, Limits(), None, None)
        if answer.diagram is None:
            continue
        code = coded(core)
        program = Program(code.formula, code.one_of)
        program.fix(code.point(answer.diagram))
        program.minimize(code.cost(0)[0])
        run = program.run(Limits(), None, lambda _value, _bound: None)
        assert run.true is not None, "the start is a point of the model"
        found = code.decode(run.true)
        assert isinstance(found, RawDiagram)
        assert DiagramEvaluation(core, found).stage_value(core.objective[0]) == (
            answer.stages[0].value
        )
        tried += 1
    assert tried > 3


@pytest.mark.parametrize("skeleton", ["tree depth <= 2", "diagram widths 1, 2, 2"])
def test_large_models_are_read_alike(skeleton: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What CP-SAT does not look for in them changes no answer."""
    rng = np.random.default_rng(5)
    frame = {f"x{k}": rng.integers(0, 4, 24).tolist() for k in range(3)}
    frame["y"] = rng.choice(["no", "yes"], 24).tolist()
    text = f"data frame target y {skeleton} minimize errors + splits / 2"
    found = odtdsl.solve(text, frame=frame, using="cpsat")
    monkeypatch.setattr("odtdsl.backends.cpsat.program.MANY", 0)
    again = odtdsl.solve(text, frame=frame, using="cpsat")
    assert (again.status, again.objective) == ("optimal", found.objective)
    assert again.objective == odtdsl.solve(text, frame=frame, using="exact").objective
