"""One problem, stage by stage and where need be depth by depth, within its limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from odtdsl.backends.answers import better, same
from odtdsl.backends.base import Limits, Report
from odtdsl.backends.milp import outside
from odtdsl.backends.milp.formulation import PATTERN, Formulation
from odtdsl.backends.milp.highs import WIDE, Run, Solver
from odtdsl.backends.milp.lowering import MAX_MODEL_DEPTH, deepest
from odtdsl.backends.milp.outside_progress import News
from odtdsl.backends.milp.patterns import find_patterns
from odtdsl.backends.milp.program import Numbers, Program
from odtdsl.backends.milp.pyomo_model import Built, build, standard_form
from odtdsl.backends.milp.stage_choice import StageChoice
from odtdsl.backends.milp.stages import Goal, trivial_bound
from odtdsl.backends.milp.structure import tests_by_level, usable_tests
from odtdsl.backends.staged import Stopped, UpwardSearch
from odtdsl.base.diagnostics.model import error
from odtdsl.base.limits import BLOCK
from odtdsl.datasets.table import FloatArray
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.forms import Core, RegressionStage
from odtdsl.problem.ir.raw import RawModel

TIGHT = 1e-9
"""Tolerance of integer columns in programs with wide numbers."""

BUILD_ROW, COMPILE_ROW, COMPILE_NONZERO, SHORT = 10e-6, 15e-6, 2e-6, 0.2
"""Seconds per row or column of building, per row and nonzero of compiling; what is soon over."""

COMPILE_BYTES, COMPILE_BASE = 300, 70 * 2**20
"""Bytes per nonzero of compiling and of the solver's copy, and of the libraries that do it."""


class Model(Protocol):
    """A problem at a stage as a program, and the way back."""

    @property
    def program(self) -> Program:
        """The integer program of the stage."""

    @property
    def goal(self) -> Goal | None:
        """The stage in the program; None where any solution will do."""

    @property
    def hint(self) -> RawModel | None:
        """A model that the solver may begin from; None without one."""

    def decode(self, point: Numbers) -> RawModel | None:
        """The tree or diagram of a solution; None where rounding leaves none."""

    def full_start(self, tree: RawModel) -> Numbers | None:
        """Values of all columns for a tree or diagram; None where it is not a solution."""


class Search(UpwardSearch[RawModel]):
    """The state of one solve."""

    deepest_built = MAX_MODEL_DEPTH
    poll = 0.05

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None,
        report: Report | None,
        formulation: Formulation = PATTERN,
        mip: str = outside.OWN,
    ) -> None:
        super().__init__(core, limits, report)
        self.formulation, self.mip = formulation, mip
        self.with_depth: int | None = None
        self._size: tuple[tuple[str, int], ...] = ()
        if start is not None:
            self._consider(start, 0)

    # ---- the course

    def possible(self) -> bool:
        """Always; the bound that needs no solver is noted, so that there is one in any case.

        But on many cells no time is left for it where the limit has passed.
        """
        many = self.core.n_rows * len(self.core.columns) > BLOCK
        if many:
            self.tick()
        depth = self.cap
        if many:
            self.tick()
        self._note_trivial(0, depth)
        return True

    def deepest(self) -> int:
        """By the skeleton and the patterns."""
        return self.cap

    @cached_property
    def cap(self) -> int:
        """The depth that no reduced model exceeds."""
        return self._deepest()

    def _deepest(self) -> int:
        return deepest(self.core)

    def feasible_at(self, depth: int) -> bool:
        """By a model of the depth, which makes the second stage least at once."""
        self.with_depth = 1 if len(self.core.objective) > 1 else None
        run = self._solve(depth, StageChoice(self.with_depth))
        if run.verdict == "stopped" and not self._at_depth(depth):
            raise Stopped
        return run.verdict != "infeasible"

    def minimize(self, stage: int) -> bool:
        """By a model of the stage, which keeps the values of those before."""
        if stage == self.with_depth:
            return True
        first, depth = (0, self.cap) if self.depth is None else (1, self.depth)
        kept = tuple((earlier, self.values[earlier]) for earlier in range(first, stage))
        run = self._solve(depth, StageChoice(stage, kept))
        if run.verdict == "optimal" and self.best is None:
            self._trusts_own("the solution is no tree that keeps the rules")
            raise Stopped
        return run.verdict != "infeasible"

    def _at_depth(self, depth: int) -> bool:
        return self.best is not None and evaluated(self.core, self.best).depth <= depth

    def size(self) -> tuple[tuple[str, int], ...]:
        """Of the last program."""
        return self._size

    # ---- one model

    def _solve(self, depth: int, choice: StageChoice) -> Run:
        lowered, stage = self._lower(depth, choice), choice.stage
        if stage is not None:
            self._note_trivial(stage, depth)
        if lowered.hint is not None:
            self._offer(lowered.hint, 0 if stage is None else stage)
        self._size = lowered.program.size()
        if self.mip == outside.OWN:
            run = self._own(lowered, stage)
        else:
            point = self._start(lowered)
            heard = self._heard(lowered, stage)
            run = outside.run(self.mip, lowered.program, point, self.limits, heard)
            if run.verdict == "infeasible" and point is not None:
                raise error(
                    "B226",
                    f"the solver `{self.mip}` says that there is no solution, but began from one",
                    helps=("use another solver, such as `highs`, or `exact`",),
                )
        self._finish(lowered, stage, run)
        return run

    def _own(self, lowered: Model, stage: int | None) -> Run:
        """HiGHS in this process, which tells each better solution and bound at once."""
        built = self._build(lowered.program)
        standard = standard_form(lowered.program, built)
        self.tick()
        solver = Solver(lowered.program, standard)
        self.tick()
        solver.options(**self._options(lowered.program))
        point = self._start(lowered)
        if point is not None:
            solver.start(point)
        return solver.run(self.limits, self._improved(lowered, stage), self._moved(lowered, stage))

    def _start(self, lowered: Model) -> Numbers | None:
        """What the solver begins from; None where nothing is known that keeps all rows."""
        return None if self.best is None else lowered.full_start(self.best)

    def _lower(self, depth: int, choice: StageChoice) -> Model:
        """The program of a stage."""
        return self.formulation.lower(self.core, depth, choice, self.tick)

    def _options(self, program: Program) -> dict[str, object]:
        return options(program, self.limits)

    def _build(self, program: Program) -> Built:
        """The Pyomo model, if there are time and memory left to compile it.

        Pyomo's compiler cannot be stopped half-way, so that both are foretold from the size, the
        seconds on a machine as busy as it was while the model was built.
        """
        began = time.monotonic()
        built = build(program, self.tick)
        if not self.limits.has_room(COMPILE_BASE + COMPILE_BYTES * program.n_nonzeros):
            raise Stopped
        if self.limits.deadline is not None:
            rows, nonzeros = program.n_rows, program.n_nonzeros
            usual = BUILD_ROW * (rows + program.n_columns)
            busy = min(5.0, max(1.0, (time.monotonic() - began) / max(usual, 0.5)))
            foretold = busy * (COMPILE_ROW * rows + COMPILE_NONZERO * nonzeros)
            if foretold > SHORT and time.monotonic() + foretold > self.limits.deadline:
                raise Stopped
        return built

    def _finish(self, lowered: Model, stage: int | None, run: Run) -> None:
        if run.verdict == "stopped":
            self.interrupted = self.interrupted or self.limits.interrupted()
        if run.point is not None:
            tree = lowered.decode(run.point)
            self._admitted(tree, 0 if stage is None else stage, claimed=run.verdict == "optimal")
        goal = lowered.goal
        if run.verdict == "infeasible" or stage is None or goal is None:
            return
        bound = goal.lower_bound(run.bound)
        if bound is None:
            return
        if goal.loose and run.verdict == "optimal" and self.values:
            value, step = self.values[stage], Fraction(goal.grid, goal.scale)
            if value - bound <= (2 * goal.loose + 1) * step:  # nearer values count as equal
                bound = max(bound, value)
        if self.raise_bound(stage, bound):
            self.tell(stage)

    def _admitted(self, tree: RawModel | None, stage: int, *, claimed: bool) -> None:
        """A tree that a model admits: it keeps all rules, or the solver's floats blurred one."""
        if not self._offer(tree, stage) and claimed:
            self._trusts_own(f"the model admits {tree!r}, which breaks a rule")

    def _trusts_own(self, why: str) -> None:
        """What must not happen with HiGHS, whose tolerances are set here; from other solvers, and
        of losses that are rounded, it is an answer that is left out."""
        if self.mip == outside.OWN and self.core.targets is None:
            raise RuntimeError(why)

    def _offer(self, tree: RawModel | None, stage: int) -> bool:
        """Note a tree that keeps all rules; whether it does."""
        if tree is None or evaluated(self.core, tree).violations():
            return False
        self._consider(tree, stage)
        return True

    def _note_trivial(self, stage: int, depth: int) -> None:
        """The bound of rows that no test tells apart."""
        levels = tests_by_level(self.core, min(depth, MAX_MODEL_DEPTH))
        patterns = find_patterns(self.core, usable_tests(self.core, levels))
        splits = min(2**depth, patterns.count) - 1
        form = self.core.objective[stage]
        if isinstance(form, RegressionStage):
            return
        self.raise_bound(stage, trivial_bound(form, patterns, self.core.n_classes, splits))

    # ---- losses of numbers, which are floats

    def settled(self, stage: int) -> bool:
        """Whether the best model is proven best at a stage, up to rounding."""
        bound = self.lower.get(stage)
        if bound is None or not self.values:
            return False
        return same(self.core, self.core.objective[stage], self.values[stage], bound)

    def improves(self, values: tuple[Fraction, ...]) -> bool:
        """Whether values are lexicographically less than those of the best, beyond rounding."""
        return self.best is None or better(self.core, values, self.values)

    # ---- progress

    def _improved(self, lowered: Model, stage: int | None) -> Callable[[FloatArray, float], None]:
        def improved(point: FloatArray, bound: float) -> None:
            self._moved(lowered, stage)(bound)
            self._offer(lowered.decode(point), 0 if stage is None else stage)

        return improved

    def _moved(self, lowered: Model, stage: int | None) -> Callable[[float], None]:
        def moved(bound: float) -> None:
            goal = lowered.goal
            if goal is None or stage is None or not np.isfinite(bound):
                return
            exact = goal.lower_bound(bound)
            if exact is not None and self.raise_bound(stage, exact):
                self.tell(stage)

        return moved

    def _heard(self, lowered: Model, stage: int | None) -> Callable[[News], None]:
        """What another solver tells while it runs."""
        improved, moved = self._improved(lowered, stage), self._moved(lowered, stage)
        goal = None if lowered.goal is None or lowered.goal.loose else lowered.goal

        def heard(news: News) -> None:
            if news.point is not None:
                point = np.zeros(lowered.program.n_columns)
                point[list(news.point)] = list(news.point.values())
                improved(point, news.bound)
            elif news.value is not None and goal is not None and stage is not None:
                value = goal.value(round(news.value))
                if not self.values or value < self.values[stage]:
                    self.tell(stage, value)
            moved(news.bound)

        return heard

    def _consider(self, tree: RawModel, stage: int) -> None:
        if self.keep(tree):
            self.tell(stage)


def options(program: Program, limits: Limits) -> dict[str, object]:
    """HiGHS' options.

    Presolve and restarts (which presolve again) are off. HiGHS 1.14.0 loses optimal trees of
    tiny models there, with small integers and a claim of optimality (its issues 2995, 3043,
    3073, 3094); other versions have had bugs of the kind. With the rows of `lookahead` presolve
    gains nothing: `docs/explanation/milp.md` has figures and the smallest such programs.

    The sum of a row is an integer on every tree. HiGHS lets an integer column be off by 1e-6 and
    a row by 1e-7, which moves rows with numbers up to `highs.WIDE` by less than the step of 1
    between two trees. With wider numbers rows get half a step of slack (see `Solver`), and
    integer columns a tolerance of 1e-9: of 1,000 random problems with numbers up to 1e8 none was
    then proven wrongly (at 1e-10 some were). Every tree is evaluated again in integers, and one
    that breaks a rule is never returned. The objective moves in steps of 1, so that a gap below 1
    proves it.
    """
    widest = int(np.abs(program.matrix().values).max(initial=0))
    widest = max([widest, *map(abs, program.objective.terms.values())])
    found: dict[str, object] = {
        "threads": limits.threads,
        "random_seed": limits.seed,
        "mip_rel_gap": float(limits.gap),
        "mip_abs_gap": 0.999,
        "presolve": "off",
        "mip_allow_restart": False,
    }
    if widest > WIDE:
        found["mip_feasibility_tolerance"] = TIGHT
    return found
