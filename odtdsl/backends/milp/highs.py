"""One program in HiGHS: handing it over, running it within limits, reading what it proved."""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from odtdsl.backends.base import Limits
from odtdsl.backends.milp.program import Numbers, Program
from odtdsl.backends.milp.pyomo_model import Standard
from odtdsl.backends.quiet_highs import quiet_highs
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray

WIDE = 10_000
"""Rows with a coefficient beyond this are treated with care, see `Solver` and `search.options`."""

POLL, GRACE, FAREWELL = 0.02, 0.3, 3.0
"""Seconds between two looks at the limits, of waiting for HiGHS once one is met, and for all runs
that were left when the process ends."""

Verdict = Literal["optimal", "infeasible", "stopped"]


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
    """A program inside HiGHS. Keep it to solve again under other bounds or costs.

    With `slack`, rows with numbers beyond `WIDE` are given half a step more: their sums are
    integers on every tree, so that this admits nothing new, and rounding errors below a half
    neither admit nor forbid a tree.
    """

    def __init__(self, program: Program, standard: Standard, *, slack: bool = True) -> None:
        import highspy

        self._api = highspy
        self.n_columns = program.n_columns
        self.highs = quiet_highs()
        status = self.highs.passModel(_lp(program, standard, slack))
        if status == highspy.HighsStatus.kError:
            raise RuntimeError("HiGHS refused the model")

    def options(self, **values: object) -> None:
        """Set options of HiGHS by their names; raises RuntimeError for one that it refuses."""
        for name, value in values.items():
            if self.highs.setOptionValue(name, value) == self._api.HighsStatus.kError:
                raise RuntimeError(f"HiGHS refused the option {name} = {value}")

    def bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns."""
        self.highs.changeColsBounds(
            len(columns),
            columns.astype(np.int32),
            lower.astype(np.float64),
            upper.astype(np.float64),
        )

    def start(self, point: Numbers) -> bool:
        """Hand over a full assignment as a first solution; whether HiGHS took it."""
        solution = self._api.HighsSolution()
        solution.col_value = point.astype(np.float64).tolist()
        return bool(self.highs.setSolution(solution) == self._api.HighsStatus.kOk)

    def run(
        self, limits: Limits, improved: Improved | None = None, moved: Moved | None = None
    ) -> Run:
        """Solve until proven or until a limit is met.

        HiGHS runs in a thread of its own, because it asks for interrupts only between the
        linear programs that it solves, and one may take many seconds. When a limit is met it is
        waited for shortly; then the run is left to end by itself, in a daemon thread, and what it
        told so far is the answer. `improved` and `moved` are called in the calling thread.
        """
        if limits.deadline is not None:
            left = limits.deadline - time.monotonic()
            if left <= 0:
                return Run(verdict="stopped", point=None, bound=-np.inf)
            self.options(time_limit=float(left) + self.highs.getRunTime())
        watch = _Callbacks()
        thread = threading.Thread(target=self._work, args=(watch,), name="highs", daemon=True)
        thread.start()
        best = Run(verdict="stopped", point=None, bound=-np.inf)
        patience: float | None = None
        try:
            while (patience is None or time.monotonic() < patience) and not watch.ended:
                with contextlib.suppress(queue.Empty):
                    best = _told(watch.events.get(timeout=POLL), best, improved, moved)
                late = limits.deadline is not None and time.monotonic() > limits.deadline
                if patience is None and (late or limits.interrupted()):
                    watch.stop = True
                    patience = time.monotonic() + GRACE
            while not watch.events.empty():
                best = _told(watch.events.get(), best, improved, moved)
        finally:
            watch.stop = True
        if not watch.ended:
            _left.append((self, watch, thread))
            return best
        thread.join()
        if watch.failure is not None:
            raise watch.failure
        return self._read()

    def _work(self, watch: _Callbacks) -> None:
        try:
            callbacks = (
                (self.highs.cbMipInterrupt, watch.interrupt),
                (self.highs.cbSimplexInterrupt, watch.interrupt),
                (self.highs.cbIpmInterrupt, watch.leave),
                (self.highs.cbMipImprovingSolution, watch.improve),
            )
            for event, handler in callbacks:
                event.subscribe(handler)
            try:
                self.highs.run()
            finally:
                for event, handler in callbacks:
                    event.unsubscribe(handler)
        except BaseException as failure:
            watch.failure = failure
        finally:
            watch.ended = True
            watch.events.put((None, -np.inf))

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


_left: list[tuple[Solver, _Callbacks, threading.Thread]] = []
"""Runs that were left to end by themselves."""


def running() -> bool:
    """Whether a run that was left to itself still goes on."""
    return any(not watch.ended for _, watch, _ in _left)


@atexit.register
def _silence() -> None:
    """Wait shortly for runs that still go on, then take their callbacks.

    A run that comes back to a dying Python ends the process with an error.
    """
    until = time.monotonic() + FAREWELL
    for solver, watch, thread in _left:
        thread.join(max(0.0, until - time.monotonic()))
        if not watch.ended:
            for event in (
                solver.highs.cbMipInterrupt,
                solver.highs.cbSimplexInterrupt,
                solver.highs.cbIpmInterrupt,
                solver.highs.cbMipImprovingSolution,
            ):
                solver.highs.stopCallback(event.callback_type)


Event = tuple[FloatArray | None, float]
"""A better solution, if there is one, and a bound."""


class _Callbacks:
    """What HiGHS' thread tells, and whether it is to stop. Nothing is raised through C++."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.stop = False
        self.ended = False
        self.failure: BaseException | None = None
        self.bound = -np.inf

    def interrupt(self, event: Any) -> None:
        if self.stop:
            event.interrupt()
            return
        bound = float(event.data_out.mip_dual_bound)
        if self.bound < bound < np.inf:
            self.bound = bound
            self.events.put((None, bound))

    def leave(self, event: Any) -> None:
        if self.stop:
            event.interrupt()

    def improve(self, event: Any) -> None:
        point = np.array(event.data_out.mip_solution)
        self.events.put((point, float(event.data_out.mip_dual_bound)))


def _told(told: Event, best: Run, improved: Improved | None, moved: Moved | None) -> Run:
    """Pass on an event; the best run so far."""
    point, bound = told
    if point is not None and improved is not None:
        improved(point, bound)
    elif np.isfinite(bound) and moved is not None:
        moved(bound)
    return Run(
        verdict="stopped",
        point=best.point if point is None else point,
        bound=max(best.bound, bound) if np.isfinite(bound) else best.bound,
    )


def wide_rows(starts: np.ndarray[Any, Any], values: Numbers) -> BoolArray:
    """Which rows, in CSR form, have a coefficient beyond `WIDE`: bool (n_rows,)."""
    found = np.zeros(len(starts) - 1, dtype=bool)
    rows = np.repeat(np.arange(len(found)), np.diff(starts))
    found[rows[np.abs(values) > WIDE]] = True
    return found


def _lp(program: Program, standard: Standard, slack: bool) -> Any:
    import highspy

    more = 0.5 * wide_rows(standard.starts, standard.values) if slack else 0.0
    infinity = highspy.kHighsInf
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_columns, program.n_rows
    lp.col_cost_ = standard.cost
    lp.offset_ = standard.offset
    lp.col_lower_ = np.array(program.column_lower, dtype=np.float64)
    lp.col_upper_ = np.array(program.column_upper, dtype=np.float64)
    lp.row_lower_ = np.where(np.isneginf(standard.lower), -infinity, standard.lower - more)
    lp.row_upper_ = np.where(np.isposinf(standard.upper), infinity, standard.upper + more)
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
