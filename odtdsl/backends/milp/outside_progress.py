"""What a solver finds while it runs, told by the process of `outside_process` to its parent.

The process appends a line of JSON to the file `told` for each better solution and each bound that
says more; `Heard` reads them in the parent. Solvers with an interface of their own call back, and
give their solutions; programs of the command line print values and bounds, which are read from what
they print.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odtdsl.backends.milp.pyomo_model import Built

STEP = 1e-5
"""The objective is an integer on every tree: what a solver's bound is forgiven before it is rounded
up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What was found.

    Attributes
    ----------
    point
        Values that are not 0, by column, of a better solution; None without one.
    value
        Of the objective, where a better solution is known by its value alone.
    bound
        A lower bound of the objective; -inf without one.
    """

    point: dict[int, float] | None = None
    value: float | None = None
    bound: float = -math.inf


class Teller:
    """Where the process tells what its solver finds."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._value, self._bound = math.inf, -math.inf

    def solution(self, values: Callable[[], list[float]], value: float) -> None:
        """A solution, if it is better than those before; its values are asked for only then."""
        if value < self._value - STEP:
            self._value = value
            point = {column: x for column, x in enumerate(values()) if x}
            self._add(point=list(point.items()))

    def value(self, value: float) -> None:
        """The value of a solution."""
        if value < self._value - STEP:
            self._value = value
            self._add(value=value)

    def bound(self, bound: float) -> None:
        """A bound, if it reaches the next integer."""
        if abs(bound) < 1e15 and math.ceil(bound - STEP) > self._bound:
            self._bound = math.ceil(bound - STEP)
            self._add(bound=bound)

    def _add(self, **news: object) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(news) + "\n")


class Hearer:
    """Where the parent hears it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read = 0

    def news(self) -> Iterator[News]:
        """What was told since it was last asked; a line that is not yet whole waits."""
        if not self.file.exists():
            return
        with self.file.open("rb") as file:
            file.seek(self._read)
            said = file.read()
        whole = said[: said.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            told = json.loads(line)
            point = told.get("point")
            yield News(
                point=None if point is None else dict(point),
                value=told.get("value"),
                bound=told.get("bound", -math.inf),
            )


# ---- solvers that call back


def follow(interface: str, solver: Any, built: Built, teller: Teller) -> None:
    """Have a solver of Pyomo's tell what it finds."""
    if interface == "scip_direct":
        _follow_scip(solver, built, teller)
    elif interface == "gurobi_direct":
        _follow_gurobi(solver, built, teller)
    elif interface == "xpress_direct":
        _follow_xpress(solver, built, teller)


def _follow_scip(solver: Any, built: Built, teller: Teller) -> None:
    from pyscipopt import Eventhdlr
    from pyscipopt.scip import PY_SCIP_EVENTTYPE as KINDS

    kinds = KINDS.BESTSOLFOUND | KINDS.LPEVENT | KINDS.NODESOLVED
    made = solver._create_solver_model

    class Followed(Eventhdlr):
        def eventinit(self) -> None:
            self.model.catchEvent(kinds, self)

        def eventexit(self) -> None:
            self.model.dropEvent(kinds, self)

        def eventexec(self, event: Any) -> None:
            model, columns = self.model, solver._pyomo_var_to_solver_var_map
            if event.getType() == KINDS.BESTSOLFOUND:
                best = model.getBestSol()

                def values() -> list[float]:
                    return [
                        model.getSolVal(best, columns[v]) if v in columns else float(v.lb or 0)
                        for v in built.variables
                    ]

                teller.solution(values, model.getSolObjVal(best))
            teller.bound(model.getDualbound())

    def make(*arguments: Any) -> Any:
        found = made(*arguments)
        found[0].includeEventhdlr(Followed(), "odtdsl", "tells what is found")
        return found

    solver._create_solver_model = make


def _follow_gurobi(solver: Any, built: Built, teller: Teller) -> None:
    from gurobipy import GRB

    def called(model: Any, where: int) -> None:
        if where == GRB.Callback.MIPSOL:

            def values() -> list[float]:
                order = {id(v): i for i, v in enumerate(solver._pyomo_vars)}
                found = model.cbGetSolution(solver._gurobi_vars)
                return [
                    found[order[id(v)]] if id(v) in order else float(v.lb or 0)
                    for v in built.variables
                ]

            teller.solution(values, model.cbGet(GRB.Callback.MIPSOL_OBJ))
            teller.bound(model.cbGet(GRB.Callback.MIPSOL_OBJBND))
        elif where == GRB.Callback.MIP:
            teller.bound(model.cbGet(GRB.Callback.MIP_OBJBND))

    solver._callback = called


def _follow_xpress(solver: Any, built: Built, teller: Teller) -> None:
    solve = solver._solve_model

    def solved() -> Any:
        problem, columns = solver._solver_model, solver._pyomo_var_to_solver_var_map

        def better(own: Any, _: object) -> None:
            def values() -> list[float]:
                known = [columns[v] for v in built.variables if v in columns]
                found = dict(zip(map(str, known), own.getSolution(known), strict=True))
                return [
                    found[str(columns[v])] if v in columns else float(v.lb or 0)
                    for v in built.variables
                ]

            teller.solution(values, own.attributes.mipobjval)
            teller.bound(own.attributes.bestbound)

        def node(own: Any, _: object) -> int:
            teller.bound(own.attributes.bestbound)
            return 0

        problem.addcbintsol(better, None, 0)
        problem.addcbmiplog(node, None, 0)
        return solve()

    solver._solve_model = solved


# ---- programs that print

_NUMBER = r"([-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?)"

PRINTED = {
    "cbc": (
        (
            re.compile(rf"Cbc0012I Integer solution of {_NUMBER} found"),
            re.compile(rf"Cbc0038I .*improved solution from \S+ to {_NUMBER}"),
            re.compile(rf"Cbc0010I After \d+ nodes, .* {_NUMBER} best solution"),
        ),
        (
            re.compile(rf"Continuous objective value is {_NUMBER}"),
            re.compile(rf"best possible {_NUMBER}"),
        ),
    ),
    "glpk": (
        (re.compile(rf"mip =\s+{_NUMBER}"),),
        (re.compile(rf">=\s+{_NUMBER}"),),
    ),
}
"""By program, what its lines say of values of solutions, and of bounds."""


class Printed(io.TextIOBase):
    """Standard output of a program, whose lines are read."""

    def __init__(self, interface: str, teller: Teller) -> None:
        self._values, self._bounds = PRINTED[interface]
        self._teller, self._part = teller, ""

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, text: str) -> int:
        """Read the lines that are whole."""
        *lines, self._part = (self._part + text).split("\n")
        for line in lines:
            self._line(line)
        return len(text)

    def _line(self, line: str) -> None:
        for patterns, tell in (
            (self._values, self._teller.value),
            (self._bounds, self._teller.bound),
        ):
            for pattern in patterns:
                if (found := pattern.search(line)) and abs(float(found[1])) < 1e15:
                    tell(float(found[1]))
