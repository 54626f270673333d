"""`cpsat` on trees: starts, limits and refusals; what it answers is in `test_every_term`."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from fractions import Fraction
from typing import Any

import pytest

pytest.importorskip("ortools")

from sat_trees import without_start
from test_every_term import MIXED, _expressed, case, core_of, solved

import odtdsl
from odtdsl.backends.base import Limits, Progress
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.sums import Terms
from odtdsl.backends.cpsat import backend
from odtdsl.backends.cpsat.code import coded
from odtdsl.backends.cpsat.program import Cost, Program, Run
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver.choice import back_end, choose
from odtdsl.language.parser import parse
from odtdsl.problem.ir.evaluate import stage_values
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit
from odtdsl.problem.terms.normalize import normalize

pytestmark = pytest.mark.usefixtures("few_starts")

XOR = {"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "y": ["even", "odd", "odd", "even"] * 5}
HEAD = "data frame target y tree depth <= 3 minimize errors + leaves / 10"
IRIS = 'data sklearn "iris" target target tree depth <= {depth} minimize errors'


def core(text: str, frame: object = None) -> Core:
    source = Source(name="text", text=text)
    return normalize(analyse(parse(source), source=source, frame=frame).rows)


def test_a_spec_from_front_to_end() -> None:
    result = odtdsl.solve(HEAD, frame=XOR, using="cpsat")
    assert (result.status, result.backend, result.objective) == ("optimal", "cpsat", Fraction(2, 5))
    assert result.tree is not None
    assert result.audit is not None
    assert result.audit.holds
    names = [name for name, _ in back_end("cpsat").size(core(HEAD, XOR))]
    assert names == ["variables", "clauses", "literals", "sums"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("leaves <= 3", Fraction(53, 10)),
        ("uses(a) and leaves >= 2", Fraction(4, 10)),
        ("forall path: not uses(b)", Fraction(101, 10)),
        ("forall leaf: size >= 6", Fraction(101, 10)),
        ("forall leaf: purity >= 0.6", Fraction(4, 10)),
        ("leaves >= 5", None),
        ("expected_cost <= 2 cost a = 1, b = 2 cost {a, b} shared = 0.5", Fraction(101, 10)),
        ("expected_cost <= 3.5 cost a = 1, b = 2 cost {a, b} shared = 0.5", Fraction(4, 10)),
    ],
)
def test_rules(rule: str, value: Fraction | None) -> None:
    result = odtdsl.solve(f"{HEAD}\nrule r: {rule}", frame=XOR, using="cpsat")
    if value is None:
        assert result.status == "infeasible"
    else:
        assert (result.status, result.objective) == ("optimal", value)


def test_largest_sums() -> None:
    spec = "data frame target y tree depth <= 3 minimize abs(leaves - 3) then errors"
    result = odtdsl.solve(spec, frame=XOR, using="cpsat")
    assert (result.status, result.objective) == ("optimal", (0, 5))


def test_paths_in_the_objective() -> None:
    spec = "data frame target y cost a = 1, b = 2 tree depth <= 3 {} rule all: uses(b)"
    for objective, best in (
        ("minimize errors + expected_cost", 3),
        ("maximize expected_cost then errors", 3),
    ):
        result = odtdsl.solve(spec.format(objective), frame=XOR, using="cpsat")
        exact = odtdsl.solve(spec.format(objective), frame=XOR, using="exact")
        assert result.objective == exact.objective
        assert result.stages[0].value == best


def test_directions_are_refused() -> None:
    spec = HEAD.replace("target y", 'target y positive "odd"')
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(f"{spec} rule up: increasing(a)", frame=XOR, using="cpsat")
    assert caught.value.diagnostics[0].code == "B102"


def test_large_numbers_lose_no_optimum() -> None:
    """OR-tools 9.15 lost this one where leaves' errors of eleven digits were integers."""
    with without_start():
        assert solved(_expressed("model nodes", 5, "cpsat"), "cpsat") == "optimal"


WEIGHED = """
data frame target y weight w
feature a, b: number feature c: ordered {"hi", "mid", "lo"}
tree depth <= 2, leaves <= 3
rule r0: 2 * errors + splits >= 8000000009.999
minimize nodes
"""


def test_large_sums_of_rules_lose_no_optimum() -> None:
    """OR-tools 9.15 lost this one in its presolve: with a tree to start from, its bound was above
    the value of that, and without one it proved 5 nodes."""
    frame = {
        "a": [3, 1.5, 1.5, 1, 3, 2.5, 0],
        "b": [3, 4, 4, 3, 2, 3, 1],
        "c": ["lo", "lo", "hi", "hi", "mid", "lo", "hi"],
        "y": ["p", "p", "n", "p", "n", "n", "n"],
        "w": [6, 8, 5, 1000000001, 999999999, 1999999999, 1000000000],
    }
    started = odtdsl.solve(WEIGHED, frame=frame, using="cpsat")
    assert (started.status, started.objective) == ("optimal", 3)
    with without_start():
        cold = odtdsl.solve(WEIGHED, frame=frame, using="cpsat")
    assert (cold.status, cold.objective) == ("optimal", 3)


LARGE = """
data frame target y: class {"n", "p"} feature b, r: binary
loss predict "n" when "p" = 4000001 loss predict "p" when "n" = 2
tree depth <= 2, nodes <= 3
maximize 123456.789 * rate("p") then minimize splits * 999999.5 + leaves * 1000000000
then minimize recall("n") * 0.1 + 999999.5 * error_rate + false_positive_rate("p") * 1000000007
rule r0: not (if precision("p") < 0.25 then errors * 0.001 + accuracy >= 0.255)
"""


def test_bounds_are_no_finer_than_their_floats() -> None:
    """A proven 80,090,000,519 came out of OR-tools as 80090000519.00002."""
    frame = {"b": [1, 0, 1, 0], "r": ["no"] * 4, "a": [2, 2, 0, 1], "y": ["n", "p", "n", "n"]}
    result = odtdsl.solve(LARGE, frame=frame, using="cpsat")
    assert result.status == "optimal"
    assert result.stages[-1].value == Fraction(80090000519, 120)
    formula = Formula(sums=True)
    terms = Terms(constant=-5, weights={formula.variable("a"): 2**36, formula.variable("b"): -7})
    program = Program(formula, ())
    program.minimize(Cost(terms=terms))
    assert program._up(80090000519.00002) == 80090000519
    assert program._up(80090000519.5) == 80090000520
    run = program.run(Limits(), None, lambda value, bound: None)
    assert (run.verdict, run.true, run.bound) == ("optimal", {2}, -12)


def test_auto_does_not_take_it_for_trees() -> None:
    assert choose(core(HEAD, XOR), "auto").name == "exact"


def test_a_start_does_not_change_the_answer() -> None:
    iris = core(IRIS.format(depth=2))
    best = back_end("cpsat").solve(iris, Limits(), None, None)
    assert best.tree is not None
    seen: list[Progress] = []
    for start in (RawLeaf(label=0), best.tree):
        again = back_end("cpsat").solve(iris, Limits(), start, seen.append)
        assert (again.status, again.stages[0].value) == ("optimal", 6)
        assert again.stages[0].bound == 6
    assert any(one.incumbent == 100 for one in seen)


def test_starts_are_points_of_the_model() -> None:
    """A start is found again by its hint alone, whatever rules it keeps."""
    tried = 0
    for seed in range(16):
        one = core_of(case(MIXED, f"hint {seed}"))
        if choose(one, "cpsat").name is None or one.labels is None:
            continue
        answer = back_end("greedy").solve(one, Limits(), None, None)
        if answer.tree is None:
            continue
        code = coded(one)
        cost, _ = code.cost(0)
        program = Program(code.formula, code.one_of)
        program.fix(code.point(answer.tree))
        program.minimize(cost)
        run = program.run(Limits(), None, lambda _value, _bound: None)
        assert run.true is not None, "the start is a point of the model"
        found = code.decode(run.true)
        assert isinstance(found, RawLeaf | RawSplit)
        assert stage_values(one, found)[0] == stage_values(one, answer.tree)[0]
        tried += 1
    assert tried > 3


def test_one_seed_gives_one_answer_and_threads_the_same_value() -> None:
    iris = core(IRIS.format(depth=2))
    answers = {
        repr(back_end("cpsat").solve(iris, Limits(seed=7), None, None).tree) for _ in range(2)
    }
    assert len(answers) == 1
    two = back_end("cpsat").solve(iris, Limits(seed=7, threads=2), None, None)
    assert (two.status, two.stages[0].value) == ("optimal", 6)


def test_limits_are_kept() -> None:
    iris = core(IRIS.format(depth=2))
    past = back_end("cpsat").solve(iris, Limits(deadline=time.monotonic()), None, None)
    assert (past.status, past.tree) == ("unknown", None)
    start = RawLeaf(label=1)
    told = back_end("cpsat").solve(iris, Limits(interrupted=lambda: True), start, None)
    assert (told.status, told.interrupted, told.tree) == ("feasible", True, start)


def test_a_limit_ends_the_writing_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def soon() -> bool:
        nonlocal asked
        asked += 1
        return asked > 20

    large = core(IRIS.format(depth=7))
    told = back_end("cpsat").solve(large, Limits(interrupted=soon), None, None)
    assert (told.status, told.size) == ("unknown", ())
    assert asked < 30
    code = coded(core(IRIS.format(depth=2)))
    monkeypatch.setattr("odtdsl.backends.cpsat.program.OFTEN", 1000)
    seen: list[None] = []
    Program(code.formula, code.one_of, lambda: seen.append(None))
    assert len(seen) > len(code.formula.clauses) // 1000


def test_control_c_keeps_the_best_tree_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    table = {name: [rng.randrange(50) for _ in range(100)] for name in "abcd"}
    table["y"] = [rng.randrange(2) for _ in range(100)]
    spec = "data frame target y tree depth <= 3 minimize errors"
    run = Program.run

    def pressed(self: Program, *given: Any) -> Run:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        return run(self, *given)

    monkeypatch.setattr(Program, "run", pressed)
    result = odtdsl.parse(spec).solve(using="cpsat", frame=table)
    assert (result.status, result.interrupted) == ("feasible", True)
    assert result.tree is not None
    stage = result.stages[0]
    assert stage.value is not None
    assert stage.bound is not None
    assert 0 <= stage.bound < stage.value


def test_deep_trees_are_refused_with_what_to_write() -> None:
    for depth in ("depth <= 9", "leaves <= 12"):
        spec = IRIS.format(depth=2).replace("depth <= 2", depth)
        with pytest.raises(OdtError) as caught:
            odtdsl.solve(spec, using="cpsat")
        assert caught.value.diagnostics[0].code == "B102"
        assert "tree depth <= 8" in caught.value.diagnostics[0].notes[0]
    few = "data frame target y tree leaves <= 4 minimize errors then depth"
    result = odtdsl.solve(few, frame=XOR, using="cpsat")
    assert (result.status, result.objective) == ("optimal", (0, 2))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "installed", lambda: False)
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(HEAD, frame=XOR, using="cpsat")
    assert caught.value.diagnostics[0].code == "B104"
