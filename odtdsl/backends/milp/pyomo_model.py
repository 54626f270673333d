"""A program as a Pyomo model, and from there to a matrix by Pyomo's own compiler.

The model is a plain `ConcreteModel` that any Pyomo solver takes: indexed variables by
kind (`use`, `cut`, `flow`, ...), one constraint list per rule. Terms are shared between
rows, which makes building it several times faster than rules with sums.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from odtdsl.backends.milp.program import FREE, Matrix, Numbers, Program, safe_name
from odtdsl.datasets.table import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyomo.core.base import ConcreteModel

    from odtdsl.backends.milp.program import Affine
    from odtdsl.backends.programs import Handover


CHUNK = 20_000
"""Variables and rows per Pyomo component, so that limits are met between two."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Built:
    """A Pyomo model with its variables and constraints in the order of the program."""

    model: ConcreteModel
    variables: tuple[Any, ...]
    constraints: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standard:
    """The standard form: `lower <= A x <= upper`, rows in CSR form, in the program's order.

    Attributes
    ----------
    starts, columns, values
        CSR: int32 (n_rows + 1,), int32 and float64 (n_nonzeros,).
    lower, upper
        float64 (n_rows,), infinite where a side is open.
    cost
        float64 (n_columns,).
    offset
        Constant of the objective.
    """

    starts: np.ndarray[Any, np.dtype[np.int32]]
    columns: np.ndarray[Any, np.dtype[np.int32]]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    cost: FloatArray
    offset: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """A program that takes no more columns or rows: what `build` reads, without what solves it.

    Attributes
    ----------
    column_names, column_lower, column_upper, integer
        Per column; None where there is no bound.
    objective
        What is made least.
    body
        The rows; sides beyond `FREE` are open.
    """

    column_names: Sequence[str]
    column_lower: Sequence[float | None]
    column_upper: Sequence[float | None]
    integer: Sequence[bool]
    objective: Affine
    body: Matrix

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.column_names)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.body.names)

    def matrix(self) -> Matrix:
        """The rows."""
        return self.body


def finished(handed: Handover) -> Finished:
    """A program that was handed over."""
    from odtdsl.backends.milp.program import Affine

    return Finished(
        column_names=handed.column_names,
        column_lower=_open(handed.column_lower),
        column_upper=_open(handed.column_upper),
        integer=handed.integer.tolist(),
        objective=Affine(terms=handed.cost),
        body=Matrix(
            starts=handed.starts,
            columns=handed.columns,
            values=handed.values,
            lower=np.clip(handed.row_lower, -FREE, FREE),
            upper=np.clip(handed.row_upper, -FREE, FREE),
            names=tuple(handed.row_names),
            origins=tuple(handed.origins),
        ),
    )


def _open(sides: FloatArray) -> list[float | None]:
    return [side if np.isfinite(side) else None for side in sides.tolist()]


def build(program: Program | Finished, tick: Callable[[], None] = lambda: None) -> Built:
    """The Pyomo model of a program.

    A column `use(n0,age)` is `model.use["n0,age"]`, the rows of a rule `budget` are
    `model.rule_budget`, each by its name.
    """
    import pyomo.environ as pyo
    from pyomo.common.gc_manager import PauseGC

    model = pyo.ConcreteModel()
    with PauseGC():
        variables = _variables(model, program, tick)
        tick()
        constraints = _constraints(model, program, variables, tick)
        model.objective = pyo.Objective(expr=_objective(program, variables), sense=pyo.minimize)
    return Built(model=model, variables=tuple(variables), constraints=tuple(constraints))


def _variables(
    model: ConcreteModel, program: Program | Finished, tick: Callable[[], None]
) -> list[Any]:
    """Indexed variables by kind: `use(n0,age)` is `model.use["n0,age"]`."""
    import pyomo.environ as pyo

    kinds: dict[str, dict[str, int]] = {}
    for index, name in enumerate(program.column_names):
        kind, _, rest = name.partition("(")
        kinds.setdefault(kind, {})[rest.removesuffix(")")] = index
    found: list[Any] = [None] * program.n_columns
    for kind, members in kinds.items():
        keys, columns = list(members), list(members.values())
        first = columns[0]
        bounds = (program.column_lower[first], program.column_upper[first])
        domain = pyo.Integers if program.integer[first] else pyo.Reals
        name = _free_name(model, kind)
        for start in range(0, len(keys), CHUNK):  # a set of its own for each, made in parts
            part = pyo.Var(keys[start : start + CHUNK], domain=domain, bounds=bounds, doc=kind)
            model.add_component(name if start == 0 else f"{name}_{start}", part)
            for column, data in zip(columns[start : start + CHUNK], part.values(), strict=True):
                found[column] = data
            tick()
    _odd_ones(program, found, kinds)
    return found


def _odd_ones(
    program: Program | Finished, found: list[Any], kinds: dict[str, dict[str, int]]
) -> None:
    """Bounds and domains of columns that differ from the first of their kind."""
    import pyomo.environ as pyo

    for members in kinds.values():
        columns = list(members.values())
        first = columns[0]
        usual = (program.column_lower[first], program.column_upper[first], program.integer[first])
        for column in columns:
            low, high = program.column_lower[column], program.column_upper[column]
            if (low, high, program.integer[column]) != usual:
                found[column].domain = pyo.Integers if program.integer[column] else pyo.Reals
                found[column].setlb(low)
                found[column].setub(high)


def _constraints(
    model: ConcreteModel,
    program: Program | Finished,
    variables: list[Any],
    tick: Callable[[], None],
) -> list[Any]:
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression
    from pyomo.core.expr.relational_expr import (
        EqualityExpression,
        InequalityExpression,
        RangedExpression,
    )

    matrix = program.matrix()
    terms = _terms(matrix.columns, matrix.values, variables)
    starts, lower, upper = (x.tolist() for x in (matrix.starts, matrix.lower, matrix.upper))

    def body(i: int) -> Any:
        row = LinearExpression(terms[starts[i] : starts[i + 1]])
        if lower[i] == upper[i]:
            return EqualityExpression((row, float(upper[i])))
        if lower[i] > -FREE and upper[i] < FREE:
            sides = (float(lower[i]), row, float(upper[i]))
            return RangedExpression(sides, (False, False))
        if upper[i] < FREE:
            return InequalityExpression((row, float(upper[i])), False)
        return InequalityExpression((float(lower[i]), row), False)

    constraints: list[Any] = [None] * program.n_rows
    for name, rows in _by_origin(matrix):
        free = _free_name(model, name)
        for start in range(0, len(rows), CHUNK):
            here = rows[start : start + CHUNK]
            keys = [matrix.names[i] for i in here]
            places = dict(zip(keys, here, strict=True))
            part = pyo.Constraint(keys, rule=lambda _, key, places=places: body(places[key]))
            model.add_component(free if start == 0 else f"{free}_{start}", part)
            for i, data in zip(here, part.values(), strict=True):
                constraints[i] = data
            tick()
    return constraints


def _by_origin(matrix: Matrix) -> list[tuple[str, list[int]]]:
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, (name, origin) in enumerate(zip(matrix.names, matrix.origins, strict=True)):
        groups.setdefault((origin.rule, name.startswith("lookahead_")), []).append(index)
    return [
        ("lookahead" if ahead else f"rule_{safe_name(rule)}", rows)
        for (rule, ahead), rows in groups.items()
    ]


def _free_name(model: ConcreteModel, wish: str) -> str:
    name = re.sub(r"\W", "_", wish)
    while model.component(name) is not None or hasattr(model, name):
        name += "_"
    return name


def _terms(columns: IntArray, values: Numbers, variables: list[Any]) -> list[Any]:
    """One shared expression per distinct (coefficient, column), in the order of nonzeros."""
    from pyomo.core.expr.numeric_expr import MonomialTermExpression

    if not len(columns):
        return []
    distinct, which = np.unique(values, return_inverse=True)
    keys, place = np.unique(which * len(variables) + columns, return_inverse=True)
    shared = np.empty(len(keys), dtype=object)
    for index, key in enumerate(keys.tolist()):
        value, column = divmod(key, len(variables))
        coefficient = float(distinct[value])
        variable = variables[column]
        shared[index] = (
            variable if coefficient == 1 else MonomialTermExpression((coefficient, variable))
        )
    terms: list[Any] = shared[place].tolist()
    return terms


def _objective(program: Program | Finished, variables: list[Any]) -> Any:
    from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression

    terms = [
        MonomialTermExpression((float(value), variables[column]))
        for column, value in program.objective.terms.items()
        if value
    ]
    return LinearExpression([*terms, float(program.objective.constant)])


def standard_form(program: Program, built: Built) -> Standard:
    """Pyomo's standard form of the model, with the program's columns and rows."""
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    info = LinearStandardFormCompiler().write(built.model, mixed_form=True)
    place = {id(variable): index for index, variable in enumerate(built.variables)}
    kept = np.array([place[id(variable)] for variable in info.columns], dtype=np.int32)
    row_of = {id(constraint): index for index, constraint in enumerate(built.constraints)}
    rows = np.array([row_of[id(entry.constraint)] for entry in info.rows], dtype=np.int64)
    order = np.argsort(rows)
    if not np.array_equal(rows[order], np.arange(program.n_rows)):
        raise RuntimeError("Pyomo's standard form has other rows than the program")
    matrix = info.A.tocsr()[order]
    kinds = np.array([entry.bound_type for entry in info.rows], dtype=np.int64)[order]
    sides = np.asarray(info.rhs, dtype=np.float64)[order]
    cost = np.zeros(program.n_columns)
    cost[kept] = info.c.toarray().ravel()
    return Standard(
        starts=matrix.indptr.astype(np.int32),
        columns=kept[matrix.indices],
        values=matrix.data.astype(np.float64),
        lower=np.where(kinds <= 0, sides, -np.inf),
        upper=np.where(kinds >= 0, sides, np.inf),
        cost=cost,
        offset=float(info.c_offset[0]),
    )
