"""A formula with sums as a model of CP-SAT, and one run of the solver on it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from odtdsl.backends.base import Limits
from odtdsl.backends.clauses.formula import BoundOfMaxima, Formula, Sum
from odtdsl.backends.clauses.sums import Terms
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.problem.ir.maxima import in_digits

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

MAX_CPSAT_SUM = 2**50
"""Sums stay below this, so that CP-SAT's bounds, which are floats, tell one step from the next."""

INTEGERS = 2**31
"""Sums that integers are compared with stay below this, and where other sums do not, CP-SAT works
without its presolve: that of OR-tools 9.15 (its probing, its search for sums within sums) has been
seen to lose optima above, as if a product of two coefficients left 64 bits."""

ROUNDING = 2.0**-50
"""CP-SAT's bounds are floats of what its presolve has divided and moved: off by a few roundings
of the largest cost there could be, which is this share of it or less."""

OFTEN = 10_000
"""Clauses, variables or hints between two looks at the limits, while they are written."""

MANY = 100_000
"""Constraints above which CP-SAT does not look for clauses of which exactly one holds."""

POLL = 0.02
"""Seconds between two looks at the limits."""

MEMORY = 2**20
"""What CP-SAT counts memory in."""

Item = TypeVar("Item")

Verdict = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cost:
    """An integer to be made least: terms plus multiples of the largest of some terms."""

    terms: Terms
    maxima: tuple[tuple[int, tuple[Terms, ...]], ...] = ()

    def value(self, true: set[int]) -> int:
        """The cost where these variables are true."""
        largest = (factor * max(one.value(true) for one in parts) for factor, parts in self.maxima)
        return self.terms.value(true) + sum(largest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """What a run found.

    Attributes
    ----------
    true
        The variables that are true in the best solution; None without one.
    bound
        No solution costs less; None where nothing is known.
    """

    verdict: Verdict
    true: set[int] | None
    bound: int | None
    branches: int
    conflicts: int


Seen = Callable[[int | None, int | None], None]
"""Told of the cost of a new solution, and of a new bound."""


class Program:
    """A CP-SAT model of a formula, to which bounds on costs can be added.

    Parameters
    ----------
    tick
        Called often meanwhile; may raise to end that.

    Raises
    ------
    OdtError
        B220, B221: sums of a rule, or of the objective, leave what CP-SAT computes with.
    """

    def __init__(
        self,
        formula: Formula,
        one_of: Iterable[tuple[int, ...]],
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        from ortools.sat.python import cp_model

        assert formula.bounds is not None, "sums are given as sums"
        self.formula, self._tick = formula, tick
        self._presolve = True
        self.model: CpModel = cp_model.CpModel()
        variables = [self.model.new_bool_var("") for _ in self._often(range(formula.top))]
        self._literals: list[Any] = [None, *variables, *(~x for x in reversed(variables))]
        self.sums = len(formula.bounds)
        for clause in self._often(formula.clauses):
            self.model.add_bool_or([self._literals[x] for x in clause])
        for ones in self._often(one_of):
            if len(ones) > 1:
                self.model.add_at_most_one([self._literals[x] for x in ones])
        for bound in formula.bounds:
            tick()
            self._check(bound.weighted, "B220")
            total = self._sum(bound.weighted)
            made = self.model.add(total <= bound.most)
            if bound.guard:
                made.only_enforce_if([self._literals[-x] for x in bound.guard])
        for maxima in formula.maxima:
            tick()
            self._bound_maxima(maxima)

    def _often(self, many: Iterable[Item]) -> Iterator[Item]:
        """The same, with a look at the limits now and then."""
        for number, one in enumerate(many):
            if number % OFTEN == 0:
                self._tick()
            yield one

    def _check(
        self, weighted: Iterable[tuple[int, int]], code: str, largest: int = MAX_CPSAT_SUM
    ) -> None:
        total = sum(abs(weight) for _, weight in weighted)
        self._presolve &= total < INTEGERS
        if total >= largest:
            raise _too_long(code)

    def _sum(self, weighted: Iterable[tuple[int, int]]) -> Any:
        from ortools.sat.python import cp_model

        pairs = list(weighted)
        literals = [self._literals[x] for x, _ in pairs]
        return cp_model.LinearExpr.weighted_sum(literals, [weight for _, weight in pairs])

    # ---- bounds on sums of maxima

    def _bound_maxima(self, bound: BoundOfMaxima) -> None:
        """An integer per maximum, and a row per digit of their coefficients."""
        terms = [self._largest(parts) for _, parts in bound.parts]
        coefficients = tuple(coefficient for coefficient, _ in bound.parts)
        size = 1 + sum(max(abs(low), abs(high)) for _, low, high in terms)
        if (base := INTEGERS // (8 * size)) < 2:
            raise _too_long("B220")
        *lower, last = in_digits(coefficients, bound.most, base)
        carry: tuple[Any, int, int] | None = None
        for digit in lower:
            total, low, high = _weighed(terms, digit.coefficients, carry)
            ends = [-(-(end - digit.at_most) // base) for end in (low, high)]
            carried = self.model.new_int_var(ends[0], ends[1], "")
            self.model.add(total - digit.at_most <= base * carried)
            carry = (carried, ends[0], ends[1])
        total, low, high = _weighed(terms, last.coefficients, carry)
        made = self.model.add(total <= max(low - 1, min(high, last.at_most)))
        if bound.guard:
            made.only_enforce_if([self._literals[-x] for x in bound.guard])

    def _largest(self, parts: tuple[Sum, ...]) -> tuple[Any, int, int]:
        """What is at least the largest of some sums, with its range."""
        lows, highs, sums = [], [], []
        for base, some in parts:
            self._check([*some, (0, base)], "B220", INTEGERS)
            lows.append(base)
            highs.append(base + sum(weight for _, weight in some))
            sums.append(self._sum(some) + base)
        if len(sums) == 1:
            return sums[0], lows[0], highs[0]
        largest = self.model.new_int_var(max(lows), max(highs), "")
        for one in sums:
            self.model.add(largest >= one)
        return largest, max(lows), max(highs)

    def _expression(self, cost: Cost) -> tuple[Any, int]:
        """The cost without its constant, and the constant."""
        constant, weighted = cost.terms.positive()
        self._check(weighted, "B221")
        total = self._sum(weighted)
        for factor, parts in cost.maxima:
            ranges, sums = [], []
            for part in parts:
                base, some = part.positive()
                self._check([(x, w * factor) for x, w in [*some, (0, base)]], "B221", INTEGERS)
                ranges += [base, base + sum(w for _, w in some)]
                sums.append(self._sum(some) + base)
            largest = self.model.new_int_var(min(ranges), max(ranges), "")
            for one in sums:
                self.model.add(largest >= one)
            total += factor * largest
        return total, constant

    # ---- one stage

    def minimize(self, cost: Cost) -> None:
        """The cost of the next runs."""
        self._total, self._constant = self._expression(cost)
        size = _size(cost)
        self._cost, self._rounding = cost, max(1e-6, ROUNDING * size)
        self._presolve &= size < INTEGERS
        self.model.minimize(self._total)

    def bound(self, *, least: int | None = None, most: int | None = None) -> None:
        """The cost of the last `minimize` is in a range, from now on."""
        if least is not None:
            self.model.add(self._total >= least - self._constant)
        if most is not None:
            self.model.add(self._total <= most - self._constant)

    def below(self, most: int) -> Any:
        """The cost is at most this, until the result is given to `release`."""
        on = self.model.new_bool_var("")
        self.model.add(self._total <= most - self._constant).only_enforce_if(on)
        self._domain(on)[0] = 1
        return on

    def release(self, on: Any) -> None:
        """Take a bound of `below` back."""
        self._domain(on)[0] = 0
        self._domain(on)[1] = 0

    def _domain(self, variable: Any) -> Any:
        return self.model.proto.variables[variable.index].domain

    def fix(self, values: Mapping[int, bool]) -> None:
        """Variables have these values, from now on."""
        for variable, value in values.items():
            self.model.add_bool_or([self._literals[variable if value else -variable]])

    def hint(self, values: Mapping[int, bool]) -> None:
        """A point to begin with; none where it is empty."""
        self.model.clear_hints()
        for variable, value in self._often(values.items()):
            self.model.add_hint(self._literals[variable], value)

    def run(self, limits: Limits, effort: float | None, seen: Seen) -> Run:
        """Search until proven, or until a limit or the effort is met.

        CP-SAT runs in a thread of its own, so that this one notices Ctrl-C. Effort is in its
        deterministic time, so that with one thread and no deadline a run can be repeated.
        """
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        _options(solver.parameters, limits, effort)
        solver.parameters.cp_model_presolve = self._presolve
        # Looked for in 300,000 clauses for 16 s, without a look at the clock; we say them anyway.
        few = len(self.model.proto.constraints) <= MANY
        solver.parameters.find_clauses_that_are_exactly_one = few
        constant = self._constant

        class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                seen(round(self.objective_value) + constant, None)

        def moved(bound: float) -> None:
            seen(None, self._up(bound) + constant)

        solver.best_bound_callback = moved
        done: list[Any] = []

        def search() -> None:
            try:
                done.append(solver.solve(self.model, Watch()))
            except BaseException as problem:
                done.append(problem)

        worker = threading.Thread(target=search, daemon=True)
        worker.start()
        try:
            while worker.is_alive():
                worker.join(POLL)
                late = limits.deadline is not None and time.monotonic() >= limits.deadline
                if late or limits.interrupted():
                    solver.stop_search()
        except BaseException:
            solver.stop_search()
            worker.join()
            raise
        if isinstance(done[0], BaseException):
            raise done[0]
        return self._read(solver, done[0], exact=not limits.gap)

    def _read(self, solver: Any, status: Any, *, exact: bool) -> Run:
        from ortools.sat.python import cp_model

        names: dict[Any, Verdict] = {
            cp_model.OPTIMAL: "optimal",
            cp_model.FEASIBLE: "feasible",
            cp_model.INFEASIBLE: "infeasible",
            cp_model.UNKNOWN: "unknown",
        }
        if status not in names:
            raise RuntimeError(f"CP-SAT does not take the model: {self.model.validate()}")
        verdict = names[status]
        true: set[int] | None = None
        if verdict in ("optimal", "feasible"):
            values = list(solver.response_proto.solution)[: self.formula.top]
            true = {index + 1 for index, value in enumerate(values) if value}
        bound = solver.best_objective_bound
        known = verdict != "infeasible" and math.isfinite(bound) and abs(bound) < MAX_CPSAT_SUM
        least = self._up(bound) + self._constant if known else None
        if true is not None and verdict == "optimal" and exact:
            least = self._cost.value(true)
        return Run(
            verdict=verdict,
            true=true,
            bound=least,
            branches=solver.num_branches,
            conflicts=solver.num_conflicts,
        )

    def _up(self, bound: float) -> int:
        """The least integer that a bound, a float near an integer or between two, admits."""
        return math.ceil(bound - self._rounding)


def _too_long(code: str) -> OdtError:
    what = "a rule" if code == "B220" else "the objective"
    return error(
        code,
        f"the numbers of {what} have more digits than CP-SAT can handle",
        helps=("round weights, costs or bounds to fewer decimals",),
    )


def _weighed(
    terms: list[tuple[Any, int, int]],
    coefficients: tuple[int, ...],
    carry: tuple[Any, int, int] | None,
) -> tuple[Any, int, int]:
    """A sum of integers in their ranges, and the range of the sum."""
    total, low, high = carry or (0, 0, 0)
    for (one, least, most), coefficient in zip(terms, coefficients, strict=True):
        if coefficient:
            total = total + coefficient * one
            low, high = low + coefficient * least, high + coefficient * most
    return total, low, high


def _size(cost: Cost) -> int:
    """No cost is larger, of either sign, nor the parts that it is summed up from."""
    parts = [(factor, part) for factor, parts in cost.maxima for part in parts]
    return sum(
        factor * (abs(part.constant) + sum(map(abs, part.weights.values())))
        for factor, part in [(1, cost.terms), *parts]
    )


def _options(parameters: Any, limits: Limits, effort: float | None) -> None:
    parameters.num_workers = max(1, limits.threads)
    parameters.random_seed = limits.seed % 2**31
    parameters.relative_gap_limit = float(limits.gap)
    parameters.catch_sigint_signal = False
    if effort is not None:
        parameters.max_deterministic_time = effort
    if limits.deadline is not None:
        parameters.max_time_in_seconds = max(0.0, limits.deadline - time.monotonic())
    if limits.memory_bytes is not None:
        parameters.max_memory_in_mb = max(1, limits.memory_bytes // MEMORY)
