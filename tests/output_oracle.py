"""Independent answers about outputs: QPs and LPs by HiGHS, disjunctions by trying all cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product

import highspy
import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, minimize

from odtdsl.problem.ir.expr import AndC, Compare, Condition, Count, NotC, OneOf, OrC
from odtdsl.problem.ir.outputs import counted, difference, linear

Array = npt.NDArray[np.float64]
Row = tuple[Array, float, float]
"""Factors, low, high."""
Case = list[Row]


def quadratic(goal: Array, weights: Array, rows: Case) -> float:
    """Least weighted squared distance from the goal under rows; infinite where none fit."""
    n = len(goal)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = n, len(rows)
    lp.col_cost_ = -2 * weights * goal
    lp.col_lower_, lp.col_upper_ = np.full(n, -math.inf), np.full(n, math.inf)
    lp.row_lower_ = np.array([low for _, low, _ in rows])
    lp.row_upper_ = np.array([high for _, _, high in rows])
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.arange(len(rows) + 1) * n
    matrix.index_ = np.tile(np.arange(n), len(rows))
    matrix.value_ = np.concatenate([factors for factors, _, _ in rows] or [np.zeros(0)])
    hessian = model.hessian_
    hessian.dim_, hessian.format_ = n, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_ = np.arange(n + 1), np.arange(n)
    hessian.value_ = 2 * weights
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return math.inf
    found = np.array(solver.getSolution().col_value)
    return float(weights @ (found - goal) ** 2)


def absolute(points: Array, row_weights: Array, weights: Array, rows: Case) -> float:
    """Least weighted sum of absolute differences from points under rows, by an LP."""
    n_rows, n = points.shape
    cost = np.concatenate([np.zeros(n), (row_weights[:, None] * weights).ravel()])
    left: list[Array] = []
    right: list[float] = []

    def add(factors: Array, bound: float, slack: int | None = None) -> None:
        row = np.zeros(len(cost))
        row[:n] = factors
        if slack is not None:
            row[n + slack] = -1
        left.append(row)
        right.append(bound)

    for i, t in product(range(n_rows), range(n)):
        unit = np.eye(n)[t]
        add(unit, points[i, t], i * n + t)
        add(-unit, -points[i, t], i * n + t)
    for factors, low, high in rows:
        if high < math.inf:
            add(factors, high)
        if low > -math.inf:
            add(-factors, -low)
    bounds = [(None, None)] * n + [(0, None)] * (n_rows * n)
    found = linprog(cost, A_ub=np.array(left), b_ub=np.array(right), bounds=bounds)
    return float(found.fun) if found.status == 0 else math.inf


def lowest(slope: Array, rows: Case, around: Array, radius: float = 1.0) -> float:
    """The least of slope . z over the points z near another one that keep rows: an LP."""
    ends = [
        (sign * factors, sign * end)
        for factors, low, high in rows
        for sign, end in ((-1.0, low), (1.0, high))
        if math.isfinite(end)
    ]
    near = [(value - radius, value + radius) for value in around.tolist()]
    matrix = np.array([factors for factors, _ in ends]) if ends else None
    bounds = np.array([end for _, end in ends]) if ends else None
    found = linprog(slope, A_ub=matrix, b_ub=bounds, bounds=near)
    assert found.status == 0, found.message
    return float(found.fun)


def deviance(goal: Array, weights: Array, rows: Case, start: Array) -> float:
    """The least half deviance that a general solver of convex programs finds from a start."""

    def lost(z: Array) -> float:
        safe = np.maximum(z, 1e-12)
        logs = np.where(goal > 0, goal * np.log(safe / np.where(goal > 0, goal, 1)), 0)
        return float(weights @ (safe - goal - logs))

    def slope(z: Array) -> Array:
        found: Array = weights * (1 - goal / np.maximum(z, 1e-12))
        return found

    kept = [
        {
            "type": "eq" if low == high else "ineq",
            "jac": lambda _, f=sign * factors: f,
            "fun": lambda z, f=sign * factors, b=sign * end: f @ z - b,  # type: ignore[misc]
        }
        for factors, low, high in rows
        for sign, end in (((1.0, low),) if low == high else ((1.0, low), (-1.0, high)))
        if math.isfinite(end)
    ]
    found = minimize(
        lost,
        start,
        jac=slope,
        method="SLSQP",
        bounds=[(0, None)] * len(goal),
        constraints=kept,
        options={"maxiter": 500, "ftol": 1e-13},
    )
    fits = all(low - 1e-7 <= f @ found.x <= high + 1e-7 for f, low, high in rows)
    return lost(found.x) if found.success and fits else math.inf


def cases(condition: Condition, n: int, *, positive: bool = True) -> Iterator[Case]:
    """Every way of keeping a condition (or its closed negation), as rows that then hold."""
    match condition:
        case NotC():
            yield from cases(condition.operand, n, positive=not positive)
        case AndC() | OrC():
            if isinstance(condition, AndC) == positive:
                yield from together([list(cases(i, n, positive=positive)) for i in condition.items])
            else:
                for item in condition.items:
                    yield from cases(item, n, positive=positive)
        case OneOf():
            assert positive
            constant, parts = linear(condition.item)
            for value in condition.values:
                yield [_row(parts, n, float(value - constant), float(value - constant))]
        case Compare():
            count = counted(condition)
            if count is not None:
                yield from _counted(*count, n=n, positive=positive)
                return
            constant, parts = difference(condition)
            bound = -float(constant)
            op = condition.op if positive else {"<": ">", ">": "<"}.get(condition.op[0], "")
            low = bound if op[0] in ">=" else -math.inf
            high = bound if op[0] in "<=" else math.inf
            yield [_row(parts, n, low, high)]
        case _:
            raise AssertionError(condition)


def _counted(count: Count, op: str, bound: object, *, n: int, positive: bool) -> Iterator[Case]:
    assert positive
    size = len(count.conditions)
    for k in range(size + 1):
        fits = {"<=": k <= bound, ">=": k >= bound, "=": k == bound}[op]  # type: ignore[operator]
        if not fits:
            continue
        for chosen in combinations(range(size), k):
            each = [
                list(cases(one, n, positive=at in chosen))
                for at, one in enumerate(count.conditions)
            ]
            yield from together(each)


def keeps(condition: Condition, points: Array) -> npt.NDArray[np.bool_]:
    """Which points keep a condition: those that all rows of one of its cases hold for.

    Without a tolerance, so for points and factors that floats hold exactly.
    """
    found = np.zeros(len(points), dtype=bool)
    for case in cases(condition, points.shape[1]):
        sums = [(points @ factors, low, high) for factors, low, high in case]
        found |= np.all([(low <= each) & (each <= high) for each, low, high in sums], axis=0)
    return found


def together(parts: list[list[Case]]) -> Iterator[Case]:
    for chosen in product(*parts):
        yield [row for case in chosen for row in case]


def _row(parts: tuple[tuple[int, object], ...], n: int, low: float, high: float) -> Row:
    factors = np.zeros(n)
    for index, factor in parts:
        factors[index] = float(factor)  # type: ignore[arg-type]
    return factors, low, high
