"""One program in HiGHS: handing it over, running it within limits, reading what it proved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from odtdsl.backends.base import Limits
from odtdsl.data.table import FloatArray, IntArray
from odtdsl.milp.program import Program
from odtdsl.milp.pyomo_model import Standard

Verdict = Literal["optimal", "infeasible", "stopped"]

TIGHT = 1e-9
"""Feasibility tolerance. Rows are integer with sides below `program.WIDEST`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """What a run of HiGHS ended with.

    Attributes
    ----------
    verdict
        `optimal` and `infeasible` are HiGHS' proofs.
    point
        float64 (n_columns,), the best solution; None without one.
    bound
        HiGHS' lower bound of the objective, before any rounding; -inf without one.
    """

    verdict: Verdict
    point: FloatArray | None
    bound: float


Improved = Callable[[FloatArray, float], None]
"""Called with each better solution and the bound at that time."""

Moved = Callable[[float], None]
"""Called now and then with the bound."""


class Solver:
    """A program inside HiGHS. Keep it to solve again under other bounds or costs."""

    def __init__(self, program: Program, standard: Standard) -> None:
        import highspy

        self._api = highspy
        self.n_columns = program.n_columns
        self.highs: Any = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("log_to_console", False)
        status = self.highs.passModel(_lp(program, standard))
        if status == highspy.HighsStatus.kError:
            raise RuntimeError("HiGHS refused the model")

    def options(self, **values: object) -> None:
        for name, value in values.items():
            if self.highs.setOptionValue(name, value) == self._api.HighsStatus.kError:
                raise RuntimeError(f"HiGHS refused the option {name} = {value}")

    def bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns."""
        self.highs.changeColsBounds(
            len(columns), columns.astype(np.int32), lower.astype(np.float64),
            upper.astype(np.float64),
        )  # fmt: skip

    def start(self, point: IntArray) -> bool:
        """Hand over a full assignment as a first solution; whether HiGHS took it."""
        solution = self._api.HighsSolution()
        solution.col_value = point.astype(np.float64).tolist()
        return bool(self.highs.setSolution(solution) == self._api.HighsStatus.kOk)

    def run(
        self, limits: Limits, improved: Improved | None = None, moved: Moved | None = None
    ) -> Run:
        """Solve until proven or until a limit is met."""
        watch = _Watch(limits, improved, moved)
        if limits.deadline is not None:
            left = limits.deadline - time.monotonic()
            if left <= 0:
                return Run(verdict="stopped", point=None, bound=-np.inf)
            self.options(time_limit=float(left) + self.highs.getRunTime())
        callbacks = (
            (self.highs.cbMipInterrupt, watch.interrupt),
            (self.highs.cbSimplexInterrupt, watch.interrupt),
            (self.highs.cbMipImprovingSolution, watch.improve),
        )
        for event, handler in callbacks:
            event.subscribe(handler)
        try:
            self.highs.run()
        finally:
            for event, handler in callbacks:
                event.unsubscribe(handler)
        if watch.failure is not None:
            raise watch.failure
        return self._read()

    def _read(self) -> Run:
        status = self._api.HighsModelStatus
        info = self.highs.getInfo()
        model = self.highs.getModelStatus()
        found = info.primal_solution_status == self._api.SolutionStatus.kSolutionStatusFeasible
        point = np.array(self.highs.getSolution().col_value) if found else None
        if model == status.kInfeasible:
            return Run(verdict="infeasible", point=None, bound=np.inf)
        if model == status.kOptimal and point is not None:
            return Run(verdict="optimal", point=point, bound=float(info.mip_dual_bound))
        bound = float(info.mip_dual_bound)
        return Run(verdict="stopped", point=point, bound=bound if bound < np.inf else -np.inf)


class _Watch:
    """Handlers of HiGHS' callbacks. Nothing may be raised through C++, so failures wait."""

    def __init__(self, limits: Limits, improved: Improved | None, moved: Moved | None) -> None:
        self.limits = limits
        self.improved = improved
        self.moved = moved
        self.failure: BaseException | None = None
        self.bound = -np.inf

    def interrupt(self, event: Any) -> None:
        try:
            late = self.limits.deadline is not None and time.monotonic() > self.limits.deadline
            if late or self.failure is not None or self.limits.interrupted():
                event.interrupt()
            elif self.moved is not None:
                bound = float(event.data_out.mip_dual_bound)
                if self.bound < bound < np.inf:
                    self.bound = bound
                    self.moved(bound)
        except BaseException as failure:
            self.failure = failure
            event.interrupt()

    def improve(self, event: Any) -> None:
        try:
            if self.improved is not None:
                point = np.array(event.data_out.mip_solution)
                self.improved(point, float(event.data_out.mip_dual_bound))
        except BaseException as failure:
            self.failure = failure


def _lp(program: Program, standard: Standard) -> Any:
    import highspy

    infinity = highspy.kHighsInf
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_columns, program.n_rows
    lp.col_cost_ = standard.cost
    lp.offset_ = standard.offset
    lp.col_lower_ = np.array(program.column_lower, dtype=np.float64)
    lp.col_upper_ = np.array(program.column_upper, dtype=np.float64)
    lp.row_lower_ = np.where(np.isneginf(standard.lower), -infinity, standard.lower)
    lp.row_upper_ = np.where(np.isposinf(standard.upper), infinity, standard.upper)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = program.n_columns, program.n_rows
    lp.a_matrix_.start_ = standard.starts
    lp.a_matrix_.index_ = standard.columns
    lp.a_matrix_.value_ = standard.values
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[flag] for flag in program.integer]
    lp.col_names_ = program.column_names
    lp.row_names_ = list(program.matrix().names)
    return lp
