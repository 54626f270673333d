"""The solvers that Pyomo reaches, and Pyomo models that users solve themselves."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from scale import scaled
from test_milp_optimum import compare

import odtdsl
from odtdsl.backends.milp import Milp, outside
from odtdsl.base.diagnostics.model import OdtError

SPEC = (
    'data sklearn "iris" target target candidates * at quantiles 2 tree depth <= 2'
    " rule robust: forall leaf: size >= 5 rule two: leaves <= 3 minimize errors"
)


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


def test_a_pyomo_model_is_altered_solved_and_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its audit holds; a rule that was taken away is checked all the same.

    Pyomo must not take the process's own output: it gives up where a child or another thread of
    the tests holds that, too, or where a busy machine keeps its readers waiting.
    """
    import pyomo.environ as pyo
    from pyomo.common import tee

    monkeypatch.setattr(tee, "OVERRIDE_CAPTURE_OUTPUT", tee.CaptureOutputMode.DISABLE)
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
