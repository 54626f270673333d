"""Limits that are met while a formula is written end that: large data take minutes to write."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scale import scaled

import odtdsl
from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.backends.clauses import sums
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.sums import Terms, at_most
from odtdsl.backends.staged import Stopped
from odtdsl.base import limits
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.datasets import candidates as boosting
from odtdsl.driver import alternatives, pipeline
from odtdsl.driver.choice import back_end
from odtdsl.insight import explanations
from odtdsl.interfaces.api import parse as odtdsl_parse
from odtdsl.interfaces.cli.main import app
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.terms.normalize import normalize

SPEC = 'data sklearn "breast_cancer" target target candidates * at quantiles 4 minimize errors '


def core(skeleton: str) -> Core:
    source = Source(name="limits.odt", text=SPEC + skeleton)
    return normalize(analyse(parse(source), source=source).rows)


def cut(backend: str, core: Core, looks: int) -> tuple[RawAnswer, int]:
    """The answer where the limit is met at that look, and how many looks there were."""
    asked = 0

    def soon() -> bool:
        nonlocal asked
        asked += 1
        return asked > looks

    return back_end(backend).solve(core, Limits(interrupted=soon), None, None), asked


@pytest.mark.parametrize("skeleton", ["tree depth <= 4", "diagram widths 1, 2, 4, 4"])
@pytest.mark.parametrize("backend", ["cpsat", "sat"])
def test_the_writing_of_a_formula_ends(
    backend: str, skeleton: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend == "cpsat":
        pytest.importorskip("ortools")

    def finished(*_: object) -> None:
        raise AssertionError("the formula was written to its end")

    monkeypatch.setattr("odtdsl.backends.cpsat.search.Program", finished)
    monkeypatch.setattr("odtdsl.backends.sat.search.IncrementalSolver.true", finished)
    answer, asked = cut(backend, core(skeleton), 60)
    assert (answer.status, answer.interrupted) == ("unknown", True)
    assert asked < 66, "some looks more to tell what is left"


def test_the_giving_of_a_formula_to_a_solver_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from odtdsl.backends.sat import search

    monkeypatch.setattr(search, "OFTEN", 10)
    formula = Formula()
    formula.extend((formula.variable("one"),) for _ in range(100))
    looks = iter([False] * 5 + [True] * 5)
    incremental = search.IncrementalSolver(formula, Limits(interrupted=lambda: next(looks)))
    with pytest.raises(Stopped):
        incremental.true([])
    assert incremental.sent == 0
    incremental.close()


def test_a_sum_of_many_weights_takes_few_clauses() -> None:
    """By the values of its partial sums this one takes 15 million clauses."""
    rng = random.Random("weights")
    formula = Formula()
    terms = Terms(weights={formula.variable("one"): rng.randint(1, 100) for _ in range(240)})
    at_most(formula, terms, sum(terms.weights.values()) // 3)
    assert len(formula.clauses) < 100 * 240


@pytest.mark.parametrize("few", [0, 4_000_000])
def test_sums_say_the_same_in_each_way(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from pysat.solvers import Solver

    monkeypatch.setattr(sums, "FEW_SUMS", few)
    monkeypatch.setattr(sums, "SMALL_BOUND", few)
    for seed in range(scaled(60)):
        rng = random.Random(f"sums {seed}")
        formula = Formula()
        n = rng.randint(2, 7)
        some = [formula.variable("one") for _ in range(n)]
        terms = Terms(weights={x: rng.choice((-3, 2, 5, 7, 40)) for x in some})
        bound, guard = rng.randint(-6, 60), formula.variable("guard")
        at_most(formula, terms, bound, (guard,))
        with Solver(bootstrap_with=formula.clauses) as solver:
            for signs in product((1, -1), repeat=n + 1):
                given = [x * sign for x, sign in zip((*some, guard), signs, strict=True)]
                holds = given[-1] > 0 or terms.value({x for x in given if x > 0}) <= bound
                assert solver.solve(assumptions=given) == holds, seed


@pytest.fixture
def nothing_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading and analysis have no more than the limit, so that few rows can pass it."""
    monkeypatch.setattr(limits, "LEAST", 0.0)


@pytest.mark.usefixtures("nothing_in_any_case")
def test_reading_and_analysis_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The boosting of `guessed` asks for the time; what was spent before is no search's."""
    monkeypatch.setattr(boosting, "_guessed", {})
    text = 'data sklearn "breast_cancer" target target candidates * at guessed tree depth <= 2 '
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(text + "minimize errors solve within 0.01 s")
    assert [one.code for one in caught.value.diagnostics] == ["B108"]

    began = time.monotonic() - 100
    source = Source(name="limits.odt", text=SPEC + "tree depth <= 4")
    from odtdsl.driver import pipeline

    made = pipeline.solve(analyse(parse(source)), seconds=50, began=began)
    assert made.status != "optimal"
    assert made.seconds > 50


BOOSTED = (
    'data sklearn "breast_cancer" target target candidates * at guessed tree depth <= 2 '
    "minimize errors rule wide: leaves >= 2"
)
ASKED: dict[str, Callable[..., object]] = {
    "solve": odtdsl.solve,
    "explain": odtdsl.explain,
    "compare": odtdsl.compare,
    "alternatives": odtdsl.alternatives,
    "curve": lambda text, **options: odtdsl.curve(text, "wide", **options),
    "tune": lambda text, **options: odtdsl.tune(text, {"depth": [1, 2]}, **options),
}


@pytest.mark.usefixtures("nothing_in_any_case")
@pytest.mark.parametrize("name", ASKED)
def test_reading_and_analysis_count_in_every_function(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boosting, "_guessed", {})
    with pytest.raises(OdtError, match="B108"):
        ASKED[name](BOOSTED, within=0.01)


@pytest.mark.usefixtures("nothing_in_any_case")
@pytest.mark.parametrize(
    "command",
    [
        "solve",
        "solve --all-optimal",
        "explain",
        "explain --curve wide",
        "compare",
        "report",
        "tune --vary depth=1,2",
    ],
)
def test_reading_and_analysis_count_in_every_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boosting, "_guessed", {})
    (tmp_path / "f.odt").write_text(BOOSTED)
    name, *options = command.split()
    given = [name, str(tmp_path / "f.odt"), *options, "--within", "0.01"]
    ran = CliRunner().invoke(app, given)
    assert ran.exit_code == 4, ran.output
    assert "B108" in ran.output


def test_searches_count_from_when_the_call_began() -> None:
    """A limit that reading has used up leaves the searches nothing."""
    text = BOOSTED.replace("candidates * at guessed", "").replace("depth <= 2", "depth <= 4")
    analysis = analyse(parse(Source(name="limits.odt", text=text)))
    began = time.monotonic() - 100
    told = explanations.explain(analysis, seconds=50, began=began)
    assert told.seconds > 50
    assert told.prices is None or not all(one.proven for one in told.prices.prices)
    assert not explanations.trace(analysis, "wide", seconds=50, began=began).complete
    assert not alternatives.alternatives(analysis, seconds=50, began=began).complete


def spent(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which the limit of a second is over at that look; small tables are looked at."""
    from types import SimpleNamespace

    seen = iter([*[0.0] * looks, *[2.0] * 1_000])
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: next(seen)))
    monkeypatch.setattr(limits, "BLOCK", 100)


@pytest.mark.usefixtures("nothing_in_any_case")
@pytest.mark.parametrize("candidates", ["quantiles 4", "guessed"])
@pytest.mark.parametrize("quickly", [False, True])
def test_reading_and_analysis_end_at_every_look(
    quickly: bool, candidates: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever reads or analyses many cells asks for the time, also by the limit of the spec."""
    from odtdsl.base.limits import counting
    from odtdsl.datasets import candidates as boosted
    from odtdsl.datasets import quick

    monkeypatch.setattr(quick, "MIN_QUICK_SIZE", 0 if quickly else 10**9)
    monkeypatch.setattr(quick, "LEAST_LINES", 0)
    lines = [f"{i},{i * 7 % 11},{'ab'[i % 2]}" for i in range(300)]
    (tmp_path / "f.csv").write_text("\n".join(["p,q,y", *lines]))
    text = f'data "f.csv" target y candidates * at {candidates} tree depth <= 2 minimize errors '
    source = Source(name="looks.odt", text=text + "solve within 1 s")
    told, looks = [], 0
    while looks < 500:
        monkeypatch.setattr(boosted, "_guessed", {})
        with monkeypatch.context() as patch:
            spent(looks, patch)
            try:
                with counting(0.0, None):
                    normalize(analyse(parse(source), source=source, base=tmp_path).rows)
                break
            except OdtError as problem:
                (one,) = problem.diagnostics
                assert one.code == "B108"
                told.append(one.message.partition("search: ")[2].removesuffix(" takes longer"))
        looks += 1
    parts = ["reading the data", "the analysis of the data", "finding the candidates"]
    if candidates == "guessed":
        parts.insert(2, "the boosting of `candidates at guessed`")
    assert list(dict.fromkeys(told)) == parts
    assert told.count("reading the data") >= 3


def test_no_limit_refuses_small_data() -> None:
    """However late it is: a search finds a tree at once then."""
    with limits.counting(0.0, 1e-9):
        assert core("tree depth <= 2").n_rows == 569


@pytest.mark.parametrize("using", ["auto", "exact", "search", "greedy"])
def test_a_limit_that_reading_passes_leaves_a_tree(
    using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read within `LEAST` is answered, however many cells there are."""
    monkeypatch.setattr(limits, "BLOCK", 100)
    monkeypatch.setattr(boosting, "_guessed", {})
    made = odtdsl.solve(f"{BOOSTED} solve using {using}", within=0.001)
    assert made.model is not None
    assert made.status == "feasible"


def test_rows_of_equal_ranks_are_of_one_kind() -> None:
    from odtdsl.backends.exact.features import kinds_of_rows

    rng = np.random.default_rng(0)
    for _ in range(scaled(500)):
        shape = rng.integers(1, 6), rng.integers(1, 30)
        ranks = rng.integers(0, rng.integers(1, 40), shape).astype(np.uint32)
        kinds = np.unique(ranks, axis=1, return_inverse=True)[1]
        assert kinds_of_rows(ranks).tolist() == kinds.ravel().tolist()


@pytest.mark.parametrize(("goal", "most"), [("mse", 1e-9), ("mae", 0.2), ("errors", 1e-9)])
def test_a_limit_that_has_passed_leaves_a_whole_first_tree(goal: str, most: float) -> None:
    """Where rows are many, the first tree is grown all the same. A leaf loses over 1."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 8)).round(3)
    y = np.where(x[:, 0] > 0.2, 3.0, 0.0) + (x[:, 1] > 0) * (x[:, 2] > 0) * 2.0
    columns: dict[str, object] = {f"x{f}": x[:, f] for f in range(8)}
    kind = "class" if goal == "errors" else "number"
    columns["y"] = [f"c{int(v)}" for v in y] if kind == "class" else y
    text = f"data frame target y: {kind} tree depth <= 5 minimize {goal} solve using exact"
    from odtdsl.driver import pipeline

    analysis = odtdsl_parse(text).analyse(frame=columns)
    made = pipeline.solve(analysis, seconds=50, began=time.monotonic() - 100)
    value = made.stages[0].value
    assert value is not None
    assert value <= most


def test_a_limit_that_has_passed_leaves_milp_nothing_to_do_on_many_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows are not even told apart; on few cells they are, for a bound."""
    from odtdsl.backends.milp import search

    frame: dict[str, list[Any]] = {"x": list(range(40)), "y": ["a", "b"] * 20}
    core = normalize(parsed_frame(frame).rows)
    passed = Limits(deadline=time.monotonic() - 1)
    few = back_end("milp").solve(core, passed, None, None)
    assert few.stages[0].bound is not None

    def apart(*_: object) -> None:
        raise AssertionError("rows are told apart")

    monkeypatch.setattr(search, "BLOCK", 10)
    monkeypatch.setattr(search, "deepest", apart)
    many = back_end("milp").solve(core, passed, None, None)
    assert many.status == "unknown"


def parsed_frame(frame: dict[str, list[Any]]) -> Analysis:
    return odtdsl_parse("data frame target y: class tree depth <= 2 minimize errors").analyse(
        frame=frame
    )


def test_an_answer_without_time_for_a_search_says_so() -> None:
    source = Source(name="limits.odt", text=SPEC + "tree depth <= 3 solve within 20 s")
    analysis = analyse(parse(source), source=source)

    def warned(spent: float) -> list[str]:
        result = pipeline.solve(analysis, began=time.monotonic() - spent)
        assert result.status == ("feasible" if spent > 20 else "optimal")
        return [str(one) for one in result.warnings if one.code == "B113"]

    (late,) = warned(33)
    assert "the limit of 20 s was over before the search began" in late
    assert "took 33" in late
    assert not warned(0)
