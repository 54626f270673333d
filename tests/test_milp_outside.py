"""The solvers that Pyomo reaches, and Pyomo models that users solve themselves."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale import scaled
from test_milp_optimum import compare

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.greedy.backend import GreedyBackEnd
from odtdsl.backends.milp import Milp, outside
from odtdsl.backends.milp.formulation import PATTERN
from odtdsl.backends.milp.highs import Run
from odtdsl.backends.milp.outside_progress import Hearer, News, Printed, Teller
from odtdsl.backends.milp.program import Matrix
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.table import FloatArray
from odtdsl.problem.terms.normalize import normalize

SPEC = (
    'data sklearn "iris" target target candidates * at quantiles 2 tree depth <= 2'
    " rule robust: forall leaf: size >= 5 rule two: leaves <= 3 minimize errors"
)

HARD = (
    'data sklearn "breast_cancer" target target candidates * at quantiles 6 tree depth <= 3'
    " minimize errors"
)

ENDED = ["scip", "cbc", pytest.param("glpk", marks=pytest.mark.nightly)]
"""Solvers whose end is waited for: a module and, by day, one of the two programs."""


def available(name: str) -> str:
    if (problem := outside.missing(name)) is not None:
        pytest.skip(problem.diagnostics[0].message)
    return name


def code_of(error: pytest.ExceptionInfo[OdtError]) -> str:
    return error.value.diagnostics[0].code


@pytest.mark.parametrize("name", outside.SOLVERS)
def test_each_solver_proves_the_optimum_of_brute_force(name: str) -> None:
    """Without a start, so that the solver itself finds the tree; the nightly tests try 40."""
    compare(*range(scaled(40) // 4), few=True, engine=Milp(mip=available(name)))


@pytest.mark.parametrize(
    "name",
    ["scip", *(pytest.param(n, marks=pytest.mark.nightly) for n in outside.SOLVERS if n != "scip")],
)
@pytest.mark.parametrize("rule", ["", " rule no: errors <= 2"])
def test_each_solver_begins_from_a_tree_and_agrees_with_exact(name: str, rule: str) -> None:
    """The start is greedy's; where there is no tree, the solver says so."""
    mine = odtdsl.solve(SPEC + rule, options={"mip": available(name)})
    other = odtdsl.solve(SPEC + rule, using="exact")
    assert (mine.status, mine.objective) == (other.status, other.objective)
    assert mine.audit is None or mine.audit.holds


def test_a_solver_that_is_absent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(outside.SOLVERS["scip"], module="no_such_module")
    monkeypatch.setitem(outside.SOLVERS, "scip", absent)
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(SPEC, options={"mip": "scip"})
    assert code_of(caught) == "B104"
    assert "odtdsl[scip]" in caught.value.diagnostics[0].helps[0]
    found = odtdsl.compare(SPEC, backends=["exact", "milp (scip)"])
    assert [entry.result is None for entry in found.entries] == [False, True]
    assert "not installed" in found.entries[1].reason


def test_a_solver_that_fails_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(outside.SOLVERS["cbc"], program="python3", interface="no_such_solver")
    monkeypatch.setitem(outside.SOLVERS, "cbc", broken)
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(SPEC, options={"mip": "cbc"})
    assert code_of(caught) == "B226"
    assert caught.value.diagnostics[0].notes


def test_a_solver_that_overruns_its_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree that was there before it is kept, without a proof."""
    monkeypatch.setattr(outside, "FAREWELL", 0.1)
    sleepy = replace(outside.SOLVERS["cbc"], program="sh", interface="cbc")
    monkeypatch.setitem(outside.SOLVERS, "cbc", sleepy)
    monkeypatch.setattr(outside, "COMMAND", ("-c", "import time; time.sleep(600)"))
    began = time.monotonic()
    result = odtdsl.solve(SPEC, options={"mip": "cbc"}, within="3s")
    assert time.monotonic() - began < 60
    assert result.status == "feasible"
    assert result.audit is not None
    assert result.audit.holds


@pytest.mark.parametrize("name", outside.SOLVERS)
def test_each_solver_tells_what_it_finds(name: str) -> None:
    """The last solution that it told of is its optimum, no bound is above it, and solutions keep
    the rows."""
    program = PATTERN.lower(normalize(odtdsl.parse(SPEC).analyse().rows), 2).program
    heard: list[News] = []
    run = outside.run(available(name), program, None, Limits(), heard.append)
    assert run.verdict == "optimal"
    assert run.point is not None
    costs = program.objective.terms
    optimum = sum(cost * run.point[column] for column, cost in costs.items())
    values = [news.value for news in heard if news.value is not None]
    for news in heard:
        if news.point is not None:
            point = np.zeros(program.n_columns)
            point[list(news.point)] = list(news.point.values())
            assert keeps_rows(program.matrix(), point)
            values.append(sum(cost * point[column] for column, cost in costs.items()))
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(optimum)
    bounds = [news.bound for news in heard if news.bound > -math.inf]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= optimum + 1e-5


def keeps_rows(matrix: Matrix, point: FloatArray) -> bool:
    terms = matrix.values * point[matrix.columns]
    sums = np.add.reduceat(np.append(terms, 0.0), matrix.starts[:-1])
    return bool(((sums >= matrix.lower - 1e-5) & (sums <= matrix.upper + 1e-5)).all())


def test_what_a_solver_tells_is_heard_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is heard before the process ends; half a line is not."""
    tells = (
        "import pathlib, sys, time; file = pathlib.Path(sys.argv[1], 'told')\n"
        'file.write_text(\'{"bound": -1.0}\\n{"bou\'); time.sleep(600)'
    )
    asleep = replace(outside.SOLVERS["cbc"], program="sh", interface="cbc")
    monkeypatch.setitem(outside.SOLVERS, "cbc", asleep)
    monkeypatch.setattr(outside, "FAREWELL", 0.1)
    monkeypatch.setattr(outside, "COMMAND", ("-c", tells))
    program = PATTERN.lower(normalize(odtdsl.parse(SPEC).analyse().rows), 2).program
    heard: list[News] = []
    interrupted = Limits(interrupted=lambda: bool(heard), deadline=time.monotonic() + 60)
    run = outside.run("cbc", program, None, interrupted, heard.append)
    assert run.verdict == "stopped"
    assert heard == [News(bound=-1.0)]


@pytest.mark.parametrize("name", ENDED)
def test_a_solver_stops_when_it_is_asked_to(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C, two seconds after its process began; the model before it is kept."""
    core = normalize(odtdsl.parse(HARD).analyse().rows)
    run, began = outside.run, list[float]()

    def noted(*arguments: Any) -> Run:
        began.append(time.monotonic())
        return run(*arguments)

    monkeypatch.setattr(outside, "run", noted)
    limits = Limits(interrupted=lambda: bool(began) and time.monotonic() > began[0] + 2)
    start = GreedyBackEnd().solve(core, Limits(), None, None).model
    answer = Milp(mip=available(name)).solve(core, limits, start)
    assert began
    assert time.monotonic() - began[0] < 60
    assert answer.status == "feasible"
    assert answer.interrupted


@pytest.mark.parametrize("name", ENDED)
def test_a_solver_without_memory_is_no_failure(name: str) -> None:
    """What the system refuses it is the memory limit, not an error of the solver.

    In a process of its own: one that has run other tests may hold nine tenths of the limit.
    """
    available(name)
    program = f"""
import odtdsl
from odtdsl.base.memory import held_bytes
odtdsl.solve({SPEC!r}, using="milp")
room = (held_bytes() or 0) + 40 * 2**20
limit = f"{{room // 10**6}}MB"
result = odtdsl.solve({SPEC!r}, using="milp", options={{"mip": {name!r}}}, memory=limit)
print(result.status, *(warning.code for warning in result.warnings))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    status, *codes = run.stdout.split()
    assert status in ("feasible", "unknown"), run.stdout
    assert "B107" in codes, run.stdout


@pytest.mark.parametrize(
    ("interface", "line", "news"),
    [
        ("cbc", "Continuous objective value is -537 - 3.02 seconds", News(bound=-537.0)),
        (
            "cbc",
            "Cbc0012I Integer solution of -5e+1 found by feasibility pump after 0 iterations",
            News(value=-50.0),
        ),
        (
            "cbc",
            "Cbc0010I After 100 nodes, 54 on tree, 1e+50 best solution, best possible 4 (1 s)",
            News(bound=4.0),
        ),
        ("glpk", "+  2389: mip =   1.100000000e+01 >=     tree is empty   0.0%", News(value=11.0)),
        (
            "glpk",
            "+  2: mip =     not found yet >=  3.500000000e+00        (2; 0)",
            News(bound=3.5),
        ),
    ],
)
def test_lines_of_programs_are_read(tmp_path: Path, interface: str, line: str, news: News) -> None:
    """In any parts; values that are worse, and infinities, are no news."""
    printed = Printed(interface, Teller(tmp_path / "told"))
    for part in ("Welcome\n", line[:20], line[20:] + "\n", line + "\n"):
        printed.write(part)
    assert list(Hearer(tmp_path / "told").news()) == [news]


@pytest.mark.usefixtures("pyomo_streams")
def test_a_pyomo_model_is_altered_solved_and_decoded() -> None:
    """Its audit holds; a rule that was taken away is checked all the same."""
    import pyomo.environ as pyo

    model = odtdsl.compile(SPEC, to="pyomo")
    assert len(model.rule_two) == 1
    with pytest.raises(OdtError) as caught:
        odtdsl.decode(model)
    assert code_of(caught) == "U210"
    solver = pyo.SolverFactory("appsi_highs")
    solver.highs_options["presolve"] = "off"
    solver.solve(model)
    result = odtdsl.decode(model)
    assert result.audit is not None
    assert result.audit.holds
    assert result.objective == odtdsl.solve(SPEC, using="exact").objective
    looser = model.clone()
    looser.rule_two.deactivate()
    looser.mine = pyo.Var()
    looser.more = pyo.Constraint(expr=sum(looser.label[k] for k in looser.label) >= 4)
    solver.solve(looser)
    four = odtdsl.decode(looser)
    assert four.audit is not None
    assert [line.rule for line in four.audit.lines if not line.holds] == ["two"]
    assert "U231" in [one.code for one in four.warnings]


@pytest.mark.usefixtures("pyomo_streams")
@pytest.mark.parametrize("bound", [3, 4, 5])
def test_a_looser_budget_of_a_pyomo_model_gives_the_optimum_of_the_changed_spec(bound: int) -> None:
    """Without `lookahead`, which was computed under the old budget."""
    import pyomo.environ as pyo

    spec = (
        'data sklearn "iris" target target candidates * at quantiles 3 tree depth <= 2'
        " cost `petal width (cm)` = 3, `petal length (cm)` = 2, * = 1"
        " rule budget: forall path: cost <= {} minimize errors"
    )
    model = odtdsl.compile(spec.format(2), to="pyomo")
    assert all(name.startswith("lookahead_") for name in model.lookahead)
    model.lookahead.deactivate()
    for name in ("rule_budget(path0)", "rule_budget(path1)"):
        model.rule_budget[name].set_value(model.rule_budget[name].body <= bound)
    solver = pyo.SolverFactory("appsi_highs")
    solver.highs_options["presolve"] = "off"
    solver.solve(model)
    expected = odtdsl.solve(spec.format(bound), using="exact").objective
    assert odtdsl.decode(model).objective == expected


@pytest.mark.usefixtures("pyomo_streams")
@pytest.mark.parametrize(
    "rule",
    [
        "not uses(`petal width (cm)`)",
        "depth <= 1",
        "leaves <= 2",
        "forall path: length <= 1",
        "forall path: cost <= 0",
        "forall leaf: size >= 52",
    ],
)
def test_a_rule_that_is_taken_away_leaves_nothing_behind(rule: str) -> None:
    """No bound of a column keeps it: what its rows said is in its rows alone."""
    import pyomo.environ as pyo

    free = (
        'data sklearn "iris" target target candidates * at quantiles 3 tree depth <= 2'
        " cost * = 1 minimize errors"
    )
    model = odtdsl.compile(f"{free} rule r: {rule}", to="pyomo")
    model.rule_r.deactivate()
    model.lookahead.deactivate()
    solver = pyo.SolverFactory("appsi_highs")
    solver.highs_options["presolve"] = "off"
    solver.solve(model)
    expected = odtdsl.solve(free, using="exact").objective
    assert odtdsl.decode(model).objective == expected
    assert odtdsl.solve(f"{free} rule r: {rule}", using="milp").objective != expected


def test_a_model_gives_a_pyomo_model_as_the_function_does() -> None:
    mine = odtdsl.parse(SPEC).compile(to="pyomo", bound=6)
    other = odtdsl.compile(SPEC, to="pyomo", bound=6)
    assert list(mine.rule_objective) == list(other.rule_objective)


def test_wrong_values_of_a_pyomo_model_are_refused() -> None:
    model = odtdsl.compile(SPEC, to="pyomo")
    for variable in model.component_data_objects():
        if hasattr(variable, "set_value") and variable.ctype.__name__ == "Var":
            variable.set_value(1)
    with pytest.raises(OdtError) as caught:
        odtdsl.decode(model)
    assert code_of(caught) == "U212"


@pytest.mark.parametrize("arguments", [{}, {"to": "pyomo", "depth": 3}])
def test_a_file_and_a_pyomo_model_are_told_apart(arguments: dict[str, Any]) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.compile(SPEC, **arguments)
    assert code_of(caught) == "U401"
