"""Solvers of other projects on files of programs, each with the solution as it writes it."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

WITHIN = 120


def highs(path: Path, answer: Path, style: int = 0) -> None:
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")  # see docs/explanation/milp.md
    solver.setOptionValue("mip_rel_gap", 0.0)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    solver.writeSolution(str(answer), style)


def highs_table(path: Path, answer: Path) -> None:
    highs(path, answer, 1)


def highs_sparse(path: Path, answer: Path) -> None:
    highs(path, answer, 4)


def scip(path: Path, answer: Path) -> None:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("presolving/maxrounds", 0)  # see docs/explanation/milp.md
    model.readProblem(str(path))
    model.optimize()
    model.writeBestSol(str(answer))
    if model.getStatus() == "infeasible":
        answer.write_text("solution status: infeasible\nno solution available\n")


def gurobi(path: Path, answer: Path, ending: str = ".sol") -> None:
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(str(path), env) as model:
        model.Params.MIPGap = 0
        model.optimize()
        if model.SolCount == 0:
            answer.write_text("Infeasible\n")
            return
        written = answer.with_suffix(ending)
        model.write(str(written))
        answer.write_text(written.read_text())


def gurobi_json(path: Path, answer: Path) -> None:
    gurobi(path, answer, ".json")


def cplex(path: Path, answer: Path) -> None:
    model = importlib.import_module("cplex").Cplex()
    for silence in (
        model.set_results_stream,
        model.set_log_stream,
        model.set_warning_stream,
        model.set_error_stream,
    ):
        silence(None)
    model.read(str(path))
    model.parameters.mip.tolerances.mipgap.set(0)
    model.solve()
    if not model.solution.is_primal_feasible():
        answer.write_text("Infeasible\n")
        return
    written = answer.with_suffix(".sol")
    model.solution.write(str(written))
    answer.write_text(written.read_text())


def cbc(path: Path, answer: Path) -> None:
    _run("cbc", path, "ratio", "0", "solve", "solution", answer)


def cpsat(path: Path, answer: Path) -> None:
    """CP-SAT by OR-tools' reader of MPS (its LP is another language); it takes columns that need
    not be whole by steps, and some optimum is whole."""
    from ortools.linear_solver.python import model_builder

    model, solver = model_builder.Model(), model_builder.Solver("CP_SAT")
    assert model.import_from_mps_file(str(path))
    status = solver.solve(model)
    if status == model_builder.SolveStatus.INFEASIBLE:
        answer.write_text("Infeasible\n")
        return
    assert status == model_builder.SolveStatus.OPTIMAL
    lines = [f"# Objective value = {solver.objective_value}"]
    lines += [f"{column.name} {solver.value(column)}" for column in model.get_variables()]
    answer.write_text("\n".join(lines) + "\n")


def glpk(path: Path, answer: Path) -> None:
    _run("glpsol", "--lp" if path.suffix == ".lp" else "--freemps", path, "-o", answer)


def glpk_raw(path: Path, answer: Path) -> None:
    _run("glpsol", "--lp" if path.suffix == ".lp" else "--freemps", path, "-w", answer)


def gecode(path: Path, answer: Path) -> None:
    done = _run("minizinc", "--solver", "gecode", path)
    answer.write_text(done.replace("----------\n", "").replace("==========\n", ""))


def _run(*command: str | Path) -> str:
    done = subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True, timeout=WITHIN
    )
    return done.stdout


PACKAGES = {"cbc": "coinor-cbc", "glpsol": "glpk-utils", "minizinc": "minizinc"}

SOLVERS: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "highs": (highs, "highspy"),
    "highs_table": (highs_table, "highspy"),
    "highs_sparse": (highs_sparse, "highspy"),
    "scip": (scip, "pyscipopt"),
    "gurobi": (gurobi, "gurobipy"),
    "gurobi_json": (gurobi_json, "gurobipy"),
    "cplex": (cplex, "cplex"),
    "cpsat": (cpsat, "ortools"),
    "cbc": (cbc, "cbc"),
    "glpk": (glpk, "glpsol"),
    "glpk_raw": (glpk_raw, "glpsol"),
    "gecode": (gecode, "minizinc"),
}
"""By name how to run it, and the package or program that it needs."""


def solved(name: str, path: Path) -> Path:
    """The file that a solver writes for a program; skips where it is not installed."""
    run, needs = SOLVERS[name]
    if needs in PACKAGES and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not on PATH (Debian: apt-get install {PACKAGES[needs]})")
    if needs not in PACKAGES and importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    answer = path.with_name(f"{path.stem}-{name}.answer")
    run(path, answer)
    return answer


FORMATS = {
    "gecode": ("mzn",),
    "cpsat": ("mps",),
    **{name: ("lp", "mps") for name in SOLVERS if name not in ("gecode", "cpsat")},
}
"""What each of them reads."""
