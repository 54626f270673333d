"""The process in which `outside` has a program solved: `python -m ... FOLDER`.

It reads `task` from the folder and leaves `answer` there, both pickles of the parent's own classes.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import signal
import sys
import time
from pathlib import Path
from typing import Any

from odtdsl.backends.milp.highs import Verdict
from odtdsl.backends.milp.outside import TOLD, Task, Told
from odtdsl.backends.milp.outside_progress import PRINTED, Printed, Teller, follow
from odtdsl.backends.milp.pyomo_model import Built, build

WHOLE_STEP = 0.999
"""The objective moves in steps of 1, so that a smaller gap proves it."""


def main(folder: str) -> None:
    """Solve the task of a folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the solver's own handler stops the solver
    home = Path(folder)
    task: Task = pickle.loads((home / "task").read_bytes())
    if task.memory_bytes is not None:
        _hold(task.memory_bytes)
    built = build(task.program)
    if task.start is not None:
        for variable, value in zip(built.variables, task.start.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)
    teller = Teller(home / TOLD)
    answer = _new(task, built, teller) if task.is_new else _legacy(task, built, teller)
    part = home / "answer.part"
    part.write_bytes(pickle.dumps(answer))
    part.rename(home / "answer")


def _hold(amount: int) -> None:
    """Have the system refuse this process more memory; where it cannot, the parent watches only
    itself."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (amount, amount))


def _seconds(task: Task) -> float | None:
    return None if task.until is None else max(0.01, task.until - time.time())


def _point(built: Built, values: Any) -> list[float]:
    """Values by columns; variables that no row or objective has are at their least."""
    return [
        float(values[variable]) if variable in values else float(variable.lb or 0)
        for variable in built.variables
    ]


# ---- pyomo.contrib.solver


def _new(task: Task, built: Built, teller: Teller) -> Told:
    from pyomo.contrib.solver.common.factory import SolverFactory
    from pyomo.contrib.solver.common.results import TerminationCondition as Ended

    solver = SolverFactory(task.interface)
    follow(task.interface, solver, built, teller)
    config: dict[str, Any] = {
        "load_solutions": False,
        "raise_exception_on_nonoptimal_result": False,
        "rel_gap": task.gap,
        "abs_gap": WHOLE_STEP,
        "threads": task.threads,
        "time_limit": _seconds(task),
        "warmstart_discrete_vars": task.start is not None,
        "solver_options": _seeded(task),
    }
    results = solver.solve(built.model, **config)
    ended = results.termination_condition
    if ended in (Ended.provenInfeasible, Ended.infeasibleOrUnbounded):  # all columns have bounds
        return Told(verdict="infeasible", point=None, bound=math.inf)
    if ended in (Ended.error, Ended.licensingProblems, Ended.emptyModel):
        raise RuntimeError(f"the solver ended with {ended.name}")
    point = None
    if results.solution_loader.get_number_of_solutions() > 0:
        point = _point(built, results.solution_loader.get_vars())
    done = ended == Ended.convergenceCriteriaSatisfied and point is not None
    return _told("optimal" if done else "stopped", point, results.objective_bound)


def _seeded(task: Task) -> dict[str, Any]:
    if task.interface == "scip_direct":  # whose presolve has lost optima: docs/explanation/milp.md
        return {"randomization/randomseedshift": task.seed, "presolving/maxrounds": 0}
    return {"Seed": task.seed}


def _told(verdict: Verdict, point: list[float] | None, bound: float | None) -> Told:
    if bound is None or not math.isfinite(bound):
        bound = -math.inf
    return Told(verdict=verdict, point=point, bound=float(bound))


# ---- pyomo.opt


def _legacy(task: Task, built: Built, teller: Teller) -> Told:
    import pyomo.environ as pyo
    from pyomo.opt import TerminationCondition as Ended

    solver = pyo.SolverFactory(task.interface)
    follow(task.interface, solver, built, teller)
    options = {
        "cbc": {"ratioGap": task.gap, "threads": task.threads, "randomCbcSeed": task.seed},
        "glpk": {"mipgap": task.gap, "seed": task.seed},
        "xpress_direct": {
            "miprelstop": task.gap,
            "mipabsstop": WHOLE_STEP,
            "threads": task.threads,
            "randomseed": task.seed,
        },
    }[task.interface]
    if task.interface == "cbc" and task.threads == 1:
        options.pop("threads")  # builds without threads know no such option
    solver.options.update(options)
    asked: dict[str, Any] = {"load_solutions": False}
    seconds = _seconds(task)
    if seconds is not None:
        asked["timelimit"] = seconds if task.interface != "glpk" else math.ceil(seconds)
    if task.start is not None and solver.warm_start_capable():
        asked["warmstart"] = True
    with contextlib.ExitStack() as stack:
        if task.interface in PRINTED:
            asked["tee"] = True
            stack.enter_context(contextlib.redirect_stdout(Printed(task.interface, teller)))
        results = solver.solve(built.model, **asked)
    ended = results.solver.termination_condition
    if ended in (Ended.infeasible, Ended.infeasibleOrUnbounded):
        return Told(verdict="infeasible", point=None, bound=math.inf)
    if ended in (Ended.error, Ended.licensingProblems, Ended.solverFailure):
        raise RuntimeError(f"the solver ended with {ended}: {results.solver.message}")
    point = _loaded(task, built, solver, results)
    done = ended == Ended.optimal and point is not None
    bound = results.problem.lower_bound
    return _told("optimal" if done else "stopped", point, _proven(task, built, bound, done))


def _loaded(task: Task, built: Built, solver: Any, results: Any) -> list[float] | None:
    for variable in built.variables:
        variable.set_value(None)
    if task.interface == "xpress_direct":
        if not solver._solver_model.attributes.mipsols:
            return None
        solver.load_vars()
    elif not len(results.solution):
        return None
    else:
        built.model.solutions.load_from(results, allow_consistent_values_for_fixed_vars=True)
    if all(variable.value is None for variable in built.variables):
        return None
    return [
        float(variable.lb or 0) if variable.value is None else float(variable.value)
        for variable in built.variables
    ]


def _proven(task: Task, built: Built, bound: Any, done: bool) -> float | None:
    """What the solver says as its bound; where it proved an optimum without a gap, that."""
    import pyomo.environ as pyo

    value = float(pyo.value(built.model.objective, exception=False) or 0.0) if done else None
    if done and not task.gap and task.interface != "xpress_direct":
        return value
    try:
        said = float(bound)
    except (TypeError, ValueError):
        return None
    return min(said, value) if value is not None else said


if __name__ == "__main__":
    main(sys.argv[1])
