"""One problem, stage by stage and where need be depth by depth, within its limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from odtdsl.backends.base import Limits, Report
from odtdsl.backends.milp.clauses import Point, Rules, TreeEncoding
from odtdsl.backends.milp.cptree import CpRules, CpTree
from odtdsl.backends.milp.highs import WIDE, Run, Solver
from odtdsl.backends.milp.lookahead import add_lookahead
from odtdsl.backends.milp.monotone import FlowRules
from odtdsl.backends.milp.pattern_flow import PatternFlow
from odtdsl.backends.milp.patterns import find_patterns
from odtdsl.backends.milp.program import Numbers, Program
from odtdsl.backends.milp.pyomo_model import Built, build, standard_form
from odtdsl.backends.milp.stages import Goal, keep, lower_stage, measures_of, trivial_bound
from odtdsl.backends.milp.structure import Tick, tests_by_level, usable_tests
from odtdsl.backends.milp.subtrees import SubtreeRules, Subtrees, fits
from odtdsl.backends.milp.support import Formulation
from odtdsl.backends.staged import StagedSearch, Stopped
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.data.table import FloatArray, IntArray
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.forms import (
    Additive,
    Core,
    DepthStage,
    Linear,
    LinearStage,
    MaximaBound,
    PathTotal,
)
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawModel, RawTree

TIGHT = 1e-9
"""Tolerance of integer columns in programs with wide numbers."""

DEEPEST = 10
"""The deepest perfect tree that a model is built on: 1,024 leaf slots."""


WIDEST_SUM = 10**8
"""Sums over the rows of subtrees stay below: at the tolerance of `TIGHT`, which HiGHS also keeps
its linear programs to, a column then moves none by more than a tenth of a step."""


BUILD_ROW, COMPILE_ROW, COMPILE_NONZERO, SHORT = 10e-6, 15e-6, 2e-6, 0.2
"""Seconds per row or column of building, per row and nonzero of compiling; what is soon over."""

COMPILE_BYTES, COMPILE_BASE = 300, 70 * 2**20
"""Bytes per nonzero of compiling and of the solver's copy, and of the libraries that do it."""


class Model(Protocol):
    """A problem at a stage as a program, and the way back."""

    @property
    def program(self) -> Program: ...

    @property
    def goal(self) -> Goal | None: ...

    @property
    def hint(self) -> RawModel | None: ...

    def decode(self, point: Point) -> RawModel | None: ...

    def full_start(self, tree: RawModel) -> Numbers | None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lowered:
    """A problem at one depth and stage as a program, and the way back to trees.

    Attributes
    ----------
    goal
        The stage that is minimized; None where any tree will do.
    hint
        A good tree that may break rules; None where none was met.
    """

    encoding: TreeEncoding
    goal: Goal | None
    hint: RawTree | None

    @property
    def program(self) -> Program:
        return self.encoding.program

    def decode(self, point: Point) -> RawModel | None:
        """The tree of a solution."""
        return self.encoding.decode(point)

    def full_start(self, tree: RawModel) -> IntArray | None:
        """Every column of a tree; None where it does not fit or breaks a row."""
        assert not isinstance(tree, RawDiagram), "trees only"
        point = self.encoding.assignment(tree)
        if point is None:
            return None
        self.program.complete(point)
        return point if bool(self.program.holds(point).all()) else None


Kept = tuple[tuple[int, Fraction], ...]
"""Earlier stages and their optimal values."""


def lower(
    core: Core,
    depth: int,
    stage: int | None,
    kept: Kept = (),
    tick: Tick = lambda: None,
    formulation: Formulation = "pattern",
    lookahead: bool = True,
) -> Lowered:
    """The program of a problem.

    Parameters
    ----------
    core
        The problem; its own depth is not read.
    depth
        Of the perfect tree.
    stage
        The stage to minimize; None for any tree.
    kept
        Earlier stages that must stay at their optimum.
    tick
        Called often; may raise to stop.
    formulation
        `pattern`, `cptree`, or `subtrees`, which is `pattern` where it does not fit.
    lookahead
        Whether bounds of root tests tighten the relaxation.

    Raises
    ------
    OdtError
        B220, B221 numbers that spread too far for a solver with floats.
    """
    if formulation == "subtrees":
        if (found := _by_subtrees(core, depth, stage, kept, tick)) is not None:
            return found
        formulation = "pattern"
    wanted = [index for index, _ in kept] + ([] if stage is None else [stage])
    measures: list[Additive] = [m for i in wanted for m in measures_of(core.objective[i])]
    for clause in core.clauses:
        atoms = [literal.atom for literal in clause.literals]
        measures += [atom.measure for atom in atoms if isinstance(atom, Linear | PathTotal)]
        measures += [one for a in atoms if isinstance(a, MaximaBound) for one in a.measures]
    assert isinstance(core.skeleton, TreeSkeleton)
    leaves = core.skeleton.leaves
    if formulation == "cptree":
        study = CpTree(core, depth, leaves, measures, tick)
        return _ruled(core, study, CpRules(study, core.n_classes, tick), stage, kept)
    flow = PatternFlow(core, depth, leaves, measures, tick)
    lowered = _ruled(core, flow, FlowRules(flow, core.n_classes, tick), stage, kept)
    for index, _ in kept:
        earlier = core.objective[index]
        if isinstance(earlier, LinearStage):
            add_lookahead(flow, earlier.measure, tick)
    if stage is None or not lookahead:
        return lowered
    form = core.objective[stage]
    hint = add_lookahead(flow, form.measure, tick) if isinstance(form, LinearStage) else None
    return replace(lowered, hint=hint)


def _by_subtrees(
    core: Core, depth: int, stage: int | None, kept: Kept, tick: Tick
) -> Lowered | None:
    """The program by whole subtrees, where they are few and their sums small enough for floats."""
    if not fits(core, depth):
        return None
    assert isinstance(core.skeleton, TreeSkeleton)
    encoding = Subtrees(core, depth, core.skeleton.leaves, tick)
    rules = SubtreeRules(encoding, core.n_classes, tick)
    try:
        lowered = _ruled(core, encoding, rules, stage, kept)
    except OdtError:  # more than nine digits
        return None
    program = lowered.program
    widest = int(np.abs(program.matrix().values).max(initial=0))
    widest = max([widest, *map(abs, program.objective.terms.values())])
    return lowered if widest <= WIDEST_SUM else None


def _ruled(
    core: Core, encoding: TreeEncoding, rules: Rules, stage: int | None, kept: Kept
) -> Lowered:
    """The structure with its rules, earlier stages and objective."""
    for clause in core.clauses:
        rules.add(clause)
    for index, value in kept:
        earlier = core.objective[index]
        keep(encoding, lower_stage(encoding, earlier, index), index, value)
    if stage is None:
        return Lowered(encoding=encoding, goal=None, hint=None)
    goal = lower_stage(encoding, core.objective[stage], stage)
    encoding.program.objective = goal.cost
    return Lowered(encoding=encoding, goal=goal, hint=None)


def deepest(core: Core) -> int:
    """The depth that no reduced tree of the problem exceeds.

    By the skeleton; by the leaves, one more than splits; by the patterns, of which every leaf
    holds one.

    Raises
    ------
    OdtError
        B222 deeper than `DEEPEST`, and no objective that would find a shallow tree first.
    """
    skeleton = core.skeleton
    assert isinstance(skeleton, TreeSkeleton)
    levels = len(core.columns) if skeleton.depth is None else skeleton.depth
    probe = max(1, min(levels, DEEPEST) + 1)
    tests = usable_tests(core, tests_by_level(core, probe))
    bounds = [find_patterns(core, tests).count - 1]
    if skeleton.depth is not None:
        bounds.append(skeleton.depth)
    if skeleton.leaves is not None:
        bounds.append(skeleton.leaves - 1)
    least = min(bounds)
    if least > DEEPEST and not isinstance(core.objective[0], DepthStage):
        raise error(
            "B222",
            f"`milp` builds trees of depth {DEEPEST} at most, and this one may reach {least}",
            helps=(f"write `tree depth <= {DEEPEST}` or less, or `minimize depth then ...`",),
        )
    return least


class Search(StagedSearch[RawModel]):
    """The state of one solve."""

    deepest_built = DEEPEST
    poll = 0.05

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawModel | None,
        report: Report | None,
        formulation: Formulation = "pattern",
    ) -> None:
        super().__init__(core, limits, report)
        self.formulation = formulation
        self.cap = self._deepest()
        self.with_depth: int | None = None
        self._size: tuple[tuple[str, int], ...] = ()
        if start is not None:
            self._consider(start, 0)

    # ---- the course

    def possible(self) -> bool:
        """Always; the bound that needs no solver is noted, so that there is one in any case."""
        self._note_trivial(0, self.cap)
        return True

    def deepest(self) -> int:
        """By the skeleton and the patterns."""
        return self.cap

    def _deepest(self) -> int:
        return deepest(self.core)

    def feasible_at(self, depth: int) -> bool:
        """By a model of the depth, which makes the second stage least at once."""
        self.with_depth = 1 if len(self.core.objective) > 1 else None
        run = self._solve(depth, self.with_depth, ())
        if run.verdict == "stopped" and not self._at_depth(depth):
            raise Stopped
        return run.verdict != "infeasible"

    def minimize(self, stage: int) -> bool:
        """By a model of the stage, which keeps the values of those before."""
        if stage == self.with_depth:
            return True
        first, depth = (0, self.cap) if self.depth is None else (1, self.depth)
        kept = tuple((earlier, self.values[earlier]) for earlier in range(first, stage))
        run = self._solve(depth, stage, kept)
        if run.verdict == "optimal" and self.best is None:
            raise RuntimeError("HiGHS' solution is no tree that keeps the rules")
        return run.verdict != "infeasible"

    def _at_depth(self, depth: int) -> bool:
        return self.best is not None and evaluated(self.core, self.best).depth <= depth

    def size(self) -> tuple[tuple[str, int], ...]:
        """Of the last program."""
        return self._size

    # ---- one model

    def _solve(self, depth: int, stage: int | None, kept: Kept) -> Run:
        lowered = self._lower(depth, stage, kept)
        if stage is not None:
            self._note_trivial(stage, depth)
        if lowered.hint is not None:
            self._offer(lowered.hint, 0 if stage is None else stage)
        built = self._build(lowered.program)
        standard = standard_form(lowered.program, built)
        self.tick()
        solver = Solver(lowered.program, standard)
        self._size = lowered.program.size()
        self.tick()
        solver.options(**self._options(lowered.program))
        point = None if self.best is None else lowered.full_start(self.best)
        if point is not None:
            solver.start(point)
        run = solver.run(self.limits, self._improved(lowered, stage), self._moved(lowered, stage))
        self._finish(lowered, stage, run)
        return run

    def _lower(self, depth: int, stage: int | None, kept: Kept) -> Model:
        """The program of a stage."""
        return lower(self.core, depth, stage, kept, self.tick, self.formulation)

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
        if run.verdict == "infeasible":
            return
        if stage is not None and lowered.goal is not None:
            bound = lowered.goal.lower_bound(run.bound)
            if bound is not None:
                self.raise_bound(stage, bound)

    def _admitted(self, tree: RawModel | None, stage: int, *, claimed: bool) -> None:
        """A tree that a model admits: it keeps all rules, or HiGHS' floats have blurred one."""
        if not self._offer(tree, stage) and claimed:
            raise RuntimeError(f"the model admits {tree!r}, which breaks a rule")

    def _offer(self, tree: RawModel | None, stage: int) -> bool:
        """Note a tree that keeps all rules; whether it does."""
        if tree is None or evaluated(self.core, tree).violations():
            return False
        self._consider(tree, stage)
        return True

    def _note_trivial(self, stage: int, depth: int) -> None:
        """The bound of rows that no test tells apart."""
        levels = tests_by_level(self.core, min(depth, DEEPEST))
        patterns = find_patterns(self.core, usable_tests(self.core, levels))
        splits = min(2**depth, patterns.count) - 1
        form = self.core.objective[stage]
        self.raise_bound(stage, trivial_bound(form, patterns, self.core.n_classes, splits))

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

    def _consider(self, tree: RawModel, stage: int) -> None:
        if self.keep(tree):
            self.tell(stage)


def options(program: Program, limits: Limits) -> dict[str, object]:
    """HiGHS' options.

    Presolve and restarts (which presolve again) are off. HiGHS 1.14.0 loses optimal trees of
    tiny models there, with small integers and a claim of optimality (its issues 2995, 3043,
    3073, 3094); other versions have had bugs of the kind. With the rows of `lookahead` presolve
    gains nothing.

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
